package clientip_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed3e88d9a2/spendcap/clientip"
	"github.com/seed3e88d9a2/spendcap/originlock"
)

// Behind Cloudflare, with a transform rule that sets X-Origin-Verify: whoever finds the
// origin's own address does not know the secret, so its CF-Connecting-IP is not read.
func ExampleCloudflare() {
	source, err := originlock.NewStatic("0123456789abcdef0123456789abcdef") // from a secret store
	if err != nil {
		log.Fatal(err)
	}
	lock, err := originlock.New(context.Background(), originlock.Config{Source: source})
	if err != nil {
		log.Fatal(err)
	}
	finder, err := clientip.New(clientip.Config{Source: clientip.Cloudflare(), Lock: lock})
	if err != nil {
		log.Fatal(err)
	}

	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r.Header.Set("CF-Connecting-IP", "198.51.100.10")
	r.Header.Set("X-Origin-Verify", "0123456789abcdef0123456789abcdef")
	fmt.Println(finder.Request(r))

	r.Header.Del("X-Origin-Verify")
	_, err = finder.Request(r)
	fmt.Println(errors.Is(err, clientip.ErrSideDoor), err)
	// Output:
	// 198.51.100.10 <nil>
	// true the request did not come through the proxy
}

// Behind two proxies of one's own: the last entry is the inner proxy's word for the
// outer one, the last but one is the outer one's word for the client, and what the
// client wrote itself is further left.
func ExampleForwardedFor() {
	finder, err := clientip.New(clientip.Config{Source: clientip.ForwardedFor(2)})
	if err != nil {
		log.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r.Header.Set("X-Forwarded-For", "203.0.113.99, 198.51.100.10, 10.0.0.5")
	fmt.Println(finder.Request(r))

	r.Header.Set("X-Forwarded-For", "198.51.100.10")
	_, err = finder.Request(r)
	fmt.Println(err)
	// Output:
	// 198.51.100.10 <nil>
	// the client's address is unknown: no usable viewer address: X-Forwarded-For has no address at that place
}

// A server on the internet without a proxy. Clients without an address, such as those of
// a Unix socket, share one budget.
func ExampleConnection() {
	finder, err := clientip.New(clientip.Config{Source: clientip.Connection(), Unknown: clientip.Share})
	if err != nil {
		log.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r.RemoteAddr = "[2001:db8:1:2::3]:50235"
	fmt.Println(finder.Request(r))
	r.RemoteAddr = "@"
	fmt.Println(finder.Request(r))
	// Output:
	// 2001:db8:1:2::/64 <nil>
	// unknown <nil>
}

// A Lambda behind CloudFront that has checked the origin lock before.
func ExampleFinder_Event() {
	finder, err := clientip.New(clientip.Config{Source: clientip.CloudFront(), NoSideDoor: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(finder.Event(context.Background(), events.APIGatewayV2HTTPRequest{
		Headers: map[string]string{"cloudfront-viewer-address": "2001:db8:1:2::3:50235"},
	}))
	// Output: 2001:db8:1:2::/64 <nil>
}
