package hmackey

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
)

func TestPlan(t *testing.T) {
	ring := func(versions ...caps.KeyVersion) string {
		value, err := Format(versions)
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	long := ring(version1("1", "", one), version1("2", "2026-11-20", two), version1("3", "2026-11-24", three))
	for _, c := range []struct {
		name   string
		value  string
		now    time.Time
		blocks []string
		want   Rotation
	}{
		{"a secret alone", one, noon, nil, Rotation{ID: "2", From: day("2026-12-02"), Kept: []string{"1"}}},
		{"a second after noon", one, noon.Add(time.Second), nil, Rotation{ID: "2", From: day("2026-12-03"), Kept: []string{"1"}}},
		{"in the morning", one, noon.Add(-11 * time.Hour), nil, Rotation{ID: "2", From: day("2026-12-02"), Kept: []string{"1"}}},
		{"just before midnight", one, noon.Add(12*time.Hour - 1), nil, Rotation{ID: "2", From: day("2026-12-03"), Kept: []string{"1"}}},
		{"at midnight", one, noon.Add(12 * time.Hour), nil, Rotation{ID: "2", From: day("2026-12-03"), Kept: []string{"1"}}},
		{"names of one's own", ring(version1("old", "", one)), noon, nil, Rotation{ID: "1", From: day("2026-12-02"), Kept: []string{"old"}}},
		{"nothing is past", long, day("2026-11-27").Start(), nil, Rotation{ID: "4", From: day("2026-11-28"), Kept: []string{"1", "2", "3"}}},
		{"the first is past by eight days", long, day("2026-11-28").Start(), nil, Rotation{ID: "4", From: day("2026-11-29"), Kept: []string{"2", "3"}, Dropped: []string{"1"}}},
		{"two are past", long, day("2026-12-02").Start(), nil, Rotation{ID: "4", From: day("2026-12-03"), Kept: []string{"3"}, Dropped: []string{"1", "2"}}},
		{"a block names one", long, day("2026-12-02").Start(), []string{"1", "3"}, Rotation{ID: "4", From: day("2026-12-03"), Kept: []string{"1", "3"}, Blocked: []string{"1"}, Dropped: []string{"2"}}},
	} {
		got := next(t, c.value, c.now, c.blocks...)
		value := got.Value
		if got.Value = ""; !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v; want %v", c.name, got, c.want)
		}
		if got.From.Start().Sub(c.now) < Notice || got.From.Start().Sub(c.now) >= Notice+24*time.Hour {
			t.Errorf("%s: %v is not the first day that begins %v after %v", c.name, got.From, Notice, c.now)
		}
		before, _ := Parse(c.value)
		after, err := Parse(value)
		if err != nil || len(after) != len(c.want.Kept)+1 {
			t.Errorf("%s: the new ring is %v, %v", c.name, after, err)
			continue
		}
		for i, v := range after[:len(after)-1] {
			if v.ID != c.want.Kept[i] || !reflect.DeepEqual(v, before[len(before)-len(after)+1+i]) && c.want.Blocked == nil {
				t.Errorf("%s: version %d is %v", c.name, i+1, v)
			}
		}
		added := after[len(after)-1]
		if added.ID != c.want.ID || added.From != c.want.From || len(added.Secret) != 64 || strings.Contains(c.value, string(added.Secret)) {
			t.Errorf("%s: the new version is %v from %v with %d characters", c.name, added, added.From, len(added.Secret))
		}
		if shown := fmt.Sprintf("%v %+v %#v", next(t, c.value, c.now), next(t, c.value, c.now), next(t, c.value, c.now)); strings.Contains(shown, one[:32]) || strings.Contains(shown, "versions") {
			t.Errorf("%s shows secrets: %s", c.name, shown)
		}
	}
}

func TestPlanRefuses(t *testing.T) {
	planned := next(t, one, noon).Value
	if _, err := Plan(planned, noon.Add(time.Hour), nil); !errors.Is(err, ErrPlanned) || err.Error() != `a new version is on its way already: "2" serves from 2026-12-02` {
		t.Errorf("another before the first has begun: %v", err)
	}
	if _, err := Plan(planned, day("2026-12-02").Start(), nil); err != nil {
		t.Errorf("another when the first has begun: %v", err)
	}
	if _, err := Plan("short", noon, nil); err == nil {
		t.Error("a short secret has a successor")
	}
	value, now, blocks := one, noon, []string{"1"}
	for i := range 15 {
		r := next(t, value, now, blocks...)
		value, now, blocks = r.Value, now.AddDate(0, 0, 20), append(blocks, fmt.Sprint(i+2))
	}
	if _, err := Plan(value, now, blocks); err == nil || !strings.Contains(err.Error(), "there are 16 versions already") {
		t.Errorf("a seventeenth version: %v", err)
	}
	if r := next(t, value, now, blocks[1:]...); r.ID != "17" || len(r.Dropped) != 1 {
		t.Errorf("with one block taken back: %v", r)
	}
}
