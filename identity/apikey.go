package identity

import (
	"fmt"
	"strings"

	"github.com/seed3e88d9a2/spendcap/caps"
)

const (
	minAPIKey = 16 // a shorter one can be guessed, and then spent
	maxAPIKey = 512
)

// APIKey returns the caller for an API key or another bearer's secret, of kind
// "api-key". It has to be one that the server has issued and found valid: a client that
// makes keys up would have a budget for each.
//
// White space around it is cut off; the rest counts to the letter. It is visible ASCII,
// as a header carries it, of 16 to 512 characters. The error wraps [caps.ErrNoIdentity].
func APIKey(key string) (caps.Caller, error) {
	const field = "API key"
	key, err := trim(field, key, maxAPIKey)
	switch {
	case err != nil:
		return caps.Caller{}, err
	case len(key) < minAPIKey:
		return caps.Caller{}, refuse(field, fmt.Sprintf("is shorter than %d characters", minAPIKey))
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return caps.Caller{}, refuse(field, "has characters other than visible ASCII")
	}
	return caps.Identity("api-key", key)
}
