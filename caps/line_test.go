package caps

import "testing"

// A line lasts as long as somebody is in it, so that the memory is bounded by what is
// under way.
func TestQueueLines(t *testing.T) {
	var q queue
	key, other := fullKey("a"), fullKey("b")
	first, arrived := q.join(key)
	second, later := q.join(key)
	if first != second || later <= arrived {
		t.Errorf("two at a time: lines %p and %p, arrived at %d and %d", first, second, arrived, later)
	}
	if alone, _ := q.join(other); alone == first {
		t.Error("another budget is in the same line")
	}
	q.leave(key, first)
	if third, _ := q.join(key); third != first {
		t.Error("the line went before the last one had left")
	}
	q.leave(key, first)
	q.leave(key, first)
	if len(q.lines) != 1 || q.lines[key] != nil {
		t.Errorf("%d lines are left; want the other budget's", len(q.lines))
	}
	if again, _ := q.join(key); again == first {
		t.Error("a line came back with its refusal")
	}
}
