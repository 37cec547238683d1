package config_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/auth"
)

const signedIn = `auth:
  issuer: https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_Example
  audience: [client-1, client-2]
  anonymous: allow
  user_claim: username
  tier_claim: cognito:groups
  default_tier: free
  scopes: [chat]
tiers:
  - {name: free, calls: 20, usd: 0.10}
  - {name: pro-2, claim: pro, calls: 500, usd: "5"}
caps:
  caller: {calls: 5, usd: 0.05}
  address: {calls: 1000, usd: 10}
  global: {calls: 5000, usd: 20}
llm: {provider: demo, max_input_bytes: 100, ` + models + `}
`

func TestLoadAuth(t *testing.T) {
	c, err := load(signedIn)
	if err != nil {
		t.Fatal(err)
	}
	want := &auth.Config{
		Issuer: "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_Example", Audience: []string{"client-1", "client-2"}, Scopes: []string{"chat"},
		Anonymous: true, UserClaim: "username", TierClaim: "cognito:groups", Default: "free",
		Tiers: []auth.Tier{{Name: "free", Cap: caps.Calls(20).AndUSD(100_000)}, {Name: "pro-2", Claim: "pro", Cap: caps.Calls(500).AndUSD(5_000_000)}},
	}
	if !reflect.DeepEqual(c.Auth, want) {
		t.Errorf("%+v\nwant\n%+v", c.Auth, want)
	}
	if c.Caller != (caps.Budget{Name: "caller", Cap: caps.Calls(5).AndUSD(50_000)}) || c.Address != (caps.Budget{Name: "address", Cap: caps.Calls(1000).AndUSD(10_000_000)}) {
		t.Errorf("caller %+v, address %+v", c.Caller, c.Address)
	}
	// One name for all tiers, so that an upgrade keeps what is used.
	for _, tier := range c.Auth.Tiers {
		if got := c.User(tier); got != (caps.Budget{Name: "user", Cap: tier.Cap}) {
			t.Errorf("%s: %+v", tier.Name, got)
		}
	}
}

