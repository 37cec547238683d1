package rotation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"

	"github.com/seed3e88d9a2/spendcap/originlock"
)

const (
	labelPending  = "AWSPENDING"
	labelCurrent  = "AWSCURRENT"
	labelPrevious = "AWSPREVIOUS"
)

// labels says which version of the secret has which label. Secrets Manager gives each
// label to one version at most.
type labels struct {
	pending, current, previous string
	of                         map[string][]string
	changed                    *time.Time // when anything about the secret changed last
}

func (r *Rotation) labels(ctx context.Context) (labels, error) {
	out, err := r.c.Secrets.DescribeSecret(ctx, &secretsmanager.DescribeSecretInput{SecretId: &r.c.SecretARN})
	if err != nil {
		return labels{}, fmt.Errorf("the labels of the secret cannot be read: %w", err)
	}
	l := labels{of: out.VersionIdsToStages, changed: out.LastChangedDate}
	for version, names := range out.VersionIdsToStages {
		for _, name := range names {
			switch name {
			case labelPending:
				l.pending = version
			case labelCurrent:
				l.current = version
			case labelPrevious:
				l.previous = version
			}
		}
	}
	if l.current == "" {
		return labels{}, errors.New("no version of the secret is AWSCURRENT: put a value into it, and into the edge, by hand")
	}
	return l, nil
}

// running tells whether a rotation has begun and not finished. Afterwards AWSPENDING
// may stay where AWSCURRENT is.
func (l labels) running() bool { return l.pending != "" && l.pending != l.current }

// expectPending refuses a version whose turn it is not.
func (l labels) expectPending(version string) error {
	if l.pending == version {
		return nil
	}
	if names, ok := l.of[version]; ok && !slices.Contains(names, labelPending) {
		return fmt.Errorf("the version is not AWSPENDING (any more), so its rotation is over or was cancelled: start a new one")
	}
	return errors.New("the version is not AWSPENDING: createSecret comes first")
}

// errNoValue is what value returns for a version without one, which Secrets Manager
// makes when it begins a rotation.
var errNoValue = errors.New("the version has no value")

// value reads the secret of one version, which a lock has to accept.
func (r *Rotation) value(ctx context.Context, version string) (string, time.Time, error) {
	out, err := r.c.Secrets.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &r.c.SecretARN, VersionId: &version})
	var notFound *types.ResourceNotFoundException
	if errors.As(err, &notFound) {
		return "", time.Time{}, errNoValue
	}
	if err != nil {
		return "", time.Time{}, fmt.Errorf("the value of version %s cannot be read: %w", version, err)
	}
	if out.SecretString == nil && out.SecretBinary == nil {
		return "", time.Time{}, errNoValue
	}
	if err := originlock.CheckSecret(aws.ToString(out.SecretString)); err != nil {
		return "", time.Time{}, fmt.Errorf("version %s cannot be used: %w", version, err)
	}
	return *out.SecretString, aws.ToTime(out.CreatedDate), nil
}

// promote makes a version current, which makes the current one previous.
func (r *Rotation) promote(ctx context.Context, l labels, version string) error {
	_, err := r.c.Secrets.UpdateSecretVersionStage(ctx, &secretsmanager.UpdateSecretVersionStageInput{
		SecretId:            &r.c.SecretARN,
		VersionStage:        aws.String(labelCurrent),
		MoveToVersionId:     &version,
		RemoveFromVersionId: &l.current,
	})
	if err == nil {
		return nil
	}
	// Another call of this step may have been faster, or this one's reply was lost.
	if now, readErr := r.labels(ctx); readErr == nil && now.current == version {
		return nil
	}
	return fmt.Errorf("AWSCURRENT cannot be moved to version %s: %w", version, err)
}
