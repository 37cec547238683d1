package sealed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/control"
)

func pair(t testing.TB) PrivateKey {
	t.Helper()
	k, err := GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestSealAndOpen(t *testing.T) {
	k := pair(t)
	public, err := ParsePublicKey(k.Public().String())
	if err != nil {
		t.Fatal(err)
	}
	text, err := k.Text()
	if err != nil {
		t.Fatal(err)
	}
	private, err := ParsePrivateKey(text + "\n")
	if err != nil {
		t.Fatal(err)
	}
	lengths := map[int]bool{}
	seen := map[string]bool{}
	for _, address := range []string{"198.51.100.10", "1.1.1.1", "2001:db8::/64", "2001:db8:1111:2222:3333:4444:5555:6666", "198.51.100.10", strings.Repeat("x", 63)} {
		sealed, err := public.Seal(address, "block#1#aa")
		if err != nil {
			t.Fatal(err)
		}
		lengths[len(sealed)] = true
		if bytes.Contains(sealed, []byte(address)) || seen[string(sealed)] {
			t.Errorf("%s is readable, or was sealed like this before", address)
		}
		seen[string(sealed)] = true
		if got, err := private.Open(sealed, "block#1#aa"); err != nil || got != address {
			t.Errorf("opened: %q, %v; want %q", got, err, address)
		}
		refused := func(what string, k PrivateKey, sealed []byte, block string) {
			t.Helper()
			if got, err := k.Open(sealed, block); !errors.Is(err, errUnopened) || got != "" {
				t.Errorf("%s: %q, %v", what, got, err)
			}
		}
		refused("another key", pair(t), sealed, "block#1#aa")
		refused("another block", private, sealed, "block#1#ab")
		refused("cut", private, sealed[:len(sealed)-1], "block#1#aa")
		refused("longer", private, append(slices.Clone(sealed), 0), "block#1#aa")
		refused("nothing", private, nil, "block#1#aa")
		for _, i := range []int{0, 1, 32, 33, len(sealed) - 1} { // each part and its borders
			changed := slices.Clone(sealed)
			changed[i] ^= 1
			refused(fmt.Sprintf("byte %d changed", i), private, changed, "block#1#aa")
		}
	}
	if len(lengths) != 1 {
		t.Errorf("the lengths tell the addresses apart: %v", lengths)
	}
	for _, address := range []string{"", strings.Repeat("x", 64)} {
		if sealed, err := public.Seal(address, "b"); err == nil || sealed != nil {
			t.Errorf("%d bytes are sealed", len(address))
		}
	}
}

// The two keys cannot be taken for each other, and the private one does not show.
func TestKeys(t *testing.T) {
	k := pair(t)
	private, err := k.Text()
	if err != nil {
		t.Fatal(err)
	}
	public := k.Public().String()
	if _, err := ParsePublicKey(private); err == nil || !strings.HasPrefix(err.Error(), "that is the private key") || strings.Contains(err.Error(), private[30:]) {
		t.Error(err)
	}
	for _, s := range []string{"", public[:len(public)-1], public + "A", strings.TrimPrefix(public, publicPrefix), publicPrefix, publicPrefix + strings.Repeat("A", 42) + "!"} {
		if _, err := ParsePublicKey(s); err == nil || !strings.HasPrefix(err.Error(), "that is not a public key") {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range []string{"", public, private[:len(private)-1], private + "A", privatePrefix} {
		if _, err := ParsePrivateKey(s); err == nil || !strings.HasPrefix(err.Error(), "that is not a private key") {
			t.Errorf("%q: %v", s, err)
		}
	}
	if shown := fmt.Sprintf("%v %+v %#v %s", k, k, k, k.LogValue()); strings.Contains(shown, strings.TrimPrefix(private, privatePrefix)) || strings.Count(shown, "(private key)") != 4 {
		t.Error(shown)
	}
}

// FuzzOpen: nothing that was not sealed opens, and nothing panics.
func FuzzOpen(f *testing.F) {
	k := pair(f)
	sealed, err := k.Public().Seal("198.51.100.10", "b")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed[:40])
	f.Add([]byte{})
	f.Add([]byte{formatVersion})
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, err := k.Open(data, "b"); err == nil {
			t.Fatalf("%x opens: %q", data, got)
		}
	})
}

