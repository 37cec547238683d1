package dynamo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed3e88d9a2/spendcap/internal/ddb"
	"github.com/seed3e88d9a2/spendcap/internal/lru"
	"github.com/seed3e88d9a2/spendcap/ratelimit"
)

// API is what the store asks of a *dynamodb.Client.
type API interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// Defaults of [Config].
const (
	DefaultDeadline       = ratelimit.DefaultBudget
	DefaultAttemptTimeout = 300 * time.Millisecond
)

// knownWindows bounds the windows of which a store knows the slots, at eight bytes each.
// Forgetting one may cost its next take a second write.
const knownWindows = 1024

// Config is what a [Store] is made from.
type Config struct {
	Client API
	Table  string // name or ARN; its only key is k, a string

	// Deadline bounds each call of the store with all its attempts, where the context has
	// no deadline; 0 means DefaultDeadline. A limiter's context has that of the rule.
	Deadline time.Duration

	// AttemptTimeout bounds one attempt, so that a lost packet leaves time for another;
	// 0 means DefaultAttemptTimeout.
	AttemptTimeout time.Duration
}

// Store keeps windows in a DynamoDB table. Use [New].
type Store struct {
	client   API
	table    string
	deadline time.Duration
	sender   ddb.Sender

	mu    sync.Mutex
	known *lru.Map[string, slots]
}

var _ ratelimit.Store = (*Store)(nil)

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
	return &Store{
		client:   c.Client,
		table:    c.Table,
		deadline: c.Deadline,
		sender:   ddb.Sender{AttemptTimeout: c.AttemptTimeout, Backoff: ddb.FirstBackoff},
		known:    lru.New[string, slots](knownWindows),
	}, nil
}

// bound gives a call a deadline if it has none. A rule's budget is one.
func (s *Store) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.deadline)
}

// recall returns what was last seen of a window, nil if nothing is known.
func (s *Store) recall(key string) slots {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, _ := s.known.Get(key)
	return known
}

// remember notes what was seen of a window; nil is to know nothing. Replies may come out
// of order, so it is a hint and no more.
func (s *Store) remember(key string, seen slots) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seen == nil {
		s.known.Delete(key)
		return
	}
	s.known.Put(key, seen)
}

// explain says which table failed and what to do, and whether only the operator can.
func (s *Store) explain(err error) error {
	if err == nil {
		return nil
	}
	misconfigured := ddb.Misconfigured(err)
	err = ddb.Explain(s.table, "UpdateItem", err)
	if misconfigured {
		err = fmt.Errorf("%w: %w", ratelimit.ErrMisconfigured, err)
	}
	return err
}
