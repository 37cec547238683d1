package metrics_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/internal/metrics"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// ticker is a clock that goes on by one step with each look at it.
type ticker struct {
	mu   sync.Mutex
	now  time.Time
	step time.Duration
}

func (c *ticker) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now
	c.now = now.Add(c.step)
	return now
}

// writes keeps what came with each Write apart.
type writes struct {
	mu    sync.Mutex
	lines [][]byte
}

func (w *writes) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, bytes.Clone(p))
	return len(p), nil
}

// read returns the documents that were written, each by one write.
func (w *writes) read(t *testing.T) []*document {
	t.Helper()
	var docs []*document
	for _, line := range w.lines {
		event, ok := bytes.CutSuffix(line, []byte("\n"))
		if !ok {
			t.Errorf("%q does not end its line", line)
		}
		doc, err := validate(event)
		if err != nil {
			t.Fatalf("%v: %s", err, event)
		}
		docs = append(docs, doc)
	}
	return docs
}

// The line, to the byte.
func TestLine(t *testing.T) {
	var out bytes.Buffer
	clock := &ticker{now: noon, step: 1_234_567 * time.Nanosecond}
	r := metrics.New(&out, clock.Now).Request()
	r.Route("demo")
	r.Count(metrics.Admitted)
	r.Duration(metrics.StoreLatency, 2500*time.Microsecond)
	r.Duration(metrics.StoreLatency, 7*time.Microsecond)
	r.Set(metrics.GlobalUsedMicroUSD, 450)
	r.Flush()
	const want = `{"_aws":{"Timestamp":1796040000000,"CloudWatchMetrics":[{"Namespace":"spendcap","Dimensions":[["service"]],"Metrics":[` +
		`{"Name":"Admitted","Unit":"Count"},{"Name":"GlobalUsedMicroUSD","Unit":"None"},{"Name":"Latency","Unit":"Milliseconds"},{"Name":"StoreLatency","Unit":"Milliseconds"}]}]},` +
		`"service":"spendcap","route":"demo","Admitted":1,"GlobalUsedMicroUSD":450,"Latency":1.234,"StoreLatency":[2.500,0.007]}` + "\n"
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", &out, want)
	}
}

var (
	counters = []metrics.Counter{
		metrics.Admitted, metrics.RefusedCaller, metrics.RefusedAddress, metrics.RefusedGlobal, metrics.LockRefused, metrics.MissingAddress,
		metrics.StoreErrors, metrics.UpstreamErrors, metrics.HoldsKept, metrics.Overruns, metrics.SettledMicroUSD,
		metrics.RefusedRate, metrics.RateLimitDown,
	}
	gauges = []metrics.Gauge{
		metrics.GlobalUsedMicroUSD, metrics.GlobalCapMicroUSD, metrics.GlobalUsedCalls, metrics.GlobalCapCalls, metrics.GlobalUsedPercent,
	}
	timers = []metrics.Timer{metrics.Latency, metrics.StoreLatency, metrics.UpstreamLatency}
)

// Everything at once is still one valid line, and every metric has the name and the
// unit that alarms are made with.
func TestEveryMetric(t *testing.T) {
	out := new(writes)
	r := metrics.New(out, func() time.Time { return noon }).Request()
	for i, c := range counters {
		r.Add(c, int64(i+1))
	}
	for i, g := range gauges {
		r.Set(g, int64(100+i))
	}
	for i, timer := range timers {
		r.Duration(timer, time.Duration(i)*time.Millisecond)
	}
	r.Flush()
	doc := out.read(t)[0]
	want := map[string]string{
		"Admitted": "Count", "RefusedCaller": "Count", "RefusedAddress": "Count", "RefusedGlobal": "Count", "LockRefused": "Count", "MissingAddress": "Count",
		"StoreErrors": "Count", "UpstreamErrors": "Count", "HoldsKept": "Count", "Overruns": "Count", "SettledMicroUSD": "None",
		"RefusedRate": "Count", "RateLimitDown": "Count",
		"GlobalUsedMicroUSD": "None", "GlobalCapMicroUSD": "None", "GlobalUsedCalls": "Count", "GlobalCapCalls": "Count", "GlobalUsedPercent": "Percent",
		"Latency": "Milliseconds", "StoreLatency": "Milliseconds", "UpstreamLatency": "Milliseconds",
	}
	if !maps.Equal(doc.Units, want) {
		t.Errorf("%v; want %v", doc.Units, want)
	}
	for i, c := range counters {
		if got := doc.Values[c.String()]; !slices.Equal(got, []float64{float64(i + 1)}) {
			t.Errorf("%s is %v; want %d", c, got, i+1)
		}
	}
	for i, g := range gauges {
		if got := doc.Values[g.String()]; !slices.Equal(got, []float64{float64(100 + i)}) {
			t.Errorf("%s is %v; want %d", g, got, 100+i)
		}
	}
	if got := doc.Values["UpstreamLatency"]; !slices.Equal(got, []float64{2}) {
		t.Errorf("UpstreamLatency is %v; want 2", got)
	}
	if got := doc.Values["Latency"]; !slices.Equal(got, []float64{0, 0}) {
		t.Errorf("Latency is %v; want what was recorded and Flush's own", got)
	}
	if doc.Timestamp != noon.UnixMilli() || doc.Members["service"] != "spendcap" || doc.Members["route"] != nil {
		t.Errorf("%d, %v", doc.Timestamp, doc.Members)
	}
}

