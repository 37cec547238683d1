package originlock

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Header is the request header that carries the secret. In the events of an HTTP API
// its name is in lower case.
const Header = "X-Origin-Verify"

// Lock tells what came through the edge from what did not. It is safe for concurrent
// use. Make it with [New].
type Lock struct {
	config Config
	known  atomic.Pointer[known]

	mu      sync.Mutex
	flight  *flight   // the refresh that runs, or nil
	ended   time.Time // when the last refresh ended; zero before the first
	failure error     // of the last refresh; nil if it succeeded
}

// known is one good answer of the source.
type known struct {
	digests [][sha256.Size]byte
	asked   time.Time
}

var errUnmade = errors.New("the origin lock has no source and refuses everything: make it with originlock.New")

// New returns a lock, or an error when the configuration is wrong or the source gives
// no usable secret now. It asks the source once, for at most [Config.Timeout]: for the
// current secret alone if it is a [Starter], otherwise for all. That is meant for the
// init phase of a Lambda, where a failure stops the start and shows as one. It does
// not count as a refresh.
func New(ctx context.Context, c Config) (*Lock, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	l := &Lock{config: c}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	ask := c.Source.Secrets
	if starter, ok := c.Source.(Starter); ok {
		ask = func(ctx context.Context) ([]string, error) {
			secret, err := starter.Current(ctx)
			return []string{secret}, err
		}
	}
	if err := l.load(ctx, ask); err != nil {
		return nil, fmt.Errorf("the origin lock cannot start: %w", err)
	}
	return l, nil
}

// Check tells whether value, the whole value of [Header], is one of the secrets.
//
// An error means that it cannot tell: the source fails and either its last good
// answer is older than [Config.MaxAge] or the value is not in it, so that it may be a
// new secret. The first result is then false. Whatever the error, a request for
// which it is false must be refused.
func (l *Lock) Check(ctx context.Context, value string) (bool, error) {
	if l == nil {
		return false, errUnmade
	}
	k := l.known.Load()
	if k == nil {
		return false, errUnmade
	}
	if len(value) < MinSecretBytes {
		return false, nil // no secret is as short, so no refresh could help
	}
	var buffer [128]byte // keeps values of a secret's usual length off the heap
	digest := sha256.Sum256(append(buffer[:0], value...))
	if age := l.age(k); age >= 0 && age < l.config.TTL && k.accepts(&digest) {
		return true, nil
	}

	err := l.refresh(ctx)
	k = l.known.Load()
	if age := l.age(k); age < 0 || age >= l.config.MaxAge {
		if err == nil {
			err = errors.New("the source has not answered since")
		}
		return false, fmt.Errorf("the origin secrets are older than %v and refused: %w", l.config.MaxAge, err)
	}
	if k.accepts(&digest) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("the value is not a known origin secret and new ones cannot be read: %w", err)
	}
	return false, nil
}

// age is how long ago the source was asked for k, by the wall clock: the monotonic
// clock stands still while a machine is suspended. It is negative when the clock was
// set back, and then nothing is known about the age. To keep it from being negative
// otherwise, k is loaded before the clock is read.
func (l *Lock) age(k *known) time.Duration {
	return l.config.Now().Sub(k.asked)
}

// accepts looks at every digest, whichever fits, so that the time that it takes says
// nothing about the secrets.
func (k *known) accepts(digest *[sha256.Size]byte) bool {
	match := 0
	for i := range k.digests {
		match |= subtle.ConstantTimeCompare(k.digests[i][:], digest[:])
	}
	return match == 1
}
