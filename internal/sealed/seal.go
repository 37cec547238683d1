package sealed

import (
	"bytes"
	"crypto/hpke"
	"errors"
)

// padded is the length of the plain text. The longest address with its prefix length is
// shorter.
const padded = 64

// formatVersion is the first byte of what is sealed.
const formatVersion = 1

var info = []byte("spendcap sealed address")

// Seal encrypts the address of a caller, up to 63 bytes, for the block of that name.
func (k PublicKey) Seal(address, block string) ([]byte, error) {
	if address == "" || len(address) >= padded {
		return nil, errors.New("there is no address to seal, or it is too long")
	}
	encapsulated, sender, err := hpke.NewSender(k.key, hpke.HKDFSHA256(), hpke.AES256GCM(), info)
	if err != nil {
		return nil, err
	}
	plain := make([]byte, padded)
	copy(plain, address)
	text, err := sender.Seal(bound(block), plain)
	if err != nil {
		return nil, err
	}
	return append(append([]byte{formatVersion}, encapsulated...), text...), nil
}

var errUnopened = errors.New("the sealed address does not open: it was sealed for another key or another block, or changed")

// Open decrypts what [PublicKey.Seal] has made for the block.
func (k PrivateKey) Open(sealed []byte, block string) (string, error) {
	size := len(k.key.PublicKey().Bytes())
	if len(sealed) <= 1+size || sealed[0] != formatVersion {
		return "", errUnopened
	}
	recipient, err := hpke.NewRecipient(sealed[1:1+size], k.key, hpke.HKDFSHA256(), hpke.AES256GCM(), info)
	if err != nil {
		return "", errUnopened
	}
	plain, err := recipient.Open(bound(block), sealed[1+size:])
	if err != nil || len(plain) != padded {
		return "", errUnopened
	}
	return string(bytes.TrimRight(plain, "\x00")), nil
}

func bound(block string) []byte { return append([]byte{formatVersion}, block...) }
