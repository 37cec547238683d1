package secretsmanager

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"

	"github.com/seed3e88d9a2/spendcap/originlock"
)

// The staging labels that a rotation moves
// (https://docs.aws.amazon.com/secretsmanager/latest/userguide/rotate-secrets_lambda-functions.html).
const (
	stagePending  = "AWSPENDING"
	stageCurrent  = "AWSCURRENT"
	stagePrevious = "AWSPREVIOUS"
)

// Source gives the secrets that the stages of one secret in Secrets Manager hold, as
// an [originlock.Starter]. Each version is the plain secret as a string, not JSON.
type Source struct {
	api API
	id  string
}

var _ originlock.Starter = (*Source)(nil)

// New returns the source for the secret with this ARN or name. It asks nothing yet:
// what is wrong with the arguments is the error of the first call, and so of
// [originlock.New].
func New(api API, secretID string) *Source {
	return &Source{api: api, id: secretID}
}

// Secrets gives the values of AWSPENDING, AWSCURRENT and AWSPREVIOUS, with three
// calls of GetSecretValue. A stage is left out if no version has it, if its version
// has no value yet (a rotation makes such a pending version) or one that its key can
// no longer decrypt, or if [originlock.CheckSecret] refuses the value. AWSCURRENT cannot be left out: without
// a usable one the result is an error, as it is when any call fails otherwise.
//
// A finishing rotation moves its secret from AWSPENDING to AWSCURRENT, and the one
// there to AWSPREVIOUS. The calls are made one after the other in the same order, so
// that a secret that moves meanwhile is met at its old stage or at its new one.
// In another order, or all at once, it could be missed at both.
func (s *Source) Secrets(ctx context.Context) ([]string, error) {
	var secrets []string
	for _, stage := range [...]string{stagePending, stageCurrent, stagePrevious} {
		secret, err := s.stage(ctx, stage)
		if err != nil && (stage == stageCurrent || !absent(err)) {
			return nil, err
		}
		if err == nil {
			secrets = append(secrets, secret)
		}
	}
	return secrets, nil
}

// Current gives the value of AWSCURRENT, with one call of GetSecretValue. This is the
// secret that the edge sends, except while a rotation runs. An error means that there
// is none that [originlock.CheckSecret] accepts, or that it could not be read.
func (s *Source) Current(ctx context.Context) (string, error) {
	return s.stage(ctx, stageCurrent)
}

// errUnusable is wrapped by what a stage holds when a lock cannot accept it.
var errUnusable = errors.New("unusable")

func (s *Source) stage(ctx context.Context, stage string) (string, error) {
	if s == nil {
		return "", errors.New("the secretsmanager.Source is nil: make it with New")
	}
	secret, err := get(ctx, s.api, s.id, stage)
	if err != nil {
		return "", err
	}
	if err := originlock.CheckSecret(secret); err != nil {
		return "", fmt.Errorf("%s of the secret %s is %w: %w", stage, s.id, errUnusable, err)
	}
	return secret, nil
}

// absent tells whether an error means that a stage has no secret to accept, as opposed
// to one that could not be read.
func absent(err error) bool {
	var notFound *types.ResourceNotFoundException
	var invalid *types.InvalidRequestException
	var undecryptable *types.DecryptionFailure
	return errors.As(err, &notFound) || errors.As(err, &invalid) || errors.As(err, &undecryptable) ||
		errors.Is(err, errNoString) || errors.Is(err, errUnusable)
}
