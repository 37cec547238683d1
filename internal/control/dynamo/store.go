// Package dynamo is the [control.Store] in the DynamoDB table of the budgets.
//
// The state is one item, and each change another:
//
//	k        S  partition key, "control#state"
//	version  N  1 after the first change, one more after each further one
//	state    S  JSON, see [control.Encode]
//
//	k        S  partition key, "control#change#<version of the state after it>"
//	id       S  drawn by whoever made the change, so that its presence tells that it landed
//	change   S  JSON, see [control.EncodeRecord]
//
// Neither expires. If somebody deletes the state by hand, nothing is set, and the
// numbers of later changes start again at 1, over the items of older ones.
//
// Reading needs permission for GetItem only. Whoever changes needs GetItem, PutItem and
// BatchGetItem.
package dynamo

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed3e88d9a2/spendcap/internal/control"
)

// API is what the store asks of a *dynamodb.Client.
type API interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Config is what a [Store] is made from.
type Config struct {
	Client API
	Table  string // its partition key is the string k
}

// Store keeps the state in DynamoDB. Use [New].
type Store struct {
	client API
	table  string
}

var _ control.Store = (*Store)(nil)

// New returns a store, or an error that names the setting that is missing. It does not
// touch the table.
func New(c Config) (*Store, error) {
	if c.Client == nil {
		return nil, errors.New("dynamo.Config.Client is missing: pass a *dynamodb.Client")
	}
	if c.Table == "" {
		return nil, errors.New("dynamo.Config.Table is missing: pass the name of the table")
	}
	return &Store{client: c.Client, table: c.Table}, nil
}

// Names of the attributes and keys.
const (
	attrKey     = "k"
	attrVersion = "version"
	attrState   = "state"
	attrID      = "id"
	attrChange  = "change"

	stateKey  = "control#state"
	changeKey = "control#change#"
)

// longest bounds each call of the store whose context has no deadline.
const longest = 15 * time.Second

func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, longest)
}

type item = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func keyOfChange(version int64) string { return changeKey + strconv.FormatInt(version, 10) }
