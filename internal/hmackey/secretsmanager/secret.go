// Package secretsmanager keeps the secret of the caller keys in AWS Secrets Manager, as
// the operator's tool changes it. An instance reads it with originlock/secretsmanager.
package secretsmanager

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
	"github.com/aws/smithy-go"
)

// API is the part of the AWS SDK's Secrets Manager client that is used.
type API interface {
	GetSecretValue(context.Context, *secretsmanager.GetSecretValueInput, ...func(*secretsmanager.Options)) (*secretsmanager.GetSecretValueOutput, error)
	PutSecretValue(context.Context, *secretsmanager.PutSecretValueInput, ...func(*secretsmanager.Options)) (*secretsmanager.PutSecretValueOutput, error)
}

// Secret is one secret.
type Secret struct {
	API API
	ID  string // name or ARN
}

// Read returns the current value, and the version of Secrets Manager that has it.
func (s Secret) Read(ctx context.Context) (value, version string, err error) {
	out, err := s.API.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &s.ID})
	switch {
	case err != nil:
		return "", "", fmt.Errorf("reading the secret %s: %w", s.ID, withoutReply(err))
	case out.SecretString == nil || out.VersionId == nil:
		return "", "", fmt.Errorf("the secret %s has no value that is a string", s.ID)
	}
	return *out.SecretString, *out.VersionId, nil
}

// ErrChanged says that somebody else has written since the value was read.
var ErrChanged = errors.New("somebody else has changed the secret in the meantime: look again")

// Write stores a value in the place of the one of version after. The error wraps
// [ErrChanged] if another one was written in its place; nothing has changed then.
//
// The request token, which becomes the new version's ID, follows from the one before,
// and Secrets Manager takes each token for one value only
// (https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_PutSecretValue.html).
// So of two writers after one version one fails, and an attempt that is sent again does
// nothing more. If the value of after is the current one even so, what was written in its
// place was taken back, and another token follows.
func (s Secret) Write(ctx context.Context, value, after string) error {
	for n := 0; ; n++ {
		err := s.write(ctx, value, after, n)
		if !errors.Is(err, ErrChanged) || n == maxTakenBack {
			return err
		}
		if _, version, reading := s.Read(ctx); reading != nil || version != after {
			return err
		}
	}
}

// maxTakenBack bounds the changes of one version that were taken back.
const maxTakenBack = 20

func (s Secret) write(ctx context.Context, value, after string, takenBack int) error {
	sum := sha256.Sum256(fmt.Appendf(nil, "spendcap rotate-hmac %d after %s", takenBack, after))
	_, err := s.API.PutSecretValue(ctx, &secretsmanager.PutSecretValueInput{
		SecretId:           &s.ID,
		ClientRequestToken: aws.String(hex.EncodeToString(sum[:])),
		SecretString:       &value,
	})
	var exists *types.ResourceExistsException
	switch {
	case errors.As(err, &exists):
		return fmt.Errorf("the secret %s: %w", s.ID, ErrChanged)
	case err != nil:
		return fmt.Errorf("writing the secret %s: %w", s.ID, withoutReply(err))
	}
	return nil
}

// withoutReply keeps the reply out of an error. What the SDK says about one that it
// cannot decode quotes from it, and that may be the secret.
func withoutReply(err error) error {
	if undecoded := (*smithy.DeserializationError)(nil); errors.As(err, &undecoded) {
		return errors.New("the reply is cut or is none of Secrets Manager's")
	}
	return err
}
