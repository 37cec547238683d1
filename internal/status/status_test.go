package status

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/dynamo"
	"github.com/seed3e88d9a2/spendcap/internal/ddb/ddbtest"
)

var now = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

var today = caps.DayOf(now)

// newTable is a table that knows its name.
func newTable(t testing.TB, items ...ddbtest.Row) *ddbtest.Server {
	table := ddbtest.New(t)
	table.Table = "spendcap"
	put(table, items...)
	return table
}

func put(table *ddbtest.Server, items ...ddbtest.Row) {
	for _, i := range items {
		table.Put(i["k"]["S"], i)
	}
}

func config(t testing.TB, table *ddbtest.Server) Config {
	client := table.Client()
	store, err := dynamo.New(dynamo.Config{Client: client, Table: table.Table})
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Client: client, Table: table.Table, Store: store, Day: today,
		Global:  caps.Budget{Name: "global", Cap: caps.Calls(5000).AndUSD(5_000_000)},
		Callers: []caps.Budget{{Name: "caller", Cap: caps.Calls(10).AndUSD(50_000)}, {Name: "demo", Cap: caps.Calls(10)}},
		Least:   1_000, MaxReads: DefaultMaxReads, UnitsPerSecond: DefaultUnitsPerSecond,
		Progress: func(Reads) {}, Now: func() time.Time { return now },
	}
}

func item(budget string, day caps.Day, caller string, u caps.Usage) ddbtest.Row {
	n := func(i int64) map[string]string { return map[string]string{"N": strconv.FormatInt(i, 10)} }
	it := ddbtest.Row{
		"k": {"S": caps.ItemKey{Budget: budget, Day: day, Caller: caller}.String()},
		"n": n(u.Calls), "usd": n(int64(u.USD)), "held": n(int64(u.Held)), "expiresAt": n(day.Expiry().Unix()),
	}
	for i := range u.Open {
		it[fmt.Sprintf("hold:%016x", i)] = n(int64(u.Held) / int64(u.Open))
	}
	return it
}

// operations counts the requests that have come.
func operations(table *ddbtest.Server) map[string]int {
	n := make(map[string]int)
	for _, r := range table.Requests() {
		n[r.Operation]++
	}
	return n
}

// read reads without waiting, and returns the waits.
func read(t testing.TB, c Config) (*Report, []time.Duration, error) {
	t.Helper()
	var waits []time.Duration
	r, err := c.read(t.Context(), scan{c.Client, c.Table, c.MaxReads, c.UnitsPerSecond, c.Progress, func(_ context.Context, d time.Duration) error {
		waits = append(waits, d)
		return nil
	}, c.Now})
	return r, waits, err
}

