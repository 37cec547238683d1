package assemble_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/memory"
	"github.com/seed3e88d9a2/spendcap/identity"
	"github.com/seed3e88d9a2/spendcap/internal/assemble"
	"github.com/seed3e88d9a2/spendcap/internal/config"
	"github.com/seed3e88d9a2/spendcap/internal/control"
	controlmemory "github.com/seed3e88d9a2/spendcap/internal/control/memory"
	"github.com/seed3e88d9a2/spendcap/internal/edge"
	"github.com/seed3e88d9a2/spendcap/internal/httpapi"
	claimsmemory "github.com/seed3e88d9a2/spendcap/internal/idempotency/memory"
	"github.com/seed3e88d9a2/spendcap/internal/issuertest"
	"github.com/seed3e88d9a2/spendcap/originlock"
)

const (
	originSecret = "0123456789abcdef0123456789abcdef-origin"
	hmacKey      = "0123456789abcdef0123456789abcdef-hmac"
)

func noon() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

// world is a deployment on loopback: an issuer, and instances that share their stores,
// each an edge in front of a side door.
type world struct {
	*testing.T
	issuer   *issuertest.Issuer
	calls    *countedStore
	config   *config.Config
	operator *control.Operator
	log      bytes.Buffer
	edges    []string // URLs
	doors    []string
}

// countedStore counts the calls of the store.
type countedStore struct {
	caps.Store
	n atomic.Int64
}

func (s *countedStore) Reserve(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
	s.n.Add(1)
	return s.Store.Reserve(ctx, c, limit)
}

func (s *countedStore) Usage(ctx context.Context, key caps.ItemKey) (caps.Usage, error) {
	s.n.Add(1)
	return s.Store.Usage(ctx, key)
}

// tiered is a file with tiers; ISSUER stands for the issuer.
const tiered = `
auth:
  issuer: ISSUER
  audience: [` + issuertest.Audience + `]
  anonymous: allow
  tier_claim: cognito:groups
  default_tier: free
tiers:
  - {name: free, calls: 3}
  - {name: pro, claim: pro, calls: 6}
caps:
  caller: {calls: 2}
  global: {calls: 1000, usd: 100}
demo: {calls: 4}
llm:
  provider: demo
  max_input_bytes: 4000
  models: [{name: demo-small, input_usd_per_million: 0.15, output_usd_per_million: 0.60, max_output_tokens: 100}]
`

// refusing is tiered without anonymous callers.
var refusing = strings.NewReplacer("anonymous: allow", "anonymous: refuse", "  caller: {calls: 2}\n", "").Replace(tiered)

func newWorld(t *testing.T, file string, instances int) *world {
	t.Helper()
	w := &world{T: t, issuer: issuertest.New(t), calls: &countedStore{Store: memory.New(noon)}}
	c, err := config.Load(strings.NewReader(strings.Replace(file, "ISSUER", w.issuer.URL, 1)))
	if err != nil {
		t.Fatal(err)
	}
	provider, err := assemble.Provider(*c.LLM, "", aws.Config{})
	if err != nil {
		t.Fatal(err)
	}
	source, err := originlock.NewStatic(originSecret)
	if err != nil {
		t.Fatal(err)
	}
	claims := claimsmemory.New()
	controls := new(controlmemory.Store)
	w.config = c
	if w.operator, err = control.NewOperator(control.OperatorConfig{Store: controls, By: "test", Budgets: c.Budgets(), Now: noon}); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	log := slog.New(slog.NewTextHandler(locked{&mu, &w.log}, nil))
	for range instances {
		lock, err := originlock.New(t.Context(), originlock.Config{Source: source})
		if err != nil {
			t.Fatal(err)
		}
		handler, err := assemble.Handler(assemble.Parts{
			Config: c, Store: w.calls, Claims: claims, Control: controls, Provider: provider, Lock: lock, Keyer: testKeyer(t), Logger: log, Now: noon,
		})
		if err != nil {
			t.Fatal(err)
		}
		routes := httpapi.Routes(c.Auth, httpapi.DiscoverKeys(w.issuer.Client, w.issuer.URL, noon))
		door := httptest.NewServer(httpapi.New(httpapi.Config{Handler: handler.Handle, Routes: routes, Now: noon, Logger: log}))
		t.Cleanup(door.Close)
		target, err := url.Parse(door.URL)
		if err != nil {
			t.Fatal(err)
		}
		e, err := edge.New(edge.Config{Origin: target, Secret: originSecret, Logger: log})
		if err != nil {
			t.Fatal(err)
		}
		front := httptest.NewServer(e)
		t.Cleanup(func() { front.Close(); e.Close() })
		w.edges, w.doors = append(w.edges, front.URL), append(w.doors, door.URL)
	}
	return w
}

