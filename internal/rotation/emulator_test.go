//go:build emulator

package rotation_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"

	"github.com/seed3e88d9a2/spendcap/internal/rotation"
	lockSource "github.com/seed3e88d9a2/spendcap/originlock/secretsmanager"
)

// TestRotationWithEmulatedSecretsManager drives all steps, each twice and one out of its
// order, three times over, against the Secrets Manager at SPENDCAP_TEST_AWS.
func TestRotationWithEmulatedSecretsManager(t *testing.T) {
	endpoint := os.Getenv("SPENDCAP_TEST_AWS")
	if endpoint == "" {
		t.Fatal("SPENDCAP_TEST_AWS is not set: scripts/test-infra starts an emulator and sets it")
	}
	client := secretsClient(endpoint, 3)
	// The emulator loses a reply now and then. The SDK sends the call again, and what the
	// first attempt did is an error for the second, so the state is asked for in its stead.
	name := aws.String("rotation-" + t.Name() + time.Now().Format("-150405.000000000"))
	_, err := client.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: name, SecretString: aws.String(firstSecret)})
	if exists := (*types.ResourceExistsException)(nil); !errors.As(err, &exists) {
		ok(t, err)
	}
	made, err := client.DescribeSecret(t.Context(), &secretsmanager.DescribeSecretInput{SecretId: name})
	ok(t, err)

	w := newWorld(t)
	w.secrets.onChange, w.cloud.onChange = nil, nil // the world's own Secrets Manager is not in use
	w.locks = nil
	w.config.Secrets = client
	w.config.SecretARN = *made.ARN
	// The locks' part is played by their source, asked afresh for each request.
	source := lockSource.New(client, *made.ARN)
	w.config.EdgeURL, w.config.SideDoorURL = sourceServer(t, w, source, false), sourceServer(t, w, source, true)
	w.now = time.Now() // the emulator stamps its versions with the real time
	w.rebuild()

	step := func(step, token string) error {
		return w.r.Handle(t.Context(), events.SecretsManagerSecretRotationEvent{Step: step, SecretID: *made.ARN, ClientRequestToken: token})
	}
	valueAt := func(label string) string {
		out, err := client.GetSecretValue(t.Context(), &secretsmanager.GetSecretValueInput{SecretId: made.ARN, VersionStage: &label})
		if err != nil {
			return ""
		}
		return aws.ToString(out.SecretString)
	}
	for n := range 3 {
		before := valueAt("AWSCURRENT")
		ok(t, step(rotation.StepCreate, token(n)))
		want(t, step(rotation.StepFinish, token(n)), "setSecret and testSecret come first")
		for _, s := range steps {
			ok(t, step(s, token(n)))
			ok(t, step(s, token(n)))
		}
		current := valueAt("AWSCURRENT")
		if current == before || valueAt("AWSPREVIOUS") != before || w.cloud.sent()[0] != current {
			t.Fatal("the rotation did not arrive everywhere")
		}
		w.pass(2 * time.Hour)
		ok(t, step(rotation.StepRetire, ""))
		if valueAt("AWSPREVIOUS") != "" {
			t.Fatal("the old secret was not retired")
		}
		// The real one moves AWSPENDING to the next version; the emulator would give it to both.
		_, err := client.UpdateSecretVersionStage(t.Context(), &secretsmanager.UpdateSecretVersionStageInput{
			SecretId: made.ARN, VersionStage: aws.String("AWSPENDING"), RemoveFromVersionId: aws.String(token(n)),
		})
		if valueAt("AWSPENDING") != "" {
			t.Fatalf("the label AWSPENDING stayed: %v", err)
		}
	}
	if _, updates := w.cloud.current(); updates != 3 {
		t.Errorf("%d updates", updates)
	}
}
