package caps

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Budget is a named cap. The name is a part of the items' keys and the purpose of
// the caller keys, so two guards that share a store share the counts of budgets
// with the same name.
type Budget struct {
	Name string // letters, digits and hyphens
	Cap  Cap
}

// Check tells whether the budget is usable.
func (b Budget) Check() error {
	if b.Name == "" {
		return errors.New("the budget has no name")
	}
	for _, r := range b.Name {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-') {
			return fmt.Errorf("the budget name %q may have letters, digits and hyphens only", b.Name)
		}
	}
	if err := b.Cap.Check(); err != nil {
		return fmt.Errorf("budget %s: %w", b.Name, err)
	}
	return nil
}

// Config is what a [Guard] is made from.
type Config struct {
	Store  Store
	Keyer  *Keyer
	Caller Budget // what one caller may use on one UTC day

	// Global is the ceiling for all callers together. Many addresses are many callers,
	// so it is what bounds the bill. The zero Budget is no ceiling.
	Global Budget

	// InForce tells the cap that is in force on a day in place of the budget's own. It is
	// asked in each Reserve, Charge and Usage, for the day that the call counts on, so
	// that a cap for one day ends with the day. It must be quick, and is called
	// concurrently. A cap that is not usable (see Cap.Check) is an error of the call. nil
	// means the budgets' own caps.
	InForce func(Budget, Day) Cap

	Now func() time.Time // nil means time.Now
}

// settleTimeout bounds what a Guard does after the fact, when the caller's context
// may be gone already. The store has a shorter deadline for each of its calls.
const settleTimeout = 5 * time.Second

// Guard takes calls out of a caller's budget and out of the global ceiling. It is
// safe for concurrent use, and any number of processes may share one store.
type Guard struct {
	store          Store
	keyer          *Keyer
	caller, global Budget // global is the zero Budget without a ceiling
	inForce        func(Budget, Day) Cap
	full           fullMemory
	queue          queue
	now            func() time.Time
}

// limits are the caps in force on one day. That of a ceiling that does not exist is the
// zero Cap.
type limits struct{ caller, global Cap }

