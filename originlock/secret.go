package originlock

import (
	"errors"
	"fmt"
	"strings"
)

// MinSecretBytes is the least length of a secret, in bytes of its text. It is what
// 128 bits take when they are written in hexadecimal, the shortest that nobody can
// guess over a network. Length is all that can be checked: draw secrets at random.
const MinSecretBytes = 32

const drawOne = "draw one with `openssl rand -hex 32`"

// CheckSecret tells whether a lock may accept a secret. It has to be at least
// [MinSecretBytes] long and consist of visible ASCII characters, which is what every
// hop between the edge and the origin carries unchanged (RFC 9110, section 5.5). The
// error says what is wrong without quoting the secret.
func CheckSecret(secret string) error {
	switch trimmed := strings.TrimSpace(secret); {
	case secret == "":
		return errors.New("the origin secret is empty: " + drawOne)
	case trimmed == "":
		return errors.New("the origin secret is blank: " + drawOne)
	case trimmed != secret:
		return errors.New("the origin secret has white space around it: store it without")
	case len(secret) < MinSecretBytes:
		return fmt.Errorf("the origin secret is shorter than %d bytes: %s", MinSecretBytes, drawOne)
	}
	for i := range len(secret) {
		if secret[i] <= ' ' || secret[i] > '~' {
			return errors.New("the origin secret has characters that a header does not carry safely: " + drawOne)
		}
	}
	return nil
}