type locked struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// reply is what the tests look at in an answer.
type reply struct {
	status int
	body   string
	header http.Header

	CountedAs, Tier, Scope string
	Calls                  struct{ Used, Cap, Remaining int64 }
}

// ask sends a request from 127.0.0.<from> through the edge of an instance.
func (w *world) ask(instance, from int, method, path string, headers map[string]string, body string) reply {
	w.Helper()
	return w.send(w.edges[instance], from, method, path, headers, body)
}

func (w *world) send(base string, from int, method, path string, headers map[string]string, body string) reply {
	w.Helper()
	viewer := &http.Client{Transport: &http.Transport{
		DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(from))}}).DialContext, DisableKeepAlives: true,
	}}
	req, err := http.NewRequest(method, base+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	if body == "" {
		req.Body, req.ContentLength = nil, 0
	} else {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	res, err := viewer.Do(req)
	if err != nil {
		w.Error(err)
		return reply{}
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		w.Error(err)
	}
	r := reply{status: res.StatusCode, body: string(b), header: res.Header}
	json.Unmarshal(b, &r)
	return r
}

const question = `{"model":"demo-small","messages":[{"role":"user","content":"hello"}]}`

const (
	chat    = "/api/v1/chat/completions"
	ownChat = "/api/u/v1/chat/completions"
)

func (w *world) token(user string, groups ...string) map[string]string {
	changes := map[string]any{}
	if groups != nil {
		changes["cognito:groups"] = groups
	}
	return map[string]string{"Authorization": "Bearer " + w.issuer.Token(w.issuer.Claims(noon(), user, changes))}
}

// makes asserts that n calls are answered 200 and the next is refused by the scope.
func (w *world) makes(who string, n int, scope string, call func() reply) {
	w.Helper()
	for i := range n {
		if r := call(); r.status != 200 {
			w.Fatalf("%s: call %d: %d %s", who, i+1, r.status, r.body)
		}
	}
	if r := call(); r.status != 429 || r.Scope != scope {
		w.Errorf("%s: after %d calls: %d %s, want 429 by the %s", who, n, r.status, r.body, scope)
	}
}

func TestEachTierHasItsCap(t *testing.T) {
	w := newWorld(t, tiered, 1)
	call := func(from int, path string, headers map[string]string) func() reply {
		return func() reply { return w.ask(0, from, "POST", path, headers, question) }
	}
	// Each has the tier's cap exactly, all at one address.
	w.makes("free", 3, "caller", call(1, ownChat, w.token("anna")))
	w.makes("pro", 6, "caller", call(1, ownChat, w.token("ben", "staff", "pro")))
	w.makes("anonymous", 2, "caller", call(1, chat, nil))

	// The user is counted, not the address; another address is no new budget.
	if r := call(2, ownChat, w.token("anna"))(); r.status != 429 || r.Scope != "caller" {
		t.Errorf("anna from elsewhere: %d %s", r.status, r.body)
	}
	w.makes("another user", 3, "caller", call(2, ownChat, w.token("clara")))
	w.makes("anonymous elsewhere", 2, "caller", call(2, chat, nil))

	// An upgrade in the middle of the day keeps what is used, and so does a downgrade.
	r := w.ask(0, 1, "GET", "/api/u/cap", w.token("anna", "pro"), "")
	if r.status != 200 || r.CountedAs != "user" || r.Tier != "pro" || r.Calls.Used != 3 || r.Calls.Remaining != 3 {
		t.Errorf("after the upgrade: %d %s", r.status, r.body)
	}
	w.makes("upgraded", 3, "caller", call(1, ownChat, w.token("anna", "pro")))
	if r := w.ask(0, 1, "GET", "/api/u/cap", w.token("ben"), ""); r.Tier != "free" || r.Calls.Used != 6 || r.Calls.Cap != 3 || r.Calls.Remaining != 0 {
		t.Errorf("after the downgrade: %d %s", r.status, r.body)
	}

	// The demo endpoint has a cap of its own, and counts the same caller.
	w.makes("demo, signed in", 4, "caller", func() reply { return w.ask(0, 1, "POST", "/api/u/demo/cap", w.token("anna"), "") })
	w.makes("demo, anonymous", 4, "caller", func() reply { return w.ask(0, 1, "POST", "/api/demo/cap", nil, "") })
}

// Whatever is no proof is refused on the signed-in paths and is anonymous on the others,
// and costs the user nothing.
func TestNoProofIsAnonymousWhereThatIsAllowed(t *testing.T) {
	w := newWorld(t, tiered, 1)
	for name, headers := range w.issuer.Bad(t, noon(), "anna", map[string]any{"cognito:groups": []string{"pro"}}) {
		before := w.calls.n.Load()
		for _, path := range []string{"/api/u/cap", "/api/u/v1/models"} {
			if r := w.ask(0, 1, "GET", path, headers, ""); r.status != 401 {
				t.Errorf("%s: GET %s: %d %s", name, path, r.status, r.body)
			}
		}
		if r := w.ask(0, 1, "POST", ownChat, headers, question); r.status != 401 || !strings.HasPrefix(r.header.Get("Www-Authenticate"), "Bearer") {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
		if n := w.calls.n.Load(); n != before {
			t.Errorf("%s: %d store calls", name, n-before)
		}
		if r := w.ask(0, 1, "GET", "/api/cap", headers, ""); r.status != 200 || r.CountedAs != "127.0.0.1" || r.Tier != "" || r.Calls.Cap != 2 {
			t.Errorf("%s: anonymous: %d %s", name, r.status, r.body)
		}
	}
	// A good token is nothing on a path without the authorizer: nobody has verified it.
	if r := w.ask(0, 1, "GET", "/api/cap", w.token("anna", "pro"), ""); r.CountedAs != "127.0.0.1" || r.Calls.Cap != 2 {
		t.Errorf("a token on an open path: %d %s", r.status, r.body)
	}
	// Claims in a body are fields that nobody knows.
	smuggled := `{"model":"demo-small","messages":[{"role":"user","content":"hello"}],"requestContext":{"authorizer":{"jwt":{"claims":{"iss":"` + w.issuer.URL + `","sub":"anna","cognito:groups":"pro"}}}}}`
	if r := w.ask(0, 1, "POST", ownChat, nil, smuggled); r.status != 401 {
		t.Errorf("claims in the body: %d %s", r.status, r.body)
	}
	if r := w.ask(0, 1, "POST", chat, nil, smuggled); r.status != 422 {
		t.Errorf("claims in the body, anonymous: %d %s", r.status, r.body)
	}
	// Spellings of the path that miss the route with the authorizer are not signed in.
	for _, path := range []string{"/api/u/", "/api//u/cap", "/api/U/cap", "/api/u%2Fcap", "/api/./u/cap", "/api/u/../u/cap", "/api/x/../u/cap"} {
		if r := w.ask(0, 1, "GET", path, nil, ""); r.status == 200 {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
	if r := w.ask(0, 1, "GET", "/api/u/cap", w.token("anna", "pro"), ""); r.status != 200 || r.Calls.Used != 0 || r.Calls.Cap != 6 {
		t.Errorf("anna afterwards: %d %s", r.status, r.body)
	}
}

func TestNoProofIsRefusedWhereThatIsConfigured(t *testing.T) {
	w := newWorld(t, refusing, 1)
	for name, headers := range w.issuer.Bad(t, noon(), "anna", map[string]any{"cognito:groups": []string{"pro"}}) {
		for _, path := range []string{"/api/cap", "/api/u/cap", "/api/v1/models", "/api/nothing"} {
			if r := w.ask(0, 1, "GET", path, headers, ""); r.status != 401 || r.body != `{"message":"Unauthorized"}` {
				t.Errorf("%s: GET %s: %d %s", name, path, r.status, r.body)
			}
		}
		for _, path := range []string{chat, ownChat, "/api/demo/cap"} {
			if r := w.ask(0, 1, "POST", path, headers, question); r.status != 401 {
				t.Errorf("%s: POST %s: %d %s", name, path, r.status, r.body)
			}
		}
	}
	if n := w.calls.n.Load(); n != 0 {
		t.Errorf("%d store calls", n)
	}
	// The same user on either path.
	for i, path := range []string{chat, ownChat, chat} {
		if r := w.ask(0, 1, "POST", path, w.token("anna"), question); r.status != 200 {
			t.Errorf("call %d: %d %s", i+1, r.status, r.body)
		}
	}
	if r := w.ask(0, 1, "POST", ownChat, w.token("anna"), question); r.status != 429 {
		t.Errorf("a fourth call: %d %s", r.status, r.body)
	}
	// A browser's preflight has no token, and learns nothing.
	if r := w.ask(0, 1, "OPTIONS", chat, nil, ""); r.status != 204 || r.body != "" || r.header.Get("Allow") != "POST, OPTIONS" {
		t.Errorf("preflight: %d %s %s", r.status, r.body, r.header)
	}
}

// A token does not open the side door.
func TestATokenIsNoOriginSecret(t *testing.T) {
	for _, file := range []string{tiered, refusing} {
		w := newWorld(t, file, 1)
		if r := w.send(w.doors[0], 1, "POST", ownChat, w.token("anna"), question); r.status != 401 || r.body != `{"error":"not_via_cloudfront"}` {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
}

func TestAddressCap(t *testing.T) {
	w := newWorld(t, strings.Replace(tiered, "  global:", "  address: {calls: 7}\n  global:", 1), 1)
	w.makes("anna", 3, "caller", func() reply { return w.ask(0, 1, "POST", ownChat, w.token("anna"), question) })
	w.makes("ben", 3, "caller", func() reply { return w.ask(0, 1, "POST", ownChat, w.token("ben"), question) })
	if r := w.ask(0, 1, "POST", ownChat, w.token("clara"), question); r.status != 200 {
		t.Errorf("clara: %d %s", r.status, r.body)
	}
	r := w.ask(0, 1, "POST", ownChat, w.token("dora"), question)
	if r.status != 429 || r.Scope != "address" || !strings.Contains(r.body, "Today's budget of all users at your network address together is used up. Try again in 12 hours.") {
		t.Errorf("dora: %d %s", r.status, r.body)
	}
	if want := `"address-calls";q=7;w=86400`; r.header.Get("Ratelimit-Policy") != want || r.header.Get("Retry-After") != "43200" {
		t.Errorf("RateLimit-Policy %q, Retry-After %q", r.header.Get("Ratelimit-Policy"), r.header.Get("Retry-After"))
	}
	if r := w.ask(0, 1, "GET", "/api/u/cap", w.token("dora"), ""); r.Calls.Used != 0 {
		t.Errorf("dora was refused and has used %d", r.Calls.Used)
	}
	// Elsewhere there is room, and callers without a token have a budget of their own.
	if r := w.ask(0, 2, "POST", ownChat, w.token("dora"), question); r.status != 200 {
		t.Errorf("dora elsewhere: %d %s", r.status, r.body)
	}
	w.makes("anonymous", 2, "caller", func() reply { return w.ask(0, 1, "POST", chat, nil, question) })
}

// A hundred calls at once of one user, from several addresses and through several
// instances, are as many as the tier has.
func TestOneUserAtOnce(t *testing.T) {
	w := newWorld(t, strings.Replace(tiered, "  global:", "  address: {calls: 50}\n  global:", 1), 3)
	headers := w.token("anna", "pro")
	var paid, refused atomic.Int64
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			switch r := w.ask(i%3, 1+i%5, "POST", ownChat, headers, question); {
			case r.status == 200:
				paid.Add(1)
			case r.status == 429 && r.Scope == "caller":
				refused.Add(1)
			default:
				t.Errorf("%d %s", r.status, r.body)
			}
		})
	}
	group.Wait()
	if paid.Load() != 6 || refused.Load() != 94 {
		t.Errorf("%d paid and %d refused, want 6 and 94", paid.Load(), refused.Load())
	}
}

// Many users behind one address share its cap exactly.
func TestOneAddressAtOnce(t *testing.T) {
	w := newWorld(t, strings.Replace(tiered, "  global:", "  address: {calls: 10}\n  global:", 1), 3)
	var tokens [10]map[string]string
	for i := range tokens {
		tokens[i] = w.token(fmt.Sprint("user-", i))
	}
	var paid atomic.Int64
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			switch r := w.ask(i%3, 1, "POST", ownChat, tokens[i%10], question); {
			case r.status == 200:
				paid.Add(1)
			case r.status != 429:
				t.Errorf("%d %s", r.status, r.body)
			}
		})
	}
	group.Wait()
	var used int64
	for _, token := range tokens {
		used += w.ask(0, 1, "GET", "/api/u/cap", token, "").Calls.Used
	}
	if paid.Load() != 10 || used != 10 {
		t.Errorf("%d paid, the users have used %d; want 10", paid.Load(), used)
	}
}