// NewGuard returns a guard, or an error that names the setting that is wrong.
func NewGuard(c Config) (*Guard, error) {
	if c.Store == nil {
		return nil, errors.New("caps.Config.Store is missing")
	}
	if c.Keyer == nil {
		return nil, errors.New("caps.Config.Keyer is missing")
	}
	if err := c.Caller.Check(); err != nil {
		return nil, fmt.Errorf("caps.Config.Caller: %w", err)
	}
	if c.Global != (Budget{}) {
		if err := c.Global.Check(); err != nil {
			return nil, fmt.Errorf("caps.Config.Global: %w", err)
		}
		if c.Global.Name == c.Caller.Name {
			return nil, errors.New("caps.Config: Caller and Global need different names")
		}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.InForce == nil {
		c.InForce = func(b Budget, _ Day) Cap { return b.Cap }
	}
	return &Guard{store: c.Store, keyer: c.Keyer, caller: c.Caller, global: c.Global, inForce: c.InForce, now: c.Now}, nil
}

func (g *Guard) hasCeiling() bool { return g.global != Budget{} }

func (g *Guard) limits(day Day) (l limits, err error) {
	if l.caller, err = g.capOf(g.caller, day); err == nil && g.hasCeiling() {
		l.global, err = g.capOf(g.global, day)
	}
	return l, err
}

func (g *Guard) capOf(b Budget, day Day) (Cap, error) {
	c := g.inForce(b, day)
	if err := c.Check(); err != nil {
		return Cap{}, fmt.Errorf("the cap in force for budget %s: %w", b.Name, err)
	}
	return c, nil
}

// Reserve takes one call and worst, the most that it can cost in micro-dollars, out
// of the caller's budget and then out of the global ceiling. If either refuses,
// neither is changed and the reservation is not allowed.
//
// An error means that the store could not be asked, and the call must not be made.
// What a write with an unknown outcome may have taken stays counted. The error wraps
// [ErrAmount] if worst is negative or too large, or is 0 where a cap limits dollars:
// such a call has no price.
//
// The day is the one at the time of Reserve, also for what follows.
func (g *Guard) Reserve(ctx context.Context, caller Caller, worst MicroUSD) (*Reservation, error) {
	return g.reserve(ctx, caller, worst, false)
}

// Charge is Reserve for a call whose cost is known beforehand, for example 0 where
// only calls are capped. Nothing is held, and only Release may follow.
func (g *Guard) Charge(ctx context.Context, caller Caller, cost MicroUSD) (*Reservation, error) {
	return g.reserve(ctx, caller, cost, true)
}

func (g *Guard) reserve(ctx context.Context, caller Caller, amount MicroUSD, final bool) (*Reservation, error) {
	if caller.IsZero() {
		return nil, ErrNoViewerAddress
	}
	now := g.now()
	day := DayOf(now)
	limits, err := g.limits(day)
	if err != nil {
		return nil, err
	}
	if err := checkAmount(amount, limits, final); err != nil {
		return nil, err
	}
	id, err := newID()
	if err != nil {
		return nil, err
	}
	r := &Reservation{guard: g}
	r.caller = Charge{Key: g.callerItem(day, caller), Amount: amount, ID: id, Final: final}
	r.global = Charge{Key: g.globalItem(day), Amount: amount, Final: final}

	refuse := func(scope Scope, limit Cap, u Usage) *Reservation {
		r.state = done
		r.Decision = decide(false, scope, limit, u, day, now)
		return r
	}
	// What is remembered is asked first, for both, so that a full ceiling does not cost
	// a write and its undoing for every caller.
	if u, full := g.full.refuses(r.caller, limits.caller, now); full {
		return refuse(ScopeCaller, limits.caller, u), nil
	}
	if g.hasCeiling() {
		if u, full := g.full.refuses(r.global, limits.global, now); full {
			return refuse(ScopeGlobal, limits.global, u), nil
		}
	}

	own, err := g.queue.reserve(ctx, g.store, r.caller, limits.caller)
	if err != nil {
		return nil, fmt.Errorf("reserving the caller's budget: %w", err)
	}
	if !own.Allowed {
		g.full.remember(r.caller, limits.caller, own.Usage, now)
		return refuse(ScopeCaller, limits.caller, own.Usage), nil
	}
	if g.hasCeiling() {
		all, err := g.queue.reserve(ctx, g.store, r.global, limits.global)
		if err != nil || !all.Allowed {
			// Nothing was spent and nothing will be, so the caller gets it back. If that
			// fails, the hold stays, which is the safe side, and the store is broken.
			after, cancel := g.afterwards(ctx)
			defer cancel()
			_, restoring := g.store.Release(after, r.caller)
			g.full.forget(r.caller.Key)
			if err := errors.Join(err, restoring); err != nil {
				return nil, fmt.Errorf("reserving the global ceiling: %w", err)
			}
			g.full.remember(r.global, limits.global, all.Usage, now)
			return refuse(ScopeGlobal, limits.global, all.Usage), nil
		}
	}
	r.Decision = decide(true, ScopeCaller, limits.caller, own.Usage, day, now)
	return r, nil
}

func checkAmount(amount MicroUSD, l limits, final bool) error {
	if err := amount.Check(); err != nil {
		return err
	}
	_, caller := l.caller.USD()
	_, global := l.global.USD()
	if amount == 0 && !final && (caller || global) {
		return fmt.Errorf("%w: a call whose worst case is 0 has no price, and the cap is in dollars", ErrAmount)
	}
	return nil
}

// Usage tells what the caller has used and what is left, and takes nothing. The
// decision is allowed if the cap is not used up.
func (g *Guard) Usage(ctx context.Context, caller Caller) (Decision, error) {
	if caller.IsZero() {
		return Decision{}, ErrNoViewerAddress
	}
	now := g.now()
	day := DayOf(now)
	limit, err := g.capOf(g.caller, day)
	if err != nil {
		return Decision{}, err
	}
	u, err := g.store.Usage(ctx, g.callerItem(day, caller))
	if err != nil {
		return Decision{}, fmt.Errorf("reading the caller's budget: %w", err)
	}
	var least MicroUSD
	if _, limited := limit.USD(); limited {
		least = 1
	}
	return decide(limit.Admits(u, least), ScopeCaller, limit, u, day, now), nil
}

func (g *Guard) callerItem(day Day, caller Caller) ItemKey {
	return ItemKey{Budget: g.caller.Name, Day: day, Caller: g.keyer.Key(g.caller.Name, day, caller)}
}

func (g *Guard) globalItem(day Day) ItemKey {
	return ItemKey{Budget: g.global.Name, Day: day, Caller: Everybody}
}

// afterwards returns a context for what has to be done although the caller's own may
// be gone: the viewer went away, or the deadline of the paid call has passed.
func (g *Guard) afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
}

