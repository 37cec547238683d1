package memory

import "time"

// finalFor is how long the ID of a final charge is kept at least: longer than the
// retries of its Reserve, and the Release that may follow, take.
const finalFor = 10 * time.Second

// finals keeps the IDs of final charges for a while, oldest first, so that dropping
// the old ones costs as much as adding them did.
type finals struct {
	ids   map[string]struct{}
	queue []final
}

type final struct {
	id string
	at time.Time
}

func (f *finals) has(id string) bool {
	_, ok := f.ids[id]
	return ok
}

func (f *finals) add(id string, now time.Time) {
	old := 0
	for old < len(f.queue) && now.Sub(f.queue[old].at) > finalFor {
		delete(f.ids, f.queue[old].id)
		old++
	}
	f.queue = append(f.queue[old:], final{id, now})
	if f.ids == nil {
		f.ids = make(map[string]struct{})
	}
	f.ids[id] = struct{}{}
}

// drop forgets an ID before its time. Its place in the queue stays until then: an ID
// is drawn at random and does not come again.
func (f *finals) drop(id string) { delete(f.ids, id) }
