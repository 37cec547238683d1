package idempotency

import (
	"fmt"
	"testing"
	"time"
)

var noon = time.Date(2036, 12, 1, 12, 0, 0, 0, time.UTC)

func TestRecent(t *testing.T) {
	var r recent
	kept := Record{FreeAt: noon.Add(time.Hour), Answer: []byte("sealed")}
	r.add("running", Record{FreeAt: noon.Add(time.Hour)}, noon)
	r.add("expired", Record{FreeAt: noon, Answer: []byte("sealed")}, noon)
	r.add("kept", kept, noon)
	r.add("kept", kept, noon)
	for item, want := range map[string]bool{"running": false, "expired": false, "unknown": false, "kept": true} {
		if got, found := r.get(item, noon); found != want || found && string(got.Answer) != "sealed" {
			t.Errorf("get(%s) = %v, %v; want found = %v", item, got, found, want)
		}
	}
	if want := cost("kept", kept); r.bytes != want {
		t.Errorf("%d bytes, want %d", r.bytes, want)
	}
	if _, found := r.get("kept", noon.Add(time.Hour-time.Millisecond)); !found {
		t.Error("forgotten before its time")
	}
	if _, found := r.get("kept", noon.Add(time.Hour)); found {
		t.Error("remembered past its time")
	}
	if r.bytes != 0 || len(r.records) != 0 {
		t.Errorf("%d bytes and %d records are left", r.bytes, len(r.records))
	}
}

func TestRecentIsBounded(t *testing.T) {
	var r recent
	large := Record{FreeAt: noon.Add(time.Hour), Answer: make([]byte, MaxAnswerBytes)}
	for i := range 100 {
		item := fmt.Sprintf("item-%02d", i)
		r.add(item, large, noon)
		if _, found := r.get(item, noon); !found {
			t.Fatalf("%s is not remembered", item)
		}
		if r.bytes > recentBytes || r.bytes != len(r.records)*cost(item, large) {
			t.Fatalf("%d bytes in %d records", r.bytes, len(r.records))
		}
	}
	if want := recentBytes / cost("item-00", large); len(r.records) != want {
		t.Errorf("%d records, want %d", len(r.records), want)
	}
}
