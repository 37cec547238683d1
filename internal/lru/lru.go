// Package lru is a map of bounded size that forgets what has been idle for longest.
package lru

import "container/list"

// Map keeps at most Max entries. It is not safe for concurrent use. Use [New].
type Map[K comparable, V any] struct {
	max     int
	entries map[K]*list.Element
	order   *list.List // of *entry, the most recently used first
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// New returns an empty map for at most max entries, at least one.
func New[K comparable, V any](max int) *Map[K, V] {
	return &Map[K, V]{max: max, entries: make(map[K]*list.Element), order: list.New()}
}

// Get returns the value of a key, which is not idle now.
func (m *Map[K, V]) Get(key K) (value V, ok bool) {
	e, ok := m.entries[key]
	if !ok {
		return value, false
	}
	m.order.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

// Put sets the value of a key, and forgets another if there are too many.
func (m *Map[K, V]) Put(key K, value V) {
	if e, ok := m.entries[key]; ok {
		e.Value.(*entry[K, V]).value = value
		m.order.MoveToFront(e)
		return
	}
	if m.order.Len() >= m.max {
		oldest := m.order.Back()
		delete(m.entries, oldest.Value.(*entry[K, V]).key)
		m.order.Remove(oldest)
	}
	m.entries[key] = m.order.PushFront(&entry[K, V]{key, value})
}

// Delete forgets a key.
func (m *Map[K, V]) Delete(key K) {
	if e, ok := m.entries[key]; ok {
		delete(m.entries, key)
		m.order.Remove(e)
	}
}

// Len is how many entries there are.
func (m *Map[K, V]) Len() int { return m.order.Len() }
