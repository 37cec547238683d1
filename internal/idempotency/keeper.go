package idempotency

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/deadlines"
)

// Limits of the settings.
const (
	MaxKeepFor     = time.Hour
	MaxAnswerBytes = 384 << 10 // an item of DynamoDB has at most 400 KB, with names and key

	defaultAnswerBytes = 64 << 10
)

// deleteMargin is how long after its time an item stays at least, so that a clock
// that is ahead does not delete what another process still counts on.
const deleteMargin = 5 * time.Minute

// Config is what a [Keeper] is made from.
type Config struct {
	Store Store

	// Keyer has the server's HMAC secret. Keys for this purpose are derived from the
	// version that serves the day, and for a while after a new one also from the one
	// before it, so that a retry over the change finds its answer.
	Keyer *caps.Keyer

	// Lease is how long a claim stands whose process says nothing more. It has to be
	// longer than a request can take, or one key could be two paid calls. Clocks that
	// differ by more than the excess spoil it as well.
	Lease time.Duration

	// KeepFor is how long after it was claimed a key is remembered, more than Lease and
	// at most [MaxKeepFor], which is what 0 means.
	KeepFor time.Duration

	// MaxAnswerBytes is the largest sealed answer that is kept, at most the constant of
	// that name; 0 means 64 KiB. It is above the answer's own size by less than 300 bytes.
	MaxAnswerBytes int

	Now func() time.Time // nil means time.Now
}

// Keeper remembers what was answered to an Idempotency-Key. It is safe for
// concurrent use, and any number of processes may share one store.
type Keeper struct {
	store   Store
	keyer   *caps.Keyer
	lease   time.Duration
	keepFor time.Duration
	largest int
	recent  recent
	now     func() time.Time
}