func TestNothingRecordedIsTheLatencyAlone(t *testing.T) {
	out := new(writes)
	metrics.New(out, (&ticker{now: noon, step: time.Second}).Now).Request().Flush()
	doc := out.read(t)[0]
	if len(doc.Units) != 1 || !slices.Equal(doc.Values["Latency"], []float64{1000}) {
		t.Errorf("%v", doc.Values)
	}
}

func TestZeroOfAGaugeIsWritten(t *testing.T) {
	out := new(writes)
	r := metrics.New(out, func() time.Time { return noon }).Request()
	r.Set(metrics.GlobalUsedPercent, 80)
	r.Set(metrics.GlobalUsedPercent, 0)
	r.Add(metrics.SettledMicroUSD, 0)
	r.Flush()
	doc := out.read(t)[0]
	if got := doc.Values["GlobalUsedPercent"]; !slices.Equal(got, []float64{0}) {
		t.Errorf("the gauge is %v; want its last value, 0", got)
	}
	if _, ok := doc.Members["SettledMicroUSD"]; ok {
		t.Error("a counter that counted nothing is written")
	}
}

func TestFlushStartsAfresh(t *testing.T) {
	out := new(writes)
	r := metrics.New(out, func() time.Time { return noon }).Request()
	r.Route("demo")
	r.Count(metrics.Admitted)
	r.Set(metrics.GlobalUsedCalls, 3)
	r.Duration(metrics.StoreLatency, time.Millisecond)
	r.Flush()
	r.Count(metrics.Overruns)
	r.Flush()
	second := out.read(t)[1]
	if want := map[string]string{"Overruns": "Count", "Latency": "Milliseconds"}; !maps.Equal(second.Units, want) {
		t.Errorf("the second line has %v; want %v", second.Units, want)
	}
	if second.Members["route"] != "demo" {
		t.Error("the second line does not say the route")
	}
}

func TestManySamples(t *testing.T) {
	for _, n := range []int{1, 2, 7, 8, 9, 99, 100, 101, 1000} {
		out := new(writes)
		r := metrics.New(out, func() time.Time { return noon }).Request()
		for i := range n {
			r.Duration(metrics.StoreLatency, time.Duration(i)*time.Millisecond)
		}
		r.Flush()
		got := out.read(t)[0].Values["StoreLatency"]
		if len(got) != min(n, 100) || got[len(got)-1] != float64(min(n, 100)-1) {
			t.Errorf("%d samples: %d values, the last %v", n, len(got), got[len(got)-1])
		}
	}
}

func TestMilliseconds(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                               "0.000",
		999:                             "0.000",
		time.Microsecond:                "0.001",
		19 * time.Microsecond:           "0.019",
		210 * time.Microsecond:          "0.210",
		time.Millisecond:                "1.000",
		1999999 * time.Nanosecond:       "1.999",
		29*time.Second + 12*1000*1000:   "29012.000",
		-time.Second:                    "0.000", // the clock was set back
		time.Hour + 45*time.Microsecond: "3600000.045",
	} {
		var out bytes.Buffer
		r := metrics.New(&out, func() time.Time { return noon }).Request()
		r.Duration(metrics.UpstreamLatency, d)
		r.Flush()
		if !strings.Contains(out.String(), `"UpstreamLatency":`+want+`}`) {
			t.Errorf("%s: %s; want %s", d, &out, want)
		}
	}
}

