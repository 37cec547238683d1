package caps_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/memory"
)

// secret stands for one that comes from a secret store, drawn with `openssl rand -hex 32`.
var secret = []byte(strings.Repeat("0123456789abcdef", 4))

func noon() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

func newGuard() *caps.Guard {
	keyer, err := caps.NewKeyer(secret)
	if err != nil {
		log.Fatal(err)
	}
	guard, err := caps.NewGuard(caps.Config{
		Store:  memory.New(noon),
		Keyer:  keyer,
		Caller: caps.Budget{Name: "caller", Cap: caps.Calls(10).AndUSD(50_000)}, // ten calls, five cents
		Global: caps.Budget{Name: "global", Cap: caps.USD(5_000_000)},           // five dollars for everybody
		Now:    noon,
	})
	if err != nil {
		log.Fatal(err)
	}
	return guard
}

// Guard a paid call of your own: reserve the most it can cost, call, settle what it
// did cost.
func Example() {
	guard := newGuard()
	ctx := context.Background()

	caller, err := caps.ViewerCaller("198.51.100.10:46532") // the header CloudFront-Viewer-Address
	if err != nil {
		log.Fatal(err)
	}
	res, err := guard.Reserve(ctx, caller, 20_000) // at most two cents
	if err != nil {
		log.Fatal(err) // the store could not be asked: do not call
	}
	if !res.Allowed {
		fmt.Println("refused until", res.ResetAt)
		return
	}
	cost := caps.MicroUSD(450) // what the paid call said it used
	if _, err := res.Settle(ctx, cost); err != nil {
		log.Print(err) // the hold stays counted, which is the safe side
	}

	after, err := guard.Usage(ctx, caller)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("used $%s in %d call, $%s left\n", after.Used.USD, after.Used.Calls, after.Remaining.USD)
	// Output: used $0.000450 in 1 call, $0.049550 left
}

// A net/http server of your own, with the cap in front of one handler.
func Example_netHTTP() {
	guard := newGuard()
	paid := func(w http.ResponseWriter, r *http.Request) {
		caller, err := caps.ViewerCaller(r.Header.Get("CloudFront-Viewer-Address"))
		if err != nil {
			http.Error(w, "not through CloudFront", http.StatusUnauthorized)
			return
		}
		res, err := guard.Reserve(r.Context(), caller, 30_000)
		if err != nil {
			http.Error(w, "try again later", http.StatusServiceUnavailable)
			return
		}
		if !res.Allowed {
			w.Header().Set("Retry-After", fmt.Sprint(int(res.RetryAfter.Seconds())))
			http.Error(w, "that is all for today", http.StatusTooManyRequests)
			return
		}
		fmt.Fprint(w, "an expensive answer") // its cost stays unknown here: the hold stays
	}

	for range 2 {
		r := httptest.NewRequest("POST", "/", nil)
		r.Header.Set("CloudFront-Viewer-Address", "2600:1700:6640:e4d0:29c0:9cf7:9107:5eca:50235")
		w := httptest.NewRecorder()
		paid(w, r)
		fmt.Println(w.Code, w.Header().Get("Retry-After"), strings.TrimSpace(w.Body.String()))
	}
	// Output:
	// 200  an expensive answer
	// 429 43200 that is all for today
}

// Only the number of calls is capped: nothing is held and nothing is settled.
func ExampleGuard_Charge() {
	keyer, err := caps.NewKeyer(secret)
	if err != nil {
		log.Fatal(err)
	}
	guard, err := caps.NewGuard(caps.Config{
		Store:  memory.New(noon),
		Keyer:  keyer,
		Caller: caps.Budget{Name: "demo", Cap: caps.Calls(2)},
		Now:    noon,
	})
	if err != nil {
		log.Fatal(err)
	}
	caller, err := caps.ViewerCaller("198.51.100.10:46532")
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		res, err := guard.Charge(context.Background(), caller, 0)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(res.Allowed, res.Remaining.Calls)
	}
	// Output:
	// true 1
	// true 0
	// false 0
}

func ExampleViewerCaller() {
	for _, header := range []string{
		"198.51.100.10:46532",
		"2600:1700:6640:e4d0:29c0:9cf7:9107:5eca:50235", // as CloudFront writes IPv6: no brackets
		"2001:db8::1:443",                               // the whole string is an address too; the port goes first
		"198.51.100.10",
	} {
		caller, err := caps.ViewerCaller(header)
		fmt.Println(caller, err)
	}
	// Output:
	// 198.51.100.10 <nil>
	// 2600:1700:6640:e4d0::/64 <nil>
	// 2001:db8::/64 <nil>
	// nobody no usable viewer address: want ip:port
}

func ExampleParseUSD() {
	fmt.Println(caps.ParseUSD("0.05"))
	fmt.Println(caps.ParseUSD("0.0000001"))
	// Output:
	// 0.050000 <nil>
	// 0.000000 bad amount: "0.0000001" is finer than a micro-dollar (six digits after the point)
}
