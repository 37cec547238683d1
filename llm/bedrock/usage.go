package bedrock

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/seed3e88d9a2/spendcap/llm"
	"github.com/seed3e88d9a2/spendcap/llm/internal/strictjson"
)

// usage reads what the upstream will bill, from the text of the reply: the SDK's fields
// do not tell a number from what was made one.
func usage(out *bedrockruntime.ConverseOutput, reply []byte) (*llm.Usage, string) {
	if t := out.ServiceTier; t != nil && t.Type != "" && t.Type != types.ServiceTierTypeDefault {
		return nil, "the upstream used another service tier than the default one, which has a price of its own"
	}
	if p := out.PerformanceConfig; p != nil && p.Latency == types.PerformanceConfigLatencyOptimized {
		return nil, "the upstream optimized the latency, which has a price of its own"
	}
	u, err := parseUsage(reply)
	if err != nil {
		return nil, "the upstream's usage cannot be: " + err.Error()
	}
	if u == nil {
		return nil, "the upstream reported no usage"
	}
	return u, ""
}

// parseUsage reads the member usage of a reply, nil if there is none
// (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html).
// Tokens that were read from the cache or written to it are counted apart from the
// input's.
func parseUsage(reply []byte) (*llm.Usage, error) {
	d, err := strictjson.New(reply)
	if err != nil {
		return nil, err
	}
	var u *llm.Usage
	err = d.Object(func(name string) (err error) {
		switch {
		case name != "usage":
			return d.Skip()
		case d.IsNull():
			return nil
		}
		u, err = tokens(d)
		return err
	})
	if err != nil || u == nil {
		return nil, err
	}
	return u, u.Check()
}

func tokens(d *strictjson.Decoder) (*llm.Usage, error) {
	u := new(llm.Usage)
	var hasInput, hasOutput bool
	var total int64 = -1
	err := d.Object(func(name string) (err error) {
		switch name {
		case "inputTokens":
			hasInput = true
			u.Input, err = d.Count()
		case "outputTokens":
			hasOutput = true
			u.Output, err = d.Count()
		case "totalTokens":
			total, err = d.Count()
		case "cacheReadInputTokens":
			u.CachedInput, err = d.OptionalCount()
		case "cacheWriteInputTokens":
			u.CacheWrite, err = d.OptionalCount()
		default:
			err = d.Skip()
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case !hasInput || !hasOutput:
		return nil, errors.New("inputTokens or outputTokens is missing")
	case total >= 0 && (total < u.Input || total-u.Input < u.Output):
		return nil, errors.New("the total is less than input and output")
	}
	return u, nil
}

// decode reads JSON, with numbers as they are written.
func decode(text string) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}