// New returns a keeper, or an error that names the setting that is wrong.
func New(c Config) (*Keeper, error) {
	if c.KeepFor == 0 {
		c.KeepFor = MaxKeepFor
	}
	if c.MaxAnswerBytes == 0 {
		c.MaxAnswerBytes = defaultAnswerBytes
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	switch {
	case c.Store == nil:
		return nil, errors.New("idempotency.Config.Store is missing")
	case c.Keyer == nil:
		return nil, errors.New("idempotency.Config.Keyer is missing")
	case c.Lease <= deadlines.Lambda:
		return nil, fmt.Errorf("idempotency.Config.Lease is %v: make it longer than the Lambda timeout of %v, or a slow call is paid twice", c.Lease, deadlines.Lambda)
	case c.KeepFor <= c.Lease || c.KeepFor > MaxKeepFor:
		return nil, fmt.Errorf("idempotency.Config.KeepFor is %v: want more than the lease of %v and at most %v", c.KeepFor, c.Lease, MaxKeepFor)
	case c.MaxAnswerBytes < SmallAnswer || c.MaxAnswerBytes > MaxAnswerBytes:
		return nil, fmt.Errorf("idempotency.Config.MaxAnswerBytes is %d: want %d to %d", c.MaxAnswerBytes, SmallAnswer, MaxAnswerBytes)
	}
	return &Keeper{store: c.Store, keyer: c.Keyer, lease: c.Lease, keepFor: c.KeepFor, largest: c.MaxAnswerBytes, now: c.Now}, nil
}

// State is what a request's Idempotency-Key says about it.
type State int

// The states. Only Fresh may be followed by a paid call.
const (
	BadKey   State = iota // the header is empty or malformed: 400 in the draft
	Fresh                 // the first with this key: call, then Finish or Abandon the claim
	Replay                // it was answered: Answer is the first one's
	Running               // the first is still running, or its process died in the lease: 409
	Mismatch              // the key was used for another route or body: 422
	NotKept               // it was answered, but the answer was too large to be kept: 409, a retry is in vain
)

// String names the state for logs.
func (s State) String() string {
	switch s {
	case BadKey:
		return "bad key"
	case Fresh:
		return "fresh"
	case Replay:
		return "replay"
	case Running:
		return "running"
	case Mismatch:
		return "mismatch"
	case NotKept:
		return "not kept"
	default:
		return fmt.Sprintf("State(%d)", int(s))
	}
}

// Begun is the answer to [Keeper.Begin].
type Begun struct {
	State  State
	Answer Answer // for Replay
	Claim  *Claim // for Fresh
}

// Begin claims the key for one request of the caller. key is the value of the header
// Idempotency-Key: 1 to 255 characters of visible ASCII, raw or quoted as in RFC 9651.
// route and body are what is asked for; a repeat has to have the same ones, byte by
// byte. Another caller's keys are other keys.
//
// An error means that the store could not be asked, or that what it holds was
// changed by somebody else: nothing may be called. The claim may have landed, and
// then stands until its lease ends.
func (k *Keeper) Begin(ctx context.Context, caller caps.Caller, key, route string, body []byte) (Begun, error) {
	if caller.IsZero() {
		return Begun{}, caps.ErrNoViewerAddress
	}
	key, ok := parseKey(key)
	if !ok {
		return Begun{State: BadKey}, nil
	}
	now := wholeMilliseconds(k.now())
	entries, err := k.entries(now, caller, key, route, body)
	if err != nil {
		return Begun{}, fmt.Errorf("deriving the keys of an idempotency key: %w", err)
	}
	c := &Claim{keeper: k, until: now.Add(k.keepFor)}
	rand.Read(c.id[:]) // never fails
	for _, e := range entries {
		record, err := k.claim(ctx, e, c, now)
		if err != nil {
			return Begun{}, fmt.Errorf("claiming an idempotency key: %w", err)
		}
		if record == nil {
			c.entries = append(c.entries, e)
			continue
		}
		if len(c.entries) > 0 {
			if err := c.Abandon(ctx); err != nil {
				return Begun{}, err
			}
		}
		return e.repeat(*record)
	}
	return Begun{State: Fresh, Claim: c}, nil
}

// entries returns the items to claim. It is one, but two for as long after a change of
// the secret's version as a claim from before it may stand: whoever claims under the old
// version alone, and whoever claims under the new one alone, then meets whoever claims
// under both. The old one is first for all.
func (k *Keeper) entries(now time.Time, caller caps.Caller, key, route string, body []byte) ([]*entry, error) {
	before, today := caps.DayOf(now.Add(-k.keepFor-deleteMargin)), caps.DayOf(now)
	days := []caps.Day{today}
	if k.keyer.Version(before) != k.keyer.Version(today) {
		days = []caps.Day{before, today}
	}
	entries := make([]*entry, len(days))
	for i, day := range days {
		root, err := newRoot(k.keyer, day)
		if err != nil {
			return nil, err
		}
		if entries[i], err = root.entry(caller, key, route, body); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// claim claims one item, or returns the record that is in the way.
func (k *Keeper) claim(ctx context.Context, e *entry, c *Claim, now time.Time) (*Record, error) {
	if record, found := k.recent.get(e.item, now); found {
		return &record, nil
	}
	record, claimed, err := k.store.Claim(ctx, NewClaim{
		Item:        e.item,
		ID:          c.id,
		Fingerprint: e.fingerprint,
		Now:         now,
		FreeAt:      now.Add(k.lease),
		ExpiresAt:   c.until.Add(deleteMargin).Truncate(time.Second),
	})
	switch {
	case err != nil:
		return nil, err
	case claimed:
		return nil, nil
	case !record.FreeAt.After(now):
		return nil, errors.New("the store refused one that is free")
	}
	k.recent.add(e.item, record, now)
	return &record, nil
}

// repeat says what a record means for a request that did not get the claim.
func (e *entry) repeat(r Record) (Begun, error) {
	if !hmac.Equal(r.Fingerprint[:], e.fingerprint[:]) {
		return Begun{State: Mismatch}, nil
	}
	if len(r.Answer) == 0 {
		return Begun{State: Running}, nil
	}
	a, err := e.open(r.Answer)
	switch {
	case err != nil:
		return Begun{}, err
	case a.Status == 0:
		return Begun{State: NotKept}, nil
	default:
		return Begun{State: Replay, Answer: a}, nil
	}
}

// wholeMilliseconds is t as every store can write it.
func wholeMilliseconds(t time.Time) time.Time { return time.UnixMilli(t.UnixMilli()).UTC() }
