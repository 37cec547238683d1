package hmackey

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// keepDays is for how many days after it served last a version stays: its last day's
// items are deleted some days after [caps.Day.Expiry], and an operator may look them up
// until then.
const keepDays = 8

// Rotation is a change of the ring.
type Rotation struct {
	ID   string   // of the new version
	From caps.Day // the first day that it serves

	Kept    []string // versions that stay, the oldest first
	Blocked []string // those of them that stay for the sake of blocks alone
	Dropped []string // versions that go

	Value string // the new kept form; it holds secrets
}

// String shows which versions it is about.
func (r Rotation) String() string {
	return fmt.Sprintf("version %s from %s, kept %v, dropped %v", r.ID, r.From, r.Kept, r.Dropped)
}

// GoString keeps the secrets out of %#v.
func (r Rotation) GoString() string { return r.String() }

// ErrPlanned is wrapped by the error of [Plan] when a version that has not begun yet is
// in the ring.
var ErrPlanned = errors.New("a new version is on its way already")

// Plan adds a version with a secret drawn at random to the kept form. It serves from the
// first day that begins [Notice] or more after now. Versions that have not served for
// eight days and that no block is known under are dropped; blocks are the IDs of the
// versions that blocks name.
func Plan(value string, now time.Time, blocks []string) (Rotation, error) {
	versions, err := Parse(value)
	if err != nil {
		return Rotation{}, err
	}
	today := caps.DayOf(now)
	if last := versions[len(versions)-1]; len(versions) > 1 && last.From > today {
		return Rotation{}, fmt.Errorf("%w: %q serves from %s", ErrPlanned, last.ID, last.From)
	}
	var r Rotation
	var ring []caps.KeyVersion
	for i, v := range versions {
		past := i+1 < len(versions) && versions[i+1].From+keepDays <= today
		blocked := slices.Contains(blocks, v.ID)
		if past && !blocked {
			r.Dropped = append(r.Dropped, v.ID)
			continue
		}
		if past {
			r.Blocked = append(r.Blocked, v.ID)
		}
		r.Kept = append(r.Kept, v.ID)
		ring = append(ring, v)
	}
	if len(ring) == caps.MaxKeyVersions {
		return Rotation{}, fmt.Errorf("there are %d versions already, and blocks are known under %v: take old blocks back first", len(ring), r.Blocked)
	}
	r.ID, r.From = nextID(versions), caps.DayOf(now.Add(Notice-1))+1
	var secret [caps.MinSecretBytes]byte
	rand.Read(secret[:]) // never fails
	ring = append(ring, caps.KeyVersion{ID: r.ID, From: r.From, Secret: []byte(hex.EncodeToString(secret[:]))})
	r.Value, err = Format(ring)
	return r, err
}

// nextID returns the number after the largest that is an ID.
func nextID(versions []caps.KeyVersion) string {
	largest := 0
	for _, v := range versions {
		if n, err := strconv.Atoi(v.ID); err == nil {
			largest = max(largest, n)
		}
	}
	return strconv.Itoa(largest + 1)
}
