package originlock

import (
	"strings"
	"testing"
)

// A Lambda sleeps between requests. The monotonic clock may stand still meanwhile, and
// a secret would seem as young as before.
func TestAgeIsByTheWallClock(t *testing.T) {
	source, err := NewStatic(strings.Repeat("x", MinSecretBytes))
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(t.Context(), Config{Source: source})
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := l.Check(t.Context(), strings.Repeat("y", MinSecretBytes)); ok || err != nil {
		t.Fatalf("Check = %v, %v", ok, err)
	}
	if asked := l.known.Load().asked.String(); strings.Contains(asked, "m=") {
		t.Errorf("the time of the question %s has a monotonic reading", asked)
	}
	if ended := l.ended.String(); strings.Contains(ended, "m=") {
		t.Errorf("the end of the refresh %s has a monotonic reading", ended)
	}
}
