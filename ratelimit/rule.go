package ratelimit

import (
	"errors"
	"fmt"
	"time"
)

// Bounds of a [Rule] and of a key.
const (
	// MaxRequests bounds Requests. A store keeps the time of every admission in a window,
	// in DynamoDB about 13 bytes, and rewrites the item with each: 1,000 are 13 KB.
	// DynamoDB writes 1 MB a second of one item at most
	// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html),
	// which is 76 admissions a second of one key at 1,000, and 250 at 300. For a burst
	// that is faster the store is down, see Policy.
	MaxRequests = 1000

	MinWindow = time.Second
	MaxWindow = 24 * time.Hour // what is limited for longer is a budget, see package caps

	DefaultBudget = time.Second
	MaxBudget     = 30 * time.Second

	MaxKeyBytes = 128
)

// Policy is what becomes of a request when the store cannot be asked.
type Policy int

const (
	Refuse Policy = iota + 1 // what is worse unguarded than away, such as a login form
	Allow                    // what is worse away than unguarded, such as a search; a caller may bring it about, see MaxRequests
)

// String is the policy's name.
func (p Policy) String() string {
	switch p {
	case Refuse:
		return "refuse"
	case Allow:
		return "allow"
	}
	return fmt.Sprintf("Policy(%d)", int(p))
}

// Rule says how many requests a key may make in any window of a length.
type Rule struct {
	// Name is a part of the windows' keys in the store: rules of one name share their
	// counts. Lower-case letters, digits and hyphens, a letter first, 40 at most.
	Name string

	Requests int           // admitted in a window; 1 to [MaxRequests]
	Window   time.Duration // whole milliseconds, [MinWindow] to [MaxWindow]

	// WhenDown has to be said: there is no default that is right for everybody.
	WhenDown Policy

	// Budget is the most time that the store gets, from the beginning of the check; what
	// it has not answered by then is down. 0 means [DefaultBudget].
	Budget time.Duration

	// First is for a rule that is cheap to break, checked together with others: it is
	// asked before the keys that follow it, and these only if it admits. Keys whose rules
	// are not First are asked at the same time.
	First bool
}

// Check tells whether the rule is usable.
func (r Rule) Check() error {
	if err := r.check(); err != nil {
		return fmt.Errorf("rate limit %q: %w", r.Name, err)
	}
	return nil
}

func (r Rule) check() error {
	switch {
	case !isName(r.Name):
		return errors.New("a name has lower-case letters, digits and hyphens, a letter first, 40 at most")
	case r.Requests < 1 || r.Requests > MaxRequests:
		return fmt.Errorf("%d requests are not between 1 and %d: take a shorter window for more", r.Requests, MaxRequests)
	case r.Window < MinWindow || r.Window > MaxWindow:
		return fmt.Errorf("a window of %v is not between %v and %v", r.Window, MinWindow, MaxWindow)
	case r.Window%time.Millisecond != 0:
		return fmt.Errorf("a window of %v is not a whole number of milliseconds", r.Window)
	case r.WhenDown != Allow && r.WhenDown != Refuse:
		return errors.New("WhenDown has to be Allow or Refuse: say what happens when the store cannot be asked")
	case r.Budget < 0 || r.Budget > MaxBudget:
		return fmt.Errorf("a budget of %v is not between 0 and %v", r.Budget, MaxBudget)
	}
	return nil
}

func isName(s string) bool {
	for i, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z':
		case (c >= '0' && c <= '9' || c == '-') && i > 0:
		default:
			return false
		}
	}
	return s != "" && len(s) <= 40
}

func (r Rule) budget() time.Duration {
	if r.Budget == 0 {
		return DefaultBudget
	}
	return r.Budget
}

// For is an attempt of the one that key stands for, under the rule.
func (r Rule) For(key string) Attempt { return Attempt{r, key} }

// Attempt is what [Limiter.Check] is asked about.
type Attempt struct {
	Rule Rule
	Key  string // 1 to [MaxKeyBytes] visible ASCII characters; see the package's notes on keys
}

// check does not tell the key: it may be what should have been hashed.
func (a Attempt) check() error {
	if err := a.Rule.Check(); err != nil {
		return err
	}
	if !isKey(a.Key) {
		return fmt.Errorf("rate limit %q: a key is 1 to %d visible ASCII characters: hash what it stands for", a.Rule.Name, MaxKeyBytes)
	}
	return nil
}

func isKey(s string) bool {
	for _, c := range []byte(s) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return s != "" && len(s) <= MaxKeyBytes
}

// window is the key of the attempt's window in the store. A rule's name has no '#'.
func (a Attempt) window() string { return a.Rule.Name + "#" + a.Key }
