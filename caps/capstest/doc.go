// Package capstest checks a [caps.Store] of your own against the contract. A store
// that passes [Run] keeps a [caps.Guard]'s promises: the bill cannot pass the cap.
//
//	func TestStore(t *testing.T) {
//		capstest.Run(t, func(tb testing.TB, clock *capstest.Clock) func() caps.Store {
//			backend := newBackend(tb)
//			return func() caps.Store { return newStore(backend, clock.Now) }
//		})
//	}
//
// The suite asserts exact numbers, also for what is admitted in parallel; runs random
// operations against a model of a few lines; checks that concurrent histories are
// linearizable; and drives a guard on the store through the faults of [Faulty], which
// may be used by itself: it loses replies, delays, throttles and fails, at any call.
package capstest
