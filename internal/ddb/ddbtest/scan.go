package ddbtest

import (
	"crypto/sha256"
	"math"
	"slices"
)

// PageBytes is what a page of a Scan holds at most, before the filter
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Scan.html).
const PageBytes = 1 << 20

// position is where a key lies in a Scan: at its hash.
type position struct {
	hash [sha256.Size]byte
	key  string
}

func positionOf(key string) position { return position{sha256.Sum256([]byte(key)), key} }

func (p position) compare(q position) int { return slices.Compare(p.hash[:], q.hash[:]) }

// positions are those of all rows, in order. Rows are added and never taken away.
func (s *Server) positions() []position {
	if len(s.order) != len(s.rows) {
		s.order = s.order[:0]
		for key := range s.rows {
			s.order = append(s.order, positionOf(key))
		}
		slices.SortFunc(s.order, position.compare)
	}
	return s.order
}

// scan returns the body of a Scan's answer: a page with the key to go on from, filtered
// after it was read, and the read units it has cost.
func (r *Request) scan(order []position, rows map[string]Row) (body any, err error) {
	defer recoverFailure(&err)
	first := 0
	if after := r.ExclusiveStartKey[attrKey]["S"]; after != "" {
		at, found := slices.BinarySearchFunc(order, positionOf(after), position.compare)
		if first = at; found {
			first++
		}
	}
	items, bytes, next := []Row{}, 0, first
	for ; next < len(order); next++ {
		item := rows[order[next].key]
		if bytes > 0 && bytes+item.Size() > PageBytes {
			break
		}
		bytes += item.Size()
		if r.keeps(item) {
			items = append(items, item)
		}
	}
	answer := map[string]any{"Items": items, "Count": len(items), "ScannedCount": next - first}
	if next < len(order) {
		answer["LastEvaluatedKey"] = Row{attrKey: {"S": order[next-1].key}}
	}
	if r.ReturnConsumedCapacity == "TOTAL" {
		units := math.Ceil(float64(bytes) / 4096)
		if !r.ConsistentRead {
			units /= 2
		}
		answer["ConsumedCapacity"] = map[string]any{"TableName": r.TableName, "CapacityUnits": units}
	}
	return answer, nil
}

// keeps tells whether the filter keeps the item.
func (r *Request) keeps(item Row) bool {
	if r.FilterExpression == "" {
		return true
	}
	e := &expression{Request: r, item: item, used: map[string]bool{}, tokens: tokens(r.FilterExpression)}
	holds := e.or()
	e.end()
	return holds
}
