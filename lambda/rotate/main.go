// Command rotate is the bootstrap of the rotation on AWS Lambda (provided.al2023).
// Secrets Manager calls it for each step, and a schedule every day for the step that
// retires the old secret; see package rotation.
//
// It reads these environment variables, which the CDK stack sets:
//
//	SPENDCAP_ORIGIN_SECRET_ID  the ARN of the origin lock's secret
//	SPENDCAP_DISTRIBUTION_ID   the CloudFront distribution that sends it
//	SPENDCAP_ORIGIN_IDS        its origins that send it, separated by commas
//	SPENDCAP_EDGE_URL          a URL through the edge that costs nothing, .../api/cap
//	SPENDCAP_SIDE_DOOR_URL     the same at the origin itself; not asked if not set
package main

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudfront"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/seed3e88d9a2/spendcap/internal/rotation"
)

func main() {
	log := lambdacontext.NewLogger()
	r, err := start(context.Background(), log, os.Getenv)
	if err != nil {
		log.Error("the start failed", "error", err)
		os.Exit(1)
	}
	lambda.Start(r.Handle)
}

// callTimeout bounds one try of a call of AWS. CloudFront takes seconds for an update.
const callTimeout = 30 * time.Second

func start(ctx context.Context, log *slog.Logger, getenv func(string) string) (*rotation.Rotation, error) {
	aws, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithHTTPClient(
		awshttp.NewBuildableClient().WithTimeout(callTimeout).WithTransportOptions(func(t *http.Transport) {
			t.ResponseHeaderTimeout = callTimeout
		})))
	if err != nil {
		return nil, err
	}
	return rotation.New(rotation.Config{
		Secrets:        secretsmanager.NewFromConfig(aws),
		Distributions:  cloudfront.NewFromConfig(aws),
		SecretARN:      getenv("SPENDCAP_ORIGIN_SECRET_ID"),
		DistributionID: getenv("SPENDCAP_DISTRIBUTION_ID"),
		OriginIDs:      strings.Split(getenv("SPENDCAP_ORIGIN_IDS"), ","),
		EdgeURL:        getenv("SPENDCAP_EDGE_URL"),
		SideDoorURL:    getenv("SPENDCAP_SIDE_DOOR_URL"),
		Log:            log,
	})
}
