package caps

import (
	"strconv"
	"testing"
	"time"
)

var fullNow = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func fullKey(caller string) ItemKey {
	return ItemKey{Budget: "caller", Day: DayOf(fullNow), Caller: caller}
}

func fullCharge(key ItemKey, amount MicroUSD) Charge { return Charge{Key: key, Amount: amount} }

func TestFullRefusesForAWhile(t *testing.T) {
	limit, usage := Calls(10), Usage{Calls: 10}
	var m fullMemory
	if _, full := m.refuses(fullCharge(fullKey("a"), 0), limit, fullNow); full {
		t.Fatal("an empty memory refuses")
	}
	m.remember(fullCharge(fullKey("a"), 0), limit, usage, fullNow)
	for _, c := range []struct {
		name  string
		key   ItemKey
		limit Cap
		at    time.Time
		want  bool
	}{
		{"at once", fullKey("a"), limit, fullNow, true},
		{"just before it lets go", fullKey("a"), limit, fullNow.Add(fullFor - 1), true},
		{"when it lets go", fullKey("a"), limit, fullNow.Add(fullFor), false},
		{"another caller", fullKey("b"), limit, fullNow, false},
		{"another budget", ItemKey{"demo", DayOf(fullNow), "a"}, limit, fullNow, false},
		{"the next day", ItemKey{"caller", DayOf(fullNow) + 1, "a"}, limit, fullNow, false},
		{"a raised cap", fullKey("a"), Calls(11), fullNow, false},
		{"a lowered cap asks once", fullKey("a"), Calls(9), fullNow, false},
		{"a cap in dollars as well", fullKey("a"), limit.AndUSD(5), fullNow, false},
	} {
		got, full := m.refuses(fullCharge(c.key, 0), c.limit, c.at)
		if full != c.want || full && got != usage {
			t.Errorf("%s: %t, %+v; want %t", c.name, full, got, c.want)
		}
	}
	if fullFor > 5*time.Second {
		t.Errorf("a raised cap takes %s to be seen; the promise is five seconds", fullFor)
	}
}

// A smaller call may still fit where a larger one did not.
func TestFullIsForAmountsThatDoNotFit(t *testing.T) {
	limit, usage := USD(100), Usage{Calls: 1, USD: 90}
	var m fullMemory
	m.remember(fullCharge(fullKey("a"), 50), limit, usage, fullNow)
	for amount, want := range map[MicroUSD]bool{50: true, 11: true, 10: false, 1: false, 100: true} {
		if _, full := m.refuses(fullCharge(fullKey("a"), amount), limit, fullNow); full != want {
			t.Errorf("a call of %d with 10 left: full is %t; want %t", amount, full, want)
		}
	}
}

// While a hold may come back there is nothing to remember.
func TestRefusedForGood(t *testing.T) {
	for _, c := range []struct {
		name   string
		limit  Cap
		usage  Usage
		amount MicroUSD
		want   bool
	}{
		{"calls, none held", Calls(10), Usage{Calls: 10}, 0, true},
		{"calls, one open hold", Calls(10), Usage{Calls: 10, Open: 1}, 0, false},
		{"calls, one open hold, one over", Calls(10), Usage{Calls: 11, Open: 1}, 0, true},
		{"calls, one open hold of dollars", Calls(10), Usage{Calls: 10, USD: 5, Held: 5, Open: 1}, 5, false},
		{"dollars, none held", USD(100), Usage{Calls: 1, USD: 100}, 1, true},
		{"dollars, half held", USD(100), Usage{Calls: 2, USD: 100, Held: 50, Open: 1}, 50, false},
		{"dollars, half held, dearer", USD(100), Usage{Calls: 2, USD: 100, Held: 50, Open: 1}, 51, true},
		{"both, calls settled", Calls(2).AndUSD(100), Usage{Calls: 3, USD: 60, Held: 30, Open: 1}, 10, true},
		{"everybody, nothing held", Calls(10), Usage{Calls: 10}, 0, true},
		{"everybody, something held: any of the calls may be", Calls(10), Usage{Calls: 10, USD: 1, Held: 1}, 1, false},
		{"everybody, dollars settled", Calls(10).AndUSD(100), Usage{Calls: 10, USD: 101, Held: 1}, 1, true},
		{"not full at all", Calls(10), Usage{Calls: 9}, 0, false},
		{"cap of 0", Calls(0), Usage{}, 0, true},
	} {
		if got := refusedForGood(c.limit, c.usage, fullCharge(fullKey("a"), c.amount)); got != c.want {
			t.Errorf("%s: %t; want %t", c.name, got, c.want)
		}
		var m fullMemory
		m.remember(fullCharge(fullKey("a"), c.amount), c.limit, c.usage, fullNow)
		if _, full := m.refuses(fullCharge(fullKey("a"), c.amount), c.limit, fullNow); full != c.want {
			t.Errorf("%s: remembered is %t; want %t", c.name, full, c.want)
		}
	}
}

// A million callers do not grow it without bound, the newest are remembered, and what
// is forgotten is asked again.
func TestFullIsBounded(t *testing.T) {
	const callers = 1_000_000
	limit := Calls(1)
	var m fullMemory
	for i := range callers {
		m.remember(fullCharge(fullKey(strconv.Itoa(i)), 0), limit, Usage{Calls: 1}, fullNow)
		if n := len(m.now) + len(m.old); n > 2*fullEntries {
			t.Fatalf("%d entries after %d callers; want %d at most", n, i+1, 2*fullEntries)
		}
	}
	for i, want := range map[int]bool{callers - 1: true, callers - fullEntries: true, callers - 2*fullEntries - 1: false, 0: false} {
		if _, full := m.refuses(fullCharge(fullKey(strconv.Itoa(i)), 0), limit, fullNow); full != want {
			t.Errorf("caller %d of %d is remembered: %t; want %t", i, callers, full, want)
		}
	}
}

func BenchmarkFullRefuses(b *testing.B) {
	var m fullMemory
	m.remember(fullCharge(fullKey("a"), 0), Calls(10), Usage{Calls: 10}, fullNow)
	key := fullKey("a")
	b.ReportAllocs()
	for b.Loop() {
		if _, full := m.refuses(fullCharge(key, 0), Calls(10), fullNow); !full {
			b.Fatal("forgotten")
		}
	}
}
