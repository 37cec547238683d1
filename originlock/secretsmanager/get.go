package secretsmanager

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// API is the part of the AWS SDK's Secrets Manager client that is used.
type API interface {
	GetSecretValue(context.Context, *secretsmanager.GetSecretValueInput, ...func(*secretsmanager.Options)) (*secretsmanager.GetSecretValueOutput, error)
}

var errNoString = errors.New("has no value that is a string")

// get reads one stage of a secret. Its errors hold neither a value nor a part of one.
func get(ctx context.Context, api API, id, stage string) (string, error) {
	if api == nil {
		return "", errors.New("there is no Secrets Manager client: give one made with secretsmanager.NewFromConfig")
	}
	if id == "" {
		return "", errors.New("the name of the secret is empty: give its ARN or its name")
	}
	out, err := api.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{
		SecretId:     aws.String(id),
		VersionStage: aws.String(stage),
	})
	if err != nil {
		return "", fmt.Errorf("reading %s of the secret %s: %w", stage, id, withoutReply(err))
	}
	if out == nil || out.SecretString == nil || *out.SecretString == "" {
		return "", fmt.Errorf("%s of the secret %s %w: store it as the secret string", stage, id, errNoString)
	}
	return *out.SecretString, nil
}

// withoutReply keeps the reply out of an error. What the SDK says about a reply that
// it cannot decode quotes from it, and that may be the secret.
func withoutReply(err error) error {
	var undecoded *smithy.DeserializationError
	if !errors.As(err, &undecoded) {
		return err
	}
	status := 0
	if response := (*smithyhttp.ResponseError)(nil); errors.As(err, &response) {
		status = response.HTTPStatusCode()
	}
	return fmt.Errorf("the reply with status %d is cut or is none of Secrets Manager's", status)
}
