package caps

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Cap is the limit of one budget on one UTC day: on calls, on micro-dollars, or
// on both. Make one with [Calls] or [USD]:
//
//	caps.Calls(10).AndUSD(50_000) // ten calls and five cents
//
// A limit of 0 refuses everything, and so does the zero Cap: what nobody set never
// opens. Caps are comparable with ==.
type Cap struct {
	calls, usd limit
}

type limit struct {
	n   int64
	set bool
}

// Calls returns a cap on the number of calls.
func Calls(n int64) Cap { return Cap{calls: limit{n, true}} }

// USD returns a cap in micro-dollars.
func USD(n MicroUSD) Cap { return Cap{usd: limit{int64(n), true}} }

// AndCalls returns the cap with a limit on the number of calls as well.
func (c Cap) AndCalls(n int64) Cap { c.calls = limit{n, true}; return c }

// AndUSD returns the cap with a limit in micro-dollars as well.
func (c Cap) AndUSD(n MicroUSD) Cap { c.usd = limit{int64(n), true}; return c }

// Calls returns the limit on calls, and whether there is one.
func (c Cap) Calls() (n int64, limited bool) { return c.calls.n, c.calls.set }

// USD returns the limit in micro-dollars, and whether there is one.
func (c Cap) USD() (n MicroUSD, limited bool) { return MicroUSD(c.usd.n), c.usd.set }

// Check tells whether the cap is usable: it limits something, and no limit is
// negative or above 2^53-1.
func (c Cap) Check() error {
	if c == (Cap{}) {
		return errors.New("the cap limits nothing: set calls, usd or both")
	}
	if c.calls.n < 0 || c.calls.n > int64(MaxMicroUSD) {
		return fmt.Errorf("calls: %d is not between 0 and %d", c.calls.n, int64(MaxMicroUSD))
	}
	if err := MicroUSD(c.usd.n).Check(); err != nil {
		return fmt.Errorf("usd: %w", err)
	}
	return nil
}

// Holds tells whether one call that costs amount fits into the cap when nothing
// has been used. A store asks this before it writes: a condition on a missing item
// would admit one call at cap 0, and a first call dearer than the whole cap.
func (c Cap) Holds(amount MicroUSD) bool { return c.Admits(Usage{}, amount) }

// Admits tells whether one more call that costs amount fits on top of u: calls
// taken + 1 and settled + held + amount are within the limits. It is the one rule
// of admission; a store that cannot run it atomically writes it as a condition.
func (c Cap) Admits(u Usage, amount MicroUSD) bool {
	if c == (Cap{}) || c.Check() != nil || amount.Check() != nil {
		return false
	}
	if c.calls.set && u.Calls >= c.calls.n {
		return false
	}
	if c.usd.set && (c.usd.n == 0 || u.USD > MicroUSD(c.usd.n)-amount) {
		return false
	}
	return true
}

// Remaining returns what is left of the cap, never negative. A part that the cap
// does not limit is 0.
func (c Cap) Remaining(u Usage) Amount {
	return Amount{
		Calls: max(0, c.calls.n-u.Calls),
		USD:   max(0, MicroUSD(c.usd.n)-u.USD),
	}
}

// String is the cap for people, such as "10 calls, $0.050000".
func (c Cap) String() string {
	calls := fmt.Sprintf("%d calls", c.calls.n)
	if c.calls.n == 1 {
		calls = "1 call"
	}
	switch {
	case c == (Cap{}):
		return "nothing"
	case !c.usd.set:
		return calls
	case !c.calls.set:
		return "$" + MicroUSD(c.usd.n).String()
	}
	return calls + ", $" + MicroUSD(c.usd.n).String()
}

// capJSON is a cap in JSON. A part that the cap does not limit is absent.
type capJSON struct {
	Calls *int64    `json:"calls,omitempty"`
	USD   *MicroUSD `json:"usd,omitempty"`
}

// MarshalJSON writes the cap as {"calls":10,"usd":"0.050000"}, without the part that it
// does not limit.
func (c Cap) MarshalJSON() ([]byte, error) {
	var j capJSON
	if n, limited := c.Calls(); limited {
		j.Calls = &n
	}
	if n, limited := c.USD(); limited {
		j.USD = &n
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON writes. Other fields are errors: a misspelt one
// would be a limit that does not hold.
func (c *Cap) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	var j capJSON
	if err := d.Decode(&j); err != nil {
		return err
	}
	*c = Cap{}
	if j.Calls != nil {
		*c = c.AndCalls(*j.Calls)
	}
	if j.USD != nil {
		*c = c.AndUSD(*j.USD)
	}
	return nil
}
