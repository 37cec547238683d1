package config

import (
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/auth"
)

// What auth.anonymous and auth.default_tier may say instead of a tier's name.
const (
	allow  = "allow"
	refuse = "refuse"
)

// auth reads who is signed in.
func (s section) auth(c *Config) {
	group, ok := s.section("auth", "issuer", "audience", "anonymous", "user_claim", "tier_claim", "default_tier", "scopes")
	if !ok {
		if s.has("tiers") && !s.has("auth") {
			s.at(s.values["tiers"], "tiers", "nobody is signed in without auth: add it, or remove tiers")
		}
		return
	}
	a := &auth.Config{UserClaim: "sub"}
	c.Auth = a
	if group.required("issuer", "write the issuer of the tokens, such as https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_Example, as the claim iss has it") {
		if a.Issuer, ok = group.text("issuer"); ok {
			if problem := issuerProblem(a.Issuer); problem != "" {
				s.at(group.values["issuer"], group.field("issuer"), "%s %s", quote(a.Issuer), problem)
			}
		}
	}
	if group.required("audience", "list for whom the tokens are issued, such as the client id of your app: a token for another app of the same issuer is not for you") {
		if a.Audience = group.names("audience"); len(a.Audience) == 0 && !s.inside(group.field("audience")) {
			s.at(group.values["audience"], group.field("audience"), "empty: list one at the least")
		}
	}
	a.Scopes = group.names("scopes")
	if group.required("anonymous", "write allow, and callers without a token are counted by address, or refuse") {
		switch word, _ := group.text("anonymous"); word {
		case allow:
			a.Anonymous = true
		case refuse, "":
		default:
			s.at(group.values["anonymous"], group.field("anonymous"), "%s is neither allow nor refuse", quote(word))
		}
	}
	if name, ok := group.name("user_claim"); ok {
		a.UserClaim = name
	}
	a.TierClaim, _ = group.name("tier_claim")
	if s.required("tiers", "list at least one, with its caps: what a signed-in caller may use") {
		for i, n := range s.list("tiers") {
			if t, ok := s.tier(n, index("tiers", i), a); ok {
				a.Tiers = append(a.Tiers, t)
			}
		}
		if n := s.values["tiers"]; len(n.Content) == 0 && !s.inside("tiers") {
			s.at(n, "tiers", "empty: list one at the least")
		}
	}
	s.defaultTier(group, a)
}

// defaultTier reads what a user has whose claim names no tier.
func (s section) defaultTier(group section, a *auth.Config) {
	if !group.required("default_tier", "write the name of the tier that a user has whose tier_claim names none, or refuse") {
		return
	}
	word, ok := group.text("default_tier")
	if !ok {
		return
	}
	known := slices.ContainsFunc(a.Tiers, func(t auth.Tier) bool { return t.Name == word })
	switch field := group.field("default_tier"); {
	case word == refuse && a.TierClaim == "":
		s.at(group.values["default_tier"], field, "refuse without auth.tier_claim refuses everybody: name a tier, or the claim")
	case word == refuse:
	case !known && !s.inside("tiers"):
		s.at(group.values["default_tier"], field, "%s is not the name of a tier: write one, or refuse", quote(word))
	default:
		a.Default = word
	}
	for i, t := range a.Tiers {
		if t.Claim == "" && t.Name != word && !s.inside("tiers") {
			s.add(s.lineOf(index("tiers", i)), index("tiers", i)+".claim", "missing: nobody has this tier; write the value of auth.tier_claim that stands for it, or make it the default_tier")
		}
	}
}