func TestLoadAuthDefaults(t *testing.T) {
	c, err := load(`
auth: {issuer: "http://127.0.0.1:9000", audience: [a], anonymous: refuse, default_tier: all}
tiers: [{name: all, usd: 1}]
caps: {global: {usd: 5}}
llm: {provider: demo, max_input_bytes: 100, ` + models + `}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := &auth.Config{Issuer: "http://127.0.0.1:9000", Audience: []string{"a"}, UserClaim: "sub", Default: "all", Tiers: []auth.Tier{{Name: "all", Cap: caps.USD(1_000_000)}}}
	if !reflect.DeepEqual(c.Auth, want) || c.Address != (caps.Budget{}) {
		t.Errorf("%+v, address %+v; want %+v", c.Auth, c.Address, want)
	}
	// Nobody is counted by address; if somebody were, nothing would be admitted.
	if c.Caller != (caps.Budget{Name: "caller", Cap: caps.Calls(0)}) {
		t.Errorf("caller %+v; want a cap of 0", c.Caller)
	}
}

// What is said about each mistake, to the letter.
func TestAuthRefused(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"no issuer", "  issuer: https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_Example\n", "", "line 2: auth.issuer: missing: write the issuer of the tokens, such as https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_Example, as the claim iss has it"},
		{"issuer without TLS", "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_Example", "http://example.com", `line 2: auth.issuer: "http://example.com" is not encrypted: write https`},
		{"issuer with a query", "eu-central-1_Example", "x?y", `line 2: auth.issuer: "https://cognito-idp.eu-central-1.amazona"... is not an issuer: write a URL such as https://host/path, without user, query and fragment`},
		{"issuer that is no URL", "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_Example", "cognito", `line 2: auth.issuer: "cognito" is not an issuer: write a URL such as https://host/path, without user, query and fragment`},
		{"long issuer", "eu-central-1_Example", strings.Repeat("x", 512), `line 2: auth.issuer: "https://cognito-idp.eu-central-1.amazona"... is longer than 512 bytes`},
		{"no audience", "  audience: [client-1, client-2]\n", "", "line 2: auth.audience: missing: list for whom the tokens are issued, such as the client id of your app: a token for another app of the same issuer is not for you"},
		{"empty audience", "[client-1, client-2]", "[]", "line 3: auth.audience: empty: list one at the least"},
		{"audience that is no list", "[client-1, client-2]", "client-1", `line 3: auth.audience: the text "client-1" stands where a list has to`},
		{"blank audience", "[client-1, client-2]", `[" "]`, "line 3: auth.audience[0]: empty: write it, or remove it"},
		{"audience twice", "[client-1, client-2]", `[client-1, client-1]`, `line 3: auth.audience[1]: "client-1" is listed twice: keep one`},
		{"audience with a space", "[client-1, client-2]", `["client-1 "]`, `line 3: auth.audience[0]: "client-1 " has white space around it, or control characters`},
		{"long audience", "[client-1, client-2]", "[" + strings.Repeat("x", 256) + "]", `line 3: auth.audience[0]: "` + strings.Repeat("x", 40) + `"... is longer than 255 bytes`},
		{"anonymous not said", "  anonymous: allow\n", "", "line 2: auth.anonymous: missing: write allow, and callers without a token are counted by address, or refuse"},
		{"anonymous otherwise", "anonymous: allow", "anonymous: maybe", `line 4: auth.anonymous: "maybe" is neither allow nor refuse`},
		{"anonymous as a bool", "anonymous: allow", "anonymous: true", `line 4: auth.anonymous: "true" is not read as text: put it in quotes`},
		{"anonymous refused and capped", "anonymous: allow", "anonymous: refuse", "line 13: caps.caller: this is for callers without a token, which auth.anonymous refuses: remove it, or write allow there"},
		{"empty user claim", "user_claim: username", `user_claim: ""`, "line 5: auth.user_claim: empty: write it, or remove it"},
		{"no tier claim", "  tier_claim: cognito:groups\n", "", "line 10: tiers[1].claim: there is no auth.tier_claim that could have this value: add it, or remove this"},
		{"no default", "  default_tier: free\n", "", "line 2: auth.default_tier: missing: write the name of the tier that a user has whose tier_claim names none, or refuse"},
		{"unknown default", "default_tier: free", "default_tier: gold", `line 7: auth.default_tier: "gold" is not the name of a tier: write one, or refuse
line 10: tiers[0].claim: missing: nobody has this tier; write the value of auth.tier_claim that stands for it, or make it the default_tier`},
		{"a tier that nobody has", "default_tier: free", "default_tier: refuse", "line 10: tiers[0].claim: missing: nobody has this tier; write the value of auth.tier_claim that stands for it, or make it the default_tier"},
		{"misspelt", "scopes:", "scope:", "line 8: auth.scope: unknown key: known here are issuer, audience, anonymous, user_claim, tier_claim, default_tier, scopes"},

		{"tier without a name", "name: free, ", "", "line 10: tiers[0].name: missing: write what you call the tier, such as pro"},
		{"tier with a strange name", "name: pro-2", "name: Pro 2", `line 11: tiers[1].name: "Pro 2" is not 1 to 40 lower-case letters, digits and single hyphens`},
		{"tier called anonymous", "name: pro-2", "name: anonymous", `line 11: tiers[1].name: "anonymous" means something else: choose another name`},
		{"tier called refuse", "name: pro-2", "name: refuse", `line 11: tiers[1].name: "refuse" means something else: choose another name`},
		{"two tiers of a name", "name: pro-2", "name: free", `line 11: tiers[1].name: "free" is given to two tiers`},
		{"two tiers of a claim", "name: free,", "name: free, claim: pro,", `line 11: tiers[1].claim: "pro" stands for two tiers`},
		{"a claim with a space", "claim: pro", "claim: not pro", `line 11: tiers[1].claim: "not pro" has a space, by which a list in a claim is taken apart: use a value without`},
		{"tier without caps", ", calls: 20, usd: 0.10", "", "line 10: tiers[0]: limits nothing: set calls, usd or both"},
		{"tier with an unknown cap", "calls: 20", "call: 20", "line 10: tiers[0].call: unknown key: known here are name, claim, calls, usd"},
		{"tier that holds no call", "usd: 0.10", "usd: 0.00001", `line 10: tiers[0].usd: 0.000010 dollars do not hold one call of "m", which may cost 0.000503: raise the cap, or lower llm.max_input_bytes or llm.models[0].max_output_tokens`},
		{"address that holds no call", "address: {calls: 1000, usd: 10}", "address: {usd: 0.00001}", `line 14: caps.address.usd: is tighter than tiers[0].usd: all signed-in callers of one address share it, so make it several times one user's cap, or leave it out
line 14: caps.address.usd: is tighter than tiers[1].usd: all signed-in callers of one address share it, so make it several times one user's cap, or leave it out`},
		{"address tighter than a tier", "calls: 1000", "calls: 499", "line 14: caps.address.calls: is tighter than tiers[1].calls: all signed-in callers of one address share it, so make it several times one user's cap, or leave it out"},
		{"address caps what a tier does not", "calls: 500, ", "", "line 14: caps.address.calls: is tighter than the tier without tiers[1].calls: all signed-in callers of one address share it, so make it several times one user's cap, or leave it out"},
		{"no tiers", "tiers:\n  - {name: free, calls: 20, usd: 0.10}\n  - {name: pro-2, claim: pro, calls: 500, usd: \"5\"}\n", "", "line 1: tiers: missing: list at least one, with its caps: what a signed-in caller may use"},
		{"empty tiers", "tiers:\n  - {name: free, calls: 20, usd: 0.10}\n  - {name: pro-2, claim: pro, calls: 500, usd: \"5\"}\n", "tiers: []\n", "line 9: tiers: empty: list one at the least"},
	} {
		if !strings.Contains(signedIn, c.old) {
			t.Fatalf("%s: %q is not in the file", c.name, c.old)
		}
		got, err := load(strings.Replace(signedIn, c.old, c.new, 1))
		if got != nil || errorText(err) != c.want {
			t.Errorf("%s:\n%v\nwant\n%s", c.name, err, c.want)
		}
	}
	for text, want := range map[string]string{
		"demo: {calls: 1}\ntiers: [{name: a, calls: 1}]\n":                                                                                             "line 2: tiers: nobody is signed in without auth: add it, or remove tiers",
		"demo: {calls: 1}\ncaps: {caller: {calls: 1}, address: {calls: 9}, global: {usd: 1}}\n":                                                        "line 2: caps.address: this is for signed-in callers, and there is no auth: callers are addresses, and caps.caller is their cap",
		"demo: {calls: 1}\nauth: {issuer: 'https://a.example', audience: [a], anonymous: allow, default_tier: refuse}\ntiers: [{name: a, calls: 1}]\n": "line 2: auth.default_tier: refuse without auth.tier_claim refuses everybody: name a tier, or the claim\nline 3: tiers[0].claim: missing: nobody has this tier; write the value of auth.tier_claim that stands for it, or make it the default_tier",
	} {
		if got, err := load(text); got != nil || errorText(err) != want {
			t.Errorf("%s:\n%v\nwant\n%s", text, err, want)
		}
	}
	// As loose as the tiers is loose enough, and a cap of 0 closes.
	for _, text := range []string{
		strings.Replace(signedIn, "address: {calls: 1000, usd: 10}", "address: {calls: 500, usd: 5}", 1),
		strings.Replace(signedIn, "usd: 0.10", "usd: 0", 1),
	} {
		if _, err := load(text); err != nil {
			t.Error(err)
		}
	}
}