// 100,000 callers of today among 40,000 of yesterday and answers that are kept: every
// number is right, in exactly as many reads as the table has megabytes, and the memory
// that is in use does not grow with the callers.
func TestHundredThousandCallers(t *testing.T) {
	const callers, earlier, answers = 100_000, 40_000, 500
	table := newTable(t)
	random := rand.New(rand.NewPCG(1, 2))
	key := func() string { return fmt.Sprintf("%016x%016x", random.Uint64(), random.Uint64()) }
	var all []Caller
	want := Callers{Budget: "caller"}
	var items []ddbtest.Row
	for range callers {
		u := caps.Usage{Calls: 1 + random.Int64N(10), USD: caps.MicroUSD(random.Int64N(50_000))}
		if random.IntN(10) == 0 {
			u.Open = 1 + random.IntN(3)
			u.Held = caps.MicroUSD(u.Open) * caps.MicroUSD(random.Int64N(1_700))
			u.USD += u.Held
		}
		c := Caller{Key: key(), Calls: u.Calls, Used: u.USD - u.Held, Held: u.Held, OpenHolds: u.Open, Capped: u.Calls >= 10 || u.USD+1_000 > 50_000}
		all = append(all, c)
		items = append(items, item("caller", today, c.Key, u))
		want.Seen++
		want.Calls += c.Calls
		want.Used += c.Used
		want.Held += c.Held
		want.OpenHolds += int64(c.OpenHolds)
		if c.Capped {
			want.Capped++
		}
	}
	for range earlier {
		items = append(items, item("caller", today-1, key(), caps.Usage{Calls: 10, USD: 50_000}))
	}
	for range answers {
		items = append(items, ddbtest.Row{"k": {"S": "idem#answer#" + key()}, "answer": {"S": strings.Repeat("x", 3_000)}})
	}
	items = append(items,
		item("global", today, caps.Everybody, caps.Usage{Calls: want.Calls, USD: want.Used + want.Held, Held: want.Held}),
		item("demo", today, key(), caps.Usage{Calls: 10}),
		ddbtest.Row{"k": {"S": "dev#hmac-key"}, "hmacKey": {"S": "secret"}},
	)
	put(table, items...)
	slices.SortFunc(all, func(a, b Caller) int {
		if d := (b.Used + b.Held) - (a.Used + a.Held); d != 0 {
			return int(d)
		}
		if d := b.Calls - a.Calls; d != 0 {
			return int(d)
		}
		return strings.Compare(a.Key, b.Key)
	})
	want.Top = all[:10]

	var heap []uint64
	var seen []Reads
	c := config(t, table)
	c.Progress = func(r Reads) {
		seen = append(seen, r)
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		heap = append(heap, m.HeapAlloc)
	}
	r, waits, err := read(t, c)
	if err != nil {
		t.Fatal(err)
	}

	got := r.Callers[0]
	got.Cap = nil
	if !slices.Equal(got.Top, want.Top) {
		t.Errorf("top ten\n%v\nwant\n%v", got.Top, want.Top)
	}
	got.Top, want.Top = nil, nil
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("callers %+v\nwant    %+v", got, want)
	}
	if demo := r.Callers[1]; demo.Seen != 1 || demo.Capped != 1 || demo.Calls != 10 || len(r.Callers) != 2 {
		t.Errorf("demo %+v of %d", demo, len(r.Callers))
	}
	if g := r.Global; g.Usage.Calls != want.Calls || g.Usage.USD != want.Used+want.Held || g.Usage.Held != want.Held {
		t.Errorf("ceiling %+v", g)
	}

	const pages = 13 // of 1 MB
	if r.Reads.Pages != pages || !r.Reads.Complete || r.Reads.Items != int64(len(items)) || r.Broken != 0 {
		t.Errorf("reads %+v, %d broken, want %d pages with %d items", r.Reads, r.Broken, pages, len(items))
	}
	if n := operations(table); n["Scan"] != pages || n["GetItem"] != 1 || len(n) != 2 {
		t.Errorf("%v reached the table, want %d Scan and one GetItem", n, pages)
	}
	if r.Reads.Units < (pages-1)*UnitsPerRead || r.Reads.Units > pages*UnitsPerRead {
		t.Errorf("%v read units", r.Reads.Units)
	}
	// At 500 units a second a page of 128 has 256 ms.
	if len(waits) != pages-1 || waits[0] != 256*time.Millisecond {
		t.Errorf("waited %v", waits)
	}
	for i, s := range seen {
		if s.Pages != i+1 || s.Complete != (i == pages-1) || i > 0 && s.Items <= seen[i-1].Items {
			t.Errorf("progress %d: %+v", i, s)
		}
	}
	if growth := int64(heap[len(heap)-1]) - int64(heap[1]); growth > 2<<20 {
		t.Errorf("the memory in use grew by %d bytes from the second to the last page", growth)
	}
}

