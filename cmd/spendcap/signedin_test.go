package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/seed3e88d9a2/spendcap/internal/issuertest"
)

// tiersFile is the example with the issuer of the test in it.
func tiersFile(t *testing.T, issuer *issuertest.Issuer) string {
	t.Helper()
	text, err := os.ReadFile("../../examples/config/tiers.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "tiers.yaml")
	own := strings.NewReplacer("https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_Example", issuer.URL, "1example23456789", issuertest.Audience).Replace(string(text))
	if err := os.WriteFile(file, []byte(own), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// The official SDKs sign in with nothing but the base URL and the key changed: the token
// is the key. Without one they are anonymous, whatever the key.
func TestSDKsSignIn(t *testing.T) {
	issuer := issuertest.New(t)
	p := start(t, nil, "-config", tiersFile(t, issuer))
	token := issuer.Token(issuer.Claims(time.Now(), "anna", map[string]any{"cognito:groups": []string{"pro"}}))
	chat := func(base, key string) error {
		client := openai.NewClient(option.WithBaseURL(p.edge+base), option.WithAPIKey(key), option.WithMaxRetries(0))
		_, err := client.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{
			Model: "demo-small", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello")},
		})
		return err
	}
	message := func(base string, key anthropicoption.RequestOption) error {
		client := anthropic.NewClient(anthropicoption.WithBaseURL(p.edge+base), key, anthropicoption.WithMaxRetries(0))
		_, err := client.Messages.New(t.Context(), anthropic.MessageNewParams{
			Model: "demo-small", MaxTokens: 100, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hello"))},
		})
		return err
	}
	for name, err := range map[string]error{
		"OpenAI, signed in":    chat("/api/u/v1", token),
		"OpenAI, anonymous":    chat("/api/v1", "unused"),
		"Anthropic, signed in": message("/api/u", anthropicoption.WithAuthToken(token)),
		"Anthropic, anonymous": message("/api", anthropicoption.WithAPIKey("unused")),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := chat("/api/u/v1", "unused"); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("a key that is no token: %v", err)
	}
	for path, want := range map[string]string{
		"/api/u/cap": `{"countedAs":"user","tier":"pro","calls":{"used":2,"cap":500,"remaining":498}`,
		"/api/cap":   `{"countedAs":"127.0.0.1","calls":{"used":2,"cap":10,"remaining":8}`,
	} {
		if got := getWith(t, p.edge+path, token); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// The keys may come from a file or from another URL, for an issuer that this machine does
// not reach.
func TestKeysFromElsewhere(t *testing.T) {
	issuer := issuertest.New(t)
	token := issuer.Token(issuer.Claims(time.Now(), "anna", nil))
	keys := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(keys, issuer.JWKS(), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{keys, issuer.URL + "/keys"} {
		p := start(t, nil, "-config", tiersFile(t, issuer), "-jwks", from)
		if got := getWith(t, p.edge+"/api/u/cap", token); !strings.Contains(got, `"tier":"free"`) {
			t.Errorf("%s: %s", from, got)
		}
	}
	empty := filepath.Join(t.TempDir(), "empty.json")
	if err := os.WriteFile(empty, []byte(`{"keys":[]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"--jwks: the file has no auth": {"-config", "../../spendcap.yaml", "-jwks", keys},
		"nothing.json":                 {"-config", tiersFile(t, issuer), "-jwks", "nothing.json"},
		"no public RSA key":            {"-config", tiersFile(t, issuer), "-jwks", empty},
	} {
		if code, _, stderr := runForTest(t, append([]string{"dev", "-edge", "127.0.0.1:0", "-origin", "127.0.0.1:0"}, args...)...); code != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%s: %d %s", want, code, stderr)
		}
	}
}

func getWith(t *testing.T, url, token string) string {
	t.Helper()
	req, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
