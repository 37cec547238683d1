package caps_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed3e88d9a2/spendcap/caps"
)

func mustIdentity(tb testing.TB, kind string, parts ...string) caps.Caller {
	tb.Helper()
	caller, err := caps.Identity(kind, parts...)
	if err != nil {
		tb.Fatal(err)
	}
	return caller
}

func mustJoin(tb testing.TB, callers ...caps.Caller) caps.Caller {
	tb.Helper()
	caller, err := caps.Join(callers...)
	if err != nil {
		tb.Fatal(err)
	}
	return caller
}

// None of these is another one, as a caller and as a key.
func TestIdentitiesDoNotCollide(t *testing.T) {
	address := mustCaller(t, "198.51.100.10:1")
	a, b := mustIdentity(t, "user", "a"), mustIdentity(t, "user", "b")
	keyer, day := mustKeyer(t, secret), caps.DayOf(noon())
	callers, keys := make(map[caps.Caller]string), make(map[string]string)
	for name, caller := range map[string]caps.Caller{
		"an address":                      address,
		"its text as a user":              mustIdentity(t, "user", "198.51.100.10/32"),
		"its text of the kind address":    mustIdentity(t, "address", "198.51.100.10/32"),
		"a":                               a,
		"b":                               b,
		"a of another kind":               mustIdentity(t, "email", "a"),
		"ab, c":                           mustIdentity(t, "user", "ab", "c"),
		"a, bc":                           mustIdentity(t, "user", "a", "bc"),
		"abc":                             mustIdentity(t, "user", "abc"),
		"a, b":                            mustIdentity(t, "user", "a", "b"),
		"b, a":                            mustIdentity(t, "user", "b", "a"),
		"kind and part meet elsewhere":    mustIdentity(t, "use", "ra"),
		"a separator":                     mustIdentity(t, "user", "a\x00b"),
		"a length":                        mustIdentity(t, "user", "a\x00\x00\x00\x01b"),
		"a kind as a part":                mustIdentity(t, "k", "user", "a"),
		"a and b joined":                  mustJoin(t, a, b),
		"b and a joined":                  mustJoin(t, b, a),
		"a and the address":               mustJoin(t, a, address),
		"the address and a":               mustJoin(t, address, a),
		"the address twice":               mustJoin(t, address, address),
		"a, b, a":                         mustJoin(t, a, b, a),
		"a and b joined, then a":          mustJoin(t, mustJoin(t, a, b), a),
		"a, then b and a joined":          mustJoin(t, a, mustJoin(t, b, a)),
		"composed and decomposed, here 1": mustIdentity(t, "user", "\u00eb"),
		"composed and decomposed, here 2": mustIdentity(t, "user", "e\u0308"),
	} {
		if caller.IsZero() {
			t.Errorf("%s: nobody", name)
		}
		if twin, found := callers[caller]; found {
			t.Errorf("%s and %s are the same caller", name, twin)
		}
		key := keyer.Key("caller", day, caller)
		if twin, found := keys[key]; found {
			t.Errorf("%s and %s have the same key", name, twin)
		}
		if key == keyer.Key("other", day, caller) || key == keyer.Key("caller", day+1, caller) {
			t.Errorf("%s: the key does not depend on purpose and day", name)
		}
		callers[caller], keys[key] = name, name
	}
}

// Two lists of kind and parts are one caller exactly if they are the same list.
func TestIdentityTellsPartsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringMatching(`[ab\x00\x01]{1,3}`)
		draw := func(name string) []string {
			kind := rapid.StringMatching(`[ab]{1,2}`).Draw(t, name+" kind")
			return append([]string{kind}, rapid.SliceOfN(part, 1, 3).Draw(t, name)...)
		}
		a, b := draw("a"), draw("b")
		one, err1 := caps.Identity(a[0], a[1:]...)
		two, err2 := caps.Identity(b[0], b[1:]...)
		if err1 != nil || err2 != nil || (one == two) != slices.Equal(a, b) {
			t.Fatalf("%q and %q: the same is %t, %v, %v", a, b, one == two, err1, err2)
		}
	})
}

