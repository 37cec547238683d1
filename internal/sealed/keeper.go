package sealed

import (
	"context"
	"sync"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/control"
)

const (
	// putTimeout bounds how long a refusal waits for its address to be kept.
	putTimeout = time.Second

	// tryEvery bounds how often a process tries it again for one block.
	tryEvery = 10 * time.Minute

	// rememberedBlocks bounds the memory; beyond it all is forgotten, which costs a failed
	// condition for each block again.
	rememberedBlocks = 2 * control.MaxBlocks
)

// Keeper seals the addresses of callers that are blocked by a key, and of whom nobody
// knows the address yet: when such a caller calls, its address is kept once. What a
// caller can bring about by that is one small write for each block and process.
type Keeper struct {
	Key   PublicKey
	Store Store
	Now   func() time.Time // nil means time.Now

	mu    sync.Mutex
	tried map[made]time.Time // when it is tried again, or the end of the block if it is kept
}

// made is a block as it was made; the same caller may be blocked again under the same name.
type made struct {
	name  string
	since int64 // in seconds since 1970
}

// Keep seals the address of a caller that the block refuses. It does nothing for a block
// that was made with an address: the operator knew that one.
func (k *Keeper) Keep(ctx context.Context, b control.Block, address caps.Caller) error {
	name := NameOf(b)
	this := made{name, b.Since.Unix()}
	if b.Day == 0 || address.IsZero() || !k.due(this) {
		return nil
	}
	sealed, err := k.Key.Seal(address.String(), name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), putTimeout)
	defer cancel()
	if err := k.Store.PutFirst(ctx, name, sealed, b.End(), b.Since); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tried[this] = b.End()
	return nil
}

// due tells whether the block's address is to be kept now, and notes that it is tried.
func (k *Keeper) due(this made) bool {
	now := time.Now
	if k.Now != nil {
		now = k.Now
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if now().Before(k.tried[this]) {
		return false
	}
	if k.tried == nil || len(k.tried) >= rememberedBlocks {
		k.tried = make(map[made]time.Time)
	}
	k.tried[this] = now().Add(tryEvery)
	return true
}
