package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/auth"
	"github.com/seed3e88d9a2/spendcap/internal/config"
	"github.com/seed3e88d9a2/spendcap/internal/deadlines"
	"github.com/seed3e88d9a2/spendcap/llm"
)

var testDay = caps.DayOf(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))

// testConfig has prices of 1 and 10 micro-dollars for a token. A request of 488 bytes is
// held for 488+16+512 of input and 100 of output: 2,016 micro-dollars.
func testConfig(caller, global caps.Cap) *config.Config {
	return &config.Config{
		Caller: caps.Budget{Name: "caller", Cap: caller},
		Global: caps.Budget{Name: "global", Cap: global},
		LLM: &llm.Config{
			Provider: llm.ProviderDemo, MaxInputBytes: 2000,
			Models: []llm.Model{
				{Name: "small", Price: llm.Price{Input: 1e6, CachedInput: 5e5, Output: 1e7}, MaxOutputTokens: 100},
				{Name: "large", Price: llm.Price{Input: 2e6, Output: 2e7}, MaxOutputTokens: 200},
			},
		},
	}
}

const (
	testWorst = 2016 // of request
	testCost  = 622  // of request: 122 of input, 50 of output
)

func request(at time.Duration, caller int) Request {
	return Request{At: at, Caller: caller, InputBytes: 488, OutputTokens: 50, Latency: time.Second}
}

