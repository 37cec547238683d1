package dynamo

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// fakeTables is an account with one table at most.
type fakeTables struct {
	created  *dynamodb.CreateTableInput
	key      string // of a table that is there already
	keyType  types.ScalarAttributeType
	creating int // DescribeTable says CREATING so often
	ttl      string
	racing   bool // somebody else enables the TTL first
	calls    []string
	fail     map[string]error
}

func (f *fakeTables) CreateTable(_ context.Context, in *dynamodb.CreateTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error) {
	f.calls = append(f.calls, "CreateTable")
	if f.key != "" {
		return nil, &types.ResourceInUseException{}
	}
	if err := f.fail["CreateTable"]; err != nil {
		return nil, err
	}
	f.created, f.key, f.keyType = in, aws.ToString(in.KeySchema[0].AttributeName), in.AttributeDefinitions[0].AttributeType
	return &dynamodb.CreateTableOutput{}, nil
}

func (f *fakeTables) DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	f.calls = append(f.calls, "DescribeTable")
	if err := f.fail["DescribeTable"]; err != nil {
		return nil, err
	}
	status := types.TableStatusActive
	if f.creating > 0 {
		f.creating--
		status = types.TableStatusCreating
	}
	return &dynamodb.DescribeTableOutput{Table: &types.TableDescription{
		TableStatus:          status,
		KeySchema:            []types.KeySchemaElement{{AttributeName: &f.key, KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: &f.key, AttributeType: f.keyType}},
	}}, nil
}

func (f *fakeTables) DescribeTimeToLive(context.Context, *dynamodb.DescribeTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error) {
	f.calls = append(f.calls, "DescribeTimeToLive")
	d := &types.TimeToLiveDescription{TimeToLiveStatus: types.TimeToLiveStatusDisabled}
	if f.ttl != "" {
		d = &types.TimeToLiveDescription{TimeToLiveStatus: types.TimeToLiveStatusEnabled, AttributeName: &f.ttl}
	}
	return &dynamodb.DescribeTimeToLiveOutput{TimeToLiveDescription: d}, f.fail["DescribeTimeToLive"]
}

func (f *fakeTables) UpdateTimeToLive(_ context.Context, in *dynamodb.UpdateTimeToLiveInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error) {
	f.calls = append(f.calls, "UpdateTimeToLive")
	if err := f.fail["UpdateTimeToLive"]; err != nil && !f.racing {
		return nil, err
	}
	f.ttl = aws.ToString(in.TimeToLiveSpecification.AttributeName)
	return nil, f.fail["UpdateTimeToLive"]
}

func TestCreateTable(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name  string
		fake  fakeTables
		err   string // "" is none
		calls string
	}{
		{name: "new", calls: "CreateTable DescribeTable DescribeTimeToLive UpdateTimeToLive"},
		{name: "slow", fake: fakeTables{creating: 2}, calls: "CreateTable DescribeTable DescribeTable DescribeTable DescribeTimeToLive UpdateTimeToLive"},
		{name: "never", fake: fakeTables{creating: 1000}, err: "creating DynamoDB table caps: the table is still CREATING: context deadline exceeded"},
		{name: "there", fake: fakeTables{key: "k", keyType: "S", ttl: "expiresAt"}, calls: "CreateTable DescribeTable DescribeTimeToLive"},
		{name: "there without TTL", fake: fakeTables{key: "k", keyType: "S"}, calls: "CreateTable DescribeTable DescribeTimeToLive UpdateTimeToLive"},
		{name: "other key", fake: fakeTables{key: "pk", keyType: "S"}, err: "creating DynamoDB table caps: the table exists and its key is not k alone: choose another name"},
		{name: "other type", fake: fakeTables{key: "k", keyType: "N"}, err: "creating DynamoDB table caps: the table exists and its key k is not a string: choose another name"},
		{name: "other TTL", fake: fakeTables{key: "k", keyType: "S", ttl: "ttl"}, err: "creating DynamoDB table caps: the table exists and its TTL attribute is ttl, not expiresAt: choose another name"},
		{name: "no create", fake: fakeTables{fail: map[string]error{"CreateTable": broken}}, err: "creating DynamoDB table caps: broken"},
		{name: "no describe", fake: fakeTables{fail: map[string]error{"DescribeTable": broken}}, err: "creating DynamoDB table caps: broken"},
		{name: "no TTL", fake: fakeTables{fail: map[string]error{"UpdateTimeToLive": broken}}, err: "creating DynamoDB table caps: broken"},
		{name: "no TTL description", fake: fakeTables{fail: map[string]error{"DescribeTimeToLive": broken}}, err: "creating DynamoDB table caps: broken"},
		{name: "race", fake: fakeTables{racing: true, fail: map[string]error{"UpdateTimeToLive": broken}}, calls: "CreateTable DescribeTable DescribeTimeToLive UpdateTimeToLive DescribeTimeToLive"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := c.fake
				err := CreateTable(t.Context(), &fake, "caps")
				if c.err != "" {
					if err == nil || err.Error() != c.err {
						t.Fatalf("%v; want %s", err, c.err)
					}
					return
				}
				if got := strings.Join(fake.calls, " "); err != nil || got != c.calls {
					t.Fatalf("%v after %s; want %s", err, got, c.calls)
				}
				if fake.ttl != "expiresAt" {
					t.Errorf("TTL on %q; want expiresAt", fake.ttl)
				}
				if in := fake.created; in != nil {
					if in.BillingMode != types.BillingModePayPerRequest || len(in.KeySchema) != 1 || fake.key != "k" || fake.keyType != "S" {
						t.Errorf("created %+v; want it on demand, with the string k as its only key", in)
					}
				}
			})
		})
	}
}
