package sealed

import (
	"context"
	"time"

	"github.com/seed3e88d9a2/spendcap/internal/control"
)

// Store keeps sealed addresses, each under the name of its block.
type Store interface {
	// Put keeps a sealed address until a time, or, if that is zero, until it is erased.
	Put(ctx context.Context, name string, sealed []byte, until time.Time) error

	// PutFirst is Put for a block that was made at since, unless an address of it is kept
	// until then. It does nothing either where one was erased at since or later: a process
	// that has not heard yet of the end of a block must not bring it back. Times count in
	// seconds.
	PutFirst(ctx context.Context, name string, sealed []byte, until, since time.Time) error

	// Get returns the sealed address, nil if there is none.
	Get(ctx context.Context, name string) ([]byte, error)

	// Erase takes the sealed address away, if there is one, and remembers that for a time.
	Erase(ctx context.Context, name string, now time.Time) error
}

// NameOf is the name that a block has here: no two blocks have the same.
func NameOf(b control.Block) string {
	of := b.KeyVersion
	if b.Day != 0 {
		of = b.Day.String()
	}
	return b.Purpose + "#" + of + "#" + b.Key
}
