package caps

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"sync"
	"sync/atomic"
	"time"
)

// keyLength is the length of a caller key in hexadecimal digits: 128 bits of the
// HMAC, with which two callers out of a billion share a key once in 10^20.
const keyLength = 32

// Keyer turns callers into caller keys, fixed-length keyed hashes that stand for
// them in the store. The IPv4 space is small enough to hash in an hour, so a plain
// hash would be no protection; the secret is what keeps the addresses unknown.
//
// The secret may change with the day: see [NewKeyring]. A Keyer is safe for concurrent
// use.
type Keyer struct {
	ring atomic.Pointer[[]keyed] // ascending by their first days, at least one
}

// keyed is one version of the secret, ready to use.
type keyed struct {
	KeyVersion
	macs *sync.Pool // of hash.Hash, keyed; a reset one is cheaper than a new one
}

// NewKeyer returns a Keyer for one secret of at least [MinSecretBytes] bytes, which is
// the version "1" on all days. The secret must not be the origin lock's: rotating the
// lock would reset the counts.
func NewKeyer(secret []byte) (*Keyer, error) {
	if err := checkKeySecret(secret); err != nil {
		return nil, err
	}
	return NewKeyring(KeyVersion{ID: FirstKeyVersion, Secret: secret})
}

// NewKeyring returns a Keyer whose secret changes with the day: the last version whose
// first day has come by a day serves that whole day, so that a change resets nobody in
// the middle of one. The first version also serves the days before its own. The error
// is that of [CheckKeyVersions].
func NewKeyring(versions ...KeyVersion) (*Keyer, error) {
	k := new(Keyer)
	if err := k.Replace(versions...); err != nil {
		return nil, err
	}
	return k, nil
}

// Replace puts other versions in the place of the Keyer's, from the next key on. If it
// returns an error, which is that of [CheckKeyVersions], nothing has changed.
//
// Processes that share counts must have the same version on the same day. So a version
// is to be added long enough before its first day that all of them know it by then.
func (k *Keyer) Replace(versions ...KeyVersion) error {
	if err := CheckKeyVersions(versions...); err != nil {
		return err
	}
	ring := make([]keyed, len(versions))
	for i, v := range versions {
		v.Secret = append([]byte(nil), v.Secret...)
		ring[i] = keyed{v, &sync.Pool{New: func() any { return hmac.New(sha256.New, v.Secret) }}}
	}
	k.ring.Store(&ring)
	return nil
}

// Version returns the ID of the version that serves the day.
func (k *Keyer) Version(day Day) string { return k.on(day).ID }

// on returns the version that serves the day.
func (k *Keyer) on(day Day) keyed {
	ring := *k.ring.Load()
	for i := len(ring) - 1; i > 0; i-- {
		if ring[i].From <= day {
			return ring[i]
		}
	}
	return ring[0]
}

// Key returns the caller key for one purpose and day: 32 lowercase hexadecimal
// digits. The purpose keeps a key from being used elsewhere; the day makes
// yesterday's rows unlinkable to today's. A purpose has no zero byte.
func (k *Keyer) Key(purpose string, day Day, caller Caller) string {
	var date [len(time.DateOnly)]byte
	return k.on(day).key(purpose, day.Start().AppendFormat(date[:0], time.DateOnly), caller)
}

// LastingKey is a caller key that has no day, with the ID of the version that it was
// made with. It has the form of [Keyer.Key]'s and is none of them.
type LastingKey struct {
	Version, Key string
}

// LastingKey returns the caller key for a purpose that has to outlive a day, such as
// an operator's block. It is made with the version that serves the day, and stands for
// the caller as long as that version is kept; so keep the version's ID with it.
func (k *Keyer) LastingKey(purpose string, day Day, caller Caller) LastingKey {
	v := k.on(day)
	return LastingKey{v.ID, v.key(purpose, nil, caller)}
}

// LastingKeys returns the keys that [Keyer.LastingKey] makes of the caller with each
// version, the newest first: all those under which it may be known.
func (k *Keyer) LastingKeys(purpose string, caller Caller) []LastingKey {
	ring := *k.ring.Load()
	keys := make([]LastingKey, 0, len(ring))
	for i := len(ring) - 1; i >= 0; i-- {
		keys = append(keys, LastingKey{ring[i].ID, ring[i].key(purpose, nil, caller)})
	}
	return keys
}

// Derive returns a secret of 32 bytes for another use, which says nothing about the
// Keyer's own: the output of HKDF-SHA-256 (RFC 5869) for the version that serves the
// day, with the label as its info.
func (k *Keyer) Derive(label string, day Day) ([]byte, error) {
	return hkdf.Key(sha256.New, k.on(day).Secret, nil, label, sha256.Size)
}

func (v keyed) key(purpose string, day []byte, caller Caller) string {
	mac := v.macs.Get().(hash.Hash)
	defer v.macs.Put(mac)
	mac.Reset()
	message := make([]byte, 0, 96)
	message = append(message, purpose...)
	message = append(message, 0)
	message = append(message, day...)
	message = append(message, 0)
	message = caller.appendTo(message)
	mac.Write(message)
	var sum [sha256.Size]byte
	return hex.EncodeToString(mac.Sum(sum[:0]))[:keyLength]
}
