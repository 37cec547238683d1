// Package llm turns a request of an API that clients already speak, OpenAI chat
// completions or Anthropic messages, into one paid call with a known worst case, and
// what the upstream reports into what the call cost.
//
//	call, err := service.ParseChatCompletions(body) // a *RequestError: tell the caller
//	res, err := guard.Reserve(ctx, caller, call.Worst())
//	answer, err := call.Do(ctx) // an *UpstreamError: release if NothingSpent, or else keep
//	if answer.CostKnown {
//		res.Settle(ctx, answer.Cost) // otherwise the hold stays
//	}
//
// A request is not passed through. What is known is read, bounded and built anew, and
// everything else is refused with its name: what could change the price without being
// priced cannot get past. The same goes for what a provider cannot carry.
//
// The worst case is a bound on the input at the dearest price it can have, plus the
// output limit at the price of the output. Tokens are never more than bytes, so the
// bytes of everything that is sent bound the input, with a stated overhead for what
// providers put around it. It holds for every tokenizer, and for texts that make a token
// of every byte. It is generous for ordinary text, of which a token has about four; the
// difference is given back when the call is settled.
//
// Providers are in packages of their own, so that a program has only the SDK that it
// uses: llm/openai for OpenAI and everything compatible, llm/anthropic, llm/bedrock for
// Amazon Bedrock, and llm/demo, which is built in, local and free. Both APIs work with
// each of them.
//
// The package reads no environment, writes no log, and knows neither AWS nor routes.
package llm
