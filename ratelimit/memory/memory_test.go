package memory_test

import (
	"testing"

	"github.com/seed3e88d9a2/spendcap/ratelimit"
	"github.com/seed3e88d9a2/spendcap/ratelimit/memory"
	"github.com/seed3e88d9a2/spendcap/ratelimit/ratelimittest"
)

func TestStore(t *testing.T) {
	ratelimittest.Run(t, func(testing.TB) func() ratelimit.Store {
		store := memory.New()
		return func() ratelimit.Store { return store }
	})
}
