// Command api is the bootstrap of the guarded API on AWS Lambda (provided.al2023).
//
// It reads spendcap.yaml beside it and these environment variables, which the CDK
// stack sets:
//
//	SPENDCAP_TABLE               the DynamoDB table of the counts
//	SPENDCAP_ORIGIN_SECRET_ID    the origin lock's secret in Secrets Manager
//	SPENDCAP_HMAC_SECRET_ID      the secret of the caller keys, or the ring of its versions
//	SPENDCAP_PROVIDER_SECRET_ID  the provider's API key, where the provider needs one
//	SPENDCAP_SERVICE             the dimension of the metrics; "spendcap" if not set
//
// A wrong setting ends the start with an error that names it. The start asks Secrets
// Manager twice, for both secrets at once; the provider's key is read with the first
// paid call.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	sm "github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"golang.org/x/sync/errgroup"

	"github.com/seed3e88d9a2/spendcap/caps/dynamo"
	"github.com/seed3e88d9a2/spendcap/internal/api"
	"github.com/seed3e88d9a2/spendcap/internal/assemble"
	"github.com/seed3e88d9a2/spendcap/internal/config"
	controldynamo "github.com/seed3e88d9a2/spendcap/internal/control/dynamo"
	"github.com/seed3e88d9a2/spendcap/internal/hmackey"
	claimsdynamo "github.com/seed3e88d9a2/spendcap/internal/idempotency/dynamo"
	"github.com/seed3e88d9a2/spendcap/internal/metrics"
	sealeddynamo "github.com/seed3e88d9a2/spendcap/internal/sealed/dynamo"
	"github.com/seed3e88d9a2/spendcap/llm"
	"github.com/seed3e88d9a2/spendcap/originlock"
	"github.com/seed3e88d9a2/spendcap/originlock/secretsmanager"
	ratesdynamo "github.com/seed3e88d9a2/spendcap/ratelimit/dynamo"
)

func main() {
	log := lambdacontext.NewLogger()
	ctx, cancel := context.WithTimeout(context.Background(), initTimeout)
	handler, err := start(ctx, log)
	cancel()
	if err != nil {
		log.Error("the start failed", "error", err)
		os.Exit(1)
	}
	lambda.Start(handler.Handle)
}

// initTimeout is below the ten seconds that Lambda grants an init phase
// (https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html), so
// that the error is ours and says what hangs.
const initTimeout = 8 * time.Second

// start builds everything that can be built once.
func start(ctx context.Context, log *slog.Logger) (*api.Handler, error) {
	cfg, err := config.LoadFile(filepath.Join(os.Getenv("LAMBDA_TASK_ROOT"), "spendcap.yaml"))
	if err != nil {
		return nil, err
	}
	settings := map[string]string{"SPENDCAP_TABLE": "", "SPENDCAP_ORIGIN_SECRET_ID": "", "SPENDCAP_HMAC_SECRET_ID": ""}
	for name := range settings {
		if settings[name] = os.Getenv(name); settings[name] == "" {
			return nil, fmt.Errorf("the environment variable %s is missing or empty; the CDK stack sets it", name)
		}
	}
	cloud, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("AWS configuration: %w", err)
	}
	secrets := sm.NewFromConfig(cloud)

	var lock *originlock.Lock
	var keys *hmackey.Keys
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		lock, err = originlock.New(groupCtx, originlock.Config{
			Source: secretsmanager.New(secrets, settings["SPENDCAP_ORIGIN_SECRET_ID"]),
			OnFailure: func(err error) {
				log.Error("the origin lock's secrets cannot be refreshed; the last good ones are kept for a time", "error", err)
			},
		})
		return err
	})
	group.Go(func() (err error) {
		keys, err = hmackey.New(groupCtx, hmackey.Config{
			Read: func(ctx context.Context) (string, error) {
				return secretsmanager.Read(ctx, secrets, settings["SPENDCAP_HMAC_SECRET_ID"])
			},
			OnProblem: func(err error) {
				log.Error("a problem with the secret of the caller keys; the last good versions are kept as long as they are certain", "error", err)
			},
		})
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	client := dynamodb.NewFromConfig(cloud)
	store, err := dynamo.New(dynamo.Config{Client: client, Table: settings["SPENDCAP_TABLE"]})
	if err != nil {
		return nil, err
	}
	claims, err := claimsdynamo.New(claimsdynamo.Config{Client: client, Table: settings["SPENDCAP_TABLE"]})
	if err != nil {
		return nil, err
	}
	controls, err := controldynamo.New(controldynamo.Config{Client: client, Table: settings["SPENDCAP_TABLE"]})
	if err != nil {
		return nil, err
	}
	rates, err := ratesdynamo.New(ratesdynamo.Config{Client: client, Table: settings["SPENDCAP_TABLE"]})
	if err != nil {
		return nil, err
	}
	provider, err := provider(cfg.LLM, cloud, secrets, log)
	if err != nil {
		return nil, err
	}
	m := metrics.New(os.Stdout, time.Now)
	if service := os.Getenv("SPENDCAP_SERVICE"); service != "" {
		m.Service = service
	}
	return assemble.Handler(assemble.Parts{
		Config:      cfg,
		Store:       store,
		Control:     controls,
		Sealed:      sealeddynamo.Store{Client: client, Table: settings["SPENDCAP_TABLE"]},
		Rates:       rates,
		Lock:        lock,
		Keyer:       keys.Keyer(),
		KeysInForce: keys.Check,
		Provider:    provider,
		Claims:      claims,
		Metrics:     m,
		Logger:      log,
	})
}

// provider returns the provider of the paid calls, nil if there are none.
func provider(c *llm.Config, cloud aws.Config, secrets *sm.Client, log *slog.Logger) (llm.Provider, error) {
	if c == nil {
		return nil, nil
	}
	id := os.Getenv("SPENDCAP_PROVIDER_SECRET_ID")
	switch {
	case assemble.KeyVariable(*c) == "":
		return assemble.Provider(*c, "", cloud)
	case id != "":
		return assemble.ProviderWithKey(*c, func(ctx context.Context) (string, error) {
			return secretsmanager.Read(ctx, secrets, id)
		}, log)
	case c.BaseURL != "":
		return assemble.Provider(*c, "", cloud) // a server of the operator's own may need no key
	}
	return nil, fmt.Errorf("llm.provider is %s and the environment variable SPENDCAP_PROVIDER_SECRET_ID is missing: name the secret with its API key in the CDK stack", c.Provider)
}
