package rotation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
)

// retire takes the label AWSPREVIOUS away, after which no lock accepts the old secret.
// It does so only if a rotation has finished long enough ago and the whole edge sends
// the current secret. If the edge sends something else, a deployment of the stack
// has put it there in the middle of a rotation, and it gets the current one.
//
// A schedule calls it every day, rather than each rotation planning one call: a call
// that is lost is made up for by the next, and a rotation that is stuck is reported
// every day until somebody looks.
func (r *Rotation) retire(ctx context.Context) error {
	l, err := r.labels(ctx)
	if err != nil {
		return err
	}
	if l.changed == nil {
		return errors.New("the reply of Secrets Manager has no LastChangedDate")
	}
	if l.running() {
		return r.overdue(ctx, l)
	}
	if r.c.Now().Sub(*l.changed) < r.c.Grace {
		return nil
	}
	current, _, err := r.value(ctx, l.current)
	if err != nil {
		return err
	}
	e, err := r.edge(ctx)
	if err != nil {
		return err
	}
	if !e.sends(current) {
		r.c.Log.WarnContext(ctx, "the edge does not send the current secret: it is set to")
		return r.send(ctx, current)
	}
	if !e.deployed || l.previous == "" {
		return nil
	}
	_, err = r.c.Secrets.UpdateSecretVersionStage(ctx, &secretsmanager.UpdateSecretVersionStageInput{
		SecretId:            &r.c.SecretARN,
		VersionStage:        aws.String(labelPrevious),
		RemoveFromVersionId: &l.previous,
	})
	if err == nil {
		return nil
	}
	if now, readErr := r.labels(ctx); readErr == nil && now.previous != l.previous {
		return nil
	}
	return fmt.Errorf("AWSPREVIOUS cannot be removed: %w", err)
}

// overdue reports a rotation that began long ago and is not finished.
func (r *Rotation) overdue(ctx context.Context, l labels) error {
	_, since, err := r.value(ctx, l.pending)
	if errors.Is(err, errNoValue) {
		since, err = *l.changed, nil
	}
	if err != nil {
		return err
	}
	if age := r.c.Now().Sub(since); age > r.c.Overdue {
		return fmt.Errorf("the rotation to version %s has not finished for %v: see docs/rotate.md", l.pending, age.Round(time.Minute))
	}
	return nil
}
