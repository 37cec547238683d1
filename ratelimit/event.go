package ratelimit

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// Result is what came of one key of a check.
type Result int

const (
	Admitted        Result = iota + 1 // by the store
	RefusedByStore                    // the window is full
	RefusedByMemory                   // the window is known to be full; no store call
	GivenBack                         // admitted, and taken back because another key was refused
	AllowedDown                       // the store could not be asked, and the rule allows
	RefusedDown                       // the store could not be asked, and the rule refuses
)

var resultNames = [...]string{Admitted: "Admitted", RefusedByStore: "RefusedByStore", RefusedByMemory: "RefusedByMemory", GivenBack: "GivenBack", AllowedDown: "AllowedDown", RefusedDown: "RefusedDown"}

// String is the result's name.
func (r Result) String() string {
	if r < Admitted || r > RefusedDown {
		return "Result(?)"
	}
	return resultNames[r]
}

// Event is for metrics. It says nothing about the one who was counted.
type Event struct {
	Rule   string
	Result Result
	Err    error // of the store, with AllowedDown and RefusedDown; it wraps [ErrMisconfigured] where that is the reason
}

// logEvery bounds the log lines about one rule and one kind of trouble.
const logEvery = time.Second

// reporter writes log lines about a store that cannot be asked, with how many there would
// have been.
type reporter struct {
	log *slog.Logger

	mu   sync.Mutex
	last map[trouble]*reported
}

type trouble struct {
	rule, text string
}

type reported struct {
	at      time.Time
	skipped int
}

// An outage passes, so it is a warning. What only the operator can cure is an error.
func (r *reporter) down(ctx context.Context, rule Rule, err error, now time.Time) {
	level, text := slog.LevelWarn, "the rate limit's store could not be asked"
	if errors.Is(err, ErrMisconfigured) {
		level, text = slog.LevelError, "the rate limit is misconfigured: its store cannot be asked until that is cured"
	}
	r.write(ctx, level, text, rule, err, now)
}

func (r *reporter) stays(ctx context.Context, rule Rule, err error, now time.Time) {
	r.write(ctx, slog.LevelWarn, "an admission could not be given back and stays counted until it leaves its window", rule, err, now)
}

func (r *reporter) write(ctx context.Context, level slog.Level, text string, rule Rule, err error, now time.Time) {
	r.mu.Lock()
	key := trouble{rule.Name, text}
	if r.last == nil {
		r.last = make(map[trouble]*reported)
	}
	last := r.last[key]
	if last == nil {
		last = new(reported)
		r.last[key] = last
	}
	if since := now.Sub(last.at); since >= 0 && since < logEvery {
		last.skipped++
		r.mu.Unlock()
		return
	}
	skipped := last.skipped
	*last = reported{at: now}
	r.mu.Unlock()
	r.log.Log(ctx, level, text, "rule", rule.Name, "whenDown", rule.WhenDown.String(), "error", err, "linesLeftOut", skipped)
}