// An Idempotency-Key belongs to the user, wherever the user is, and to nobody else.
func TestIdempotencyKeyBelongsToTheUser(t *testing.T) {
	w := newWorld(t, tiered, 1)
	ask := func(from int, path string, headers map[string]string) bool {
		t.Helper()
		all := map[string]string{"Idempotency-Key": "key-1"}
		for name, value := range headers {
			all[name] = value
		}
		r := w.ask(0, from, "POST", path, all, question)
		if r.status != 200 {
			t.Errorf("%d %s", r.status, r.body)
		}
		return r.header.Get("Idempotent-Replayed") == "true"
	}
	for i, c := range []struct {
		from     int
		path     string
		headers  map[string]string
		replayed bool
	}{
		{1, ownChat, w.token("anna"), false},
		{1, ownChat, w.token("anna"), true},
		{2, ownChat, w.token("anna", "pro"), true},
		{1, ownChat, w.token("ben"), false},
		{1, chat, nil, false},
		{1, chat, w.token("anna"), true},
		{2, chat, nil, false},
	} {
		if got := ask(c.from, c.path, c.headers); got != c.replayed {
			t.Errorf("%d: replayed %v, want %v", i, got, c.replayed)
		}
	}
	if r := w.ask(0, 1, "GET", "/api/u/cap", w.token("anna"), ""); r.Calls.Used != 1 {
		t.Errorf("anna has used %d calls, want 1", r.Calls.Used)
	}
}

