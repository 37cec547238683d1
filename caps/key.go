package caps

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
	"sync"
	"time"
)

// MinSecretBytes is the least length of the secret of a [Keyer]: the output size
// of SHA-256, as RFC 2104 section 3 advises for HMAC keys.
const MinSecretBytes = 32

// keyLength is the length of a caller key in hexadecimal digits: 128 bits of the
// HMAC, with which two callers out of a billion share a key once in 10^20.
const keyLength = 32

// Keyer turns callers into caller keys, fixed-length keyed hashes that stand for
// them in the store. The IPv4 space is small enough to hash in an hour, so a plain
// hash would be no protection; the secret is what keeps the addresses unknown.
type Keyer struct {
	macs sync.Pool // of hash.Hash, keyed; a reset one is cheaper than a new one
}

// NewKeyer returns a Keyer for a secret of at least [MinSecretBytes] bytes. The
// secret must not be the origin lock's: rotating the lock would reset the counts.
func NewKeyer(secret []byte) (*Keyer, error) {
	if len(strings.TrimSpace(string(secret))) < MinSecretBytes {
		return nil, fmt.Errorf("the HMAC secret is missing, blank or shorter than %d bytes: draw one with `openssl rand -hex 32`", MinSecretBytes)
	}
	secret = append([]byte(nil), secret...)
	return &Keyer{sync.Pool{New: func() any { return hmac.New(sha256.New, secret) }}}, nil
}

// Key returns the caller key for one purpose and day: 32 lowercase hexadecimal
// digits. The purpose keeps a key from being used elsewhere; the day makes
// yesterday's rows unlinkable to today's.
func (k *Keyer) Key(purpose string, day Day, caller Caller) string {
	var date [len(time.DateOnly)]byte
	return k.key(purpose, day.Start().AppendFormat(date[:0], time.DateOnly), caller)
}

// LastingKey returns the caller key for a purpose that has to outlive a day, such as
// an operator's block. It has the form of [Keyer.Key]'s and is none of them.
func (k *Keyer) LastingKey(purpose string, caller Caller) string {
	return k.key(purpose, nil, caller)
}

func (k *Keyer) key(purpose string, day []byte, caller Caller) string {
	mac := k.macs.Get().(hash.Hash)
	defer k.macs.Put(mac)
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
