package ratelimit

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// Config is what a [Limiter] is made from.
type Config struct {
	Store  Store
	Logger *slog.Logger // nil means slog.Default()

	// Observe is told what came of every key, for metrics. It must not block. nil is
	// allowed.
	Observe func(context.Context, Event)

	Now func() time.Time // nil means time.Now
}

// Limiter checks requests. It is safe for concurrent use, and any number of processes may
// share one store. A process needs one for all its rules.
type Limiter struct {
	store   Store
	observe func(context.Context, Event)
	now     func() time.Time
	front   *front
	lines   lines
	report  reporter
}

// New returns a limiter, or an error that names what is missing.
func New(c Config) (*Limiter, error) {
	if c.Store == nil {
		return nil, errors.New("ratelimit.Config.Store is missing")
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Observe == nil {
		c.Observe = func(context.Context, Event) {}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Limiter{store: c.Store, observe: c.Observe, now: c.Now, front: newFront(), report: reporter{log: c.Logger}}, nil
}

// giveBackTimeout bounds what a check may take beyond its budgets, where one key refuses
// what another has admitted already.
const giveBackTimeout = 250 * time.Millisecond

// Check asks whether a request may go on, and records it if it may. Several keys are asked
// in the order in which they stand, see [Rule.First]; the request is allowed if all admit
// it, and counts against all. If one refuses, it counts against none: what others have
// admitted is given back. If that fails (there is a log line), it stays counted there
// until it leaves the window.
//
// Where the store cannot be asked within the budget of a rule, the rule's WhenDown
// decides. Only a request that cannot be checked at all is an error: there is no key, or
// a rule or a key is not usable, or ctx is done. It is not allowed then.
func (l *Limiter) Check(ctx context.Context, attempts ...Attempt) (Decision, error) {
	if len(attempts) == 0 {
		return Decision{}, errors.New("a rate limit was checked without a key")
	}
	for _, a := range attempts {
		if err := a.check(); err != nil {
			return Decision{}, err
		}
	}
	if err := ctx.Err(); err != nil {
		return Decision{}, err
	}
	now := l.now()
	if d, ok := l.recall(ctx, attempts, now); ok {
		return d, nil
	}

	answers := make([]answer, len(attempts))
	for i, a := range attempts {
		var cancel context.CancelFunc
		answers[i].attempt = a
		answers[i].ctx, cancel = context.WithTimeout(ctx, a.Rule.budget())
		defer cancel()
	}
	asked := 0
	for asked < len(answers) && !refusedOne(answers[:asked]) {
		next := asked + 1
		for next < len(answers) && !answers[asked].attempt.Rule.First && !answers[next].attempt.Rule.First {
			next++
		}
		l.askAll(answers[asked:next], now)
		asked = next
	}
	answers = answers[:asked]
	if err := ctx.Err(); err != nil {
		l.giveBack(ctx, answers, now)
		return Decision{}, err
	}
	for i := range answers {
		if answers[i].down() {
			l.report.down(ctx, answers[i].attempt.Rule, answers[i].err, now)
		}
	}
	d := decide(answers, now)
	if !d.Allowed {
		l.giveBack(ctx, answers, now)
	}
	for i := range answers {
		l.observe(ctx, answers[i].event())
	}
	return d, nil
}

// answer is what came of one key.
type answer struct {
	attempt Attempt
	ctx     context.Context
	out     Outcome
	result  Result
	err     error
}

func (a *answer) down() bool { return a.result == AllowedDown || a.result == RefusedDown }

func (a *answer) event() Event {
	return Event{Rule: a.attempt.Rule.Name, Result: a.result, Err: a.err}
}

func (a *answer) refused() bool {
	return a.result == RefusedByStore || a.result == RefusedByMemory || a.result == RefusedDown
}

func refusedOne(answers []answer) bool {
	for i := range answers {
		if answers[i].refused() {
			return true
		}
	}
	return false
}

// recall refuses without the store if a window is known to be full.
func (l *Limiter) recall(ctx context.Context, attempts []Attempt, now time.Time) (Decision, bool) {
	var known []answer
	for _, a := range attempts {
		if freeAt, ok := l.front.refuses(a, now); ok {
			known = append(known, answer{attempt: a, out: Outcome{FreeAt: freeAt}, result: RefusedByMemory})
		}
	}
	if known == nil {
		return Decision{}, false
	}
	for i := range known {
		l.observe(ctx, known[i].event())
	}
	return decide(known, now), true
}

// askAll asks about several keys at the same time.
func (l *Limiter) askAll(answers []answer, now time.Time) {
	if len(answers) == 1 {
		l.ask(&answers[0], now)
		return
	}
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() { l.ask(&answers[i], now) })
	}
	wg.Wait()
}

var errQueue = errors.New("too many checks of one key are waiting: the store is slow")

func (l *Limiter) ask(a *answer, now time.Time) {
	key := a.attempt.window()
	leave, ok := l.lines.enter(a.ctx, key, inFlight(a.attempt.Rule.Requests))
	if !ok {
		a.fail(errors.Join(errQueue, a.ctx.Err()))
		return
	}
	defer leave()
	if freeAt, ok := l.front.refuses(a.attempt, now); ok {
		a.out, a.result = Outcome{FreeAt: freeAt}, RefusedByMemory
		return
	}
	rule := a.attempt.Rule
	out, err := l.store.Take(a.ctx, Take{Key: key, Limit: rule.Requests, Window: rule.Window, Now: now})
	if err != nil {
		a.fail(err)
		return
	}
	l.front.remember(a.attempt, out, now)
	a.out, a.result = out, Admitted
	if out.Admission == "" {
		a.result = RefusedByStore
	}
}

func (a *answer) fail(err error) {
	a.err, a.result = err, RefusedDown
	if a.attempt.Rule.WhenDown == Allow {
		a.result = AllowedDown
	}
}

// giveBack undoes what was admitted. It does not depend on ctx being alive.
func (l *Limiter) giveBack(ctx context.Context, answers []answer, now time.Time) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTimeout)
	defer cancel()
	var wg sync.WaitGroup
	for i := range answers {
		a := &answers[i]
		if a.result != Admitted {
			continue
		}
		wg.Go(func() {
			if _, err := l.store.GiveBack(ctx, a.attempt.window(), a.out.Admission); err != nil {
				l.report.stays(ctx, a.attempt.Rule, err, now)
				return
			}
			l.front.forget(a.attempt)
			a.result = GivenBack
		})
	}
	wg.Wait()
}

// decide makes one decision of the answers. A refusal with a wait says more than one for
// want of the store.
func decide(answers []answer, now time.Time) Decision {
	d := Decision{Allowed: !refusedOne(answers), Down: true}
	for i := range answers {
		a := &answers[i]
		if !d.Allowed && !a.refused() {
			continue
		}
		if a.down() {
			if d.Down && d.Rule == (Rule{}) {
				d.Rule = a.attempt.Rule
			}
			continue
		}
		wait := max(time.Millisecond, a.out.FreeAt.Sub(now))
		if d.Down || d.Allowed && a.out.Remaining < d.Remaining || !d.Allowed && wait > d.RetryAfter {
			d = Decision{Allowed: d.Allowed, Rule: a.attempt.Rule, Remaining: a.out.Remaining, ResetAfter: wait}
			if !d.Allowed {
				d.RetryAfter = wait
			}
		}
	}
	return d
}
