// Package clientip finds the caller where there is no CloudFront in front, or where one
// wants to choose: behind Cloudflare, behind proxies that write X-Forwarded-For, or on
// the connection itself.
//
//	finder, err := clientip.New(clientip.Config{Source: clientip.ForwardedFor(2)})
//	...
//	caller, err := finder.Request(r) // refuse if err != nil
//
// Every one of these headers can be sent by anybody who reaches the server without the
// proxy, so a source is as good as the statement that nobody can: see [Config.Lock] and
// [Config.NoSideDoor]. Whatever is not exactly what the source writes is no address:
// headers that are missing, empty, sent twice or joined by a comma, names, zones,
// addresses that no client can have. There is no second source to fall back to, because
// a client would choose between the two.
package clientip
