// Package ratelimittest checks a [ratelimit.Store] of your own against the contract. A
// store that passes [Run] keeps a [ratelimit.Limiter]'s promise: never more than the
// limit in any window.
//
//	func TestStore(t *testing.T) {
//		ratelimittest.Run(t, func(tb testing.TB) func() ratelimit.Store {
//			backend := newBackend(tb)
//			return func() ratelimit.Store { return newStore(backend) }
//		})
//	}
//
// The suite asserts exact numbers, also for what is admitted in parallel and through
// several stores on one backend; runs random takes against an exact model of a few lines;
// and sets the clock back.
package ratelimittest
