package control

import (
	"fmt"
	"slices"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// State is everything an operator has set. The zero State is nothing: no stop, the
// file's caps, nobody blocked.
type State struct {
	Stop   *Stop   `json:"stop,omitempty"`   // nil: calls are open
	Limits []Limit `json:"limits,omitempty"` // one per budget and Day
	Blocks []Block `json:"blocks,omitempty"` // one per Purpose, Day and Key
}

// Stop refuses every call of everybody until it is taken back.
type Stop struct {
	Message string    `json:"message,omitempty"` // what callers are told; empty: a sentence of our own
	Since   time.Time `json:"since"`
	By      string    `json:"by"`
}

// Limit takes the place of the file's cap of one budget, in the parts that Cap has.
type Limit struct {
	Budget string    `json:"budget"`
	Day    caps.Day  `json:"day,omitzero"` // the one day that it is for; 0: until further notice
	Cap    caps.Cap  `json:"cap"`          // 0 refuses all
	Since  time.Time `json:"since"`
	By     string    `json:"by"`
}

// BlockPurpose is the purpose of the caller keys of blocks that outlive a day.
const BlockPurpose = "block"

// Block refuses one caller everywhere. The caller is known by the key of one purpose:
// either by one without a day ([AddressBlock]), or by a key of a budget's items, which
// stands for the caller on one day only ([KeyBlock]).
type Block struct {
	Key        string    `json:"key"`
	KeyVersion string    `json:"keyVersion,omitempty"` // of the secret that Key was made with; only with BlockPurpose
	Purpose    string    `json:"purpose"`              // BlockPurpose, or the name of the key's budget
	Day        caps.Day  `json:"day,omitzero"`         // of a budget's key; 0 with BlockPurpose
	Until      time.Time `json:"until,omitzero"`       // the first moment it is over; zero: until it is taken back
	Since      time.Time `json:"since"`
	By         string    `json:"by"`
}

// AddressBlock is the block of a caller whose address is known, until it is taken back.
// The keyer has the deployment's secret, and caller is made with the file's mask. The
// key is of the version of the secret that serves today, which every instance knows; a
// caller is blocked if any of its keys is, see [caps.Keyer.LastingKeys].
func AddressBlock(keyer *caps.Keyer, caller caps.Caller, today caps.Day) Block {
	k := keyer.LastingKey(BlockPurpose, today, caller)
	return Block{Key: k.Key, KeyVersion: k.Version, Purpose: BlockPurpose}
}

// KeyBlock is the block of the caller that an item of a budget belongs to, for the
// item's day.
func KeyBlock(item caps.ItemKey) Block {
	return Block{Key: item.Caller, Purpose: item.Budget, Day: item.Day}
}

// KeysOf are all keys by which a caller may be blocked on a day, given the names of the
// budgets that have caller keys: what to pass to [Operator.Unblock] for an address.
func KeysOf(keyer *caps.Keyer, caller caps.Caller, day caps.Day, budgets ...string) []string {
	var keys []string
	for _, k := range keyer.LastingKeys(BlockPurpose, caller) {
		keys = append(keys, k.Key)
	}
	for _, b := range budgets {
		keys = append(keys, keyer.Key(b, day, caller))
	}
	return keys
}

// KeyVersions are the versions of the secret that blocks are known under, and that have
// to be kept for them.
func (s *State) KeyVersions() []string {
	var ids []string
	for _, b := range s.Blocks {
		if b.KeyVersion != "" && !slices.Contains(ids, b.KeyVersion) {
			ids = append(ids, b.KeyVersion)
		}
	}
	return ids
}

// InForce tells whether the block refuses its caller at a time.
func (b Block) InForce(now time.Time) bool {
	return (b.Day == 0 || b.Day == caps.DayOf(now)) && (b.Until.IsZero() || now.Before(b.Until))
}

// End is when the block is over by itself; the zero time if it lasts until it is taken
// back.
func (b Block) End() time.Time {
	if b.Day != 0 && (b.Until.IsZero() || b.Until.After(b.Day.End())) {
		return b.Day.End()
	}
	return b.Until
}

// Cap is the cap in force for a budget on a day. Part by part, a limit for that day
// comes before one until further notice, and that before the budget's own cap.
func (s *State) Cap(b caps.Budget, day caps.Day) caps.Cap {
	c := b.Cap
	for _, d := range []caps.Day{0, day} {
		for _, l := range s.Limits {
			if l.Budget == b.Name && l.Day == d {
				c = override(c, l.Cap)
			}
		}
	}
	return c
}

func override(c, by caps.Cap) caps.Cap {
	if calls, set := by.Calls(); set {
		c = c.AndCalls(calls)
	}
	if usd, set := by.USD(); set {
		c = c.AndUSD(usd)
	}
	return c
}

// At is what of the state is in force at a time or may come into force: without the
// blocks that are over and the limits of days that are past. It shares nothing with s.
func (s State) At(now time.Time) State {
	if s.Stop != nil {
		s.Stop = new(*s.Stop)
	}
	today := caps.DayOf(now)
	s.Limits = slices.DeleteFunc(slices.Clone(s.Limits), func(l Limit) bool { return l.Day != 0 && l.Day < today })
	s.Blocks = slices.DeleteFunc(slices.Clone(s.Blocks), func(b Block) bool {
		end := b.End()
		return !end.IsZero() && !now.Before(end)
	})
	return s
}

// Bounds of a state, so that its item stays well below the 400 KB that DynamoDB grants
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html).
const (
	MaxBlocks       = 1000
	MaxLimits       = 100
	MaxMessageBytes = 500
	MaxByBytes      = 200
	maxNameBytes    = 64
	maxBytes        = 300_000 // of the JSON form without the stop
)

