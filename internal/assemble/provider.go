package assemble

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/seed3e88d9a2/spendcap/llm"
	"github.com/seed3e88d9a2/spendcap/llm/anthropic"
	"github.com/seed3e88d9a2/spendcap/llm/bedrock"
	"github.com/seed3e88d9a2/spendcap/llm/demo"
	"github.com/seed3e88d9a2/spendcap/llm/openai"
)

// KeyVariable is the environment variable that has the provider's API key on one
// machine; empty if the provider needs none.
func KeyVariable(c llm.Config) string {
	switch c.Provider {
	case llm.ProviderOpenAI:
		return "OPENAI_API_KEY"
	case llm.ProviderAnthropic:
		return "ANTHROPIC_API_KEY"
	}
	return ""
}

// Provider returns the provider that the operator's file names. Only the one that needs
// it looks at key and at aws.
func Provider(c llm.Config, key string, aws aws.Config) (llm.Provider, error) {
	switch c.Provider {
	case llm.ProviderDemo:
		return demo.New(), nil
	case llm.ProviderOpenAI:
		return openai.New(openai.Config{BaseURL: c.BaseURL, APIKey: key})
	case llm.ProviderAnthropic:
		return anthropic.New(anthropic.Config{BaseURL: c.BaseURL, APIKey: key})
	case llm.ProviderBedrock:
		return bedrock.New(bedrock.Config{AWS: aws})
	}
	return nil, fmt.Errorf("llm.provider: %q is not one of demo, openai, anthropic, bedrock", c.Provider)
}

// ProviderWithKey is Provider with a key that read gets with the first paid call, and
// again with each until it succeeds, so that a cold start does not wait for it.
func ProviderWithKey(c llm.Config, read func(context.Context) (string, error), log *slog.Logger) (llm.Provider, error) {
	// What a provider can carry does not depend on its key.
	keyless, err := Provider(c, "not-read-yet", aws.Config{})
	if err != nil {
		return nil, err
	}
	return &keyed{config: c, read: read, log: log, features: keyless.Features()}, nil
}

type keyed struct {
	config   llm.Config
	read     func(context.Context) (string, error)
	log      *slog.Logger
	features llm.Features

	mu    sync.Mutex
	ready llm.Provider
}

func (k *keyed) Features() llm.Features { return k.features }

func (k *keyed) Prepare(ctx context.Context) error {
	_, err := k.provider(ctx)
	return err
}

func (k *keyed) Complete(ctx context.Context, r *llm.Request) (*llm.Response, error) {
	p, err := k.provider(ctx)
	if err != nil {
		return nil, err
	}
	return p.Complete(ctx, r)
}

func (k *keyed) provider(ctx context.Context) (llm.Provider, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ready != nil {
		return k.ready, nil
	}
	key, err := k.read(ctx)
	if err == nil {
		k.ready, err = Provider(k.config, key, aws.Config{})
	}
	if err != nil {
		k.log.ErrorContext(ctx, "the provider's API key cannot be read, so nothing is called", "error", err)
		return nil, &llm.UpstreamError{Status: 502, NothingSpent: true, Message: "The model cannot be reached right now."}
	}
	return k.ready, nil
}