func play(t testing.TB, c *config.Config, requests ...Request) *Report {
	t.Helper()
	r, err := Play(context.Background(), c, &Traffic{Day: testDay, Requests: requests})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Holds that overlap crowd the ceiling; the same requests one after the other do not.
func TestHoldsCrowd(t *testing.T) {
	c := testConfig(caps.Calls(10), caps.USD(2*testWorst))
	together := play(t, c, request(0, 1), request(0, 2), request(0, 3))
	if together.Admitted != 2 || together.Refused != (Refusals{CeilingUSD: 1, CrowdedOut: 1}) || together.Spent != 2*testCost {
		t.Errorf("together: %+v", together)
	}
	if got := together.Ceiling; got.PeakUSD != 2*testWorst || got.PeakHeld != 2*testWorst || got.Peak != 100 {
		t.Errorf("together: ceiling %+v", got)
	}
	if want := testDay.Start(); !together.FirstCeilingRefusal.Equal(want) || !together.FirstCallerRefusal.IsZero() {
		t.Errorf("together: first refusals %v and %v", together.FirstCallerRefusal, together.FirstCeilingRefusal)
	}
	apart := play(t, c, request(0, 1), request(time.Second, 2), request(2*time.Second, 3))
	if apart.Admitted != 3 || apart.Spent != 3*testCost || apart.Ceiling.PeakUSD != 2*testCost+testWorst || apart.Ceiling.PeakHeld != testWorst {
		t.Errorf("apart: %+v", apart)
	}
}

// Every reason is told from the others, and what a request has none of is not counted.
func TestReasons(t *testing.T) {
	unknown, large, most, more := request(1, 1), request(2, 1), request(3, 1), request(4, 1)
	unknown.Model = "smal"
	large.InputBytes = 1985                      // 16 more are counted for the message
	most.InputBytes, most.Model = 1984, "large"  // 2512*2 + 200*20
	more.MaxTokens, more.Model = 1, "small"      // 1016 + 10
	more.OutputTokens, more.CachedTokens = 2, 22 // answers one token: 100 + 11 + 10
	r := play(t, testConfig(caps.Calls(3), caps.USD(100_000)), unknown, large, most, more, request(5, 1), request(6, 1), request(7, 2))
	if want := (Refusals{CallerCalls: 1, TooLarge: 1, UnknownModel: 1}); r.Refused != want || r.Admitted != 4 || r.Attempted != 7 {
		t.Errorf("%+v, %d of %d admitted; want %+v", r.Refused, r.Admitted, r.Attempted, want)
	}
	if want := caps.MicroUSD(496*2 + 50*20 + 100 + 11 + 10 + 2*testCost); r.Spent != want || r.WithoutCaps != want+testCost {
		t.Errorf("spent %d, without caps %d; want %d", r.Spent, r.WithoutCaps, want)
	}
	if want := (CallersRefused{Caller: 1}); r.CallersRefused != want || r.Callers != 2 {
		t.Errorf("%+v of %d", r.CallersRefused, r.Callers)
	}
	if want := testDay.Start().Add(6); !r.FirstCallerRefusal.Equal(want) {
		t.Errorf("first refusal by the cap at %v", r.FirstCallerRefusal)
	}

	dollars := play(t, testConfig(caps.USD(testWorst+testCost-1), caps.Calls(2).AndUSD(100_000)),
		request(0, 1), request(2*time.Second, 1), request(3*time.Second, 2), request(4*time.Second, 3))
	if want := (Refusals{CallerUSD: 1, CeilingCalls: 1}); dollars.Refused != want {
		t.Errorf("%+v, want %+v", dollars.Refused, want)
	}
	if want := (CallersRefused{Caller: 1, Ceiling: 1, Everything: 1}); dollars.CallersRefused != want {
		t.Errorf("%+v, want %+v", dollars.CallersRefused, want)
	}
	if n := dollars.Ceiling.Calls; n == nil || *n != 2 {
		t.Errorf("the ceiling's calls: %v", n)
	}
}

// Signed-in callers have the cap of their tier, in a budget of their own, and the ceiling
// of everybody.
func TestTiers(t *testing.T) {
	c := testConfig(caps.Calls(1), caps.USD(100_000).AndCalls(6))
	in := func(at time.Duration, tier string) Request {
		r := request(at, 1)
		r.Tier = tier
		return r
	}
	_, err := Play(context.Background(), c, &Traffic{Requests: []Request{in(0, "pro")}})
	if err == nil || err.Error() != "a request has a tier, and the file has none: leave the tier out" {
		t.Errorf("without tiers: %v", err)
	}
	c.Auth = &auth.Config{Tiers: []auth.Tier{{Name: "free", Cap: caps.Calls(2)}, {Name: "pro", Cap: caps.Calls(4)}}}
	_, err = Play(context.Background(), c, &Traffic{Requests: []Request{in(0, "203.0.113.7")}})
	if err == nil || err.Error() != "a request has a tier that the file does not have: write one of free, pro" {
		t.Errorf("another tier: %v", err)
	}
	// Who changes the tier keeps what is used.
	r := play(t, c, in(0, ""), in(1, ""), in(2, "free"), in(3, "free"), in(4, "free"), in(5, "pro"), in(6, "pro"), in(7, "pro"),
		request(8, 2), request(9, 3))
	if want := (Refusals{CallerCalls: 3, CeilingCalls: 1}); r.Refused != want || r.Admitted != 6 || r.Callers != 3 {
		t.Errorf("%+v, %d admitted; want %+v", r.Refused, r.Admitted, want)
	}
}

// A call that is cut off stays held at its worst case, for the day.
func TestCutOff(t *testing.T) {
	cut := request(0, 1)
	cut.Latency = deadlines.Provider + 1
	r := play(t, testConfig(caps.Calls(10), caps.USD(2*testWorst-1)), cut, request(23*time.Hour, 2))
	if r.Unsettled != 1 || r.UnsettledHeld != testWorst || r.Spent != 0 || r.Refused != (Refusals{CeilingUSD: 1}) {
		t.Errorf("%+v", r)
	}
	if last := r.Points[144]; last.Held != testWorst || last.Spent != 0 {
		t.Errorf("at the end %+v", last)
	}
	just := cut
	just.Latency--
	if r := play(t, testConfig(caps.Calls(10), caps.USD(testWorst)), just); r.Unsettled != 0 || r.Spent != testCost {
		t.Errorf("%+v", r)
	}
}

// What ends after midnight is settled on the day of its reserve.
func TestMidnight(t *testing.T) {
	r := play(t, testConfig(caps.Calls(10), caps.USD(testWorst)), request(24*time.Hour-1, 1))
	if r.Spent != testCost || r.Hours[23].Spent != testCost || r.Hours[23].Admitted != 1 {
		t.Errorf("%+v", r)
	}
	if first, last := r.Points[143], r.Points[144]; first.Spent != 0 || last.Spent != testCost || last.Held != 0 || last.Peak != testWorst {
		t.Errorf("%+v, %+v", first, last)
	}
	if !r.Points[144].At.Equal(testDay.End()) || len(r.Points) != 145 || len(r.Hours) != 24 {
		t.Errorf("%d points, the last at %v", len(r.Points), r.Points[144].At)
	}
}

// The operator's prompt is held and paid with every call.
func TestPrompt(t *testing.T) {
	c := testConfig(caps.Calls(10), caps.USD(1_000_000))
	c.LLM.SystemPrompt = "Be brief." // 9 bytes, three tokens
	r := play(t, c, request(0, 1))
	if r.Spent != testCost+3 || r.Ceiling.PeakHeld != testWorst+9+16 {
		t.Errorf("spent %d, held %d", r.Spent, r.Ceiling.PeakHeld)
	}
}

// A cap of 0 is closed.
func TestClosed(t *testing.T) {
	r := play(t, testConfig(caps.Calls(10), caps.USD(0)), request(0, 1))
	if r.Refused != (Refusals{CeilingUSD: 1}) || r.Ceiling.PeakUSD != 0 || r.Ceiling.Peak != 0 {
		t.Errorf("%+v", r)
	}
	var b strings.Builder
	if err := r.Text(&b, TextOptions{}); err != nil || !strings.Contains(b.String(), "The ceiling is 0") {
		t.Errorf("%v: %s", err, &b)
	}
	if err := r.SVG(&b); err != nil {
		t.Error(err)
	}
}

func TestPlayRefuses(t *testing.T) {
	good := testConfig(caps.Calls(10), caps.USD(testWorst))
	noLLM, noCeiling := *good, *good
	noLLM.LLM = nil
	noCeiling.Global.Cap = caps.Calls(1)
	for name, test := range map[string]struct {
		config *config.Config
		change func(*Request)
		want   string
	}{
		"no llm":         {&noLLM, nil, "no llm"},
		"no ceiling":     {&noCeiling, nil, "caps.global.usd"},
		"before the day": {good, func(r *Request) { r.At = -1 }, "At"},
		"after the day":  {good, func(r *Request) { r.At = 24 * time.Hour }, "At"},
		"caller":         {good, func(r *Request) { r.Caller = MaxCalls }, "Caller"},
		"no input":       {good, func(r *Request) { r.InputBytes = 0 }, "InputBytes"},
		"negative input": {good, func(r *Request) { r.InputTokens = -1 }, "InputTokens"},
		"more tokens":    {good, func(r *Request) { r.InputTokens = 489 }, "a token is at least a byte"},
		"cached":         {good, func(r *Request) { r.CachedTokens = 123 }, "CachedTokens"},
		"output":         {good, func(r *Request) { r.OutputTokens = -1 }, "OutputTokens"},
		"limit":          {good, func(r *Request) { r.MaxTokens = -1 }, "MaxTokens"},
		"latency":        {good, func(r *Request) { r.Latency = -1 }, "Latency"},
	} {
		t.Run(name, func(t *testing.T) {
			r := request(0, 1)
			if test.change != nil {
				test.change(&r)
			}
			if _, err := Play(context.Background(), test.config, &Traffic{Requests: []Request{r}}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v; want %q", err, test.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Play(ctx, good, &Traffic{Requests: []Request{request(0, 1)}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// The order of the requests does not matter, and they are left as they are.
func TestOrder(t *testing.T) {
	c := testConfig(caps.Calls(10), caps.USD(testWorst))
	requests := []Request{request(2, 1), request(1, 2)}
	r, err := Play(context.Background(), c, &Traffic{Day: testDay, Requests: requests})
	if err != nil {
		t.Fatal(err)
	}
	if want := testDay.Start().Add(2); !r.FirstCeilingRefusal.Equal(want) || requests[0].At != 2 {
		t.Errorf("%v, %v", r.FirstCeilingRefusal, requests)
	}
}

// JSON has amounts as exact texts, and leaves out what did not happen.
func TestJSON(t *testing.T) {
	b, err := json.Marshal(play(t, testConfig(caps.Calls(10), caps.USD(1_000_000)), request(0, 1)))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"day":"2026-12-01"`, `"spentUSD":"0.000622"`, `"usd":"1.000000"`, `"at":"2026-12-02T00:00:00Z"`, `"refused":{"callerCalls":0,`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s is not in %.300s", want, b)
		}
	}
	for _, not := range []string{"firstCallerRefusal", "firstCeilingRefusal", `"calls"`} {
		if strings.Contains(string(b), not) {
			t.Errorf("%s is in %.300s", not, b)
		}
	}
}

// 100,000 calls, of which nearly all are admitted.
func BenchmarkPlay(b *testing.B) {
	traffic, err := Generate(Options{Day: testDay, Callers: 25_000, CallsPerCaller: 4, InputBytes: 1000, OutputTokens: 80, Latency: 3 * time.Second})
	if err != nil {
		b.Fatal(err)
	}
	c := testConfig(caps.Calls(100).AndUSD(1_000_000), caps.USD(1_000_000_000))
	b.ReportAllocs()
	for b.Loop() {
		if r := play(b, c, traffic.Requests...); r.Admitted < 90_000 {
			b.Fatalf("%d admitted", r.Admitted)
		}
	}
}
