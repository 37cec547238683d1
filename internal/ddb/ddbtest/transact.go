package ddbtest

import (
	"maps"
)

// Put is a conditional write of a whole item within a transaction.
type Put struct {
	Item                      Row
	ConditionExpression       string
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues Row
	TableName                 string
}

// transact applies a TransactWriteItems of Puts, all or none. A token that has come
// before is the same transaction, and changes nothing.
func (r *Request) transact(rows map[string]Row, done map[string]bool) (body any, err error) {
	defer recoverFailure(&err)
	if r.ClientRequestToken != "" && done[r.ClientRequestToken] {
		return r.transacted(), nil
	}
	reasons, canceled := []map[string]string{}, false
	for _, t := range r.TransactItems {
		if t.Put == nil {
			panic(invalid("this table knows transactions of Put only"))
		}
		reason := map[string]string{"Code": "None"}
		if c := t.Put.ConditionExpression; c != "" {
			e := &expression{
				Request: &Request{ExpressionAttributeNames: t.Put.ExpressionAttributeNames, ExpressionAttributeValues: t.Put.ExpressionAttributeValues},
				item:    rows[t.Put.Item[attrKey]["S"]], used: map[string]bool{}, tokens: tokens(c),
			}
			holds := e.or()
			e.end()
			if !holds {
				reason, canceled = map[string]string{"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}, true
			}
		}
		reasons = append(reasons, reason)
	}
	if canceled {
		panic(&failure{code: "TransactionCanceledException", message: "Transaction cancelled", reasons: reasons})
	}
	for _, t := range r.TransactItems {
		rows[t.Put.Item[attrKey]["S"]] = maps.Clone(t.Put.Item)
	}
	done[r.ClientRequestToken] = true
	return r.transacted(), nil
}

// transacted is the body of a transaction that was applied.
func (r *Request) transacted() any {
	if r.ReturnConsumedCapacity != "TOTAL" {
		return map[string]any{}
	}
	return map[string]any{"ConsumedCapacity": []any{map[string]any{"TableName": r.TransactItems[0].Put.TableName, "CapacityUnits": 4}}}
}

// batch returns the body of a BatchGetItem's answer.
func (r *Request) batch(rows map[string]Row) any {
	responses := map[string][]Row{}
	for table, request := range r.RequestItems {
		responses[table] = []Row{}
		for _, key := range request.Keys {
			if item, ok := rows[key[attrKey]["S"]]; ok {
				responses[table] = append(responses[table], item)
			}
		}
	}
	return map[string]any{"Responses": responses, "UnprocessedKeys": map[string]any{}}
}
