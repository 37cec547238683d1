package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/ddb"
)

var errOtherCharge = errors.New("the charge's ID stands for a hold of another amount: draw an ID for every charge")

// The condition of a reserve. A number that is not there is 0; one below 0 was not
// written by this package and admits nothing.
const (
	callsFit = "(attribute_not_exists(n) OR n BETWEEN :zero AND :calls)"
	usdFits  = "(attribute_not_exists(usd) OR usd BETWEEN :zero AND :room)"
	notYet   = "attribute_not_exists(#id)"

	take    = "ADD n :one, usd :amount, held :held SET expiresAt = if_not_exists(expiresAt, :ttl)"
	andMark = ", #id = :id"
)

// Reserve implements [caps.Store] with one conditional UpdateItem. Where the cap does
// not hold the amount at all, it is one consistent GetItem: on an item that does not
// exist yet the condition would admit.
func (s *Store) Reserve(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
	if err := errors.Join(ctx.Err(), c.Check(), limit.Check()); err != nil {
		return caps.Outcome{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.deadline)
	defer cancel()
	if !limit.Holds(c.Amount) {
		item, err := s.get(ctx, c.Key)
		if err != nil {
			return caps.Outcome{}, err
		}
		out, err := refused(item, c, limit)
		return out, s.explain("GetItem", false, err)
	}
	w := write{first: s.reservation(c, limit)}
	if c.ID != "" {
		w.again = w.first
	}
	var out caps.Outcome
	w.check = func(item attributes) (err error) {
		out, err = admitted(item, c)
		return err
	}
	r, err := s.update(ctx, w)
	if err != nil {
		return caps.Outcome{}, err
	}
	if r.applied {
		if c.Final && c.ID != "" {
			s.dropOldMarks(ctx, c.Key, r.item)
		}
		return out, nil
	}
	if len(r.item) == 0 {
		return caps.Outcome{}, s.explain("UpdateItem", r.unsure, ddb.ErrNoOldItem)
	}
	out, err = refused(r.item, c, limit)
	_, marked := r.item[mark(c)]
	return out, s.explain("UpdateItem", r.unsure && marked, err)
}

// reservation is the one write of a reserve.
func (s *Store) reservation(c caps.Charge, limit caps.Cap) *dynamodb.UpdateItemInput {
	calls, limited := limit.Calls()
	if !limited {
		calls = int64(caps.MaxMicroUSD)
	}
	usd, limited := limit.USD()
	if !limited {
		usd = caps.MaxMicroUSD
	}
	held := c.Amount
	if c.Final {
		held = 0
	}
	condition, update := callsFit+" AND "+usdFits, take
	values := attributes{
		":zero":   number(0),
		":one":    number(1),
		":calls":  number(calls - 1),
		":room":   number(usd - c.Amount),
		":amount": number(c.Amount),
		":held":   number(held),
		":ttl":    number(c.Key.Day.Expiry().Unix()),
	}
	var names map[string]string
	if c.ID != "" {
		condition, update = notYet+" AND "+condition, update+andMark
		names = map[string]string{"#id": mark(c)}
		values[":id"] = number(c.Amount)
		if c.Final {
			values[":id"] = number(s.now().Unix())
		}
	}
	return &dynamodb.UpdateItemInput{
		TableName:                           &s.table,
		Key:                                 itemKey(c.Key),
		ConditionExpression:                 &condition,
		UpdateExpression:                    &update,
		ExpressionAttributeNames:            names,
		ExpressionAttributeValues:           values,
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// admitted reads the item after a reserve that was applied. A reply that does not show
// the charge is not one to trust.
func admitted(item attributes, c caps.Charge) (caps.Outcome, error) {
	u, err := item.usage()
	if err != nil {
		return caps.Outcome{}, err
	}
	known := c.ID == ""
	if !known {
		if known, err = item.has(c); err != nil {
			return caps.Outcome{}, err
		}
	}
	if !known || u.Calls < 1 || u.USD < c.Amount {
		return caps.Outcome{}, errors.New("the reply does not show the charge that was written")
	}
	return caps.Outcome{Allowed: true, Usage: u}, nil
}

// refused reads the item that did not let a reserve through: the cap is used up, or an
// earlier attempt has landed, which was the purpose.
func refused(item attributes, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
	u, err := item.usage()
	if err != nil {
		return caps.Outcome{}, err
	}
	landed, err := item.has(c)
	if err != nil {
		return caps.Outcome{}, err
	}
	if !landed && limit.Admits(u, c.Amount) {
		if _, err := u.USD.Add(c.Amount); err != nil {
			return caps.Outcome{}, err
		}
		return caps.Outcome{}, fmt.Errorf("the condition failed although the item has room for the charge (%d calls used)", u.Calls)
	}
	return caps.Outcome{Allowed: landed, Usage: u}, nil
}
