package memory_test

import (
	"testing"

	"github.com/seed3e88d9a2/spendcap/internal/control"
	"github.com/seed3e88d9a2/spendcap/internal/control/controltest"
	"github.com/seed3e88d9a2/spendcap/internal/control/memory"
)

func TestStore(t *testing.T) {
	controltest.Run(t, func(*testing.T) control.Store { return new(memory.Store) })
}
