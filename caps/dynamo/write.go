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

// write is an UpdateItem and how it is sent again.
type write struct {
	first *dynamodb.UpdateItemInput

	// again is sent in its place when an earlier attempt may have landed. nil is for a
	// write that would count twice: it is given up then.
	again *dynamodb.UpdateItemInput

	// check, if there is one, tells whether the item in a reply can be trusted.
	check func(attributes) error
}

// reply is what an endpoint said to a write.
type reply struct {
	applied bool       // false: the condition failed
	item    attributes // after the write, or, if the condition failed, as it is
	unsure  bool       // an attempt before the one that was answered may have landed
}

// update sends w until it is answered, it must not be sent again, or ctx is done. A
// failed condition is an answer.
func (s *Store) update(ctx context.Context, w write) (r reply, err error) {
	r.unsure, err = s.sender.Attempts(ctx, w.again != nil, func(ctx context.Context, unsure bool, once func(*dynamodb.Options)) error {
		in := w.first
		if unsure {
			in = w.again
		}
		out, err := s.client.UpdateItem(ctx, in, once)
		if failed := (*types.ConditionalCheckFailedException)(nil); errors.As(err, &failed) {
			r.applied, r.item = false, failed.Item
			return nil
		}
		if err != nil {
			return err
		}
		r.applied, r.item = true, out.Attributes
		if w.check != nil {
			return w.check(r.item)
		}
		return nil
	})
	return r, s.explain("UpdateItem", r.unsure, err)
}

// explain says which operation failed, and whether its outcome is unknown.
func (s *Store) explain(operation string, unsure bool, err error) error {
	if err != nil && unsure {
		err = fmt.Errorf("%w: %w", caps.ErrUnknownOutcome, err)
	}
	return ddb.Explain(s.table, operation, err)
}
