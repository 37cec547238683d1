package assemble_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/internal/assemble"
	"github.com/seed3e88d9a2/spendcap/internal/config"
)

// Each provider that needs a key can be made before the key is read.
func TestProvidersBeforeTheirKey(t *testing.T) {
	for _, name := range []string{"openai", "anthropic"} {
		cfg, err := config.Load(strings.NewReader(strings.Replace(fleetFile, "provider: demo", "provider: "+name, 1)))
		if err != nil {
			t.Fatal(err)
		}
		unread := func(context.Context) (string, error) { return "", errors.New("it is read too early") }
		if _, err := assemble.ProviderWithKey(*cfg.LLM, unread, slog.New(slog.DiscardHandler)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
