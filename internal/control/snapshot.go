package control

import (
	"slices"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// snapshot is a state that was read, ready to be asked by every request.
type snapshot struct {
	state  State
	asOf   instant // when its read began
	blocks map[blockID]*Block
	kinds  []blockID // what there are blocks of, without the key
}

type blockID struct {
	key, purpose string
	day          caps.Day
}

func newSnapshot(s State, asOf instant) *snapshot {
	snap := &snapshot{state: s, asOf: asOf, blocks: make(map[blockID]*Block, len(s.Blocks))}
	for i := range s.Blocks {
		b := &s.Blocks[i]
		snap.blocks[b.id()] = b
		if kind := (blockID{purpose: b.Purpose, day: b.Day}); !slices.Contains(snap.kinds, kind) {
			snap.kinds = append(snap.kinds, kind)
		}
	}
	return snap
}

func (b Block) id() blockID { return blockID{b.Key, b.Purpose, b.Day} }

// blockOf finds the block of somebody who is known as callers, nil if there is none.
// Keys are made only for what there are blocks of.
func (s *snapshot) blockOf(keyer *caps.Keyer, now time.Time, callers []caps.Caller) *Block {
	today := caps.DayOf(now)
	for _, id := range s.kinds {
		if id.day != 0 && id.day != today {
			continue
		}
		for _, caller := range callers {
			if caller.IsZero() {
				continue
			}
			if b := s.of(id, keyer, caller); b != nil && b.InForce(now) {
				return b
			}
		}
	}
	return nil
}

// of finds the block of one kind of a caller, under any version of the secret that there
// is.
func (s *snapshot) of(id blockID, keyer *caps.Keyer, caller caps.Caller) *Block {
	if id.day != 0 {
		id.key = keyer.Key(id.purpose, id.day, caller)
		return s.blocks[id]
	}
	for _, k := range keyer.LastingKeys(id.purpose, caller) {
		id.key = k.Key
		if b := s.blocks[id]; b != nil {
			return b
		}
	}
	return nil
}
