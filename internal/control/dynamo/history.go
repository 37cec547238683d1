package dynamo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed3e88d9a2/spendcap/internal/control"
	"github.com/seed3e88d9a2/spendcap/internal/ddb"
)

// maxBatches bounds the BatchGetItem calls of one list: DynamoDB may answer a part of
// what is asked for
// (https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html).
const maxBatches = 10

// History implements [control.Store]. The changes are numbered, so the newest are
// known without a scan: one GetItem, and in general one BatchGetItem.
func (s *Store) History(ctx context.Context) ([]control.Record, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	_, version, err := s.Read(ctx)
	if err != nil {
		return nil, err
	}
	var keys []item
	for v := version; v > 0 && v > version-control.HistoryKept; v-- {
		keys = append(keys, item{attrKey: text(keyOfChange(v))})
	}
	var records []control.Record
	for n := 0; len(keys) > 0; n++ {
		if n == maxBatches {
			return nil, ddb.Explain(s.table, "BatchGetItem", errors.New("it answers a part of the changes only: try again"))
		}
		out, err := s.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{s.table: {Keys: keys, ConsistentRead: aws.Bool(true)}},
		})
		if err != nil {
			return nil, ddb.Explain(s.table, "BatchGetItem", err)
		}
		for _, found := range out.Responses[s.table] {
			encoded, _ := found[attrChange].(*types.AttributeValueMemberS)
			if encoded == nil {
				return nil, ddb.Explain(s.table, "BatchGetItem", errors.New("a change has no content"))
			}
			r, err := control.DecodeRecord([]byte(encoded.Value))
			if err != nil {
				return nil, ddb.Explain(s.table, "BatchGetItem", fmt.Errorf("a change cannot be read: %w", err))
			}
			records = append(records, r)
		}
		keys = out.UnprocessedKeys[s.table].Keys
	}
	slices.SortFunc(records, func(a, b control.Record) int { return cmp.Compare(b.Version, a.Version) })
	return records, nil
}