// puts is a store that notes what it is given.
type puts struct {
	Store
	names []string
	last  []byte
	until time.Time
	err   error
}

func (p *puts) PutFirst(ctx context.Context, name string, sealed []byte, until, since time.Time) error {
	if _, ok := ctx.Deadline(); !ok || since.IsZero() {
		panic("without a deadline, or in the place of another")
	}
	p.names, p.last, p.until = append(p.names, name), sealed, until
	return p.err
}

// A process keeps the address of a blocked caller once for each block, whatever the
// caller does.
func TestKeeper(t *testing.T) {
	k, store := pair(t), &puts{}
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	keeper := &Keeper{Key: k.Public(), Store: store, Now: func() time.Time { return now }}
	caller, err := caps.ViewerCaller("2001:db8:1:2:3::4:443")
	if err != nil {
		t.Fatal(err)
	}
	day := caps.DayOf(now)
	byKey := control.KeyBlock(caps.ItemKey{Budget: "caller", Day: day, Caller: strings.Repeat("a", 32)})
	byKey.Since = now
	byAddress := control.Block{Key: strings.Repeat("b", 32), KeyVersion: "1", Purpose: control.BlockPurpose}
	keep := func(b control.Block, caller caps.Caller, want int) {
		t.Helper()
		if err := keeper.Keep(t.Context(), b, caller); !errors.Is(err, store.err) || len(store.names) != want {
			t.Errorf("%v, %d kept; want %d", err, len(store.names), want)
		}
	}
	keep(byAddress, caller, 0)
	keep(byKey, caps.Caller{}, 0)
	store.err = errors.New("the store is down")
	keep(byKey, caller, 1)
	now = now.Add(tryEvery - 1)
	store.err = nil
	for range 100 {
		keep(byKey, caller, 1) // not again so soon
	}
	now = now.Add(1)
	keep(byKey, caller, 2)
	name := "caller#2026-12-01#" + strings.Repeat("a", 32)
	if got, err := k.Open(store.last, name); err != nil || got != "2001:db8:1:2::/64" || store.names[1] != name || !store.until.Equal(day.End()) {
		t.Errorf("%q under %s until %v, %v", got, store.names[1], store.until, err)
	}
	now = day.End().Add(-1)
	for range 100 {
		keep(byKey, caller, 2) // it is kept
	}
	byKey.Since = byKey.Since.Add(time.Hour) // taken back, and blocked again
	for range 100 {
		keep(byKey, caller, 3)
	}
	for n := range 3 * control.MaxBlocks {
		byKey.Key = fmt.Sprintf("%032x", n)
		keep(byKey, caller, 4+n)
	}
	if len(keeper.tried) > rememberedBlocks {
		t.Errorf("%d blocks are remembered", len(keeper.tried))
	}
}

func TestNames(t *testing.T) {
	names := map[string]bool{}
	blocks := []control.Block{
		{Key: "a", Purpose: "block", KeyVersion: "1"}, {Key: "b", Purpose: "block", KeyVersion: "1"},
		{Key: "a", Purpose: "block", KeyVersion: "2"}, {Key: "a", Purpose: "caller", Day: 1}, {Key: "a", Purpose: "caller", Day: 2}, {Key: "a", Purpose: "demo", Day: 1},
	}
	for _, b := range blocks {
		names[NameOf(b)] = true
	}
	if len(names) != len(blocks) {
		t.Errorf("%d names for %d blocks: %v", len(names), len(blocks), names)
	}
}
