package caps_test

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/memory"
)

func keyVersion(id string, from caps.Day) caps.KeyVersion {
	return caps.KeyVersion{ID: id, From: from, Secret: []byte(strings.Repeat(id, 32))}
}

func mustKeyring(tb testing.TB, versions ...caps.KeyVersion) *caps.Keyer {
	tb.Helper()
	keyer, err := caps.NewKeyring(versions...)
	if err != nil {
		tb.Fatal(err)
	}
	return keyer
}

// The version whose first day has come serves the whole day, and the first one also
// what was before it.
func TestKeyringPicksByDay(t *testing.T) {
	day, caller := caps.DayOf(noon()), mustCaller(t, "198.51.100.10:1")
	a, b, c := keyVersion("a", day), keyVersion("b", day+1), keyVersion("c", day+10)
	ring := mustKeyring(t, a, b, c)
	for d, want := range map[caps.Day]caps.KeyVersion{
		0: a, day - 1: a, day: a, day + 1: b, day + 2: b, day + 9: b, day + 10: c, day + 1000: c,
	} {
		alone := mustKeyer(t, want.Secret)
		if got := ring.Version(d); got != want.ID {
			t.Errorf("%v: version %s; want %s", d, got, want.ID)
		}
		if ring.Key("caller", d, caller) != alone.Key("caller", d, caller) {
			t.Errorf("%v: not the key of version %s", d, want.ID)
		}
		lasting := caps.LastingKey{Version: want.ID, Key: alone.LastingKey("block", 0, caller).Key}
		if got := ring.LastingKey("block", d, caller); got != lasting {
			t.Errorf("%v: lasting key %v; want %v", d, got, lasting)
		}
		derived, err := ring.Derive("for a test", d)
		expanded, _ := hkdf.Key(sha256.New, want.Secret, nil, "for a test", 32)
		if err != nil || !bytes.Equal(derived, expanded) {
			t.Errorf("%v: derived %x, %v; want %x", d, derived, err, expanded)
		}
	}
	keys := ring.LastingKeys("block", caller)
	if len(keys) != 3 || keys[0] != ring.LastingKey("block", day+10, caller) || keys[1] != ring.LastingKey("block", day+1, caller) || keys[2] != ring.LastingKey("block", day, caller) {
		t.Errorf("lasting keys %v", keys)
	}
}

// A change of version resets nobody in the middle of a day: not when it is added, not
// before midnight, and not after it.
func TestVersionChangesAtMidnightOnly(t *testing.T) {
	now := noon()
	day, caller := caps.DayOf(now), mustCaller(t, "198.51.100.10:1")
	store := memory.New(func() time.Time { return now })
	keyers := []*caps.Keyer{mustKeyring(t, keyVersion("a", day-5)), mustKeyring(t, keyVersion("a", day-5))}
	var guards []*caps.Guard
	for _, keyer := range keyers {
		g, err := caps.NewGuard(caps.Config{
			Store: store, Keyer: keyer, Now: func() time.Time { return now },
			Caller: caps.Budget{Name: "caller", Cap: caps.Calls(4)},
		})
		if err != nil {
			t.Fatal(err)
		}
		guards = append(guards, g)
	}
	calls := func(want ...int64) {
		t.Helper()
		for i, n := range want {
			res, err := guards[i%2].Charge(t.Context(), caller, 0)
			if err != nil || res.Used.Calls != n {
				t.Errorf("at %v, instance %d: %d calls, %v; want %d", now, i%2, res.Used.Calls, err, n)
			}
		}
	}
	calls(1)
	if err := keyers[0].Replace(keyVersion("a", day-5), keyVersion("b", day+1)); err != nil { // one instance knows, one does not
		t.Fatal(err)
	}
	calls(2, 3)
	now = caps.Day(day).End().Add(-time.Nanosecond)
	calls(4)
	if err := keyers[1].Replace(keyVersion("a", day-5), keyVersion("b", day+1)); err != nil {
		t.Fatal(err)
	}
	if res, err := guards[1].Charge(t.Context(), caller, 0); err != nil || res.Allowed {
		t.Errorf("a fifth call before midnight: %+v, %v", res, err)
	}
	now = now.Add(time.Nanosecond)
	calls(1, 2, 3)
}

func TestKeyringRefuses(t *testing.T) {
	day := caps.DayOf(noon())
	many := make([]caps.KeyVersion, 17)
	for i := range many {
		many[i] = caps.KeyVersion{ID: fmt.Sprint(i), From: caps.Day(i), Secret: []byte(strings.Repeat(string(rune('a'+i)), 32))}
	}
	const short = "the HMAC secret is missing, blank or shorter than 32 bytes: draw one with `openssl rand -hex 32`"
	for want, versions := range map[string][]caps.KeyVersion{
		"the HMAC secret has 0 versions, want 1 to 16":                                         nil,
		"the HMAC secret has 17 versions, want 1 to 16":                                        many,
		"version 1 of 1 of the HMAC secret: its ID is not 1 to 32 letters, digits and hyphens": {{ID: "", Secret: secret}},
		"version 2 of 2 of the HMAC secret: its ID is not 1 to 32 letters, digits and hyphens": {keyVersion("a", 1), {ID: "b#c", From: 2, Secret: secret}},
		`version "a": ` + short:                         {{ID: "a", Secret: []byte("short")}},
		`version "b": ` + short:                         {keyVersion("a", 1), {ID: "b", From: 2}},
		`version "a" of the HMAC secret is there twice`: {keyVersion("a", 1), {ID: "a", From: 2, Secret: secret}},
		"versions \"a\" and \"b\" have the same HMAC secret: draw one with `openssl rand -hex 32`":                  {{ID: "a", From: 1, Secret: secret}, {ID: "b", From: 2, Secret: secret}},
		`version "b" of the HMAC secret is from 2026-11-30, which is not after 2026-11-30, when version "a" begins`: {keyVersion("a", day), keyVersion("b", day)},
		`version "b" of the HMAC secret is from 2026-11-29, which is not after 2026-11-30, when version "a" begins`: {keyVersion("a", day), keyVersion("b", day-1)},
	} {
		if keyer, err := caps.NewKeyring(versions...); keyer != nil || err == nil || err.Error() != want {
			t.Errorf("%v; want %s", err, want)
		}
		keyer := mustKeyring(t, keyVersion("a", day))
		before := keyer.LastingKeys("block", mustCaller(t, "198.51.100.10:1"))
		if err := keyer.Replace(versions...); err == nil {
			t.Errorf("%s: replaced", want)
		}
		if after := keyer.LastingKeys("block", mustCaller(t, "198.51.100.10:1")); len(after) != 1 || after[0] != before[0] {
			t.Errorf("%s: the versions have changed", want)
		}
	}
	if _, err := caps.NewKeyring(many[:16]...); err != nil {
		t.Error(err)
	}
}

func TestKeyVersionIsNotShown(t *testing.T) {
	v := keyVersion("a", 1)
	for _, form := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(form, v); got != "(secret of version a)" {
			t.Errorf("%s shows %s", form, got)
		}
	}
	if got := v.LogValue().String(); got != "(secret of version a)" {
		t.Errorf("the log shows %s", got)
	}
}