func TestService(t *testing.T) {
	for service, want := range map[string]string{
		"api-prod":       `"service":"api-prod"`,
		`with "quotes"`:  `"service":"with \"quotes\""`,
		`back\slash`:     `"service":"back\\slash"`,
		"two\nlines":     `"service":"two\nlines"`,
		"~tilde and ~":   `"service":"~tilde and ~"`,
		"delete \x7f":    "\"service\":\"delete \x7f\"",
		"größer \u2028 ": `"service":"größer \u2028 "`,
	} {
		var out bytes.Buffer
		m := metrics.New(&out, func() time.Time { return noon })
		m.Service = service
		m.Request().Flush()
		if !strings.Contains(out.String(), want) || strings.Count(out.String(), "\n") != 1 {
			t.Errorf("%q: %s; want %s", service, &out, want)
		}
	}
}

// Without a writer nothing is recorded, and nobody has to ask.
func TestNilRecordsNothing(t *testing.T) {
	var m *metrics.Metrics
	r := m.Request()
	if r != nil {
		t.Fatal("a nil Metrics makes a request that records")
	}
	r.Count(metrics.Admitted)
	r.Add(metrics.SettledMicroUSD, 5)
	r.Set(metrics.GlobalUsedCalls, 5)
	r.Duration(metrics.StoreLatency, 5)
	r.Route("demo")
	r.Flush()
	if metrics.FromContext(metrics.NewContext(t.Context(), r)) != nil || metrics.FromContext(t.Context()) != nil {
		t.Error("a request comes out of nothing")
	}
}

func TestContext(t *testing.T) {
	r := metrics.New(io.Discard, func() time.Time { return noon }).Request()
	ctx := metrics.NewContext(t.Context(), r)
	if metrics.FromContext(ctx) != r || metrics.FromContext(context.WithoutCancel(ctx)) != r {
		t.Error("the request got lost on the way")
	}
}

// Many requests at once, each recorded from several sides: no count is lost and no
// line is torn.
func TestConcurrentUse(t *testing.T) {
	const requests, each = 50, 20
	out := new(writes)
	m := metrics.New(out, func() time.Time { return noon })
	var wg sync.WaitGroup
	for i := range requests {
		wg.Go(func() {
			r := m.Request()
			r.Route(fmt.Sprintf("route%d", i))
			var inner sync.WaitGroup
			for range each {
				inner.Go(func() {
					r.Count(metrics.Admitted)
					r.Add(metrics.SettledMicroUSD, 10)
					r.Set(metrics.GlobalUsedCalls, 1)
					r.Duration(metrics.StoreLatency, time.Millisecond)
				})
			}
			inner.Wait()
			r.Flush()
		})
	}
	wg.Wait()
	routes := map[any]bool{}
	for _, doc := range out.read(t) {
		routes[doc.Members["route"]] = true
		if doc.Values["Admitted"][0] != each || doc.Values["SettledMicroUSD"][0] != 10*each || len(doc.Values["StoreLatency"]) != each {
			t.Errorf("%v", doc.Values)
		}
	}
	if len(routes) != requests {
		t.Errorf("%d routes; want %d", len(routes), requests)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func TestBrokenWriter(t *testing.T) {
	r := metrics.New(broken{}, func() time.Time { return noon }).Request()
	r.Count(metrics.Admitted)
	r.Flush() // and the request goes on
}

func BenchmarkRequest(b *testing.B) {
	m := metrics.New(io.Discard, func() time.Time { return noon })
	b.ReportAllocs()
	for b.Loop() {
		r := m.Request()
		r.Route("demo")
		r.Count(metrics.Admitted)
		r.Set(metrics.GlobalUsedMicroUSD, 450)
		r.Duration(metrics.StoreLatency, 2*time.Millisecond)
		r.Duration(metrics.StoreLatency, 3*time.Millisecond)
		r.Flush()
	}
}

func BenchmarkNilRequest(b *testing.B) {
	var m *metrics.Metrics
	b.ReportAllocs()
	for b.Loop() {
		r := m.Request()
		r.Count(metrics.Admitted)
		r.Duration(metrics.StoreLatency, 2*time.Millisecond)
		r.Flush()
	}
}
