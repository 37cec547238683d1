package lru_test

import (
	"testing"

	"github.com/seed3e88d9a2/spendcap/internal/lru"
)

func TestTheLongestIdleGoesFirst(t *testing.T) {
	m := lru.New[string, int](3)
	for i, key := range []string{"a", "b", "c"} {
		m.Put(key, i)
	}
	if v, ok := m.Get("a"); v != 0 || !ok {
		t.Fatal(v, ok)
	}
	m.Put("b", 7) // c is the idle one now
	m.Put("d", 3)
	want := map[string]int{"a": 0, "b": 7, "d": 3}
	for _, key := range []string{"a", "b", "c", "d"} {
		got, ok := m.Get(key)
		if expected, there := want[key]; got != expected || ok != there {
			t.Errorf("%s: %d, %v; want %d, %v", key, got, ok, expected, there)
		}
	}
	m.Delete("b")
	m.Delete("never there")
	if _, ok := m.Get("b"); ok || m.Len() != 2 {
		t.Errorf("after Delete: %v, %d entries", ok, m.Len())
	}
	for i := range 1000 {
		m.Put(string(rune('A'+i)), i)
	}
	if m.Len() != 3 {
		t.Errorf("%d entries; want 3", m.Len())
	}
}
