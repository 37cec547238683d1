package dynamo

import (
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/capstest"
)

// The whole suite runs through the SDK over HTTP against the scripted server.
func TestStore(t *testing.T) {
	capstest.Run(t, func(tb testing.TB, clock *capstest.Clock) func() caps.Store {
		s := newServer(tb)
		return func() caps.Store {
			return s.store(func(c *Config) { c.Deadline, c.AttemptTimeout, c.Now = time.Minute, time.Minute, clock.Now })
		}
	})
}
