// Package dynamo keeps sealed addresses in the DynamoDB table of the budgets, one item
// for each block:
//
//	k          S  partition key, "sealed#<purpose>#<version or date>#<caller key>"
//	address    B  sealed, see package sealed
//	expiresAt  N  TTL, seconds; the block's end, if it has one
//
// It needs permission for UpdateItem, and for GetItem to read.
package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed3e88d9a2/spendcap/internal/ddb"
	"github.com/seed3e88d9a2/spendcap/internal/sealed"
)

// API is what the store asks of a *dynamodb.Client.
type API interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// Store is a [sealed.Store] in the table whose partition key is the string k.
type Store struct {
	Client API
	Table  string
}

var _ sealed.Store = Store{}

// keyPrefix begins the keys. They have four parts, where a budget's item has three.
const keyPrefix = "sealed#"

type item = map[string]types.AttributeValue

func keyOf(name string) item {
	return item{"k": &types.AttributeValueMemberS{Value: keyPrefix + name}}
}

// Put implements [sealed.Store]. Sending it again changes nothing, so the SDK may.
func (s Store) Put(ctx context.Context, name string, address []byte, until time.Time) error {
	return s.update(ctx, s.put(name, address, until))
}

// PutFirst implements [sealed.Store]. What is there is of the past if it has expired, or
// was erased, before the block was made; and an address that is kept for less long than
// the block lasts is of an earlier one of the same caller.
func (s Store) PutFirst(ctx context.Context, name string, address []byte, until, since time.Time) error {
	in := s.put(name, address, until)
	in.ConditionExpression = aws.String("attribute_not_exists(k) OR expiresAt <= :past OR attribute_exists(address) AND expiresAt <= :sooner")
	in.ExpressionAttributeValues[":past"] = seconds(since.Add(-time.Second))
	in.ExpressionAttributeValues[":sooner"] = seconds(until.Add(-time.Second))
	return s.update(ctx, in)
}

func (s Store) put(name string, address []byte, until time.Time) *dynamodb.UpdateItemInput {
	in := &dynamodb.UpdateItemInput{
		TableName:                 &s.Table,
		Key:                       keyOf(name),
		UpdateExpression:          aws.String("SET address = :address REMOVE expiresAt"),
		ExpressionAttributeValues: item{":address": &types.AttributeValueMemberB{Value: address}},
	}
	if !until.IsZero() {
		in.UpdateExpression = aws.String("SET address = :address, expiresAt = :until")
		in.ExpressionAttributeValues[":until"] = seconds(until)
	}
	return in
}

// Erase implements [sealed.Store]. It leaves an item without the address, which TTL
// deletes within days; of a time that is long past TTL would not.
func (s Store) Erase(ctx context.Context, name string, now time.Time) error {
	return s.update(ctx, &dynamodb.UpdateItemInput{
		TableName:                 &s.Table,
		Key:                       keyOf(name),
		UpdateExpression:          aws.String("SET expiresAt = :now REMOVE address"),
		ExpressionAttributeValues: item{":now": seconds(now)},
	})
}

func seconds(t time.Time) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(t.Unix(), 10)}
}

// update sends an update whose condition, if it fails, means that it is done already.
func (s Store) update(ctx context.Context, in *dynamodb.UpdateItemInput) error {
	_, err := s.Client.UpdateItem(ctx, in)
	if failed := (*types.ConditionalCheckFailedException)(nil); errors.As(err, &failed) {
		return nil
	}
	return ddb.Explain(s.Table, "UpdateItem", err)
}

// Get implements [sealed.Store].
func (s Store) Get(ctx context.Context, name string) ([]byte, error) {
	out, err := s.Client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.Table, Key: keyOf(name), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, ddb.Explain(s.Table, "GetItem", err)
	}
	switch address := out.Item["address"].(type) {
	case nil:
		return nil, nil
	case *types.AttributeValueMemberB:
		return address.Value, nil
	default:
		return nil, fmt.Errorf("DynamoDB table %s: the address in the item %s is not binary", s.Table, keyPrefix+name)
	}
}
