package identity

import (
	"fmt"
	"strings"

	"golang.org/x/text/secure/precis"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// maxName bounds a user ID or username, in bytes: as long as the subject of an OpenID
// Connect token may be (OpenID Connect Core 1.0 section 2).
const maxName = 255

// User returns the caller for a user ID in which case counts, of kind "user": an ID of
// a database, a UUID, a login name where "Ann" and "ann" are two people.
//
// White space around it is cut off. The rest is prepared by the profile
// UsernameCasePreserved of RFC 8265 section 3.4: wide and narrow forms of a character
// are one, and so are composed and decomposed ones (NFC). Spaces inside, control
// characters and symbols outside of ASCII are refused, and so is anything above 255
// bytes. The error wraps [caps.ErrNoIdentity].
func User(id string) (caps.Caller, error) {
	name, err := prepare("user ID", precis.UsernameCasePreserved, id)
	if err != nil {
		return caps.Caller{}, err
	}
	return caps.Identity("user", name)
}

// Username returns the caller for a login name in which case does not count, of kind
// "username". It is prepared like a [User], but by the profile UsernameCaseMapped of
// RFC 8265 section 3.3, which makes it lower case. The error wraps
// [caps.ErrNoIdentity].
func Username(name string) (caps.Caller, error) {
	name, err := prepare("username", precis.UsernameCaseMapped, name)
	if err != nil {
		return caps.Caller{}, err
	}
	return caps.Identity("username", name)
}

// prepare applies the profile until nothing changes: RFC 8264 section 7 asks for this,
// because applying the rules once is not idempotent for all code points, and for
// refusing what is not stable after three more times.
func prepare(field string, profile *precis.Profile, value string) (string, error) {
	value, err := trim(field, value, maxName)
	if err != nil {
		return "", err
	}
	for range 4 {
		next, err := profile.String(value)
		switch {
		case err != nil:
			// The error of the package does not quote the value, but need not stay so.
			return "", refuse(field, "has a character, or an order of characters, that RFC 8265 forbids in a name")
		case next == "":
			return "", refuse(field, "is empty")
		case len(next) > maxName:
			return "", refuse(field, fmt.Sprintf("is longer than %d bytes", maxName))
		case next == value:
			return value, nil
		}
		value = next
	}
	return "", refuse(field, "has no stable form")
}

// trim cuts white space off and checks that something is left, and not too much.
func trim(field, value string, most int) (string, error) {
	value = strings.TrimSpace(value)
	switch {
	case value == "":
		return "", refuse(field, "is empty")
	case len(value) > most:
		return "", refuse(field, fmt.Sprintf("is longer than %d bytes", most))
	}
	return value, nil
}

func refuse(field, problem string) error {
	return fmt.Errorf("%w: the %s %s", caps.ErrNoIdentity, field, problem)
}
