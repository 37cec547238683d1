package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/ddb"
)

// API is what the store asks of a *dynamodb.Client. An implementation of its own has
// to make at most one request per call, see the package's notes on retries.
type API interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
}

// Defaults of [Config].
const (
	DefaultDeadline       = 2 * time.Second
	DefaultAttemptTimeout = 800 * time.Millisecond
)

// Config is what a [Store] is made from.
type Config struct {
	Client API
	Table  string // name or ARN

	// Deadline bounds each call of the store with all its attempts; 0 means
	// DefaultDeadline.
	Deadline time.Duration

	// AttemptTimeout bounds one attempt, so that a lost packet leaves time for another;
	// 0 means DefaultAttemptTimeout.
	AttemptTimeout time.Duration

	// Now dates the markers of final charges; nil means time.Now.
	Now func() time.Time
}

// Store keeps counts in a DynamoDB table. Use [New].
type Store struct {
	client   API
	table    string
	deadline time.Duration
	sender   ddb.Sender
	now      func() time.Time
}

var _ caps.Store = (*Store)(nil)

// New returns a store, or an error that names the setting that is wrong. It does not
// touch the table.
func New(c Config) (*Store, error) {
	if c.Client == nil {
		return nil, errors.New("dynamo.Config.Client is missing: pass a *dynamodb.Client")
	}
	if c.Table == "" {
		return nil, errors.New("dynamo.Config.Table is missing: pass the name of the table")
	}
	if c.Deadline < 0 || c.AttemptTimeout < 0 {
		return nil, fmt.Errorf("dynamo.Config: Deadline (%v) and AttemptTimeout (%v) must not be negative", c.Deadline, c.AttemptTimeout)
	}
	if c.Deadline == 0 {
		c.Deadline = DefaultDeadline
	}
	if c.AttemptTimeout == 0 {
		c.AttemptTimeout = DefaultAttemptTimeout
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Store{
		client:   c.Client,
		table:    c.Table,
		deadline: c.Deadline,
		sender:   ddb.Sender{AttemptTimeout: c.AttemptTimeout, Backoff: ddb.FirstBackoff},
		now:      c.Now,
	}, nil
}
