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
	"github.com/aws/smithy-go"

	"github.com/seed3e88d9a2/spendcap/internal/control"
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

// maxReads bounds the attempts of one read, and pause is what lies between them.
const (
	maxReads = 3
	pause    = 20 * time.Millisecond
)

// errEmpty says that a reply of success does not say what it cost, as one of DynamoDB
// does when asked. Without this an empty object of a broken proxy would be the good
// news that nothing is set.
var errEmpty = errors.New("the reply is not one of DynamoDB")

// get reads an item, nil if there is none. An attempt gets half of the time that is
// left, so that a lost packet leaves some for another.
func (s *Store) get(ctx context.Context, key string) (found item, err error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	for n := 1; ; n++ {
		if found, err = s.getOnce(ctx, key); err == nil {
			return found, nil
		}
		var api smithy.APIError
		refused := errors.As(err, &api) && api.ErrorFault() == smithy.FaultClient
		if n == maxReads || refused || !sleep(ctx, pause) {
			return nil, s.explain("GetItem", err)
		}
	}
}

func (s *Store) getOnce(ctx context.Context, key string) (item, error) {
	deadline, _ := ctx.Deadline()
	ctx, cancel := context.WithTimeout(ctx, time.Until(deadline)/2)
	defer cancel()
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:              &s.table,
		Key:                    item{attrKey: text(key)},
		ConsistentRead:         aws.Bool(true),
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}, withoutRetries)
	switch {
	case err != nil:
		return nil, err
	case out.ConsumedCapacity == nil:
		return nil, errEmpty
	case len(out.Item) == 0:
		return nil, nil
	}
	return out.Item, nil
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
