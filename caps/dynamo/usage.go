package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// Usage implements [caps.Store] with one consistent GetItem.
func (s *Store) Usage(ctx context.Context, key caps.ItemKey) (caps.Usage, error) {
	if err := ctx.Err(); err != nil {
		return caps.Usage{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.deadline)
	defer cancel()
	item, err := s.get(ctx, key)
	if err != nil {
		return caps.Usage{}, err
	}
	u, err := item.usage()
	return u, s.explain("GetItem", false, err)
}

func (s *Store) get(ctx context.Context, key caps.ItemKey) (item attributes, err error) {
	in := &dynamodb.GetItemInput{TableName: &s.table, Key: itemKey(key), ConsistentRead: aws.Bool(true)}
	_, err = s.sender.Attempts(ctx, true, func(ctx context.Context, _ bool, once func(*dynamodb.Options)) error {
		out, err := s.client.GetItem(ctx, in, once)
		if err == nil {
			item = out.Item
		}
		return err
	})
	return item, s.explain("GetItem", false, err)
}
