package caps

import (
	"sync"
	"time"
)

// fullFor bounds how long a process answers "full" without asking the store. A
// failed condition costs a write unit, so a caller who hammers costs one write in
// this time; and a raised cap or an item that an operator deleted is seen within it.
const fullFor = 5 * time.Second

// fullEntries bounds each of the two generations of the memory. Forgetting costs a
// store call and nothing else.
const fullEntries = 8192

// fullMemory remembers which budgets are full. It only ever refuses: it holds
// nothing that could admit a call.
type fullMemory struct {
	mu       sync.Mutex
	now, old map[ItemKey]full // two generations: when one is full, the other is dropped
}

type full struct {
	limit Cap
	usage Usage
	until time.Time
}

// refuses tells whether the budget is known to be full for c, and the usage that filled
// it. It lets go when the cap has changed; the new day has another key.
func (m *fullMemory) refuses(c Charge, limit Cap, now time.Time) (Usage, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	entry, ok := m.now[c.Key]
	if !ok {
		entry, ok = m.old[c.Key]
	}
	if ok && entry.limit != limit { // it says nothing about later, when the old cap is back
		delete(m.now, c.Key)
		delete(m.old, c.Key)
		return Usage{}, false
	}
	if !ok || !now.Before(entry.until) || !refusedForGood(limit, entry.usage, c) {
		return Usage{}, false
	}
	return entry.usage, true
}

// remember notes a refusal, if no hold that may still come back could undo it.
func (m *fullMemory) remember(c Charge, limit Cap, u Usage, now time.Time) {
	if !refusedForGood(limit, u, c) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now == nil || len(m.now) >= fullEntries {
		m.now, m.old = make(map[ItemKey]full), m.now
	}
	m.now[c.Key] = full{limit, u, now.Add(fullFor)}
}

// forget lets go of what is known about a budget, because something came back to it.
// Another process sees that within fullFor.
func (m *fullMemory) forget(key ItemKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.now, key)
	delete(m.old, key)
}

// refusedForGood tells whether c would be refused even if every open hold were given
// back whole.
func refusedForGood(limit Cap, u Usage, c Charge) bool {
	calls := u.Calls - int64(u.Open)
	// A shared budget does not say how many of its calls are held. Where holds are of no
	// money, not even whether there are any.
	if u.Open == 0 && (u.Held > 0 || c.Key.Caller == Everybody && c.Amount == 0 && !c.Final) {
		calls = 0
	}
	return !limit.Admits(Usage{Calls: calls, USD: u.Settled()}, c.Amount)
}
