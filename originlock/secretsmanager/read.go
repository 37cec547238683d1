package secretsmanager

import (
	"context"
	"fmt"
	"strings"
)

// Read gives the current value of one secret, a key for caller keys or for a
// provider, with one call of GetSecretValue. The value has to be a string that is
// neither empty nor blank and has no white space around it, which would be a pasted
// line end. How long it has to be is for its user to say. The error names the secret
// and never holds the value.
func Read(ctx context.Context, api API, secretID string) (string, error) {
	secret, err := get(ctx, api, secretID, stageCurrent)
	if err != nil {
		return "", err
	}
	switch trimmed := strings.TrimSpace(secret); {
	case trimmed == "":
		return "", fmt.Errorf("the secret %s is blank: store its value", secretID)
	case trimmed != secret:
		return "", fmt.Errorf("the secret %s has white space around it: store it without", secretID)
	}
	return secret, nil
}
