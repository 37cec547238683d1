package sealed

import (
	"crypto/ecdh"
	"crypto/hpke"
	"encoding/base64"
	"errors"
	"log/slog"
	"strings"
)

// The text forms of the keys say what they are, so that one is not taken for the other.
const (
	publicPrefix  = "spendcap-seal-public-"
	privatePrefix = "spendcap-seal-PRIVATE-"
)

var encoding = base64.RawURLEncoding

func kem() hpke.KEM { return hpke.DHKEM(ecdh.X25519()) }

// PublicKey seals.
type PublicKey struct{ key hpke.PublicKey }

// ParsePublicKey reads what [PublicKey.String] writes.
func ParsePublicKey(s string) (PublicKey, error) {
	if strings.HasPrefix(s, privatePrefix) {
		return PublicKey{}, errors.New("that is the private key: it belongs nowhere but on the operator's machine; draw another pair with `spendcap seal-key`")
	}
	b, err := decode(s, publicPrefix)
	if err == nil {
		if key, err := kem().NewPublicKey(b); err == nil {
			return PublicKey{key}, nil
		}
	}
	return PublicKey{}, errors.New("that is not a public key: write the one that `spendcap seal-key` has printed, all of it")
}

// String is the form for the operator's file.
func (k PublicKey) String() string { return publicPrefix + encoding.EncodeToString(k.key.Bytes()) }

// PrivateKey opens. It prints as nothing.
type PrivateKey struct{ key hpke.PrivateKey }

// GenerateKey draws a pair.
func GenerateKey() (PrivateKey, error) {
	key, err := kem().GenerateKey()
	return PrivateKey{key}, err
}

// ParsePrivateKey reads what [PrivateKey.Text] gives. The error does not quote it.
func ParsePrivateKey(s string) (PrivateKey, error) {
	b, err := decode(strings.TrimSpace(s), privatePrefix)
	if err == nil {
		if key, err := kem().NewPrivateKey(b); err == nil {
			return PrivateKey{key}, nil
		}
	}
	return PrivateKey{}, errors.New("that is not a private key: give the file that `spendcap seal-key` has written")
}

// Text is the form for a file of the operator's.
func (k PrivateKey) Text() (string, error) {
	b, err := k.key.Bytes()
	return privatePrefix + encoding.EncodeToString(b), err
}

// Public is the key that seals for k.
func (k PrivateKey) Public() PublicKey { return PublicKey{k.key.PublicKey()} }

// String keeps the key out of whatever prints it.
func (PrivateKey) String() string { return "(private key)" }

// GoString keeps the key out of %#v.
func (PrivateKey) GoString() string { return "(private key)" }

// LogValue keeps the key out of logs written with log/slog.
func (PrivateKey) LogValue() slog.Value { return slog.StringValue("(private key)") }

func decode(s, prefix string) ([]byte, error) {
	text, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return nil, errors.New("another prefix")
	}
	return encoding.Strict().DecodeString(text)
}
