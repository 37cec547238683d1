package llm

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// Service turns requests of callers into calls with a known worst case. It is safe for
// concurrent use.
type Service struct {
	// Now stamps answers. nil means time.Now. It is set before the first use.
	Now func() time.Time

	config   Config
	provider Provider
	features Features
	models   map[string]*Model
	names    string // of the models, for messages
	system   []Message
}

// New returns a service, or the error of [Config.Check].
func New(c Config, p Provider) (*Service, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if p == nil {
		return nil, errors.New("the provider is missing: make one with a package below llm, such as llm/openai")
	}
	if most := p.Features().MaxTemperature; c.Temperature != nil && c.Temperature.Max > most {
		return nil, fmt.Errorf("llm.temperature.max: %v is above %v, which is the most that the provider takes: lower it", c.Temperature.Max, most)
	}
	s := &Service{config: c, provider: p, features: p.Features(), models: make(map[string]*Model, len(c.Models))}
	names := make([]string, len(c.Models))
	for i := range c.Models {
		m := c.Models[i]
		if m.Upstream == "" {
			m.Upstream = m.Name
		}
		s.models[m.Name] = &m
		names[i] = m.Name
	}
	s.names = strings.Join(names, ", ")
	if c.SystemPrompt != "" {
		s.system = []Message{{Role: System, Parts: []Part{{Text: c.SystemPrompt}}}}
	}
	return s, nil
}

func (s *Service) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// Call is one request of a caller, read, bounded and priced, and not yet made.
type Call struct {
	service *Service
	front   Front
	model   *Model
	request Request
	stream  bool
	usage   bool // of a stream: whether its usage is asked for

	worst Cost
}

// Model is the name by which the caller asked for the model.
func (c *Call) Model() string { return c.model.Name }

// Stream tells whether the caller asked for a stream of events.
func (c *Call) Stream() bool { return c.stream }

// Worst is the most that the call can cost, in micro-dollars. It is what to reserve.
func (c *Call) Worst() caps.MicroUSD { return c.worst.USD }

// Bound is what Worst is made of.
func (c *Call) Bound() Cost { return c.worst }

// Answer is what the caller gets, and what it cost.
type Answer struct {
	ContentType string // of Body
	Body        []byte // JSON, or all the events of a stream

	// Usage and Cost, in micro-dollars, are known if CostKnown is true. If it is false,
	// the upstream did not say, or not in a way that can be, and Problem tells why: what
	// was reserved stays held.
	Usage     *Usage
	Cost      caps.MicroUSD
	CostKnown bool
	Problem   string
}

// Prepare gets what the provider needs before its first call, so that Do does not wait
// for it. The error is an [*UpstreamError]. Nothing was spent.
func (c *Call) Prepare(ctx context.Context) error {
	p, ok := c.service.provider.(Preparer)
	if !ok {
		return nil
	}
	return p.Prepare(ctx)
}

// Do makes one attempt at the call. The error is an [*UpstreamError]. A call with an
// error may have cost up to Worst, unless it says that nothing was spent.
func (c *Call) Do(ctx context.Context) (*Answer, error) {
	r, err := c.service.provider.Complete(ctx, &c.request)
	if err != nil {
		var e *UpstreamError
		if errors.As(err, &e) {
			return nil, e
		}
		// A provider that breaks its contract. Its text may hold anything.
		return nil, &UpstreamError{Status: 502, Message: "The call failed."}
	}
	a := &Answer{Usage: r.Usage, Problem: r.UsageProblem}
	switch {
	case r.Usage != nil:
		cost, err := c.model.Price.Cost(*r.Usage)
		if err != nil {
			a.Usage, a.Problem = nil, err.Error()
			break
		}
		a.Cost, a.CostKnown, a.Problem = cost, true, ""
	case a.Problem == "":
		a.Problem = "the upstream reported no usage"
	}
	switch {
	case c.front == Messages && c.stream:
		a.Body = c.messageEvents(r, a.Usage)
	case c.front == Messages:
		a.Body = c.message(r, a.Usage)
	case c.stream:
		a.Body = c.chatChunks(r, a.Usage)
	default:
		a.Body = c.chatCompletion(r, a.Usage)
	}
	a.ContentType = "application/json"
	if c.stream {
		a.ContentType = "text/event-stream"
	}
	return a, nil
}

// id returns the provider's ID of an answer if it looks like one, or else a new one.
func id(given, prefix string) string {
	plain := given != "" && len(given) <= 128
	for i := 0; plain && i < len(given); i++ {
		c := given[i]
		plain = c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	if plain {
		return given
	}
	var b [12]byte
	rand.Read(b[:]) // never fails
	return prefix + hex.EncodeToString(b[:])
}

func (s *Service) unknownModel(name string) error {
	return &RequestError{
		Status: 422, Code: CodeModel, Param: "model",
		Message: fmt.Sprintf("The model %s is not offered here. There are: %s.", quote(name), s.names),
	}
}

// quote shows a text that came from a caller, shortened.
func quote(s string) string {
	const most = 80
	if len(s) > most {
		return fmt.Sprintf("%.*q...", most, s)
	}
	return fmt.Sprintf("%q", s)
}