func newID() (string, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("drawing an ID: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}

// Reservation is the answer to [Guard.Reserve]: the decision, and, if it is allowed,
// the hold to settle. A reservation that is neither settled nor released stays
// counted at its worst case until the day ends, which is right whenever it is
// unknown what the call has cost.
type Reservation struct {
	Decision

	guard          *Guard
	caller, global Charge

	mu    sync.Mutex
	state state
	how   string // "settle" or "release", from the first attempt on: it may have landed
}

type state int

const (
	held       state = iota
	callerDone       // the caller's hold is gone, the global one is not
	done
)

// ErrNotHeld is returned by Settle and Release when there is nothing to settle: the
// reservation was refused, is final, or was settled or released the other way.
var ErrNotHeld = errors.New("nothing is held")

// Worst is what the reservation holds, in micro-dollars.
func (r *Reservation) Worst() MicroUSD { return r.caller.Amount }

// Settle replaces the hold by what the call really cost, in both budgets, on the day
// of the reserve. It returns by how much the cost exceeds the hold, 0 if it does not;
// such a cost is booked in full all the same.
//
// Settling again does nothing. Settle does not depend on ctx being alive. After an
// error the hold, or a part of it, stays counted; Settle may be tried again.
func (r *Reservation) Settle(ctx context.Context, actual MicroUSD) (overrun MicroUSD, err error) {
	if err := actual.Check(); err != nil {
		return 0, err // unknown is worst case: the hold stays
	}
	if r.caller.Final {
		return 0, ErrNotHeld
	}
	err = r.finish(ctx, "settle", func(ctx context.Context, c Charge) (bool, error) {
		return r.guard.store.Settle(ctx, c, actual)
	})
	return max(0, actual-r.caller.Amount), err
}

// Release gives the reservation back whole, the call and the amount, in both
// budgets. Only do so when it is certain that nothing was spent. It behaves like
// Settle otherwise.
func (r *Reservation) Release(ctx context.Context) error {
	err := r.finish(ctx, "release", r.guard.store.Release)
	if !errors.Is(err, ErrNotHeld) {
		r.guard.full.forget(r.caller.Key)
		r.guard.full.forget(r.global.Key)
	}
	return err
}

// finish applies undo to the caller's hold, which can be told apart and so is undone
// exactly once, and then to the shared budget.
func (r *Reservation) finish(ctx context.Context, how string, undo func(context.Context, Charge) (bool, error)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	retry := r.how == how
	if !r.Allowed || r.how != "" && !retry {
		return ErrNotHeld
	}
	r.how = how
	ctx, cancel := r.guard.afterwards(ctx)
	defer cancel()
	if r.state == held {
		applied, err := undo(ctx, r.caller)
		if err != nil {
			return fmt.Errorf("the caller's budget: %w", err)
		}
		if !applied && !retry {
			// Somebody else removed the hold, an operator for example. Whether they
			// corrected the ceiling as well is unknown, so it stays counted there.
			r.state = done
			return nil
		}
		r.state = callerDone
	}
	if r.state == callerDone {
		if r.guard.hasCeiling() {
			if _, err := undo(ctx, r.global); err != nil {
				if errors.Is(err, ErrUnknownOutcome) {
					r.state = done // sending it again might correct the ceiling twice
				}
				return fmt.Errorf("the global ceiling: %w", err)
			}
		}
		r.state = done
	}
	return nil
}
