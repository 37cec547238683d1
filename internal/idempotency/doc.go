// Package idempotency makes one paid call out of all the requests that a caller
// sends with the same Idempotency-Key.
//
// A [Keeper] lets one request claim the key; the others see what became of it: the
// kept answer, or that the first is still running. What is stored opens only to
// somebody who sends the key again: the item is named by a keyed hash of caller and
// key, the body is there as a keyed hash, and the answer is sealed under a key that
// is derived from the server's secret and the Idempotency-Key. So whoever reads the
// table reads nothing, and with the server's secret in addition still has to guess
// the Idempotency-Key, which is as hard as the client has drawn it.
//
// A claim is a lease. If its process dies, the key is free again when the lease is
// over, and a retry after that pays again, as it does if the answer could not be
// kept because the store was broken. Both are the price of never being locked out;
// the caps bound the bill all the same.
//
// The rules follow draft-ietf-httpapi-idempotency-key-header-07, with one addition:
// keys need not be quoted, because the official SDKs send them raw.
package idempotency
