package dynamo

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// Settle implements [caps.Store] with one conditional UpdateItem on the hold.
//
// A retry that does not find a caller's hold any more reports true: the earlier
// attempt, whose outcome was unknown, has landed.
//
// In a shared budget, whose holds cannot be told apart, the condition is that as much
// is held, and an unknown outcome is not tried again: too much stays counted. Only a
// cost above the hold would then be missing, so the difference, and nothing else, is
// added once more. If the first attempt had landed, it is counted twice; if not, the
// hold stays held beside the full cost. Sending the whole write again might take
// another call's hold, and with it lose that call's overrun.
func (s *Store) Settle(ctx context.Context, c caps.Charge, actual caps.MicroUSD) (bool, error) {
	if err := errors.Join(ctx.Err(), c.Check(), actual.Check()); err != nil {
		return false, err
	}
	if c.Final {
		return false, errors.New("a final charge has nothing to settle")
	}
	over := actual - c.Amount
	w := write{first: s.undoing(c, "ADD usd :usd, held :held", attributes{
		":usd":    number(over),
		":held":   number(-c.Amount),
		":amount": number(c.Amount),
	})}
	switch {
	case c.ID != "":
		w.again = w.first
	case over > 0:
		w.again = s.overrun(c.Key, over)
	}
	return s.undo(ctx, w)
}

// Release implements [caps.Store] like Settle: the call, the amount and the hold are
// taken back in one conditional UpdateItem.
func (s *Store) Release(ctx context.Context, c caps.Charge) (bool, error) {
	if err := errors.Join(ctx.Err(), c.Check()); err != nil {
		return false, err
	}
	update, values := "ADD n :minus, usd :usd", attributes{
		":minus": number(-1),
		":usd":   number(-c.Amount),
	}
	if !c.Final {
		update += ", held :held"
		values[":held"] = number(-c.Amount)
	}
	if !c.Final || c.ID == "" {
		values[":amount"] = number(c.Amount)
	}
	w := write{first: s.undoing(c, update, values)}
	if c.ID != "" {
		w.again = w.first
	}
	return s.undo(ctx, w)
}

// undoing completes the write that takes a charge back: it is applied only if the
// charge is there, and removes its mark.
func (s *Store) undoing(c caps.Charge, update string, values attributes) *dynamodb.UpdateItemInput {
	in := &dynamodb.UpdateItemInput{TableName: &s.table, Key: itemKey(c.Key), ExpressionAttributeValues: values}
	var condition string
	switch {
	case c.ID != "":
		update += " REMOVE #id"
		condition = "#id = :amount"
		if c.Final {
			condition = "attribute_exists(#id)"
		}
		in.ExpressionAttributeNames = map[string]string{"#id": mark(c)}
	default:
		condition = "n >= :one AND usd >= :amount"
		if !c.Final {
			condition += " AND held >= :amount"
		}
		values[":one"] = number(1)
	}
	in.UpdateExpression, in.ConditionExpression = &update, &condition
	return in
}

// overrun adds what a call cost above its hold to a shared budget.
func (s *Store) overrun(key caps.ItemKey, over caps.MicroUSD) *dynamodb.UpdateItemInput {
	update, condition := "ADD usd :usd", "attribute_exists(k)"
	return &dynamodb.UpdateItemInput{
		TableName:                 &s.table,
		Key:                       itemKey(key),
		UpdateExpression:          &update,
		ConditionExpression:       &condition,
		ExpressionAttributeValues: attributes{":usd": number(over)},
	}
}

func (s *Store) undo(ctx context.Context, w write) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, s.deadline)
	defer cancel()
	r, err := s.update(ctx, w)
	return err == nil && (r.applied || r.unsure), err
}
