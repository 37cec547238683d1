package simulate

import (
	"container/heap"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/memory"
	"github.com/seed3e88d9a2/spendcap/internal/config"
	"github.com/seed3e88d9a2/spendcap/internal/deadlines"
	"github.com/seed3e88d9a2/spendcap/llm"
)

// step is the time between two points of a report.
const step = 10 * time.Minute

// Play plays the day against the caps and prices of the file. The error is about a file
// without paid calls, a request that cannot be, or ctx.
func Play(ctx context.Context, c *config.Config, t *Traffic) (*Report, error) {
	p, err := newPlayer(c, t.Day)
	if err != nil {
		return nil, err
	}
	for i := range t.Requests {
		if err := t.Requests[i].check(); err != nil {
			return nil, fmt.Errorf("request %d: %w", i, err)
		}
		if p.guards[t.Requests[i].Tier] == nil {
			return nil, p.noTier()
		}
	}
	requests := t.Requests
	if !slices.IsSortedFunc(requests, byArrival) {
		requests = slices.Clone(requests)
		slices.SortStableFunc(requests, byArrival)
	}
	for i := range requests {
		if err := p.request(ctx, &requests[i]); err != nil {
			return nil, err
		}
	}
	if err := p.settleUntil(ctx, day+day); err != nil {
		return nil, err
	}
	p.finish()
	return p.report, nil
}

// player is a day under way. It has one goroutine, so that the same traffic is the same
// day.
type player struct {
	config  *config.Config
	models  map[string]*llm.Model
	prompt  int // tokens of the operator's
	start   time.Time
	now     time.Duration // since start
	store   *memory.Store
	guards  map[string]*caps.Guard // by tier; "" is anonymous
	ceiling caps.ItemKey
	running running
	begun   int // calls
	callers []caller
	due     caps.MicroUSD // of all callers
	usage   caps.Usage    // of the ceiling
	peak    caps.MicroUSD // of settled and held together, since the last point
	report  *Report
}

// caller is what became of one caller's requests.
type caller struct {
	tried, served, byCap, byCeiling bool
	due                             [2]caps.MicroUSD // what its admitted calls come to when all of them have ended, without a tier and with one
}

