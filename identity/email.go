package identity

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// Bounds in bytes (RFC 5321 sections 4.5.3.1.1 and 4.5.3.1.3: a path of 256 with its
// angle brackets).
const (
	maxEmail = 254
	maxLocal = 64
)

// Email returns the caller for an e-mail address, of kind "email": local@domain without
// a display name, as RFC 5321 has it, with Unicode in both parts (RFC 6531).
//
// White space around it is cut off. The domain becomes ASCII in lower case by IDNA
// (UTS 46, non-transitional). The local part is case-folded under NFKC. RFC 5321
// section 2.4 lets a host tell "Ann" from "ann", but hardly any does, and counting
// them apart would give whoever types an address a new budget for each spelling;
// folding can only ever make one caller of two. What a provider takes for the same
// beyond that, such as dots or what follows a plus sign, is its own business and stays.
//
// Refused are quoted local parts, comments, address literals, a final dot, characters that
// show nothing, and anything above 64 bytes of local part or 254 altogether. The error
// wraps [caps.ErrNoIdentity].
func Email(address string) (caps.Caller, error) {
	address, err := canonicalEmail(address)
	if err != nil {
		return caps.Caller{}, err
	}
	return caps.Identity("email", address)
}

const emailField = "e-mail address"

// domains maps and checks the domain of an address.
var domains = idna.New(
	idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(),
	idna.StrictDomainName(true), idna.VerifyDNSLength(true),
)

func canonicalEmail(address string) (string, error) {
	address, err := trim(emailField, address, maxEmail)
	if err != nil {
		return "", err
	}
	if !utf8.ValidString(address) {
		return "", refuse(emailField, "is not UTF-8")
	}
	at := strings.LastIndexByte(address, '@')
	if at < 0 {
		return "", refuse(emailField, "has no @")
	}
	local, domain := foldLocal(address[:at]), address[at+1:]
	if err := checkLocal(local); err != nil {
		return "", err
	}
	domain, err = domains.ToASCII(domain)
	if err != nil || domain == "" || strings.HasSuffix(domain, ".") {
		return "", refuse(emailField, "has a domain that is none")
	}
	if len(local)+1+len(domain) > maxEmail {
		return "", refuse(emailField, fmt.Sprintf("is longer than %d bytes with its domain in ASCII", maxEmail))
	}
	return local + "@" + domain, nil
}

// foldLocal makes one of all spellings that match without regard to case and
// compatibility: NFKC(fold(NFKC(fold(NFD)))), definition D146 of the Unicode Standard
// section 3.13.
func foldLocal(s string) string {
	fold := cases.Fold()
	return norm.NFKC.String(fold.String(norm.NFKC.String(fold.String(norm.NFD.String(s)))))
}

// invisible are characters that show nothing, and that the collation of a database may
// leave out of a comparison (the default ignorable ones of the Unicode Standard section
// 5.21): with them, whoever types an address would have a budget for each way to hide one.
var invisible = []*unicode.RangeTable{unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector}

// checkLocal checks for a dot-string of RFC 5321 section 4.1.2, of atoms with Unicode.
func checkLocal(local string) error {
	switch {
	case local == "":
		return refuse(emailField, "has nothing before the @")
	case len(local) > maxLocal:
		return refuse(emailField, fmt.Sprintf("has more than %d bytes before the @", maxLocal))
	case strings.HasPrefix(local, ".") || strings.HasSuffix(local, ".") || strings.Contains(local, ".."):
		return refuse(emailField, "has a dot before the @ that separates nothing")
	case strings.ContainsFunc(local, func(r rune) bool {
		return unicode.IsControl(r) || unicode.IsSpace(r) || unicode.In(r, invisible...) || strings.ContainsRune(`"(),:;<>@[\]`, r)
	}):
		return refuse(emailField, "has a character before the @ that belongs into quotes or nowhere")
	}
	return nil
}
