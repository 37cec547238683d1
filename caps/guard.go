package caps

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
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

	// Address is what all callers at one viewer's address together may use, where callers
	// are not addresses themselves, such as signed-in users. It is taken from in
	// [Guard.ReserveFrom]. It should be looser than Caller: an office sits behind one
	// address, and the address's item has a hold for each of its open calls. The zero
	// Budget is no such cap.
	Address Budget

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

// Guard takes calls out of a caller's budget, out of that of the caller's address if it
// has one, and out of the global ceiling. It is safe for concurrent use, and any number
// of processes may share one store.
//
// Callers of different tiers have a guard each, with the same store and budget names and
// another cap: somebody who changes the tier in the middle of a day keeps what is used.
type Guard struct {
	store                   Store
	keyer                   *Keyer
	caller, address, global Budget // address and global are the zero Budget if there is none
	inForce                 func(Budget, Day) Cap
	full                    fullMemory
	queue                   queue
	now                     func() time.Time
}

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
	for _, optional := range []struct {
		field  string
		budget Budget
	}{{"Address", c.Address}, {"Global", c.Global}} {
		if optional.budget == (Budget{}) {
			continue
		}
		if err := optional.budget.Check(); err != nil {
			return nil, fmt.Errorf("caps.Config.%s: %w", optional.field, err)
		}
		if optional.budget.Name == c.Caller.Name {
			return nil, fmt.Errorf("caps.Config: Caller and %s need different names", optional.field)
		}
	}
	if c.Address != (Budget{}) && c.Address.Name == c.Global.Name {
		return nil, errors.New("caps.Config: Address and Global need different names")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.InForce == nil {
		c.InForce = func(b Budget, _ Day) Cap { return b.Cap }
	}
	return &Guard{store: c.Store, keyer: c.Keyer, caller: c.Caller, address: c.Address, global: c.Global, inForce: c.InForce, now: c.Now}, nil
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
// such a call has no price. A guard with an Address wants [Guard.ReserveFrom].
//
// The day is the one at the time of Reserve, also for what follows.
func (g *Guard) Reserve(ctx context.Context, caller Caller, worst MicroUSD) (*Reservation, error) {
	return g.reserve(ctx, caller, Caller{}, worst, false)
}

// ReserveFrom is Reserve for a caller that is not an address itself: the call is taken
// out of the caller's budget, then out of that of the address it came from, then out
// of the ceiling. If one of them refuses, none is changed. A guard without an Address
// does not look at address.
func (g *Guard) ReserveFrom(ctx context.Context, caller, address Caller, worst MicroUSD) (*Reservation, error) {
	return g.reserve(ctx, caller, address, worst, false)
}

// Charge is Reserve for a call whose cost is known beforehand, for example 0 where
// only calls are capped. Nothing is held, and only Release may follow, within seconds: a
// store need not know a charge for longer than a retry of it may arrive, and a later
// Release then gives nothing back.
func (g *Guard) Charge(ctx context.Context, caller Caller, cost MicroUSD) (*Reservation, error) {
	return g.reserve(ctx, caller, Caller{}, cost, true)
}

func (g *Guard) reserve(ctx context.Context, caller, address Caller, amount MicroUSD, final bool) (*Reservation, error) {
	now := g.now()
	day := DayOf(now)
	parts, err := g.parts(caller, address, day)
	if err != nil {
		return nil, err
	}
	if err := checkAmount(amount, parts, final); err != nil {
		return nil, err
	}
	id, err := newID()
	if err != nil {
		return nil, err
	}
	for i := range parts {
		c := &parts[i].charge
		c.Amount, c.Final = amount, final
		if !parts[i].shared() {
			c.ID = id
		}
	}
	r := &Reservation{guard: g, parts: parts}
	refuse := func(p part, u Usage) (*Reservation, error) {
		r.next = len(parts)
		r.Decision = decide(false, p.scope, p.limit, u, day, now)
		return r, nil
	}
	// What is remembered is asked first, for all, so that a full ceiling does not cost a
	// write and its undoing for every caller.
	for _, p := range parts {
		if u, full := g.full.refuses(p.charge, p.limit, now); full {
			return refuse(p, u)
		}
	}
	var own Outcome
	for i, p := range parts {
		out, err := g.queue.reserve(ctx, g.store, p.charge, p.limit)
		if err != nil || !out.Allowed {
			if err := errors.Join(err, g.restore(ctx, parts[:i])); err != nil {
				return nil, fmt.Errorf("reserving the budget of scope %s: %w", p.scope, err)
			}
			g.full.remember(p.charge, p.limit, out.Usage, now)
			return refuse(p, out.Usage)
		}
		if i == 0 {
			own = out
		}
	}
	r.Decision = decide(true, ScopeCaller, parts[0].limit, own.Usage, day, now)
	return r, nil
}

// restore gives back what was taken before a later budget refused. Nothing was spent and
// nothing will be. If it fails, the hold stays, which is the safe side, and the store is
// broken.
func (g *Guard) restore(ctx context.Context, taken []part) error {
	if len(taken) == 0 {
		return nil
	}
	ctx, cancel := g.afterwards(ctx)
	defer cancel()
	var errs []error
	for _, p := range slices.Backward(taken) {
		_, err := g.store.Release(ctx, p.charge)
		g.full.forget(p.charge.Key)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// part is one budget that a call is taken out of.
type part struct {
	scope  Scope
	limit  Cap // in force
	charge Charge
}

// shared tells whether the budget is everybody's, whose holds cannot be told apart.
func (p part) shared() bool { return p.charge.Key.Caller == Everybody }

// parts are the budgets that a call is taken out of, in this order: the caller's, that
// of the address, and the ceiling last, since it cannot tell its holds apart.
func (g *Guard) parts(caller, address Caller, day Day) ([]part, error) {
	parts := make([]part, 0, 3)
	add := func(scope Scope, b Budget, key string) error {
		limit, err := g.capOf(b, day)
		parts = append(parts, part{scope, limit, Charge{Key: ItemKey{Budget: b.Name, Day: day, Caller: key}}})
		return err
	}
	if caller.IsZero() || g.address != (Budget{}) && address.IsZero() {
		return nil, ErrNoViewerAddress
	}
	err := add(ScopeCaller, g.caller, g.keyer.Key(g.caller.Name, day, caller))
	if err == nil && g.address != (Budget{}) {
		err = add(ScopeAddress, g.address, g.keyer.Key(g.address.Name, day, address))
	}
	if err == nil && g.global != (Budget{}) {
		err = add(ScopeGlobal, g.global, Everybody)
	}
	return parts, err
}

func checkAmount(amount MicroUSD, parts []part, final bool) error {
	if err := amount.Check(); err != nil {
		return err
	}
	inDollars := slices.ContainsFunc(parts, func(p part) bool { _, limited := p.limit.USD(); return limited })
	if amount == 0 && !final && inDollars {
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
	u, err := g.store.Usage(ctx, ItemKey{Budget: g.caller.Name, Day: day, Caller: g.keyer.Key(g.caller.Name, day, caller)})
	if err != nil {
		return Decision{}, fmt.Errorf("reading the caller's budget: %w", err)
	}
	var least MicroUSD
	if _, limited := limit.USD(); limited {
		least = 1
	}
	return decide(limit.Admits(u, least), ScopeCaller, limit, u, day, now), nil
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

	guard *Guard
	parts []part // in the order in which they are settled

	mu    sync.Mutex
	how   string // "settle" or "release", from the first attempt on: it may have landed
	next  int    // parts before it are done
	tried int    // parts before it have been tried at least once
	gone  bool   // somebody else removed a hold
}

// ErrNotHeld is returned by Settle and Release when there is nothing to settle: the
// reservation was refused, is final, or was settled or released the other way.
var ErrNotHeld = errors.New("nothing is held")

// Worst is what the reservation holds, in micro-dollars.
func (r *Reservation) Worst() MicroUSD { return r.parts[0].charge.Amount }

// Settle replaces the hold by what the call really cost, in all budgets, on the day of
// the reserve. It returns by how much the cost exceeds the hold, 0 if it does not;
// such a cost is booked in full all the same.
//
// Settling again does nothing. Settle does not depend on ctx being alive. After an
// error the hold, or a part of it, stays counted; Settle may be tried again.
func (r *Reservation) Settle(ctx context.Context, actual MicroUSD) (overrun MicroUSD, err error) {
	if err := actual.Check(); err != nil {
		return 0, err // unknown is worst case: the hold stays
	}
	if r.parts[0].charge.Final {
		return 0, ErrNotHeld
	}
	err = r.finish(ctx, "settle", func(ctx context.Context, c Charge) (bool, error) {
		return r.guard.store.Settle(ctx, c, actual)
	})
	return max(0, actual-r.Worst()), err
}

// Release gives the reservation back whole, the call and the amount, in all
// budgets. Only do so when it is certain that nothing was spent. It behaves like
// Settle otherwise.
func (r *Reservation) Release(ctx context.Context) error {
	err := r.finish(ctx, "release", r.guard.store.Release)
	if !errors.Is(err, ErrNotHeld) {
		for _, p := range r.parts {
			r.guard.full.forget(p.charge.Key)
		}
	}
	return err
}

// finish applies undo to the holds, which can be told apart and so are undone exactly
// once, and then to the shared budget.
func (r *Reservation) finish(ctx context.Context, how string, undo func(context.Context, Charge) (bool, error)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.Allowed || r.how != "" && r.how != how {
		return ErrNotHeld
	}
	r.how = how
	ctx, cancel := r.guard.afterwards(ctx)
	defer cancel()
	for r.next < len(r.parts) {
		p, again := r.parts[r.next], r.next < r.tried
		if p.shared() && r.gone {
			// Whether somebody who removed a hold corrected the ceiling as well is unknown,
			// so the call stays counted there.
			r.next++
			continue
		}
		r.tried = max(r.tried, r.next+1)
		applied, err := undo(ctx, p.charge)
		if err != nil {
			if p.shared() && errors.Is(err, ErrUnknownOutcome) {
				r.next++ // sending it again might correct the ceiling twice
			}
			return fmt.Errorf("the budget of scope %s: %w", p.scope, err)
		}
		if !applied && !again && !p.shared() {
			r.gone = true // by an operator for example
		}
		r.next++
	}
	return nil
}
