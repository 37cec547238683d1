package caps

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// MinSecretBytes is the least length of the secret of a [Keyer]: the output size
// of SHA-256, as RFC 2104 section 3 advises for HMAC keys.
const MinSecretBytes = 32

// FirstKeyVersion is the ID of the one version of a [Keyer] that was made from a secret
// alone.
const FirstKeyVersion = "1"

// MaxKeyVersions bounds the versions of a [Keyer]. Each costs a hash where a key that
// has no day is looked for.
const MaxKeyVersions = 16

const maxVersionIDBytes = 32

// KeyVersion is a secret of a [Keyer] with the days that it serves: from its first day
// until the next version's. It prints without its secret.
type KeyVersion struct {
	ID     string // 1 to 32 letters, digits and hyphens
	From   Day    // the first day; of the first version it is not looked at
	Secret []byte // at least MinSecretBytes
}

// String shows which version it is.
func (v KeyVersion) String() string { return "(secret of version " + v.ID + ")" }

// GoString keeps the secret out of %#v.
func (v KeyVersion) GoString() string { return v.String() }

// LogValue keeps the secret out of logs written with log/slog.
func (v KeyVersion) LogValue() slog.Value { return slog.StringValue(v.String()) }

// CheckKeyVersions tells whether a [Keyer] can have these versions, 1 to
// [MaxKeyVersions] of them: each has an ID and a secret of its own, and its first day
// is after that of the one before. The error names the version and never quotes a
// secret.
func CheckKeyVersions(versions ...KeyVersion) error {
	if len(versions) == 0 || len(versions) > MaxKeyVersions {
		return fmt.Errorf("the HMAC secret has %d versions, want 1 to %d", len(versions), MaxKeyVersions)
	}
	for i, v := range versions {
		bad := strings.ContainsFunc(v.ID, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-')
		})
		if v.ID == "" || len(v.ID) > maxVersionIDBytes || bad {
			return fmt.Errorf("version %d of %d of the HMAC secret: its ID is not 1 to %d letters, digits and hyphens", i+1, len(versions), maxVersionIDBytes)
		}
		if err := checkKeySecret(v.Secret); err != nil {
			return fmt.Errorf("version %q: %w", v.ID, err)
		}
		for _, w := range versions[:i] {
			switch {
			case w.ID == v.ID:
				return fmt.Errorf("version %q of the HMAC secret is there twice", v.ID)
			case bytes.Equal(w.Secret, v.Secret):
				return fmt.Errorf("versions %q and %q have the same HMAC secret: draw one with `openssl rand -hex 32`", w.ID, v.ID)
			}
		}
		if i > 0 && v.From <= versions[i-1].From {
			return fmt.Errorf("version %q of the HMAC secret is from %s, which is not after %s, when version %q begins", v.ID, v.From, versions[i-1].From, versions[i-1].ID)
		}
	}
	return nil
}

func checkKeySecret(secret []byte) error {
	if len(bytes.TrimSpace(secret)) < MinSecretBytes {
		return errors.New("the HMAC secret is missing, blank or shorter than 32 bytes: draw one with `openssl rand -hex 32`")
	}
	return nil
}