func TestBoundOnReads(t *testing.T) {
	table := newTable(t)
	items := []ddbtest.Row{item("global", today, caps.Everybody, caps.Usage{Calls: 20_000, USD: 4_000_000, Held: 1_000_000})}
	for i := range 20_000 {
		items = append(items, item("caller", today, fmt.Sprintf("%032x", i), caps.Usage{Calls: 1, USD: 10}))
	}
	put(table, items...)
	c := config(t, table)
	c.MaxReads = 1
	r, _, err := read(t, c)
	if err != nil {
		t.Fatal(err)
	}
	if n := operations(table)["Scan"]; r.Reads.Complete || r.Reads.Pages != 1 || n != 1 || r.Callers[0].Seen != r.Reads.Items && r.Callers[0].Seen != r.Reads.Items-1 {
		t.Errorf("%+v, %d callers, %d requests", r.Reads, r.Callers[0].Seen, n)
	}
	var text strings.Builder
	if err := r.Text(&text, Style{}); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"$3.000000 used + $1.000000 held of $5.000000",
		"20000 of 5000",
		"PARTIAL: the table has more than the 1 MB that were read, so the callers' numbers are too low. The ceiling's are right. Go on with --max-reads 10.\n",
	} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("lacks %q:\n%s", part, text.String())
		}
	}
	if j := r.JSON(); j.Complete {
		t.Errorf("%+v", j)
	}
}

func TestAnotherDay(t *testing.T) {
	table := newTable(t)
	put(table,
		item("caller", today, strings.Repeat("a", 32), caps.Usage{Calls: 1}),
		item("caller", today-1, strings.Repeat("b", 32), caps.Usage{Calls: 2, USD: 300, Held: 200, Open: 2}),
		item("global", today-1, caps.Everybody, caps.Usage{Calls: 2, USD: 300, Held: 200}),
		item("tier-pro", today-1, strings.Repeat("c", 32), caps.Usage{Calls: 7, USD: 70}),
		ddbtest.Row{"k": {"S": "caller#" + (today - 1).String() + "#" + strings.Repeat("d", 32)}, "n": {"S": "nonsense"}},
	)
	c := config(t, table)
	c.Day = today - 1
	r, _, err := read(t, c)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"day":"2026-11-29","asOf":"2026-11-30T09:00:00Z","resetAt":"2026-11-30T00:00:00Z","table":"spendcap","stop":null,"limits":[],"blocked":0,` +
		`"everybody":{"budget":"global","calls":{"used":2,"cap":5000,"remaining":4998},"spend":{"used":"0.000100","held":"0.000200","cap":"5.000000","remaining":"4.999700","currency":"USD"}},` +
		`"budgets":[{"budget":"caller","cap":{"calls":10,"usd":"0.050000"},"seen":1,"capped":0,"calls":2,"used":"0.000100","held":"0.000200","openHolds":2,` +
		`"top":[{"key":"` + strings.Repeat("b", 32) + `","calls":2,"used":"0.000100","held":"0.000200","openHolds":2,"capped":false}]},` +
		`{"budget":"demo","cap":{"calls":10},"seen":0,"capped":0,"calls":0,"used":"0.000000","held":"0.000000","openHolds":0,"top":[]},` +
		`{"budget":"tier-pro","cap":null,"seen":1,"capped":0,"calls":7,"used":"0.000070","held":"0.000000","openHolds":0,` +
		`"top":[{"key":"` + strings.Repeat("c", 32) + `","calls":7,"used":"0.000070","held":"0.000000","openHolds":0,"capped":false}]}],` +
		`"complete":true,"broken":1,"reads":{"pages":1,"items":5,"units":0.5}}`
	got, err := json.Marshal(r.JSON())
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}

func TestADayOfWhichNothingIsLeft(t *testing.T) {
	c := config(t, newTable(t, item("global", today, caps.Everybody, caps.Usage{Calls: 1})))
	for day, want := range map[caps.Day]bool{today - 9: true, today: false} {
		c.Day = day
		r, _, err := read(t, c)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := r.Text(&text, Style{}); err != nil || strings.Contains(text.String(), "Nothing of this day is in the table") != want {
			t.Errorf("%v\n%s", err, text.String())
		}
	}
}

func TestText(t *testing.T) {
	table := newTable(t)
	put(table,
		item("global", today, caps.Everybody, caps.Usage{Calls: 1_250, USD: 4_000_000, Held: 500_000}),
		item("caller", today, strings.Repeat("a", 32), caps.Usage{Calls: 10, USD: 49_000, Held: 2_000, Open: 1}),
		item("caller", today, strings.Repeat("b", 32), caps.Usage{Calls: 3, USD: 700}),
		item("demo", today, strings.Repeat("c", 32), caps.Usage{Calls: 10}),
	)
	r, _, err := read(t, config(t, table))
	if err != nil {
		t.Fatal(err)
	}
	var plain, colored bytes.Buffer
	if err := errors.Join(r.Text(&plain, Style{Width: 20}), r.Text(&colored, Style{Width: 20, Color: true})); err != nil {
		t.Fatal(err)
	}
	want := `spendcap   table spendcap, UTC day 2026-11-30, 09:00:00, ends in 15 h 0 min