// Check tells whether the state can be kept and obeyed. The error names the field.
func (s *State) Check() error {
	if s.Stop != nil {
		if err := s.Stop.check(); err != nil {
			return fmt.Errorf("stop: %w", err)
		}
	}
	if len(s.Limits) > MaxLimits {
		return fmt.Errorf("limits: %d are more than %d: take some back", len(s.Limits), MaxLimits)
	}
	for i, l := range s.Limits {
		if err := l.check(); err != nil {
			return fmt.Errorf("limit of budget %q: %w", l.Budget, err)
		}
		if slices.ContainsFunc(s.Limits[:i], l.same) {
			return fmt.Errorf("limit of budget %q: it is there twice", l.Budget)
		}
	}
	seen := make(map[blockID]bool, len(s.Blocks))
	if len(s.Blocks) > MaxBlocks {
		return fmt.Errorf("blocks: %d are more than %d: unblock callers, or lower the caps", len(s.Blocks), MaxBlocks)
	}
	for i, b := range s.Blocks {
		if !isCallerKey(b.Key) { // it may be an address, so it is not told
			return fmt.Errorf("block %d: key: it is not a caller key, 32 lower-case hexadecimal digits: copy one from the list of callers, or give the address", i+1)
		}
		if err := b.check(); err != nil {
			return fmt.Errorf("block of key %q: %w", b.Key, err)
		}
		if seen[b.id()] {
			return fmt.Errorf("block of key %q: it is there twice", b.Key)
		}
		seen[b.id()] = true
	}
	return nil
}

func (s *Stop) check() error {
	if err := checkText("message", s.Message, MaxMessageBytes); err != nil {
		return err
	}
	return checkOrigin(s.Since, s.By)
}

func (l Limit) same(m Limit) bool { return l.Budget == m.Budget && l.Day == m.Day }

func (l Limit) check() error {
	if err := checkName("budget", l.Budget); err != nil {
		return err
	}
	if err := checkDay(l.Day); err != nil {
		return err
	}
	if err := l.Cap.Check(); err != nil {
		return err
	}
	return checkOrigin(l.Since, l.By)
}

func (b Block) check() error {
	if err := checkName("purpose", b.Purpose); err != nil {
		return err
	}
	if err := checkDay(b.Day); err != nil {
		return err
	}
	if (b.Day == 0) != (b.Purpose == BlockPurpose) {
		return fmt.Errorf("day: a key of the purpose %s has none, a budget's key has the one that it is of", BlockPurpose)
	}
	if (b.KeyVersion == "") != (b.Purpose != BlockPurpose) {
		return fmt.Errorf("keyVersion: a key of the purpose %s names the version of its secret, and no other does", BlockPurpose)
	}
	if err := checkText("keyVersion", b.KeyVersion, maxNameBytes); err != nil {
		return err
	}
	return checkOrigin(b.Since, b.By)
}
