package assemble_test

import (
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/originlock"
)

// testLock accepts the secret of the tests.
func testLock(t testing.TB, now func() time.Time) *originlock.Lock {
	t.Helper()
	source, err := originlock.NewStatic(originSecret)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := originlock.New(t.Context(), originlock.Config{Source: source, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return lock
}
