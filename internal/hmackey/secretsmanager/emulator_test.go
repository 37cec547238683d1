//go:build emulator

package secretsmanager_test

import (
	"context"
	"crypto/rand"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sm "github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/seed3e88d9a2/spendcap/internal/hmackey"
	"github.com/seed3e88d9a2/spendcap/internal/hmackey/secretsmanager"
	origin "github.com/seed3e88d9a2/spendcap/originlock/secretsmanager"
)

// TestEmulator rotates a secret of the Secrets Manager at SPENDCAP_TEST_AWS from a plain
// value to a ring, as the operator's tool does, and reads it as an instance does. That a
// token is for one value only is what the emulator does not know.
func TestEmulator(t *testing.T) {
	endpoint := os.Getenv("SPENDCAP_TEST_AWS")
	if endpoint == "" {
		t.Fatal("SPENDCAP_TEST_AWS is not set: give it the endpoint of an emulator")
	}
	client := sm.New(sm.Options{
		Region: "us-east-1", BaseEndpoint: &endpoint, RetryMaxAttempts: 10,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	id, plain := "hmac-"+rand.Text(), strings.Repeat("0123456789abcdef", 4)
	if _, err := client.CreateSecret(t.Context(), &sm.CreateSecretInput{Name: &id, SecretString: &plain}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := client.DeleteSecret(context.Background(), &sm.DeleteSecretInput{SecretId: &id, ForceDeleteWithoutRecovery: aws.Bool(true)}); err != nil {
			t.Error(err)
		}
	})
	now := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	keys, err := hmackey.New(t.Context(), hmackey.Config{
		Now:  func() time.Time { return now },
		Read: func(ctx context.Context) (string, error) { return origin.Read(ctx, client, id) },
	})
	if err != nil {
		t.Fatal(err)
	}
	s := secretsmanager.Secret{API: client, ID: id}
	value, version, err := s.Read(t.Context())
	if err != nil || value != plain {
		t.Fatal(err)
	}
	plan, err := hmackey.Plan(value, now, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), plan.Value, version); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), plan.Value, version); err != nil {
		t.Errorf("the same again: %v", err)
	}
	if value, _, err = s.Read(t.Context()); err != nil || value != plan.Value {
		t.Errorf("what is read is not what was written, %v", err)
	}
	now = now.Add(hmackey.ReadEvery)
	if err := keys.Check(t.Context()); err != nil || keys.Keyer().Version(plan.From-1) != "1" || keys.Keyer().Version(plan.From) != "2" {
		t.Errorf("%v", err)
	}
}
