// Package ratelimit holds back bursts: so many requests of one caller in any window of a
// few seconds or minutes, counted across all processes. It has no notion of money; what
// a day may cost is for the package caps.
//
// A [Rule] is a variable, so that a misspelt one does not compile:
//
//	var login = ratelimit.Rule{Name: "login", Requests: 5, Window: 15 * time.Minute, WhenDown: ratelimit.Refuse}
//
//	d, err := limiter.Check(ctx, login.ForCaller(keyer, caller, now)...)
//	if err != nil {
//		// The check could not be made: the rule or the key is wrong, or ctx is done.
//	}
//	if !d.Allowed {
//		// d.RetryAfter says when to come back; d.Err is the same as an error, with
//		// a sentence for a person and an answer over HTTP.
//	}
//
// # The window
//
// It slides and is exact: in no half-open interval as long as the window are there more
// admissions than the rule's number. There is no fixed grid, whose edge would let twice
// the number pass. A refused attempt is not recorded, so that hammering does not push the
// window forward: the wait that a refusal names is exact.
//
// Two layers count. The [Store] behind is the limit. In front of it a [Limiter] remembers
// which windows are full, and until when; that memory can only refuse, so that a caller
// who hammers costs no store calls. It is bounded, and what it forgets costs one store
// call.
//
// # Clocks
//
// Admissions are dated by the process that checks. If the clocks of two processes differ
// by d, a window may come out as much as d too short or too long where both admit; machines
// that keep time by NTP differ by milliseconds. Whoever needs a margin adds it to the
// window.
//
// A clock that is set back admits nothing more: what lies ahead of it counts as inside
// the window, until the clock has passed it by the window's length. What lies more than
// [MaxAhead] ahead was dated by a broken clock and does not count, so that a bad clock
// cannot lock a key for good.
//
// # Keys
//
// A key is stored as it is. It has to be a hash, keyed with a secret, of whom it stands
// for: [Rule.ForCaller] makes it. One of your own must not change within a window, so one
// that changes with the day will not do: it would start a full window at midnight.
package ratelimit
