// Package deployment finds what the operator's tool works on: the table of a deployment
// in AWS, or of a local system, the secret of its caller keys, and who is at the tool.
package deployment

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/logging"

	"github.com/seed3e88d9a2/spendcap/caps/dynamo"
)

// Names that are used where none is given.
const (
	DefaultStack = "spendcap" // as `npx cdk deploy` calls it
	LocalTable   = "spendcap" // as `spendcap dev` calls it
)

// Options say which deployment. The zero Options are the stack spendcap in the account
// and region of the environment.
type Options struct {
	Profile, Region string // as the AWS CLI takes them

	Stack      string // whose outputs name the table and the secret
	Table      string // name or ARN; in the place of the stack's
	HMACSecret string // name or ARN; in the place of the stack's

	// Endpoint is the URL of a DynamoDB on this machine, which takes any credentials. It
	// takes the place of all of AWS.
	Endpoint string

	Lookup func(name string) (string, bool) // of environment variables
}

// Deployment is one that was found.
type Deployment struct {
	Table    string
	DynamoDB *dynamodb.Client

	options Options
	aws     aws.Config // nothing with an endpoint
	stack   map[string]string
}

const (
	// requestTimeout bounds one attempt of a request.
	requestTimeout = 30 * time.Second

	// attempts lets a throttled read wait for about a minute, in growing steps.
	attempts = 8

	// localAttempts lets a program that is not there be told soon.
	localAttempts = 3
)

// Find finds the deployment. Errors name the flag that remedies them.
func Find(ctx context.Context, o Options) (*Deployment, error) {
	d := &Deployment{Table: o.Table, options: o}
	if o.Endpoint != "" {
		return d, d.local()
	}
	if err := d.inAWS(ctx); err != nil {
		return nil, err
	}
	if d.Table == "" {
		var err error
		if d.Table, err = d.output(ctx, "TableName"); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (d *Deployment) local() error {
	o := d.options
	if o.Profile != "" || o.Region != "" || o.Stack != "" || o.HMACSecret != "" {
		return errors.New("--dynamodb-endpoint is a system on this machine: leave out --profile, --region, --stack and --hmac-secret, which are of AWS")
	}
	if d.Table == "" {
		d.Table = LocalTable
	}
	var err error
	d.DynamoDB, err = LocalClient(o.Endpoint)
	return err
}

// LocalClient is a client of a DynamoDB on this machine, which takes any credentials. What
// is not a URL is an error.
func LocalClient(endpoint string) (*dynamodb.Client, error) {
	if u, err := url.Parse(endpoint); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("--dynamodb-endpoint %s is not a URL such as http://127.0.0.1:8000", endpoint)
	}
	return dynamodb.New(dynamodb.Options{
		Region:           "us-east-1",
		BaseEndpoint:     aws.String(endpoint),
		Credentials:      credentials.NewStaticCredentialsProvider("local", "local", ""),
		RetryMaxAttempts: localAttempts,
		HTTPClient:       awshttp.NewBuildableClient().WithTimeout(requestTimeout),
	}), nil
}

func (d *Deployment) inAWS(ctx context.Context) error {
	options := []func(*awsconfig.LoadOptions) error{
		awsconfig.WithHTTPClient(awshttp.NewBuildableClient().WithTimeout(requestTimeout)),
		awsconfig.WithLogger(logging.Nop{}), // what matters comes back as an error
		awsconfig.WithRetryer(func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts = attempts })
		}),
	}
	if d.options.Profile != "" {
		options = append(options, awsconfig.WithSharedConfigProfile(d.options.Profile))
	}
	if d.options.Region != "" {
		options = append(options, awsconfig.WithRegion(d.options.Region))
	}
	cfg, err := awsconfig.LoadDefaultConfig(ctx, options...)
	switch missing := (awsconfig.SharedConfigProfileNotExistError{}); {
	case errors.As(err, &missing):
		return fmt.Errorf("there is no AWS profile %q: `aws configure list-profiles` tells the ones there are, --profile takes another", missing.Profile)
	case err != nil:
		return fmt.Errorf("AWS configuration: %w", err)
	case cfg.Region == "":
		return errors.New("no AWS region is set: give --region, or set AWS_REGION, or a region in the profile; for a system on this machine give --dynamodb-endpoint")
	}
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return fmt.Errorf("no AWS credentials: give --profile, set AWS_PROFILE, or log in (`aws configure`, `aws sso login`); for a system on this machine give --dynamodb-endpoint: %w", err)
	}
	d.aws = cfg
	d.DynamoDB = dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.EnableAcceptEncodingGzip = true })
	return nil
}

// Store is the store of the counts. Its deadlines are those of a person who waits.
func (d *Deployment) Store() (*dynamo.Store, error) {
	return dynamo.New(dynamo.Config{Client: d.DynamoDB, Table: d.Table, Deadline: 15 * time.Second, AttemptTimeout: 5 * time.Second})
}
