// Package originlock shuts the side door of an origin: it lets through only what the
// edge has sent, which it knows by a secret in the header [Header].
//
// A CloudFront distribution adds the header to every request that it sends to its
// origin and overwrites one that a viewer sent
// (https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/add-origin-custom-headers.html).
// The origin's own URL is public, and behind it every header of a request is the
// sender's choice, the viewer address included. So nothing else about a request
// can be believed before the lock has been asked.
//
// A [Lock] is made from a [Source] of secrets: a [Static] one, the one in the package
// originlock/secretsmanager, or your own. Ask it with [Lock.CheckEvent] in a Lambda
// behind an HTTP API, put [Lock.Middleware] around a net/http handler, or give
// [Lock.Check] the header's value.
//
// # What is accepted
//
// The whole value of the header, byte for byte, if it is one of the secrets that the
// source gives. Nothing is trimmed or decoded: a secret that is written as JSON is
// that JSON text. A value that is a part of a secret, a secret with something
// added, and a header that was sent twice are wrong. SHA-256 digests are compared, all of
// them, in constant time. Secrets that [CheckSecret] refuses are never accepted,
// wherever they come from, and a lock without a usable secret cannot be made. The
// zero Lock and the nil Lock refuse everything.
//
// # How new secrets get in
//
// The source is asked again when its last answer is older than [Config.TTL], and
// when a value is not among the secrets, for it may be a new one. The second
// happens at most once per [Config.RefreshEvery], however many wrong values arrive.
// All requests that need an answer of the source at the same time wait for one and
// the same. Values shorter than any secret are refused without asking.
//
// While the source fails, the secrets of its last good answer stay accepted up to
// [Config.MaxAge]; after that everything is refused, with an error. A refresh does not
// end with the request that began it, and no request waits longer than
// [Config.Timeout].
package originlock
