package caps

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrNoIdentity is wrapped by the errors of [Identity] and [Join], and of the package
// identity. It never contains the value that was refused.
var ErrNoIdentity = errors.New("no usable identity")

// Bounds of an identity.
const (
	MaxIdentityParts = 8    // parts of one identity, and callers that are joined
	MaxIdentityBytes = 1024 // of one part
	maxKindBytes     = 32
)

// identity is the part of a [Caller] that is not an address. It has the digest and not
// the value, so that whatever prints a Caller, also by reflection, has nothing to show.
type identity struct {
	kind   string
	digest [sha256.Size]byte
}

// identityMark is the first byte of an identity under the HMAC, where an address has a
// character of its text.
const identityMark = 1

// The first byte under the digest keeps identities and joined callers apart.
const (
	digestOfParts   = 1
	digestOfCallers = 2
)

// Identity returns the caller that the parts stand for, taken byte by byte: a user ID,
// or several things that are one identity only together, such as an issuer and its
// subject. Whatever spellings are the same identity has to be made the same before;
// the package identity does that for the usual kinds.
//
// kind says what it is, such as "user", in lower-case letters, digits and hyphens; it
// is what [Caller.String] shows, and no identity is one of another kind. The parts are
// UTF-8, of 1 to [MaxIdentityBytes] bytes, 1 to [MaxIdentityParts] of them. An empty
// one is refused: everybody who lacks it would be one caller.
//
// Kinds, parts and their number are told apart by their lengths, so that ("ab", "c")
// and ("a", "bc") are two callers. The error wraps [ErrNoIdentity].
func Identity(kind string, parts ...string) (Caller, error) {
	if err := checkKind(kind); err != nil {
		return Caller{}, err
	}
	if len(parts) == 0 || len(parts) > MaxIdentityParts {
		return Caller{}, fmt.Errorf("%w: %s has %d parts, want 1 to %d", ErrNoIdentity, kind, len(parts), MaxIdentityParts)
	}
	b := appendSized([]byte{digestOfParts}, kind)
	for i, part := range parts {
		switch {
		case part == "":
			return Caller{}, fmt.Errorf("%w: part %d of %s is empty", ErrNoIdentity, i+1, kind)
		case len(part) > MaxIdentityBytes:
			return Caller{}, fmt.Errorf("%w: part %d of %s is longer than %d bytes", ErrNoIdentity, i+1, kind, MaxIdentityBytes)
		case !utf8.ValidString(part):
			return Caller{}, fmt.Errorf("%w: part %d of %s is not UTF-8", ErrNoIdentity, i+1, kind)
		}
		b = appendSized(b, part)
	}
	return Caller{identity: identity{kind, sha256.Sum256(b)}}, nil
}

// Join returns the caller that is all of the callers together, such as an e-mail
// address typed at one viewer's address. It is another caller than each of them; their
// order counts. Two to [MaxIdentityParts] are joined, none of them nobody. Its kind
// names theirs, such as "email+address". The error wraps [ErrNoIdentity].
func Join(callers ...Caller) (Caller, error) {
	if len(callers) < 2 || len(callers) > MaxIdentityParts {
		return Caller{}, fmt.Errorf("%w: %d callers are joined, want 2 to %d", ErrNoIdentity, len(callers), MaxIdentityParts)
	}
	b := []byte{digestOfCallers}
	kinds := make([]string, len(callers))
	for i, c := range callers {
		switch {
		case c.IsZero():
			return Caller{}, fmt.Errorf("%w: caller %d of those to join is nobody", ErrNoIdentity, i+1)
		case c.kind != "":
			kinds[i] = c.kind
		default:
			kinds[i] = "address"
		}
		b = appendSized(b, string(c.appendTo(nil)))
	}
	return Caller{identity: identity{strings.Join(kinds, "+"), sha256.Sum256(b)}}, nil
}

func appendSized(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

func checkKind(kind string) error {
	bad := strings.ContainsFunc(kind, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-')
	})
	if kind == "" || len(kind) > maxKindBytes || bad {
		return fmt.Errorf("%w: the kind %.40q is not 1 to %d lower-case letters, digits and hyphens", ErrNoIdentity, kind, maxKindBytes)
	}
	return nil
}
