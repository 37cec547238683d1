package secretsmanager_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	sm "github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/seed3e88d9a2/spendcap/internal/deployment/awstest"
	"github.com/seed3e88d9a2/spendcap/internal/hmackey/secretsmanager"
)

func secret(url, id string) secretsmanager.Secret {
	return secretsmanager.Secret{ID: id, API: sm.New(sm.Options{
		Region: awstest.Region, BaseEndpoint: &url, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})}
}

// Of two who change the same version one is told that the other was first.
func TestWrite(t *testing.T) {
	s := secret(awstest.New(t).URL, awstest.SecretARN)
	read := func(want string) (version string) {
		t.Helper()
		value, version, err := s.Read(t.Context())
		if err != nil || value != want || version == "" {
			t.Fatalf("%q of version %q, %v; want %q", value, version, err, want)
		}
		return version
	}
	first := read(awstest.HMACKey)
	if err := s.Write(t.Context(), "mine", first); err != nil {
		t.Fatal(err)
	}
	second := read("mine")
	if second == first {
		t.Error("the version has not changed")
	}
	if err := s.Write(t.Context(), "theirs", first); !errors.Is(err, secretsmanager.ErrChanged) {
		t.Errorf("the second writer is told %v", err)
	}
	if err := s.Write(t.Context(), "mine", first); err != nil {
		t.Errorf("the same again: %v", err)
	}
	read("mine")
	if err := s.Write(t.Context(), "theirs", second); err != nil {
		t.Error(err)
	}
	read("theirs")
}

// A change that was taken back by moving the label to the version before does not stand
// in the way of the next one.
func TestWriteAfterOneThatWasTakenBack(t *testing.T) {
	aws := awstest.New(t)
	s := secret(aws.URL, awstest.SecretARN)
	_, first, err := s.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"mine", "another", "a third"} {
		if err := s.Write(t.Context(), value, first); err != nil {
			t.Fatalf("%s: %v", value, err)
		}
		if got, version, err := s.Read(t.Context()); err != nil || got != value || version == first {
			t.Fatalf("%q, %v; want %s", got, err, value)
		}
		if err := s.Write(t.Context(), "theirs", first); !errors.Is(err, secretsmanager.ErrChanged) {
			t.Errorf("the second writer is told %v", err)
		}
		aws.TakeBack()
	}
}

func TestFailures(t *testing.T) {
	if _, _, err := secret(awstest.New(t).URL, "none").Read(t.Context()); err == nil || !strings.Contains(err.Error(), "none") {
		t.Error(err)
	}
	for reply, want := range map[string]string{
		`{"SecretString":"hidden-value`:               "the reply is cut or is none of Secrets Manager's",
		`{"Name":"x"}`:                                "has no value that is a string",
		`{"SecretBinary":"aGlkZGVu","VersionId":"1"}`: "has no value that is a string",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, reply) }))
		_, _, err := secret(server.URL, "x").Read(t.Context())
		server.Close()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v; want %s", reply, err, want)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(400)
		io.WriteString(w, `{"__type":"AccessDeniedException","Message":"not authorized"}`)
	}))
	defer server.Close()
	if err := secret(server.URL, "x").Write(t.Context(), "hidden-value", "1"); err == nil || !strings.Contains(err.Error(), "not authorized") || strings.Contains(err.Error(), "hidden") {
		t.Error(err)
	}
}
