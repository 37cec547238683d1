package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed3e88d9a2/spendcap/internal/control"
	"github.com/seed3e88d9a2/spendcap/internal/ddb"
)

// Write implements [control.Store] with one transaction.
func (s *Store) Write(ctx context.Context, version int64, state control.State, r control.Record) (bool, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if err := control.CheckWrite(version, r); err != nil {
		return false, err
	}
	encoded, err := control.Encode(state)
	if err != nil {
		return false, err
	}
	change, err := control.EncodeRecord(r)
	if err != nil {
		return false, err
	}
	put := &types.Put{
		TableName:           &s.table,
		Item:                item{attrKey: text(stateKey), attrVersion: number(r.Version), attrState: text(string(encoded))},
		ConditionExpression: aws.String("attribute_not_exists(k)"),
	}
	if version > 0 {
		put.ConditionExpression = aws.String("version = :version")
		put.ExpressionAttributeValues = item{":version": number(version)}
	}
	unsure, err := s.send(ctx, &dynamodb.TransactWriteItemsInput{
		// All attempts are the same transaction to DynamoDB.
		ClientRequestToken: &r.ID,
		TransactItems: []types.TransactWriteItem{{Put: put}, {Put: &types.Put{
			TableName: &s.table,
			Item:      item{attrKey: text(keyOfChange(r.Version)), attrID: text(r.ID), attrChange: text(string(change))},
		}}},
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	if err == nil {
		return true, nil
	}
	if landed, asking := s.landed(ctx, r); landed && asking == nil {
		return true, nil // the reply to an earlier attempt was lost
	} else if asking == nil && lost(err) {
		return false, nil
	}
	err = ddb.Explain(s.table, "TransactWriteItems", err)
	if !unsure {
		return false, err
	}
	return false, fmt.Errorf("%w: %w", control.ErrUnknownOutcome, err)
}

// send makes attempts at a transaction. unsure tells whether one of them may have been
// applied, now or later.
func (s *Store) send(ctx context.Context, in *dynamodb.TransactWriteItemsInput) (unsure bool, err error) {
	return s.sender(ctx).Attempts(ctx, true, func(ctx context.Context, _ bool, once func(*dynamodb.Options)) error {
		out, err := s.client.TransactWriteItems(ctx, in, once)
		if running := (*types.TransactionInProgressException)(nil); errors.As(err, &running) {
			return errors.New("an earlier attempt is still under way") // and no answer to this one
		}
		if err == nil && len(out.ConsumedCapacity) == 0 {
			err = errEmpty
		}
		return err
	})
}

// lost tells whether another writer was first, or is at work.
func lost(err error) bool {
	var canceled *types.TransactionCanceledException
	if !errors.As(err, &canceled) {
		return false
	}
	for _, reason := range canceled.CancellationReasons {
		switch aws.ToString(reason.Code) {
		case "ConditionalCheckFailed", "TransactionConflict":
			return true
		}
	}
	return false
}

// landed tells whether the change with r's version is r.
func (s *Store) landed(ctx context.Context, r control.Record) (bool, error) {
	found, err := s.get(context.WithoutCancel(ctx), keyOfChange(r.Version))
	if err != nil {
		return false, err
	}
	id, _ := found[attrID].(*types.AttributeValueMemberS)
	return id != nil && id.Value == r.ID, nil
}