var tierName = regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*$`)

// tier reads one item of the list of tiers.
func (s section) tier(n *yaml.Node, path string, a *auth.Config) (t auth.Tier, ok bool) {
	group, ok := s.group(n, path, "name", "claim", "calls", "usd")
	if !ok {
		return t, false
	}
	if group.required("name", "write what you call the tier, such as pro") {
		if t.Name, ok = group.text("name"); ok {
			switch field := group.field("name"); {
			case !tierName.MatchString(t.Name) || len(t.Name) > maxTierName:
				s.at(group.values["name"], field, "%s is not 1 to %d lower-case letters, digits and single hyphens", quote(t.Name), maxTierName)
			case t.Name == refuse || t.Name == anonymousTier:
				s.at(group.values["name"], field, "%s means something else: choose another name", quote(t.Name))
			case slices.ContainsFunc(a.Tiers, func(u auth.Tier) bool { return u.Name == t.Name }):
				s.at(group.values["name"], field, "%s is given to two tiers", quote(t.Name))
			}
		}
	}
	if t.Claim, ok = group.name("claim"); ok {
		switch field := group.field("claim"); {
		case a.TierClaim == "":
			s.at(group.values["claim"], field, "there is no auth.tier_claim that could have this value: add it, or remove this")
		case slices.ContainsFunc(a.Tiers, func(u auth.Tier) bool { return u.Claim == t.Claim }):
			s.at(group.values["claim"], field, "%s stands for two tiers", quote(t.Claim))
		case strings.Contains(t.Claim, " "):
			s.at(group.values["claim"], field, "%s has a space, by which a list in a claim is taken apart: use a value without", quote(t.Claim))
		}
	}
	t.Cap, ok = group.cap()
	return t, ok
}

// anonymousTier is what callers without a token are; their caps are caps.caller.
const anonymousTier = "anonymous"

const maxTierName = 40

// names reads a list of names of other people's.
func (s section) names(key string) (list []string) {
	for i, n := range s.list(key) {
		field := index(s.field(key), i)
		name, ok := s.textOf(n, field)
		if !ok || !s.checkName(n, field, name) {
			continue
		}
		if slices.Contains(list, name) {
			s.at(n, field, "%s is listed twice: keep one", quote(name))
			continue
		}
		list = append(list, name)
	}
	return list
}

// name reads one name of other people's.
func (s section) name(key string) (string, bool) {
	name, ok := s.text(key)
	return name, ok && s.checkName(s.values[key], s.field(key), name)
}

func (p *problems) checkName(n *yaml.Node, field, name string) bool {
	const longest = 255
	switch {
	case strings.TrimSpace(name) == "":
		p.at(n, field, "empty: write it, or remove it")
	case strings.TrimSpace(name) != name || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		p.at(n, field, "%s has white space around it, or control characters", quote(name))
	case len(name) > longest:
		p.at(n, field, "%s is longer than %d bytes", quote(name), longest)
	default:
		return true
	}
	return false
}

// issuerProblem tells why an issuer is refused, or nothing. It is compared with the
// claim iss byte for byte, and keys are looked up below it (OpenID Connect Core 1.0
// section 2: https, without query and fragment).
func issuerProblem(issuer string) string {
	u, err := url.Parse(issuer)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(issuer, "#"):
		return "is not an issuer: write a URL such as https://host/path, without user, query and fragment"
	case len(issuer) > 512:
		return "is longer than 512 bytes"
	case u.Scheme == "https":
		return ""
	case u.Scheme == "http" && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()):
		return "" // on one machine; the deployment refuses it
	}
	return "is not encrypted: write https"
}

// looser checks the cap on the address against those of the tiers: an office sits behind
// one address, so what is tighter than one user's own cap is a mistake.
func (s section) looser(c *Config) {
	if c.Auth == nil || c.Address == (caps.Budget{}) || s.err() != nil {
		return
	}
	calls, limitsCalls := c.Address.Cap.Calls()
	usd, limitsUSD := c.Address.Cap.USD()
	for i, t := range c.Auth.Tiers {
		tier := index("tiers", i)
		if n, limited := t.Cap.Calls(); limitsCalls && (!limited || n > calls) {
			s.tighter("caps.address.calls", tier+".calls", limited)
		}
		if n, limited := t.Cap.USD(); limitsUSD && (!limited || n > usd) {
			s.tighter("caps.address.usd", tier+".usd", limited)
		}
	}
}

func (s section) tighter(field, than string, limited bool) {
	what := "is tighter than " + than
	if !limited {
		what = "is tighter than the tier without " + than
	}
	s.add(s.lineOf(field), field, "%s: all signed-in callers of one address share it, so make it several times one user's cap, or leave it out", what)
}
