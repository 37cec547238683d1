package caps

import "time"

// Scope says which budget a decision is about.
type Scope string

const (
	ScopeCaller  Scope = "caller"  // the budget of one caller
	ScopeAddress Scope = "address" // the budget of the address that a caller comes from
	ScopeGlobal  Scope = "global"  // the global ceiling, everybody together
)

// Amount is a number of calls and of micro-dollars. Each part means something only
// where the cap limits it, except in [Decision.Used].
type Amount struct {
	Calls int64
	USD   MicroUSD
}

// Decision is what the caps say to a call.
type Decision struct {
	Allowed    bool
	Scope      Scope         // the budget that refused; ScopeCaller if allowed
	Cap        Cap           // of that budget
	Used       Amount        // calls taken, and micro-dollars settled
	Held       MicroUSD      // micro-dollars held by calls that are not settled
	Remaining  Amount        // what is left, holds taken off; never negative
	ResetAt    time.Time     // 00:00 UTC of the next day, when the budget starts afresh
	RetryAfter time.Duration // until ResetAt, whole seconds rounded up, at least 1 s; 0 if allowed
}

func decide(allowed bool, scope Scope, limit Cap, u Usage, day Day, now time.Time) Decision {
	d := Decision{
		Allowed:   allowed,
		Scope:     scope,
		Cap:       limit,
		Used:      Amount{Calls: u.Calls, USD: u.Settled()},
		Held:      u.Held,
		Remaining: limit.Remaining(u),
		ResetAt:   day.End(),
	}
	if !allowed {
		d.RetryAfter = max(time.Second, (d.ResetAt.Sub(now) + time.Second - 1).Truncate(time.Second))
	}
	return d
}