func newPlayer(c *config.Config, d caps.Day) (*player, error) {
	if c.LLM == nil {
		return nil, errors.New("the file has no llm, so there are no paid calls to simulate")
	}
	ceiling, limited := c.Global.Cap.USD()
	if !limited {
		return nil, errors.New("caps.global.usd: missing: paid calls need a ceiling in dollars, which is what bounds the bill")
	}
	p := &player{
		config:  c,
		models:  make(map[string]*llm.Model),
		prompt:  tokens(len(c.LLM.SystemPrompt)),
		start:   d.Start(),
		ceiling: caps.ItemKey{Budget: c.Global.Name, Day: d, Caller: caps.Everybody},
		report:  &Report{Day: d.String(), Ceiling: Ceiling{USD: ceiling}, Hours: make([]Hour, 24)},
	}
	if calls, limited := c.Global.Cap.Calls(); limited {
		p.report.Ceiling.Calls = &calls
	}
	for i := range p.report.Hours {
		p.report.Hours[i].Start = p.start.Add(time.Duration(i) * time.Hour)
	}
	p.models[""] = &c.LLM.Models[0]
	for i := range c.LLM.Models {
		p.models[c.LLM.Models[i].Name] = &c.LLM.Models[i]
	}
	clock := func() time.Time { return p.start.Add(p.now) }
	p.store = memory.New(clock)
	// The counts end with the simulation, and nothing of them is shown.
	keyer, err := caps.NewKeyer([]byte(strings.Repeat("simulation ", 3)))
	if err != nil {
		return nil, err
	}
	p.guards = make(map[string]*caps.Guard)
	add := func(tier string, b caps.Budget) error {
		g, err := caps.NewGuard(caps.Config{Store: p.store, Keyer: keyer, Caller: b, Global: c.Global, Now: clock})
		p.guards[tier] = g
		return err
	}
	if err := add("", c.Caller); err != nil {
		return nil, err
	}
	if c.Auth != nil {
		for _, t := range c.Auth.Tiers {
			if err := add(t.Name, c.User(t)); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

// noTier does not quote the tier: it is what a file of requests has in its place.
func (p *player) noTier() error {
	var names []string
	if p.config.Auth != nil {
		for _, t := range p.config.Auth.Tiers {
			names = append(names, t.Name)
		}
	}
	if names == nil {
		return errors.New("a request has a tier, and the file has none: leave the tier out")
	}
	return fmt.Errorf("a request has a tier that the file does not have: write one of %s", strings.Join(names, ", "))
}

// request lets one request arrive, after what has ended by then has been settled.
func (p *player) request(ctx context.Context, r *Request) error {
	if err := p.settleUntil(ctx, r.At); err != nil {
		return err
	}
	p.moveTo(r.At)
	hour, refused := &p.report.Hours[r.At/time.Hour], &p.report.Refused
	hour.Attempted++
	p.report.Attempted++
	who := p.caller(r.Caller)
	who.tried = true

	m := p.models[r.Model]
	if m == nil {
		refused.UnknownModel++
		hour.OtherRefused++
		return nil
	}
	worst, err := p.config.LLM.TextCost(*m, r.inputBytes(), r.MaxTokens)
	if err != nil {
		refused.TooLarge++
		hour.OtherRefused++
		return nil
	}
	cost, err := m.Price.Cost(llm.Usage{
		Input:       int64(r.inputTokens() - r.CachedTokens + p.prompt),
		CachedInput: int64(r.CachedTokens),
		Output:      min(int64(r.OutputTokens), worst.OutputTokens),
	})
	if err == nil {
		p.report.WithoutCaps, err = p.report.WithoutCaps.Add(cost)
	}
	if err != nil {
		return fmt.Errorf("what the day would cost without caps cannot be counted: %w", err)
	}

	bucket, err := callerOf(r.Caller)
	if err != nil {
		return err
	}
	res, err := p.guards[r.Tier].Reserve(ctx, bucket, worst.USD)
	if err != nil {
		return err
	}
	if !res.Allowed {
		p.refuse(res.Decision, worst.USD, hour, who, who.due[signedIn(r)])
		return nil
	}
	who.served = true
	hour.Admitted++
	p.report.Admitted++
	due := cost
	if r.Latency > deadlines.Provider {
		due = worst.USD
		p.report.Unsettled++
		p.report.UnsettledHeld += due
	} else {
		p.begun++
		heap.Push(&p.running, call{p.now + r.Latency, p.begun, res, cost, hour})
	}
	who.due[signedIn(r)] += due
	p.due += due
	return p.look(ctx)
}

// signedIn is 1 if the caller has a tier, and so a budget other than an anonymous one's.
func signedIn(r *Request) int {
	if r.Tier != "" {
		return 1
	}
	return 0
}

// refuse counts a refusal. due is what the caller's budget comes to.
func (p *player) refuse(d caps.Decision, worst caps.MicroUSD, hour *Hour, who *caller, due caps.MicroUSD) {
	refused, now := &p.report.Refused, p.start.Add(p.now)
	_, limited := d.Cap.Calls()
	noCall := limited && d.Remaining.Calls == 0
	if d.Scope == caps.ScopeGlobal {
		due = p.due
	}
	if most, _ := d.Cap.USD(); !noCall && due+worst <= most {
		refused.CrowdedOut++
	}
	count := func(byCalls, byUSD *int) {
		if noCall {
			*byCalls++
		} else {
			*byUSD++
		}
	}
	if d.Scope == caps.ScopeCaller {
		count(&refused.CallerCalls, &refused.CallerUSD)
		hour.CallerRefused++
		who.byCap = true
		if p.report.FirstCallerRefusal.IsZero() {
			p.report.FirstCallerRefusal = now
		}
		return
	}
	count(&refused.CeilingCalls, &refused.CeilingUSD)
	hour.CeilingRefused++
	who.byCeiling = true
	if p.report.FirstCeilingRefusal.IsZero() {
		p.report.FirstCeilingRefusal = now
	}
}

// settleUntil settles what has ended by then, in the order in which it ended.
func (p *player) settleUntil(ctx context.Context, then time.Duration) error {
	for len(p.running) > 0 && p.running[0].end <= then {
		if err := ctx.Err(); err != nil {
			return err
		}
		c := heap.Pop(&p.running).(call)
		p.moveTo(c.end)
		if _, err := c.reservation.Settle(ctx, c.cost); err != nil {
			return err
		}
		p.report.Spent += c.cost
		c.hour.Spent += c.cost
		if err := p.look(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// look notes how full the ceiling is.
func (p *player) look(ctx context.Context) error {
	u, err := p.store.Usage(ctx, p.ceiling)
	if err != nil {
		return err
	}
	p.usage = u
	p.peak = max(p.peak, u.USD)
	p.report.Ceiling.PeakUSD = max(p.report.Ceiling.PeakUSD, u.USD)
	p.report.Ceiling.PeakHeld = max(p.report.Ceiling.PeakHeld, u.Held)
	return nil
}

// moveTo moves the clock, and notes the points that it passes.
func (p *player) moveTo(then time.Duration) {
	for next := step * time.Duration(len(p.report.Points)); next <= then && next < day; next += step {
		p.point(next)
	}
	p.now = then
}

func (p *player) point(at time.Duration) {
	p.report.Points = append(p.report.Points, Point{At: p.start.Add(at), Spent: p.usage.Settled(), Held: p.usage.Held, Peak: p.peak})
	p.peak = p.usage.USD
}

// finish adds up what is known only at the end.
func (p *player) finish() {
	for next := step * time.Duration(len(p.report.Points)); next <= day; next += step {
		p.point(next)
	}
	for _, c := range p.callers {
		count := func(n *int, is bool) {
			if is {
				*n++
			}
		}
		count(&p.report.Callers, c.tried)
		count(&p.report.CallersRefused.Caller, c.byCap)
		count(&p.report.CallersRefused.Ceiling, c.byCeiling)
		count(&p.report.CallersRefused.Everything, c.tried && !c.served)
	}
	if c := &p.report.Ceiling; c.USD > 0 {
		c.Peak = int(c.PeakUSD * 100 / c.USD)
	}
}

// caller returns what is known of a caller.
func (p *player) caller(number int) *caller {
	if more := number + 1 - len(p.callers); more > 0 {
		p.callers = append(p.callers, make([]caller, more)...)
	}
	return &p.callers[number]
}

// callerOf returns the bucket of a caller: one /64 each of the addresses for documentation
// (RFC 3849).
func callerOf(number int) (caps.Caller, error) {
	a := [16]byte{0: 0x20, 1: 0x01, 2: 0x0d, 3: 0xb8, 15: 1}
	binary.BigEndian.PutUint32(a[4:], uint32(number))
	return caps.Mask{}.Caller(netip.AddrFrom16(a))
}

// call is a call that is running.
type call struct {
	end         time.Duration
	number      int // in the order of arrival, for those that end at the same time
	reservation *caps.Reservation
	cost        caps.MicroUSD
	hour        *Hour // of its arrival
}

// running is a heap of calls; the first to end is the first.
type running []call

func (r running) Len() int { return len(r) }
func (r running) Less(i, j int) bool {
	return r[i].end < r[j].end || r[i].end == r[j].end && r[i].number < r[j].number
}
func (r running) Swap(i, j int) { r[i], r[j] = r[j], r[i] }
func (r *running) Push(c any)   { *r = append(*r, c.(call)) }
func (r *running) Pop() any {
	last := len(*r) - 1
	c := (*r)[last]
	(*r)[last] = call{}
	*r = (*r)[:last]
	return c
}
