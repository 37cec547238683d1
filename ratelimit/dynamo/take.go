package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed3e88d9a2/spendcap/internal/ddb"
	"github.com/seed3e88d9a2/spendcap/ratelimit"
)

const (
	takeUpdate    = "SET #slot = :mark, expiresAt = :ttl"
	takeCondition = "attribute_not_exists(#slot) OR #slot <= :left OR #slot >= :ahead"

	giveUpdate    = "REMOVE #slot"
	giveCondition = "#slot = :mark"
)

// maxDraws bounds the slots that one take tries. Each but the first is drawn from what
// was free a moment ago, so that only a race is lost again.
const maxDraws = 16

// keepFor is how long an item outlives its window at least: more than clocks differ.
const keepFor = 24 * time.Hour

var errContended = errors.New("too many processes take from the same window at the same time")

// Take implements [ratelimit.Store].
func (s *Store) Take(ctx context.Context, t ratelimit.Take) (ratelimit.Outcome, error) {
	if err := errors.Join(ctx.Err(), t.Check()); err != nil {
		return ratelimit.Outcome{}, err
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	out, err := s.take(ctx, t)
	return out, s.explain(err)
}

func (s *Store) take(ctx context.Context, t ratelimit.Take) (ratelimit.Outcome, error) {
	b := boundsOf(t)
	seen := s.recall(t.Key)
	for range maxDraws {
		slot, m := seen.draw(t.Limit, b), newMark(t.Now)
		r, err := s.send(ctx, s.takeSlot(t, slot, m, b), func(item attributes) error {
			if !item.has(slotName(slot), m) {
				return errors.New("the reply does not show the admission that was written")
			}
			return nil
		})
		if err != nil {
			return ratelimit.Outcome{}, err
		}
		if len(r.item) == 0 {
			return ratelimit.Outcome{}, ddb.ErrNoOldItem
		}
		if seen, err = readSlots(r.item, t.Limit); err != nil {
			return ratelimit.Outcome{}, err
		}
		s.remember(t.Key, seen)
		out := seen.outcome(t, b)
		if r.applied || r.unsure && r.item.has(slotName(slot), m) {
			out.Admission = ratelimit.Admission(slotName(slot) + ":" + m.String())
			return out, nil
		}
		if out.Remaining == 0 {
			return out, nil
		}
		// Another process has taken the slot, and there are more. An attempt of ours that
		// is still on the wire will find the slot taken as well.
	}
	return ratelimit.Outcome{}, errContended
}

// takeSlot is the one write of a take.
func (s *Store) takeSlot(t ratelimit.Take, slot int, m mark, b bounds) *dynamodb.UpdateItemInput {
	expiry := t.Now.Add(t.Window + keepFor).Unix()
	return &dynamodb.UpdateItemInput{
		TableName:                &s.table,
		Key:                      itemKey(t.Key),
		UpdateExpression:         aws.String(takeUpdate),
		ConditionExpression:      aws.String(takeCondition),
		ExpressionAttributeNames: map[string]string{"#slot": slotName(slot)},
		ExpressionAttributeValues: attributes{
			":mark":  number(m.String()),
			":left":  number(mark{b.left, fractions - 1}.String()),
			":ahead": number(fmt.Sprint(b.ahead)),
			":ttl":   number(fmt.Sprint(expiry)),
		},
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// GiveBack implements [ratelimit.Store] with one conditional UpdateItem. A retry that
// does not find the admission any more reports true: the earlier attempt, whose outcome
// was unknown, has landed.
func (s *Store) GiveBack(ctx context.Context, key string, a ratelimit.Admission) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	slot, text, _ := strings.Cut(string(a), ":")
	m, err := parseMark(text)
	if err != nil || !isSlotName(slot) {
		return false, errors.New("the admission is not one of this store")
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	r, err := s.send(ctx, &dynamodb.UpdateItemInput{
		TableName:                 &s.table,
		Key:                       itemKey(key),
		UpdateExpression:          aws.String(giveUpdate),
		ConditionExpression:       aws.String(giveCondition),
		ExpressionAttributeNames:  map[string]string{"#slot": slot},
		ExpressionAttributeValues: attributes{":mark": number(m.String())},
	}, nil)
	s.remember(key, nil)
	return err == nil && (r.applied || r.unsure), s.explain(err)
}

// attributes is an item, or the values of an expression.
type attributes map[string]types.AttributeValue

func itemKey(key string) attributes {
	return attributes{"k": &types.AttributeValueMemberS{Value: "rate#" + key}}
}

func number(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

func (a attributes) has(slot string, m mark) bool {
	value, ok := a[slot]
	if !ok {
		return false
	}
	got, err := markOf(value)
	return err == nil && got == m
}

// reply is what the endpoint said to a write.
type reply struct {
	applied bool       // false: the condition failed
	item    attributes // after the write, or, if the condition failed, as it is
	unsure  bool       // an attempt before the one that was answered may have landed
}

// send sends a write until it is answered, which may be again and again: a slot is taken
// by a mark of its own, and a mark is removed once. check tells whether the item in a
// reply can be trusted.
func (s *Store) send(ctx context.Context, in *dynamodb.UpdateItemInput, check func(attributes) error) (r reply, err error) {
	r.unsure, err = s.sender.Attempts(ctx, true, func(ctx context.Context, _ bool, once func(*dynamodb.Options)) error {
		out, err := s.client.UpdateItem(ctx, in, once)
		if failed := (*types.ConditionalCheckFailedException)(nil); errors.As(err, &failed) {
			r.applied, r.item = false, failed.Item
			return nil
		}
		if err != nil {
			return err
		}
		r.applied, r.item = true, out.Attributes
		if check != nil {
			return check(r.item)
		}
		return nil
	})
	return r, err
}
