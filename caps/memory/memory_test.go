package memory_test

import (
	"testing"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/capstest"
	"github.com/seed3e88d9a2/spendcap/caps/memory"
)

func TestStore(t *testing.T) {
	capstest.Run(t, func(_ testing.TB, clock *capstest.Clock) func() caps.Store {
		store := memory.New(clock.Now)
		return func() caps.Store { return store }
	})
}
