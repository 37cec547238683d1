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

	"github.com/seed3e88d9a2/spendcap/internal/control"
	"github.com/seed3e88d9a2/spendcap/internal/ddb"
)

// Read implements [control.Reader] with one consistent GetItem.
func (s *Store) Read(ctx context.Context) (control.State, int64, error) {
	found, err := s.get(ctx, stateKey)
	if err != nil || found == nil {
		return control.State{}, 0, err
	}
	state, version, err := readState(found)
	if err != nil {
		return control.State{}, 0, fmt.Errorf("DynamoDB table %s: the item %s cannot be read, and calls are refused while it cannot: restore it, or delete it to set nothing: %w", s.table, stateKey, err)
	}
	return state, version, nil
}

func readState(i item) (control.State, int64, error) {
	n, _ := i[attrVersion].(*types.AttributeValueMemberN)
	if n == nil {
		return control.State{}, 0, errors.New("it has no version")
	}
	version, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil || version < 1 {
		return control.State{}, 0, errors.New("its version is not a whole number above 0")
	}
	encoded, _ := i[attrState].(*types.AttributeValueMemberS)
	if encoded == nil {
		return control.State{}, 0, errors.New("it has no state")
	}
	state, err := control.Decode([]byte(encoded.Value))
	return state, version, err
}

// errEmpty says that a reply of success does not say what it cost, as one of DynamoDB
// does when asked. Without this an empty object of a broken proxy would be the good
// news that nothing is set.
var errEmpty = errors.New("the reply is not one of DynamoDB")

// sender gives an attempt half of the time that ctx has, so that a lost packet leaves some
// for another.
func (s *Store) sender(ctx context.Context) ddb.Sender {
	deadline, _ := ctx.Deadline()
	return ddb.Sender{AttemptTimeout: time.Until(deadline) / 2, Backoff: ddb.FirstBackoff}
}

// get reads an item, nil if there is none.
func (s *Store) get(ctx context.Context, key string) (found item, err error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	_, err = s.sender(ctx).Attempts(ctx, true, func(ctx context.Context, _ bool, once func(*dynamodb.Options)) error {
		out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
			TableName:              &s.table,
			Key:                    item{attrKey: text(key)},
			ConsistentRead:         aws.Bool(true),
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		}, once)
		if err == nil && out.ConsumedCapacity == nil {
			err = errEmpty
		}
		if err == nil && len(out.Item) > 0 {
			found = out.Item
		}
		return err
	})
	return found, ddb.Explain(s.table, "GetItem", err)
}
