package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/control"
	"github.com/seed3e88d9a2/spendcap/internal/control/memory"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

const ann = "arn:aws:iam::123456789012:user/ann"

type desk struct {
	*control.Operator
	t     *testing.T
	store *memory.Store
	now   time.Time
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, store: new(memory.Store), now: noon}
	var err error
	d.Operator, err = control.NewOperator(control.OperatorConfig{
		Store: d.store, By: ann, Now: func() time.Time { return d.now },
		Budgets: []caps.Budget{
			{Name: "caller", Cap: caps.Calls(10).AndUSD(50_000)},
			{Name: "global", Cap: caps.USD(5_000_000)},
			{Name: "demo", Cap: caps.Calls(10)},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// want checks that the change was made, is recorded, and left the state behind.
func (d *desk) want(r control.Record, err error, action control.Action, old, new, after control.State) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
	if r.Action != action || r.By != ann || !r.At.Equal(d.now) || !reflect.DeepEqual(r.Old, old) || !reflect.DeepEqual(r.New, new) {
		d.t.Errorf("record\n%+v\nwant %s of\n%+v\nto\n%+v", r, action, old, new)
	}
	d.state(after)
	h, err := d.History(d.t.Context())
	if err != nil || len(h) == 0 || !reflect.DeepEqual(h[0], r) {
		d.t.Errorf("the newest record is\n%+v\n%v; want\n%+v", h, err, r)
	}
}

func (d *desk) state(want control.State) {
	d.t.Helper()
	got, err := d.State(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	if !reflect.DeepEqual(asJSON(got), asJSON(want)) {
		d.t.Errorf("state\n%s\nwant\n%s", asJSON(got), asJSON(want))
	}
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func unchanged(t *testing.T, err error, want string) {
	t.Helper()
	if !errors.Is(err, control.ErrUnchanged) || err.Error() != want {
		t.Errorf("%v; want %q and ErrUnchanged", err, want)
	}
}

func TestStopAndResume(t *testing.T) {
	d := newDesk(t)
	first := control.State{Stop: &control.Stop{Message: "Back at noon.", Since: noon, By: ann}}
	r, err := d.Stop(t.Context(), "Back at noon.")
	d.want(r, err, control.ActionStop, control.State{}, first, first)

	d.now = noon.Add(time.Hour)
	_, err = d.Stop(t.Context(), "Back at noon.")
	unchanged(t, err, "calls are stopped already, since 2026-11-30T12:00:00Z by "+ann+": nothing was changed")

	second := control.State{Stop: &control.Stop{Message: "", Since: noon, By: ann}}
	r, err = d.Stop(t.Context(), "")
	d.want(r, err, control.ActionStop, first, second, second)

	d.now = noon.Add(48 * time.Hour)
	d.state(second) // a stop does not end by itself
	r, err = d.Resume(t.Context())
	d.want(r, err, control.ActionResume, second, control.State{}, control.State{})
	_, err = d.Resume(t.Context())
	unchanged(t, err, "calls are not stopped: nothing was changed")
}

func TestStopMessage(t *testing.T) {
	d := newDesk(t)
	for message, want := range map[string]string{
		"two\nlines":             "stop: message: it has the character U+000A: write one line of printable text",
		"\x1b[31mred":            "stop: message: it has the character U+001B: write one line of printable text",
		"\u202etfel ot thgir":    "stop: message: it has the character U+202E: write one line of printable text",
		"\xff":                   "stop: message: it is not valid UTF-8",
		strings.Repeat("x", 501): "stop: message: 501 bytes are more than 500: shorten it",
	} {
		if _, err := d.Stop(t.Context(), message); err == nil || err.Error() != want {
			t.Errorf("%q: %v; want %q", message, err, want)
		}
	}
	d.state(control.State{})
	if _, err := d.Stop(t.Context(), strings.Repeat("ü", 250)); err != nil {
		t.Error(err)
	}
}

func TestBlock(t *testing.T) {
	d := newDesk(t)
	keyer, err := caps.NewKeyer([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	caller, err := caps.Mask{}.Caller(netip.MustParseAddr("2001:db8:1:2:3::4"))
	if err != nil {
		t.Fatal(err)
	}
	today := caps.DayOf(noon)
	lasting := control.AddressBlock(keyer, caller, today)
	lasting.Until = noon.Add(24*time.Hour + 1)
	r, err := d.Block(t.Context(), lasting)
	lasting.Until, lasting.Since, lasting.By = noon.Add(24*time.Hour+time.Second), noon, ann
	one := control.State{Blocks: []control.Block{lasting}}
	d.want(r, err, control.ActionBlock, control.State{}, one, one)

	item := caps.ItemKey{Budget: "caller", Day: today, Caller: keyer.Key("caller", today, caller)}
	ofToday := control.KeyBlock(item)
	r, err = d.Block(t.Context(), ofToday)
	ofToday.Since, ofToday.By = noon, ann
	d.want(r, err, control.ActionBlock, control.State{}, control.State{Blocks: []control.Block{ofToday}}, control.State{Blocks: []control.Block{lasting, ofToday}})

	longer := control.AddressBlock(keyer, caller, today)
	r, err = d.Block(t.Context(), longer)
	longer.Since, longer.By = noon, ann
	d.want(r, err, control.ActionBlock, one, control.State{Blocks: []control.Block{longer}}, control.State{Blocks: []control.Block{longer, ofToday}})

	r, err = d.Unblock(t.Context(), control.KeysOf(keyer, caller, today, "caller", "demo")...)
	d.want(r, err, control.ActionUnblock, control.State{Blocks: []control.Block{longer, ofToday}}, control.State{}, control.State{})
	_, err = d.Unblock(t.Context(), item.Caller)
	unchanged(t, err, "this caller is not blocked: nothing was changed")
}

func TestBlockRefuses(t *testing.T) {
	d, today := newDesk(t), caps.DayOf(noon)
	key := strings.Repeat("a1", 16)
	for want, b := range map[string]control.Block{
		`day: a key stands for its caller on its own day only, and this one is of 2026-11-29: copy one of today (2026-11-30), or give the address`: {Key: key, Purpose: "caller", Day: today - 1},
		`until: a key of today's items stands for its caller until 2026-12-01T00:00:00Z only: block the address to block it for longer`:            {Key: key, Purpose: "caller", Day: today, Until: noon.Add(13 * time.Hour)},
		`until: 2026-11-30T12:00:00Z is not in the future`: {Key: key, Purpose: control.BlockPurpose, KeyVersion: "1", Until: noon},
		`block 1: key: it is not a caller key, 32 lower-case hexadecimal digits: copy one from the list of callers, or give the address`: {Key: "198.51.100.7", Purpose: control.BlockPurpose, KeyVersion: "1"},
		`block of key "` + key + `": purpose: the budget has no name`:                                                                    {Key: key},
		`block of key "` + key + `": purpose: the budget name "a#b" may have letters, digits and hyphens only`:                           {Key: key, Purpose: "a#b", Day: today},
		`block of key "` + key + `": day: a key of the purpose block has none, a budget's key has the one that it is of`:                 {Key: key, Purpose: "caller"},
		`block of key "` + key + `": keyVersion: a key of the purpose block names the version of its secret, and no other does`:          {Key: key, Purpose: control.BlockPurpose},
		`block of key "` + key + `": keyVersion: it has the character U+000A: write one line of printable text`:                          {Key: key, Purpose: control.BlockPurpose, KeyVersion: "1\n"},
	} {
		if _, err := d.Block(t.Context(), b); err == nil || err.Error() != want {
			t.Errorf("%+v\n%v\nwant %s", b, err, want)
		}
	}
	d.state(control.State{})
}

// A block outlives the version of the secret that it was made with, and an operator who
// has the newer version only finds it all the same.
func TestBlockNamesItsKeyVersion(t *testing.T) {
	d, today := newDesk(t), caps.DayOf(noon)
	keyer, err := caps.NewKeyring(
		caps.KeyVersion{ID: "1", Secret: []byte(strings.Repeat("k", 32))},
		caps.KeyVersion{ID: "2", From: today + 1, Secret: []byte(strings.Repeat("l", 32))},
	)
	if err != nil {
		t.Fatal(err)
	}
	caller, err := caps.Mask{}.Caller(netip.MustParseAddr("198.51.100.7"))
	if err != nil {
		t.Fatal(err)
	}
	for _, day := range []caps.Day{today, today + 1} {
		if _, err := d.Block(t.Context(), control.AddressBlock(keyer, caller, day)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := d.State(t.Context())
	if err != nil || fmt.Sprint(s.KeyVersions()) != "[1 2]" || s.Blocks[0].Key == s.Blocks[1].Key {
		t.Errorf("%+v names %v, %v", s.Blocks, s.KeyVersions(), err)
	}
	if _, err := d.Unblock(t.Context(), control.KeysOf(keyer, caller, today+1)...); err != nil {
		t.Error(err)
	}
	d.state(control.State{})
}

func TestBlocksAreBoundedAndSwept(t *testing.T) {
	d := newDesk(t)
	full := control.State{}
	for n := range control.MaxBlocks {
		full.Blocks = append(full.Blocks, control.Block{Key: fmt.Sprintf("%032x", n), Purpose: control.BlockPurpose, KeyVersion: "1", Until: noon.Add(time.Hour), Since: noon, By: ann})
	}
	if ok, err := d.store.Write(t.Context(), 0, full, control.Record{Version: 1, ID: "x", At: noon, By: ann, Action: control.ActionBlock}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	b := control.Block{Key: strings.Repeat("f", 32), Purpose: control.BlockPurpose, KeyVersion: "1"}
	const want = "blocks: 1001 are more than 1000: unblock callers, or lower the caps"
	if _, err := d.Block(t.Context(), b); err == nil || err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
	d.now = noon.Add(time.Hour)
	r, err := d.Block(t.Context(), b)
	b.Since, b.By = d.now, ann
	only := control.State{Blocks: []control.Block{b}}
	d.want(r, err, control.ActionBlock, control.State{}, only, only)
}

// However many blocks there are, calls can be stopped, and resumed after blocking more.
func TestStopHasRoom(t *testing.T) {
	d := newDesk(t)
	by := strings.Repeat("<", control.MaxByBytes) // six bytes each in JSON
	var s control.State
	fill := func() {
		for {
			s.Blocks = append(s.Blocks, control.Block{Key: fmt.Sprintf("%032x", len(s.Blocks)), KeyVersion: "1", Purpose: control.BlockPurpose, Since: noon, By: by})
			if _, err := control.Encode(s); err != nil {
				s.Blocks = s.Blocks[:len(s.Blocks)-1]
				return
			}
		}
	}
	fill()
	record := control.Record{Version: 1, ID: "1", At: noon, By: ann, Action: control.ActionBlock}
	if written, err := d.store.Write(t.Context(), 0, s, record); !written || err != nil {
		t.Fatal(written, err)
	}
	if _, err := d.Stop(t.Context(), strings.Repeat("<", control.MaxMessageBytes)); err != nil {
		t.Fatalf("with %d blocks: %v", len(s.Blocks), err)
	}
	s, version, err := d.store.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fill()
	record.Version, record.ID = version+1, "2"
	if written, err := d.store.Write(t.Context(), version, s, record); !written || err != nil {
		t.Fatal(written, err)
	}
	if _, err := d.Resume(t.Context()); err != nil {
		t.Fatalf("with %d blocks: %v", len(s.Blocks), err)
	}
}

func TestLimit(t *testing.T) {
	d, today := newDesk(t), caps.DayOf(noon)
	caller := caps.Budget{Name: "caller", Cap: caps.Calls(10).AndUSD(50_000)}
	inForce := func(day caps.Day, want caps.Cap) {
		t.Helper()
		s, err := d.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Cap(caller, day); got != want {
			t.Errorf("%s on %s; want %s", asJSON(got), day, asJSON(want))
		}
	}
	limit := func(day caps.Day, cap caps.Cap) control.State {
		return control.State{Limits: []control.Limit{{Budget: "caller", Day: day, Cap: cap, Since: d.now, By: ann}}}
	}
	standing := limit(0, caps.Calls(5))
	r, err := d.Limit(t.Context(), "caller", false, caps.Calls(5))
	d.want(r, err, control.ActionLimit, control.State{}, standing, standing)
	inForce(today, caps.Calls(5).AndUSD(50_000))

	r, err = d.Limit(t.Context(), "caller", false, caps.USD(60_000))
	both := limit(0, caps.Calls(5).AndUSD(60_000))
	d.want(r, err, control.ActionLimit, standing, both, both)
	inForce(today, caps.Calls(5).AndUSD(60_000))

	r, err = d.Limit(t.Context(), "caller", true, caps.Calls(0))
	todays := limit(today, caps.Calls(0))
	all := control.State{Limits: append(both.Limits, todays.Limits...)}
	d.want(r, err, control.ActionLimit, control.State{}, todays, all)
	inForce(today, caps.Calls(0).AndUSD(60_000))
	inForce(today+1, caps.Calls(5).AndUSD(60_000))

	_, err = d.Limit(t.Context(), "caller", true, caps.Calls(0))
	unchanged(t, err, "this limit is set already, since 2026-11-30T12:00:00Z by "+ann+": nothing was changed")
	_, err = d.Unlimit(t.Context(), "demo", false)
	unchanged(t, err, `no such limit of budget "demo" is set: nothing was changed`)

	r, err = d.Unlimit(t.Context(), "caller", true)
	d.want(r, err, control.ActionLimit, todays, control.State{}, both)
	r, err = d.Limit(t.Context(), "caller", true, caps.Calls(7))
	d.want(r, err, control.ActionLimit, control.State{}, limit(today, caps.Calls(7)), control.State{Limits: append(both.Limits, limit(today, caps.Calls(7)).Limits...)})

	d.now = noon.Add(12 * time.Hour)
	d.state(both) // today's ended with its day
	r, err = d.Unlimit(t.Context(), "caller", false)
	d.want(r, err, control.ActionLimit, both, control.State{}, control.State{})
	inForce(today+1, caller.Cap)
}

func TestLimitRefuses(t *testing.T) {
	d := newDesk(t)
	for _, c := range []struct {
		budget string
		cap    caps.Cap
		want   string
	}{
		{"caler", caps.Calls(1), `budget: the file has none named "caler"; it has caller, global, demo`},
		{"demo", caps.USD(1), "usd: the file caps the budget demo in calls only: give calls, or add usd to the file and deploy it"},
		{"global", caps.Calls(1), "calls: the file caps the budget global in usd only: give usd, or add calls to the file and deploy it"},
		{"caller", caps.Cap{}, "the cap limits nothing: set calls, usd or both"},
		{"caller", caps.Calls(-1), "calls: -1 is not between 0 and 9007199254740991"},
		{"caller", caps.USD(-1), "usd: bad amount: -0.000001 dollars is not between 0 and 9007199254.740991"},
	} {
		if _, err := d.Limit(t.Context(), c.budget, true, c.cap); err == nil || err.Error() != c.want {
			t.Errorf("%s %s: %v; want %s", c.budget, asJSON(c.cap), err, c.want)
		}
	}
	d.state(control.State{})
}

func TestNewOperatorRefuses(t *testing.T) {
	for want, c := range map[string]control.OperatorConfig{
		"control.OperatorConfig.Store is missing":                           {By: ann},
		"by: it is missing: say who sets this":                              {Store: new(memory.Store), By: " "},
		"by: it has the character U+000A: write one line of printable text": {Store: new(memory.Store), By: "a\nb"},
		"by: 201 bytes are more than 200: shorten it":                       {Store: new(memory.Store), By: strings.Repeat("a", 201)},
	} {
		if _, err := control.NewOperator(c); err == nil || err.Error() != want {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// rival changes the state between another operator's read and write.
type rival struct {
	control.Store
	times int
}

func (r *rival) Read(ctx context.Context) (control.State, int64, error) {
	s, version, err := r.Store.Read(ctx)
	if r.times > 0 && err == nil {
		r.times--
		rec := control.Record{Version: version + 1, ID: fmt.Sprint("rival", version), At: noon, By: "rival", Action: control.ActionResume}
		_, err = r.Store.Write(ctx, version, s, rec)
	}
	return s, version, err
}

func TestOperatorsAtTheSameTime(t *testing.T) {
	for times, want := range map[int]string{9: "", 10: "others changed the state 10 times meanwhile: try again"} {
		o, err := control.NewOperator(control.OperatorConfig{Store: &rival{new(memory.Store), times}, By: ann})
		if err != nil {
			t.Fatal(err)
		}
		_, err = o.Stop(t.Context(), "")
		if got := fmt.Sprint(err); got != want && !(err == nil && want == "") {
			t.Errorf("%d changes of others: %v; want %q", times, err, want)
		}
	}
}

// What is not understood cannot be obeyed.
func TestDecodeRefuses(t *testing.T) {
	for _, s := range []string{
		``, `null garbage`, `{`, `[]`, `{"stop":true}`, `{"pause":{}}`, `{} {}`,
		`{"stop":{"since":"2026-11-30T12:00:00Z"}}`,
		`{"stop":{"since":"2026-11-30T12:00:00Z","by":"ann","message":"a\nb"}}`,
		`{"limits":[{"budget":"caller","cap":{},"since":"2026-11-30T12:00:00Z","by":"ann"}]}`,
		`{"limits":[{"budget":"caller","cap":{"call":1},"since":"2026-11-30T12:00:00Z","by":"ann"}]}`,
		`{"limits":[{"budget":"caller","cap":{"calls":-1},"since":"2026-11-30T12:00:00Z","by":"ann"}]}`,
		`{"limits":[{"budget":"caller","cap":{"usd":0.5},"since":"2026-11-30T12:00:00Z","by":"ann"}]}`,
		`{"blocks":[{"key":"0","purpose":"block","since":"2026-11-30T12:00:00Z","by":"ann"}]}`,
		`{"blocks":[{"key":"00000000000000000000000000000000","purpose":"caller","day":"30.11.2026","since":"2026-11-30T12:00:00Z","by":"ann"}]}`,
	} {
		if got, err := control.Decode([]byte(s)); err == nil {
			t.Errorf("%s is read as %+v", s, got)
		}
	}
	if _, err := control.Decode([]byte(`{}`)); err != nil {
		t.Error(err)
	}
}
