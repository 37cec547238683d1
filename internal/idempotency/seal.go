package idempotency

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// itemPrefix starts the key of every item. A budget's item has a date where this has
// a word, so the two never meet in a table, whatever the budgets are called.
const itemPrefix = "idem#answer#"

// sealVersion is the first byte of a sealed answer. Another one does not open, and so
// does not pass for what this version writes.
const sealVersion = 1

// sealOverhead is by how much an answer grows under the seal: the version, the GCM
// nonce and tag, and the head of the encoding.
const sealOverhead = 1 + 12 + 16 + answerHead

// answerHead is the status and the length of the content type.
const answerHead = 3

var errUnopened = errors.New("the kept answer does not open: it was damaged or changed in the store")

// root holds what is derived from one version of the server's secret.
type root struct {
	keyer *caps.Keyer
	day   caps.Day // one that the version serves
	item  []byte   // HMAC key of the item keys
	salt  []byte   // of the keys of one entry
}

func newRoot(keyer *caps.Keyer, day caps.Day) (*root, error) {
	r := &root{keyer: keyer, day: day}
	for purpose, key := range map[string]*[]byte{"item": &r.item, "salt": &r.salt} {
		var err error
		if *key, err = keyer.Derive("spendcap idempotency "+purpose, day); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// entry is what one request comes to: the item that it shares with its repeats, what
// it asks for, and the AEAD that opens the answer.
type entry struct {
	item        string
	fingerprint Fingerprint
	aead        cipher.AEAD
}

// entry derives all that belongs to one caller and key. The caller key has no day in
// it: a retry after midnight has to find the claim from before. The hash makes it
// unlinkable nevertheless, unless the client uses one Idempotency-Key for everything.
func (r *root) entry(caller caps.Caller, key, route string, body []byte) (*entry, error) {
	mac := hmac.New(sha256.New, r.item)
	mac.Write([]byte(r.keyer.LastingKey("idempotency", r.day, caller).Key)) // of fixed length
	mac.Write([]byte(key))
	e := &entry{item: itemPrefix + hex.EncodeToString(mac.Sum(nil)[:16])}

	keys, err := hkdf.Key(sha256.New, []byte(key), r.salt, e.item, 2*sha256.Size)
	if err != nil {
		return nil, err
	}
	mac = hmac.New(sha256.New, keys[:sha256.Size])
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(route))))
	mac.Write([]byte(route))
	mac.Write(body)
	mac.Sum(e.fingerprint[:0])

	block, err := aes.NewCipher(keys[sha256.Size:])
	if err != nil {
		return nil, err
	}
	if e.aead, err = cipher.NewGCMWithRandomNonce(block); err != nil {
		return nil, err
	}
	return e, nil
}

// bound is the additional data of the seal: an answer opens only in the item and for
// the request that it was given to.
func (e *entry) bound() []byte {
	b := append([]byte{sealVersion}, e.fingerprint[:]...)
	return append(b, e.item...)
}

// seal encrypts an answer that has passed its check.
func (e *entry) seal(a Answer) []byte {
	plain := make([]byte, 0, answerHead+len(a.ContentType)+len(a.Body))
	plain = binary.BigEndian.AppendUint16(plain, uint16(a.Status))
	plain = append(plain, byte(len(a.ContentType)))
	plain = append(plain, a.ContentType...)
	plain = append(plain, a.Body...)
	sealed := make([]byte, 1, len(plain)+sealOverhead)
	sealed[0] = sealVersion
	return e.aead.Seal(sealed, nil, plain, e.bound())
}

// open decrypts what seal has made for the same entry.
func (e *entry) open(sealed []byte) (Answer, error) {
	if len(sealed) < sealOverhead || sealed[0] != sealVersion {
		return Answer{}, errUnopened
	}
	plain, err := e.aead.Open(nil, nil, sealed[1:], e.bound())
	if err != nil {
		return Answer{}, errUnopened
	}
	status, size, rest := binary.BigEndian.Uint16(plain), int(plain[2]), plain[answerHead:]
	if size > len(rest) {
		return Answer{}, errUnopened
	}
	return Answer{Status: int(status), ContentType: string(rest[:size]), Body: rest[size:]}, nil
}

// Answer is what the paid call came to, as the viewer gets it.
type Answer struct {
	Status      int
	ContentType string // at most 255 bytes
	Body        []byte
}

func (a Answer) check() error {
	if a.Status < 100 || a.Status > 599 {
		return fmt.Errorf("the answer's status %d is not between 100 and 599", a.Status)
	}
	if len(a.ContentType) > 255 {
		return errors.New("the answer's content type is longer than 255 bytes")
	}
	return nil
}
