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

// refuses tells whether the budget is known to be full for a charge of amount, and
// the usage that filled it. It lets go when the cap has changed; the new day has
// another key.
func (m *fullMemory) refuses(key ItemKey, limit Cap, amount MicroUSD, now time.Time) (Usage, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	entry, ok := m.now[key]
	if !ok {
		entry, ok = m.old[key]
	}
	if !ok || entry.limit != limit || !now.Before(entry.until) || !refusedForGood(limit, entry.usage, amount) {
		return Usage{}, false
	}
	return entry.usage, true
}

// remember notes a refusal, if no hold that may still come back could undo it.
func (m *fullMemory) remember(key ItemKey, limit Cap, u Usage, amount MicroUSD, now time.Time) {
	if !refusedForGood(limit, u, amount) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now == nil || len(m.now) >= fullEntries {
		m.now, m.old = make(map[ItemKey]full), m.now
	}
	m.now[key] = full{limit, u, now.Add(fullFor)}
}

// refusedForGood tells whether a charge of amount would be refused even if every open
// hold were given back whole.
func refusedForGood(limit Cap, u Usage, amount MicroUSD) bool {
	calls := u.Calls - int64(u.Open)
	if u.Held > 0 && u.Open == 0 {
		calls = 0 // a shared budget does not say how many of its calls are held
	}
	return !limit.Admits(Usage{Calls: calls, USD: u.Settled()}, amount)
}
