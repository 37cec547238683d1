package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

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
	_, err = s.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		// The SDK's retries are the same transaction to DynamoDB.
		ClientRequestToken: &r.ID,
		TransactItems: []types.TransactWriteItem{{Put: put}, {Put: &types.Put{
			TableName: &s.table,
			Item:      item{attrKey: text(keyOfChange(r.Version)), attrID: text(r.ID), attrChange: text(string(change))},
		}}},
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
	if api := (smithy.APIError)(nil); errors.As(err, &api) && api.ErrorFault() == smithy.FaultClient {
		return false, err
	}
	return false, fmt.Errorf("%w: %w", control.ErrUnknownOutcome, err)
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
