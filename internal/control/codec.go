package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Encode writes a state, or a part of one, as JSON. It is an error if the state cannot
// be obeyed or is too large.
func Encode(s State) ([]byte, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	// There is always room for a stop, which is small.
	rest, err := json.Marshal(State{Limits: s.Limits, Blocks: s.Blocks})
	if err != nil {
		return nil, err
	}
	if len(rest) > maxBytes {
		return nil, fmt.Errorf("the limits and the blocks have %d bytes together, more than %d: unblock callers", len(rest), maxBytes)
	}
	return json.Marshal(s)
}

// Decode reads what [Encode] writes, and nothing else: what is not understood cannot be
// obeyed.
func Decode(b []byte) (State, error) {
	var s State
	if err := decode(b, &s); err != nil {
		return State{}, err
	}
	return s, s.Check()
}

// EncodeRecord writes a record as JSON.
func EncodeRecord(r Record) ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	return json.Marshal(r)
}

// DecodeRecord reads what [EncodeRecord] writes.
func DecodeRecord(b []byte) (Record, error) {
	var r Record
	if err := decode(b, &r); err != nil {
		return Record{}, err
	}
	return r, r.check()
}

func decode(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows the JSON")
	}
	return nil
}
