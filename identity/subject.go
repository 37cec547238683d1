package identity

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed3e88d9a2/spendcap/caps"
)

const (
	maxSubject = 255 // of the claim sub, by OpenID Connect Core 1.0 section 2
	maxIssuer  = 512
)

// Subject returns the caller for the verified claims iss and sub of a token, of kind
// "user": the pair is what identifies a user for good (OpenID Connect Core 1.0 section
// 5.7). It is not the caller of [User] with the same ID.
//
// Both are taken as they are. RFC 7519 section 2 has them compared "as case-sensitive
// strings with no transformations or canonicalizations applied", and making two
// subjects one would let one user spend another's budget. An empty one, control
// characters, white space around it, and more than 255 bytes of sub or 512 of iss are
// refused. The error wraps [caps.ErrNoIdentity].
func Subject(iss, sub string) (caps.Caller, error) {
	for _, claim := range []struct {
		name, value string
		most        int
	}{{"claim iss", iss, maxIssuer}, {"claim sub", sub, maxSubject}} {
		switch {
		case claim.value == "":
			return caps.Caller{}, refuse(claim.name, "is empty")
		case len(claim.value) > claim.most:
			return caps.Caller{}, refuse(claim.name, fmt.Sprintf("is longer than %d bytes", claim.most))
		case !utf8.ValidString(claim.value) || strings.ContainsFunc(claim.value, unicode.IsControl):
			return caps.Caller{}, refuse(claim.name, "has control characters or is not UTF-8")
		case strings.TrimSpace(claim.value) != claim.value:
			return caps.Caller{}, refuse(claim.name, "has white space around it")
		}
	}
	return caps.Identity("user", iss, sub)
}
