// Package demo is a provider that needs no account and costs nothing: it runs in the
// process, answers the same to the same request, and says that it is no model. It
// counts tokens as a model might, so that caps can be tried out.
package demo

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed3e88d9a2/spendcap/llm"
)

// Provider is the demo model.
type Provider struct{}

// New returns the demo model.
func New() Provider { return Provider{} }

// Features tells that the demo model takes everything, though it heeds little of it:
// the output limit, stop sequences and tool choices.
func (Provider) Features() llm.Features {
	return llm.Features{
		MaxTemperature: 2, MaxStop: 16, Penalties: true, Seed: true, TopK: true, NoToolChoice: true, SerialToolCalls: true,
		JSONObject: true, JSONSchema: true, ReasoningEffort: true, Verbosity: true, Names: true,
	}
}

// Complete answers. It calls the first tool, or the one that has to be called, if a tool
// has to be called or the user's last message names one.
func (Provider) Complete(ctx context.Context, r *llm.Request) (*llm.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, &llm.UpstreamError{Status: 504, NothingSpent: true, Message: "The model took too long."}
	}
	input := inputTokens(r)
	out := &llm.Response{Usage: &llm.Usage{Input: input}}
	if tool := toolFor(r); tool != "" {
		out.Parts = []llm.Part{{Kind: llm.ToolCall, ID: "call_demo_" + strconv.Itoa(len(r.Messages)), Name: tool, Arguments: "{}"}}
		out.Finish = llm.FinishTools
		out.Usage.Output = min(tokens(len(tool))+4, int64(r.MaxOutputTokens))
		return out, nil
	}
	text := answer(r)
	for _, stop := range r.Stop {
		if before, _, found := strings.Cut(text, stop); found {
			text, out.StopSequence = before, stop
		}
	}
	if n := 4 * r.MaxOutputTokens; len(text) > n {
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		text, out.Finish, out.StopSequence = text[:n], llm.FinishLength, ""
	}
	out.Parts = []llm.Part{{Text: text}}
	out.Usage.Output = tokens(len(text))
	return out, nil
}

// tokens is how many tokens so many bytes are taken for: about four each, at least one.
func tokens(bytes int) int64 { return int64(max(1, (bytes+3)/4)) }

func inputTokens(r *llm.Request) int64 {
	n := int64(3)
	for _, m := range r.Messages {
		n += 4
		for _, p := range m.Parts {
			n += tokens(len(p.Text) + len(p.Name) + len(p.Arguments))
		}
	}
	for _, t := range r.Tools {
		n += 8 + tokens(len(t.Name)+len(t.Description)+len(t.Schema))
	}
	return n
}

func toolFor(r *llm.Request) string {
	switch {
	case len(r.Tools) == 0:
		return ""
	case r.ToolChoice.Mode == llm.ToolsNamed:
		return r.ToolChoice.Name
	case r.ToolChoice.Mode == llm.ToolsRequired:
		return r.Tools[0].Name
	case r.ToolChoice.Mode == llm.ToolsNone:
		return ""
	}
	said := lastText(r)
	for _, t := range r.Tools {
		if said != "" && strings.Contains(said, t.Name) {
			return t.Name
		}
	}
	return ""
}

// lastText is the text of the last message, if it is the user's.
func lastText(r *llm.Request) string {
	last := r.Messages[len(r.Messages)-1]
	if last.Role != llm.User {
		return ""
	}
	var b strings.Builder
	for _, p := range last.Parts {
		if p.Kind == llm.Text {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

func answer(r *llm.Request) string {
	const who = "I am the demo model of spendcap: a local program that answers the same to everything, for free, and no language model."
	if r.Format != nil {
		return `{"demo":true}`
	}
	last := r.Messages[len(r.Messages)-1]
	for _, p := range last.Parts {
		if p.Kind == llm.ToolResult {
			return who + fmt.Sprintf(" The tool said %d bytes.", len(p.Text))
		}
	}
	return who + fmt.Sprintf(" You wrote %d characters.", utf8.RuneCountInString(lastText(r)))
}
