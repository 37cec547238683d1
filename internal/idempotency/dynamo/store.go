// Package dynamo is the DynamoDB [idempotency.Store]. It shares the table of the
// budgets and needs permission for UpdateItem only.
//
// One item per key in use:
//
//	k            S  partition key, "idem#answer#<keyed hash of caller and key>"
//	claim        B  the claim's ID, 16 bytes
//	fingerprint  B  32 bytes
//	freeAt       N  when the item is free again, Unix milliseconds
//	answer       B  sealed; absent while the claim is running
//	expiresAt    N  TTL, Unix seconds
//
// An item without freeAt, or past it, is free. DynamoDB deletes it some time after
// expiresAt (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/TTL.html),
// and until then it changes nothing.
package dynamo

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed3e88d9a2/spendcap/internal/idempotency"
)

// API is what the store asks of a *dynamodb.Client.
type API interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// Config is what a [Store] is made from.
type Config struct {
	Client API
	Table  string // its partition key is the string k
}

// Store keeps claims and answers in DynamoDB. Each of its methods is one conditional
// UpdateItem, which is sent again if the reply is lost or the table throttles: the
// claim's ID tells a repeat from a rival. An attempt that arrives only after its claim
// was given back takes the key for one lease more.
type Store struct {
	client API
	table  string
	limits limits
}

var _ idempotency.Store = (*Store)(nil)

// New returns a store, or an error that names the setting that is missing.
func New(c Config) (*Store, error) {
	if c.Client == nil {
		return nil, errors.New("dynamo.Config.Client is missing: pass a *dynamodb.Client")
	}
	if c.Table == "" {
		return nil, errors.New("dynamo.Config.Table is missing: pass the name of the table")
	}
	return &Store{client: c.Client, table: c.Table, limits: defaultLimits}, nil
}

const (
	claimUpdate    = "SET claim = :claim, fingerprint = :fingerprint, freeAt = :freeAt, expiresAt = :expiresAt REMOVE answer"
	claimCondition = "attribute_not_exists(freeAt) OR freeAt <= :now"

	keepUpdate    = "SET answer = :answer, freeAt = :freeAt"
	keepCondition = "claim = :claim"

	freeUpdate    = "REMOVE claim, fingerprint, freeAt"
	freeCondition = "claim = :claim AND attribute_not_exists(answer)"
)

// Claim implements [idempotency.Store].
func (s *Store) Claim(ctx context.Context, c idempotency.NewClaim) (idempotency.Record, bool, error) {
	in := s.update(c.Item, claimUpdate, claimCondition, values{
		":claim":       binary(c.ID[:]),
		":fingerprint": binary(c.Fingerprint[:]),
		":freeAt":      number(c.FreeAt.UnixMilli()),
		":expiresAt":   number(c.ExpiresAt.Unix()),
		":now":         number(c.Now.UnixMilli()),
	})
	in.ReturnValues = types.ReturnValueUpdatedNew
	in.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	refused, err := s.send(ctx, in)
	if err != nil || refused == nil {
		return idempotency.Record{}, err == nil, err
	}
	r, err := readRecord(refused.Item)
	if err != nil {
		return idempotency.Record{}, false, err
	}
	return r, r.Claim == c.ID && len(r.Answer) == 0, nil
}

// Keep implements [idempotency.Store].
func (s *Store) Keep(ctx context.Context, item string, claim idempotency.ClaimID, sealed []byte, freeAt time.Time) (bool, error) {
	refused, err := s.send(ctx, s.update(item, keepUpdate, keepCondition, values{
		":claim":  binary(claim[:]),
		":answer": binary(sealed),
		":freeAt": number(freeAt.UnixMilli()),
	}))
	return err == nil && refused == nil, err
}

// Free implements [idempotency.Store]. After a lost reply it may report false although
// it did.
func (s *Store) Free(ctx context.Context, item string, claim idempotency.ClaimID) (bool, error) {
	refused, err := s.send(ctx, s.update(item, freeUpdate, freeCondition, values{":claim": binary(claim[:])}))
	return err == nil && refused == nil, err
}

type values = map[string]types.AttributeValue

func (s *Store) update(item, update, condition string, v values) *dynamodb.UpdateItemInput {
	return &dynamodb.UpdateItemInput{
		TableName:                 &s.table,
		Key:                       values{"k": &types.AttributeValueMemberS{Value: item}},
		UpdateExpression:          aws.String(update),
		ConditionExpression:       aws.String(condition),
		ExpressionAttributeValues: v,
	}
}

func binary(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// readRecord reads an item that a claim was refused on.
func readRecord(item values) (idempotency.Record, error) {
	var r idempotency.Record
	claim, _ := item["claim"].(*types.AttributeValueMemberB)
	fingerprint, _ := item["fingerprint"].(*types.AttributeValueMemberB)
	freeAt, _ := item["freeAt"].(*types.AttributeValueMemberN)
	if claim == nil || len(claim.Value) != len(r.Claim) || fingerprint == nil || len(fingerprint.Value) != len(r.Fingerprint) || freeAt == nil {
		return idempotency.Record{}, errors.New("an idempotency item is malformed: it lacks claim, fingerprint or freeAt")
	}
	milliseconds, err := strconv.ParseInt(freeAt.Value, 10, 64)
	if err != nil {
		return idempotency.Record{}, errors.New("an idempotency item is malformed: freeAt is not a whole number")
	}
	copy(r.Claim[:], claim.Value)
	copy(r.Fingerprint[:], fingerprint.Value)
	r.FreeAt = time.UnixMilli(milliseconds).UTC()
	if attribute, there := item["answer"]; there {
		answer, _ := attribute.(*types.AttributeValueMemberB)
		if answer == nil || len(answer.Value) == 0 {
			return idempotency.Record{}, errors.New("an idempotency item is malformed: answer is not binary, or empty")
		}
		r.Answer = answer.Value
	}
	return r, nil
}

// errUnconfirmed says that a reply of success does not name the claim. A paid call is
// made on the strength of that reply, and an empty object is what a broken proxy might
// say as well.
var errUnconfirmed = errors.New("the reply does not show the claim that was made")

// send sends one update until its outcome is known. refused is not nil if the
// condition was not met.
func (s *Store) send(ctx context.Context, in *dynamodb.UpdateItemInput) (refused *types.ConditionalCheckFailedException, err error) {
	err = s.limits.run(ctx, func(ctx context.Context) error {
		out, err := s.client.UpdateItem(ctx, in, withoutRetries)
		switch {
		case errors.As(err, &refused):
			return nil
		case err == nil && in.ReturnValues != "" && !reflect.DeepEqual(out.Attributes["claim"], in.ExpressionAttributeValues[":claim"]):
			return errUnconfirmed
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("DynamoDB table %s: %w", s.table, err)
	}
	return refused, nil
}