func TestIdentityRefuses(t *testing.T) {
	long := strings.Repeat("x", caps.MaxIdentityBytes)
	nine := slices.Repeat([]string{"a"}, 9)
	const kindRule = " is not 1 to 32 lower-case letters, digits and hyphens"
	for _, c := range []struct {
		kind  string
		parts []string
		want  string
	}{
		{"user", nil, "user has 0 parts, want 1 to 8"},
		{"user", nine, "user has 9 parts, want 1 to 8"},
		{"user", []string{""}, "part 1 of user is empty"},
		{"user", []string{"a", ""}, "part 2 of user is empty"},
		{"user", []string{"a", long + "x"}, "part 2 of user is longer than 1024 bytes"},
		{"user", []string{"ann\xff"}, "part 1 of user is not UTF-8"},
		{"", []string{"a"}, `the kind ""` + kindRule},
		{"User", []string{"a"}, `the kind "User"` + kindRule},
		{"user+email", []string{"a"}, `the kind "user+email"` + kindRule},
		{strings.Repeat("k", 33), []string{"a"}, `the kind "` + strings.Repeat("k", 33) + `"` + kindRule},
	} {
		caller, err := caps.Identity(c.kind, c.parts...)
		if !errors.Is(err, caps.ErrNoIdentity) || err.Error() != "no usable identity: "+c.want || !caller.IsZero() {
			t.Errorf("%s %.20q: %v, %v; want %s", c.kind, c.parts, caller, err, c.want)
		}
	}
	if _, err := caps.Identity(strings.Repeat("k", 32), append(nine[:7:7], long)...); err != nil {
		t.Errorf("at the bounds: %v", err)
	}

	a := mustIdentity(t, "user", "a")
	for want, callers := range map[string][]caps.Caller{
		"0 callers are joined, want 2 to 8":   nil,
		"1 callers are joined, want 2 to 8":   {a},
		"9 callers are joined, want 2 to 8":   slices.Repeat([]caps.Caller{a}, 9),
		"caller 2 of those to join is nobody": {a, {}},
		"caller 1 of those to join is nobody": {{}, {}},
		"caller 3 of those to join is nobody": {a, a, {}, a},
		"caller 8 of those to join is nobody": append(slices.Repeat([]caps.Caller{a}, 7), caps.Caller{}),
	} {
		caller, err := caps.Join(callers...)
		if !errors.Is(err, caps.ErrNoIdentity) || err.Error() != "no usable identity: "+want || !caller.IsZero() {
			t.Errorf("%v, %v; want %s", caller, err, want)
		}
	}
}

// Whatever prints an identity shows its kind at the most.
func TestIdentityIsNotShown(t *testing.T) {
	user := mustIdentity(t, "user", "ann-lee")
	joined := mustJoin(t, user, mustCaller(t, "198.51.100.10:1"))
	if user.String() != "user" || joined.String() != "user+address" {
		t.Errorf("%q and %q", user, joined)
	}
	var out bytes.Buffer
	for _, caller := range []caps.Caller{user, joined} {
		for _, form := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&out, form+"\n", caller)
			fmt.Fprintf(&out, form+"\n", struct{ c caps.Caller }{caller})
		}
		slog.New(slog.NewJSONHandler(&out, nil)).Info("admitted", "caller", caller)
	}
	for _, shown := range []string{"ann", fmt.Sprintf("%x", "ann"), "198.51"} {
		if strings.Contains(out.String(), shown) {
			t.Errorf("%s is shown: %s", shown, &out)
		}
	}
	if got := fmt.Sprintf("%#v", mustCaller(t, "198.51.100.10:1")); got != "(caller)" {
		t.Errorf("an address is shown by %%#v: %s", got)
	}
}

// A signed-in user has a budget of its own, whatever its address.
func TestGuardCountsIdentities(t *testing.T) {
	guard := newGuard()
	user, address := mustIdentity(t, "user", "ann"), mustCaller(t, "198.51.100.10:1")
	for range 10 {
		if res, err := guard.Charge(t.Context(), user, 0); err != nil || !res.Allowed {
			t.Fatalf("%+v, %v", res, err)
		}
	}
	if res, err := guard.Charge(t.Context(), user, 0); err != nil || res.Allowed || res.Scope != caps.ScopeCaller {
		t.Errorf("%+v, %v; want the eleventh refused", res, err)
	}
	for _, other := range []caps.Caller{address, mustIdentity(t, "user", "ben"), mustJoin(t, user, address)} {
		if res, err := guard.Charge(t.Context(), other, 0); err != nil || !res.Allowed {
			t.Errorf("%v: %+v, %v; want it admitted", other, res, err)
		}
	}
	if _, err := guard.Charge(t.Context(), caps.Caller{}, 0); !errors.Is(err, caps.ErrNoViewerAddress) {
		t.Errorf("nobody: %v", err)
	}
}
