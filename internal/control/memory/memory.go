// Package memory is the in-process [control.Store], for local runs and tests. What it
// keeps ends with the process.
package memory

import (
	"context"
	"slices"
	"sync"

	"github.com/seed3e88d9a2/spendcap/internal/control"
)

// Store keeps the state in the memory of the process. The zero Store is empty and ready
// to use. Like the other stores it keeps the JSON form, so that nothing is shared with
// whoever reads or writes, and nothing can be kept here that could not be there.
type Store struct {
	mu      sync.Mutex
	version int64
	state   []byte
	records [][]byte // the newest last
}

var _ control.Store = (*Store)(nil)

// Read implements [control.Store].
func (s *Store) Read(ctx context.Context) (control.State, int64, error) {
	if err := ctx.Err(); err != nil {
		return control.State{}, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.version == 0 {
		return control.State{}, 0, nil
	}
	state, err := control.Decode(s.state)
	return state, s.version, err
}

// Write implements [control.Store].
func (s *Store) Write(ctx context.Context, version int64, state control.State, r control.Record) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if err := control.CheckWrite(version, r); err != nil {
		return false, err
	}
	encoded, err := control.Encode(state)
	if err != nil {
		return false, err
	}
	record, err := control.EncodeRecord(r)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.version != version {
		return false, nil
	}
	s.version, s.state = version+1, encoded
	s.records = append(s.records, record)
	if n := len(s.records) - control.HistoryKept; n > 0 {
		s.records = slices.Delete(s.records, 0, n)
	}
	return true, nil
}

// History implements [control.Store].
func (s *Store) History(ctx context.Context) ([]control.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var records []control.Record
	for _, encoded := range slices.Backward(s.records) {
		r, err := control.DecodeRecord(encoded)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, nil
}
