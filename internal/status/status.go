package status

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/control"
)

// Config is what is to be read.
type Config struct {
	Client API
	Table  string
	Store  caps.Store // of the same table
	Day    caps.Day

	// Global and Callers are the budgets of the file. Global is the zero Budget if there is
	// no ceiling. One of Callers has the zero Cap if not all its callers have the same.
	// Budgets that are only in the table are told as well.
	Global  caps.Budget
	Callers []caps.Budget

	// Control is what an operator has set; its limits take the place of the file's caps.
	Control control.State

	// Least is what a call costs at least where a cap limits dollars, in micro-dollars. A
	// caller is capped if such a call does not fit any more.
	Least caps.MicroUSD

	MaxReads       int         // 0: DefaultMaxReads
	UnitsPerSecond int         // read units; 0: DefaultUnitsPerSecond
	Progress       func(Reads) // called after each read; may be nil

	Now func() time.Time // nil means time.Now
}

// Report is what a day has used.
type Report struct {
	Day     caps.Day
	AsOf    time.Time
	Table   string
	Control control.State // what is set at AsOf
	Global  *Everybody    // nil without a ceiling
	Callers []Callers
	Reads   Reads
	Broken  int // items of the day that cannot be read
}

// Everybody is what all callers together have used of the ceiling.
type Everybody struct {
	Budget string
	Cap    caps.Cap
	Usage  caps.Usage
}

// Read reads the report. The ceiling is read consistently and by itself; the callers in
// the course of the reads, so that a caller may have gone on meanwhile. If the bound on
// reads ends it, the report says that it is not complete: the callers' numbers are then
// too low, the ceiling's are right.
func Read(ctx context.Context, c Config) (*Report, error) {
	if c.MaxReads == 0 {
		c.MaxReads = DefaultMaxReads
	}
	if c.UnitsPerSecond == 0 {
		c.UnitsPerSecond = DefaultUnitsPerSecond
	}
	if c.MaxReads < 1 || c.UnitsPerSecond < 1 {
		return nil, fmt.Errorf("at most %d reads, %d units a second: both have to be 1 or more", c.MaxReads, c.UnitsPerSecond)
	}
	if c.Progress == nil {
		c.Progress = func(Reads) {}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c.read(ctx, scan{c.Client, c.Table, c.MaxReads, c.UnitsPerSecond, c.Progress, pause, c.Now})
}

func (c Config) read(ctx context.Context, s scan) (*Report, error) {
	now := c.Now().UTC()
	r := &Report{Day: c.Day, AsOf: now, Table: c.Table, Control: c.Control.At(now)}
	if c.Global != (caps.Budget{}) {
		u, err := c.Store.Usage(ctx, caps.ItemKey{Budget: c.Global.Name, Day: c.Day, Caller: caps.Everybody})
		if err != nil {
			return nil, fmt.Errorf("reading the ceiling: %w", err)
		}
		r.Global = &Everybody{c.Global.Name, r.Control.Cap(c.Global, c.Day), u}
	}
	limits := make(map[string]caps.Cap)
	budgets := make(map[string]*Callers)
	for _, b := range c.Callers {
		budgets[b.Name] = &Callers{Budget: b.Name}
		if b.Cap == (caps.Cap{}) {
			continue
		}
		limit := r.Control.Cap(b, c.Day)
		limits[b.Name], budgets[b.Name].Cap = limit, &limit
	}
	var err error
	r.Reads, r.Broken, err = s.each(ctx, c.Day, func(key caps.ItemKey, u caps.Usage) {
		if key.Caller == caps.Everybody {
			return
		}
		b, ok := budgets[key.Budget]
		if !ok {
			b = &Callers{Budget: key.Budget}
			budgets[key.Budget] = b
		}
		limit, limited := limits[key.Budget]
		b.add(key.Caller, u, limited && !limit.Admits(u, c.Least))
	})
	if err != nil {
		return nil, err
	}
	for _, b := range c.Callers {
		r.Callers = append(r.Callers, *budgets[b.Name])
		delete(budgets, b.Name)
	}
	known := len(r.Callers)
	for _, b := range budgets {
		r.Callers = append(r.Callers, *b)
	}
	slices.SortFunc(r.Callers[known:], func(a, b Callers) int { return strings.Compare(a.Budget, b.Budget) })
	return r, nil
}
