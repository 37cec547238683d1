package rotation

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
)

// create gives the version a new secret and the label AWSPENDING, unless it has both.
func (r *Rotation) create(ctx context.Context, version string) error {
	l, err := r.labels(ctx)
	if err != nil {
		return err
	}
	if l.current == version {
		return nil
	}
	switch _, _, err := r.value(ctx, version); {
	case err == nil:
		return l.expectPending(version)
	case !errors.Is(err, errNoValue):
		return err
	}
	if slices.ContainsFunc(l.of[version], func(name string) bool { return name != labelPending }) {
		return fmt.Errorf("version %s has no value and the labels of another use: start a new rotation", version)
	}
	if err := r.adopt(ctx, l, version); err != nil {
		return err
	}

	secret := make([]byte, 32)
	rand.Read(secret) // never fails
	_, err = r.c.Secrets.PutSecretValue(ctx, &secretsmanager.PutSecretValueInput{
		SecretId:           &r.c.SecretARN,
		ClientRequestToken: &version,
		SecretString:       aws.String(hex.EncodeToString(secret)),
		VersionStages:      []string{labelPending},
	})
	var exists *types.ResourceExistsException
	if errors.As(err, &exists) {
		_, _, err = r.value(ctx, version) // another call of this step has put one
	}
	if err != nil {
		return fmt.Errorf("the new secret cannot be stored: %w", err)
	}
	return nil
}

// adopt looks after a rotation that was left half-way. The new version is going to
// take the label AWSPENDING away from the old one, and what the edge sends has to stay
// accepted: if it is that secret, it becomes the current one first.
func (r *Rotation) adopt(ctx context.Context, l labels, version string) error {
	if !l.running() || l.pending == version {
		return nil
	}
	secret, _, err := r.value(ctx, l.pending)
	if errors.Is(err, errNoValue) {
		return nil // nobody can send what does not exist
	}
	if err != nil {
		return err
	}
	e, err := r.edge(ctx)
	if err != nil {
		return err
	}
	if !e.sendsAny(secret) {
		return nil
	}
	r.c.Log.WarnContext(ctx, "an earlier rotation has not finished, and the edge sends its secret: it becomes current", "version", l.pending)
	return r.promote(ctx, l, l.pending)
}
