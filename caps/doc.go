// Package caps enforces daily caps on paid calls so that the bill cannot pass
// them: not under a burst, not from many processes at once, not when a reply of
// the store is lost, and not at midnight.
//
// A [Guard] reserves the worst case of a call in every [Budget] before the call
// is made, and settles the hold with what the call really cost afterwards:
//
//	res, err := guard.Reserve(ctx, caller, worst)
//	if err != nil {
//		// The store could not be asked: refuse, do not call.
//	}
//	if !res.Allowed {
//		// Over the cap: res.Scope, res.RetryAfter and res.ResetAt say more.
//	}
//	cost, err := paidCall()
//	if err == nil {
//		res.Settle(ctx, cost) // otherwise the hold stays: unknown is worst case
//	}
//
// Who is counted is a [Caller], made from the header that CloudFront writes
// ([ViewerCaller]) or from an identity such as a signed-in user ([Identity], and the
// package identity); what is stored of it is a keyed hash that changes with the day
// ([Keyer]). Counts live in a [Store]: caps/dynamo for real use, caps/memory
// inside one process, or your own, checked with the suite in caps/capstest.
//
// Callers who sign in are counted as users, with a guard for each tier, and may have
// a cap on the address beside it ([Guard.ReserveFrom]; see the example "signedIn").
//
// The package knows neither AWS nor HTTP and imports only the standard library.
package caps
