package rotation

import (
	"context"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
)

// The steps. The first four are Secrets Manager's.
const (
	StepCreate = "createSecret"
	StepSet    = "setSecret"
	StepTest   = "testSecret"
	StepFinish = "finishSecret"
	StepRetire = "retireSecret"
)

// Handle carries out one step. An error says what is missing and holds no secret;
// Secrets Manager then tries again later, and the Lambda's error metric counts it.
func (r *Rotation) Handle(ctx context.Context, e events.SecretsManagerSecretRotationEvent) error {
	log := r.c.Log.With("step", e.Step, "version", e.ClientRequestToken)
	err := r.step(ctx, e)
	if err != nil {
		err = fmt.Errorf("%s: %w", e.Step, err)
		log.ErrorContext(ctx, "the rotation step failed; the site goes on with the secret that it has", "error", err)
		return err
	}
	log.InfoContext(ctx, "the rotation step is done")
	return nil
}

func (r *Rotation) step(ctx context.Context, e events.SecretsManagerSecretRotationEvent) error {
	if e.SecretID != r.c.SecretARN {
		return fmt.Errorf("the event is about another secret than %s, which is the one that this function rotates", r.c.SecretARN)
	}
	if e.Step == StepRetire {
		return r.retire(ctx)
	}
	if e.ClientRequestToken == "" {
		return fmt.Errorf("the event has no ClientRequestToken")
	}
	switch e.Step {
	case StepCreate:
		return r.create(ctx, e.ClientRequestToken)
	case StepSet:
		return r.set(ctx, e.ClientRequestToken)
	case StepTest:
		return r.test(ctx, e.ClientRequestToken)
	case StepFinish:
		return r.finish(ctx, e.ClientRequestToken)
	}
	return fmt.Errorf("there is no such step: it is one of %s, %s, %s, %s and %s", StepCreate, StepSet, StepTest, StepFinish, StepRetire)
}