func TestUsersWithoutATier(t *testing.T) {
	w := newWorld(t, strings.NewReplacer("default_tier: free", "default_tier: refuse", "name: free,", "name: free, claim: free,").Replace(tiered), 1)
	for _, groups := range [][]string{nil, {}, {"gold"}, {"free-2"}} {
		if r := w.ask(0, 1, "POST", ownChat, w.token("anna", groups...), question); r.status != 401 || r.body != `{"error":"no_tier"}` {
			t.Errorf("%q: %d %s", groups, r.status, r.body)
		}
	}
	if r := w.ask(0, 1, "POST", ownChat, w.token("anna", "free"), question); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	// A verified token that names nobody.
	nameless := map[string]string{"Authorization": "Bearer " + w.issuer.Token(w.issuer.Claims(noon(), "", map[string]any{"sub": nil}))}
	if r := w.ask(0, 1, "POST", ownChat, nameless, question); r.status != 401 || r.body != `{"error":"no_user"}` {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// Neither a user nor a token nor an address is logged.
func TestNothingOfAUserIsLogged(t *testing.T) {
	w := newWorld(t, tiered, 1)
	user := "a3f1c2d4-anna"
	for name, headers := range w.issuer.Bad(t, noon(), user, nil) {
		w.ask(0, 9, "POST", ownChat, headers, question)
		for _, value := range headers {
			for part := range strings.SplitSeq(value, ".") {
				if len(part) > 40 && strings.Contains(w.log.String(), part) {
					t.Errorf("%s: a part of the token is in the log", name)
				}
			}
		}
	}
	w.ask(0, 9, "POST", ownChat, w.token(user), question)
	for _, secret := range []string{user, "127.0.0.9"} {
		if strings.Contains(w.log.String(), secret) {
			t.Errorf("%q is in the log: %s", secret, w.log.String())
		}
	}
}

// An operator limits each tier and the address by name, and blocks a user by the key of
// the user's item, or everybody at an address. The fixed clock would keep an instance
// from reading again, so each change comes before the first request.
func TestOperatorLimitsTiers(t *testing.T) {
	w := newWorld(t, strings.Replace(tiered, "  global:", "  address: {calls: 50}\n  global:", 1), 1)
	for name, limit := range map[string]caps.Cap{"tier-free": caps.Calls(1), "tier-pro": caps.Calls(5), "address": caps.Calls(6)} {
		if _, err := w.operator.Limit(t.Context(), name, true, limit); err != nil {
			t.Fatal(err)
		}
	}
	call := func(from int, path string, headers map[string]string) func() reply {
		return func() reply { return w.ask(0, from, "POST", path, headers, question) }
	}
	w.makes("free", 1, "caller", call(1, ownChat, w.token("anna")))
	w.makes("pro", 5, "caller", call(1, ownChat, w.token("ben", "pro")))
	w.makes("another user there", 0, "address", call(1, ownChat, w.token("clara")))
	w.makes("anonymous", 2, "caller", call(1, chat, nil))
	if r := w.ask(0, 1, "GET", "/api/u/cap", w.token("clara"), ""); r.Calls.Cap != 1 || r.Calls.Used != 0 {
		t.Errorf("clara: %s", r.body)
	}
	if _, err := w.operator.Limit(t.Context(), "user", true, caps.Calls(1)); err == nil {
		t.Error("a limit of all tiers together is accepted, and no guard would ask for it")
	}
}

func TestOperatorBlocksAUser(t *testing.T) {
	day := caps.DayOf(noon())
	for name, block := range map[string]func(w *world) control.Block{
		"the user, by the key of today": func(w *world) control.Block {
			anna, err := identity.Subject(w.issuer.URL, "anna")
			if err != nil {
				t.Fatal(err)
			}
			return control.KeyBlock(caps.ItemKey{Budget: "user", Day: day, Caller: testKeyer(t).Key("user", day, anna)})
		},
		"the address": func(w *world) control.Block {
			address, err := caps.ViewerCaller("127.0.0.1:1")
			if err != nil {
				t.Fatal(err)
			}
			return control.AddressBlock(testKeyer(t), address, day)
		},
	} {
		w := newWorld(t, tiered, 1)
		if _, err := w.operator.Block(t.Context(), block(w)); err != nil {
			t.Fatal(err)
		}
		byUser := name != "the address"
		for _, c := range []struct {
			from    int
			path    string
			headers map[string]string
			refused bool
		}{
			{1, ownChat, w.token("anna"), true},
			{1, ownChat, w.token("anna", "pro"), true},
			{2, ownChat, w.token("anna"), byUser},
			{1, ownChat, w.token("ben"), !byUser},
			{1, chat, nil, !byUser},
			{2, chat, nil, false},
		} {
			want := 200
			if c.refused {
				want = 429
			}
			if r := w.ask(0, c.from, "POST", c.path, c.headers, question); r.status != want {
				t.Errorf("%s is blocked: from %d on %s: %d %s, want %d", name, c.from, c.path, r.status, r.body, want)
			}
		}
	}
}
