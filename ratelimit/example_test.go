package ratelimit_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	capsmemory "github.com/seed3e88d9a2/spendcap/caps/memory"
	"github.com/seed3e88d9a2/spendcap/identity"
	"github.com/seed3e88d9a2/spendcap/ratelimit"
	"github.com/seed3e88d9a2/spendcap/ratelimit/memory"
	"github.com/seed3e88d9a2/spendcap/ratelimit/nethttp"
)

func noon() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

// The secret comes from a secret store, drawn with `openssl rand -hex 32`.
func newKeyer() *caps.Keyer {
	keyer, err := caps.NewKeyer([]byte(strings.Repeat("0123456789abcdef", 4)))
	if err != nil {
		log.Fatal(err)
	}
	return keyer
}

// The store is ratelimit/dynamo's where there is more than one process.
func newLimiter() *ratelimit.Limiter {
	limiter, err := ratelimit.New(ratelimit.Config{Store: memory.New(), Now: noon})
	if err != nil {
		log.Fatal(err)
	}
	return limiter
}

// Guard a login form: by the e-mail address that was typed, so that nobody guesses one
// account's password from many addresses, and by the viewer's address, more loosely, since
// an office sits behind one. An attempt counts against both, and one that either refuses
// against none. If the store is down, the form is closed.
func Example_loginForm() {
	var (
		byEmail   = ratelimit.Rule{Name: "login-email", Requests: 3, Window: 15 * time.Minute, WhenDown: ratelimit.Refuse}
		byAddress = ratelimit.Rule{Name: "login-address", Requests: 50, Window: 15 * time.Minute, WhenDown: ratelimit.Refuse}
	)
	limiter, keyer := newLimiter(), newKeyer()
	login := nethttp.Limit(limiter, func(r *http.Request) ([]ratelimit.Attempt, error) {
		email, err := identity.Email(r.PostFormValue("email"))
		if err != nil {
			return nil, err
		}
		viewer, err := caps.ViewerCaller(r.Header.Get("CloudFront-Viewer-Address"))
		if err != nil {
			return nil, err
		}
		return append(byEmail.ForCaller(keyer, email, noon()), byAddress.ForCaller(keyer, viewer, noon())...), nil
	}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "wrong password") // or a session
	}))

	for _, email := range []string{"ann@example.com", " ANN@example.com", "ann@example.com", "ann@example.com", "bob@example.com"} {
		r := httptest.NewRequest("POST", "/login", strings.NewReader(url.Values{"email": {email}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("CloudFront-Viewer-Address", "198.51.100.10:46532")
		w := httptest.NewRecorder()
		login.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Body)
	}
	// Output:
	// 200 wrong password
	// 200 wrong password
	// 200 wrong password
	// 429 {"error":"rate_limited","message":"Too many requests. Try again in 15 minutes.","retryAfter":900}
	// 200 wrong password
}

// Guard an expensive endpoint, which had better be there unguarded than not at all.
func Example_expensiveEndpoint() {
	search := ratelimit.Rule{
		Name: "search", Requests: 2, Window: time.Minute,
		WhenDown: ratelimit.Allow, Budget: 200 * time.Millisecond,
	}
	limiter, keyer := newLimiter(), newKeyer()
	handler := func(w http.ResponseWriter, r *http.Request) {
		viewer, err := caps.ViewerCaller(r.Header.Get("CloudFront-Viewer-Address"))
		if err != nil {
			http.Error(w, "not through CloudFront", http.StatusUnauthorized)
			return
		}
		d, err := limiter.Check(r.Context(), search.ForCaller(keyer, viewer, noon())...)
		if err != nil {
			nethttp.Refuse(w, err)
			return
		}
		if err := d.Err(); err != nil {
			nethttp.Refuse(w, err)
			return
		}
		fmt.Fprint(w, "found")
	}

	for range 3 {
		r := httptest.NewRequest("GET", "/search?q=x", nil)
		r.Header.Set("CloudFront-Viewer-Address", "198.51.100.10:46532")
		w := httptest.NewRecorder()
		handler(w, r)
		fmt.Println(w.Code, w.Header().Get("Retry-After"), w.Body)
	}
	// Output:
	// 200  found
	// 200  found
	// 429 60 {"error":"rate_limited","message":"Too many requests. Try again in 1 minute.","retryAfter":60}
}

// Guard a paid call for signed-in and anonymous callers. The burst has limits of its own
// for each kind; what the call may cost is for the cap, which refuses whenever its store
// cannot be asked, whatever the rules say.
func Example_paidCall() {
	var (
		anonymous = ratelimit.Rule{Name: "chat", Requests: 2, Window: time.Minute, WhenDown: ratelimit.Allow}
		signedIn  = ratelimit.Rule{Name: "chat-user", Requests: 20, Window: time.Minute, WhenDown: ratelimit.Allow}
	)
	limiter, keyer := newLimiter(), newKeyer()
	newGuard := func(name string, limit caps.Cap) *caps.Guard {
		guard, err := caps.NewGuard(caps.Config{
			Store: capsmemory.New(noon), Keyer: keyer, Now: noon,
			Caller: caps.Budget{Name: name, Cap: limit},
			Global: caps.Budget{Name: "global", Cap: caps.USD(5_000_000)},
		})
		if err != nil {
			log.Fatal(err)
		}
		return guard
	}
	forAddress, forUser := newGuard("caller", caps.USD(50_000)), newGuard("user", caps.USD(1_000_000))

	// sub is of a verified token, and empty for an anonymous caller.
	chat := func(ctx context.Context, sub, viewerAddress string) string {
		caller, err := caps.ViewerCaller(viewerAddress)
		rule, guard := anonymous, forAddress
		if sub != "" {
			caller, err = identity.Subject("https://issuer.example", sub)
			rule, guard = signedIn, forUser
		}
		if err != nil {
			return "Who are you?"
		}
		d, err := limiter.Check(ctx, rule.ForCaller(keyer, caller, noon())...)
		if err != nil {
			return "This cannot be checked right now."
		}
		if !d.Allowed {
			return (&ratelimit.Error{Decision: d}).Sentence()
		}
		res, err := guard.Reserve(ctx, caller, 20_000) // at most two cents
		if err != nil {
			return "The budget cannot be checked right now."
		}
		if !res.Allowed {
			return "That is all for today."
		}
		if _, err := res.Settle(ctx, 450); err != nil { // what the call did cost
			log.Print(err)
		}
		return "An expensive answer."
	}
	for _, sub := range []string{"", "", "", "ann", "ann", "ann"} {
		fmt.Println(chat(context.Background(), sub, "198.51.100.10:46532"))
	}
	// Output:
	// An expensive answer.
	// An expensive answer.
	// Too many requests. Try again in 1 minute.
	// An expensive answer.
	// An expensive answer.
	// An expensive answer.
}
