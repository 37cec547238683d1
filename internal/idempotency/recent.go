package idempotency

import (
	"sync"
	"time"
)

// recentBytes bounds the answers that a process remembers, sealed as they are.
const recentBytes = 4 << 20

// recent remembers answers that this process has kept or seen. DynamoDB bills a
// condition that fails by the size of the item, so a client that repeats a key could
// run up a bill with an answer of 64 KB, 64 write units a time; a warm instance
// answers from memory instead. It may, because an answer is final until its time has
// come. A claim that is still running is never remembered.
type recent struct {
	mu      sync.Mutex
	records map[string]Record
	bytes   int
}

func (r *recent) get(item string, now time.Time) (Record, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	record, found := r.records[item]
	if found && !record.FreeAt.After(now) {
		r.drop(item)
		found = false
	}
	return record, found
}

func (r *recent) add(item string, record Record, now time.Time) {
	if len(record.Answer) == 0 || !record.FreeAt.After(now) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.records == nil {
		r.records = make(map[string]Record)
	}
	r.drop(item)
	size := cost(item, record)
	for old := range r.records { // in random order, which is as good as any
		if r.bytes+size <= recentBytes {
			break
		}
		r.drop(old)
	}
	r.records[item] = record
	r.bytes += size
}

func (r *recent) drop(item string) {
	if record, found := r.records[item]; found {
		delete(r.records, item)
		r.bytes -= cost(item, record)
	}
}

// cost estimates the memory of a record, with its share of the map.
func cost(item string, r Record) int { return 256 + len(item) + len(r.Answer) }