everybody  spend  ██████████████▒▒░░░░  80%  $3.500000 used + $0.500000 held of $5.000000
           calls  █████░░░░░░░░░░░░░░░  25%  1250 of 5000

budget  callers  capped  calls       used       held  open holds  cap of one
caller        2       1     13  $0.047700  $0.002000           1  10 calls, $0.050000
demo          1       1     10  $0.000000  $0.000000           0  10 calls

top of caller                     calls       used       held  open holds
` + strings.Repeat("a", 32) + `     10  $0.047000  $0.002000           1  capped
` + strings.Repeat("b", 32) + `      3  $0.000700  $0.000000           0

`
	if plain.String() != want {
		t.Errorf("got\n%s\nwant\n%s", plain.String(), want)
	}
	if !strings.Contains(colored.String(), yellow+"██████████████▒▒"+reset) {
		t.Errorf("%q", colored.String())
	}
}

// The top is the same in whatever order the callers come.
func TestTopInAnyOrder(t *testing.T) {
	var all []caps.Usage
	for i := range 40 {
		all = append(all, caps.Usage{Calls: int64(i % 7), USD: caps.MicroUSD(i / 4)})
	}
	key := func(u caps.Usage, i int) string { return fmt.Sprintf("%d-%d-%d", u.USD, u.Calls, i) }
	want := "[9-4-39 9-3-38 9-2-37 9-1-36 8-6-34 8-5-33 8-4-32 8-0-35 7-3-31 7-2-30]"
	order := rand.New(rand.NewPCG(1, 2)).Perm(len(all))
	for range 50 {
		var c Callers
		for _, i := range order {
			c.add(key(all[i], i), all[i], false)
		}
		var got []string
		for _, t := range c.Top {
			got = append(got, t.Key)
		}
		if fmt.Sprint(got) != want {
			t.Fatalf("%v in the order %v, want %s", got, order, want)
		}
		rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
}

func TestBar(t *testing.T) {
	for _, test := range []struct {
		used, held, whole int64
		want              string
	}{
		{0, 0, 100, "░░░░░░░░░░"},
		{1, 0, 100_000, "█░░░░░░░░░"}, // something is not nothing
		{99_999, 0, 100_000, "█████████░"},
		{100, 0, 100, "██████████"},
		{150, 0, 100, "██████████"},
		{50, 50, 100, "█████▒▒▒▒▒"},
		{0, 20, 100, "▒▒░░░░░░░░"},
		{500, 1, 1_000, "█████▒░░░░"},
		{999, 1, 1_000, "█████████▒"},
		{0, 0, 0, "░░░░░░░░░░"}, // closed
		{int64(caps.MaxMicroUSD), 0, int64(caps.MaxMicroUSD), "██████████"},
	} {
		if got := (Style{Width: 10}).bar(test.used, test.held, test.whole); got != test.want {
			t.Errorf("%d + %d of %d: %s, want %s", test.used, test.held, test.whole, got, test.want)
		}
	}
}

func TestCanceledBetweenReads(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := pause(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := pause(ctx, -1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := pause(t.Context(), time.Nanosecond); err != nil {
		t.Error(err)
	}
}
