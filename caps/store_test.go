package caps_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/caps"
)

func TestItemKey(t *testing.T) {
	key := caps.ItemKey{Budget: "caller", Day: caps.DayOf(noon()), Caller: "0123456789abcdef0123456789abcdef"}
	const text = "caller#2026-11-30#0123456789abcdef0123456789abcdef"
	if got := key.String(); got != text {
		t.Errorf("%s; want %s", got, text)
	}
	if back, err := caps.ParseItemKey(text); back != key || err != nil {
		t.Errorf("ParseItemKey = %+v, %v; want %+v", back, err, key)
	}
	for _, s := range []string{"", "caller", "caller#2026-11-30", "caller#2026-11-30#a#b", "caller#yesterday#all", "##"} {
		if back, err := caps.ParseItemKey(s); err == nil || back != (caps.ItemKey{}) {
			t.Errorf("ParseItemKey(%q) = %+v, %v; want an error", s, back, err)
		}
	}
}

func TestChargeCheck(t *testing.T) {
	key := func(budget, caller string) caps.ItemKey {
		return caps.ItemKey{Budget: budget, Day: caps.DayOf(noon()), Caller: caller}
	}
	const (
		parts = "a charge needs a budget and a caller key, without '#'"
		id    = "a charge has an ID exactly if its budget belongs to one caller"
	)
	for _, c := range []struct {
		charge caps.Charge
		want   string
	}{
		{caps.Charge{Key: key("caller", "k"), ID: "1"}, ""},
		{caps.Charge{Key: key("caller", "k"), ID: "1", Amount: caps.MaxMicroUSD, Final: true}, ""},
		{caps.Charge{Key: key("global", caps.Everybody), Amount: 5}, ""},
		{caps.Charge{Key: key("", "k"), ID: "1"}, parts},
		{caps.Charge{Key: key("caller", ""), ID: "1"}, parts},
		{caps.Charge{Key: key("call#er", "k"), ID: "1"}, parts},
		{caps.Charge{Key: key("caller", "k#"), ID: "1"}, parts},
		{caps.Charge{Key: key("caller", "k")}, id},
		{caps.Charge{Key: key("global", caps.Everybody), ID: "1"}, id},
		{caps.Charge{Key: key("caller", "k"), ID: "1", Amount: -1}, "bad amount: -0.000001 dollars is not between 0 and 9007199254.740991"},
		{caps.Charge{Key: key("caller", "k"), ID: "1", Amount: caps.MaxMicroUSD + 1}, "bad amount: 9007199254.740992 dollars is not between 0 and 9007199254.740991"},
	} {
		err := c.charge.Check()
		if got := text(err); got != c.want {
			t.Errorf("%+v: %q; want %q", c.charge, got, c.want)
		}
		if strings.HasPrefix(c.want, "bad amount") && !errors.Is(err, caps.ErrAmount) {
			t.Errorf("%+v: %v does not wrap ErrAmount", c.charge, err)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
