package secretsmanager_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	aws_sm "github.com/aws/aws-sdk-go-v2/service/secretsmanager"
)

const secretID = "arn:aws:secretsmanager:eu-central-1:111122223333:secret:origin-AbCdEf"

var (
	current  = strings.Repeat("c0", 32)
	pending  = strings.Repeat("9e", 32)
	previous = strings.Repeat("8f", 32)
	others   = []string{strings.Repeat("01", 32), strings.Repeat("02", 32), strings.Repeat("03", 32)}
)

// reply is what the server answers for a stage.
type reply struct {
	status int
	body   string
}

// value is the reply with a secret string.
func value(secret string) reply {
	b, err := json.Marshal(map[string]any{
		"ARN": secretID, "Name": "origin", "SecretString": secret, "CreatedDate": 1764460800.123,
		"VersionId": "EXAMPLE1-90ab-cdef-fedc-ba987EXAMPLE", "VersionStages": []string{"SOME"},
	})
	if err != nil {
		panic(err)
	}
	return reply{200, string(b)}
}

// failure is the reply with an error of Secrets Manager.
func failure(status int, code, message string) reply {
	return reply{status, fmt.Sprintf(`{"__type":%q,"Message":%q}`, code, message)}
}

// The replies for a stage that no version has, and for one whose version has no value.
var (
	noStage = failure(400, "ResourceNotFoundException", "Secrets Manager can't find the specified secret value for staging label: AWSPENDING")
	noValue = failure(400, "InvalidRequestException", "You can't perform this operation on a version that has no value.")
)

// server speaks the part of Secrets Manager's protocol that is used.
type server struct {
	t   *testing.T
	url string

	mu     sync.Mutex
	stages map[string]reply
	asked  []string
	hook   func(r *http.Request, stage string) // runs before each answer, without the mutex
}

// newServer starts a server with these replies; a stage without one is a stage that
// no version has.
func newServer(t *testing.T, stages map[string]reply) *server {
	s := &server{t: t, stages: stages}
	h := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(h.Close)
	s.url = h.URL
	return s
}

// client is the AWS SDK's, as it is in a Lambda but for the address. Its retries are
// off unless a test sets another number of attempts, so that each call is one request.
func (s *server) client(options ...func(*aws_sm.Options)) *aws_sm.Client {
	return aws_sm.NewFromConfig(aws.Config{
		Region:           "eu-central-1",
		BaseEndpoint:     aws.String(s.url),
		RetryMaxAttempts: 1,
		Credentials: aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "example"}, nil
		}),
	}, options...)
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	var input struct{ SecretId, VersionStage, VersionId string }
	if err := json.NewDecoder(r.Body).Decode(&input); err != nil {
		s.t.Errorf("the request is not JSON: %v", err)
	}
	if got := r.Header.Get("X-Amz-Target"); got != "secretsmanager.GetSecretValue" {
		s.t.Errorf("the operation is %q; a Lambda has permission for GetSecretValue only", got)
	}
	if input.SecretId != secretID || input.VersionId != "" {
		s.t.Errorf("asked for the secret %q, version %q", input.SecretId, input.VersionId)
	}
	s.mu.Lock()
	s.asked = append(s.asked, input.VersionStage)
	hook := s.hook
	s.mu.Unlock()
	if hook != nil {
		hook(r, input.VersionStage)
	}
	s.mu.Lock()
	answer, ok := s.stages[input.VersionStage]
	s.mu.Unlock()
	if !ok {
		answer = noStage
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	w.WriteHeader(answer.status)
	w.Write([]byte(answer.body))
}

// set changes the reply for a stage.
func (s *server) set(stage string, r reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stages[stage] = r
}

// setAll changes all of them.
func (s *server) setAll(stages map[string]reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stages = stages
}

// wantAsked checks which stages were asked for, in order, since the last wantAsked.
func (s *server) wantAsked(want ...string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.asked, want) {
		s.t.Errorf("asked for %q, want %q", s.asked, want)
	}
	s.asked = nil
}

var all = []string{"AWSPENDING", "AWSCURRENT", "AWSPREVIOUS"}

// wantNoSecret fails if a text holds a secret, whole or in part.
func wantNoSecret(t *testing.T, text string) {
	t.Helper()
	for _, secret := range append([]string{current, pending, previous}, others...) {
		if strings.Contains(text, secret[:8]) {
			t.Errorf("a secret is in the text %q", text)
		}
	}
}
