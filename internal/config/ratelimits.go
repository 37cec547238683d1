package config

import (
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/endpoint"
	"github.com/seed3e88d9a2/spendcap/ratelimit"
)

// mostRules bounds the list. Each rule of a path is a store call of each of its requests.
const mostRules = 20

// mostRateLimitBudget bounds the time that the store of a rule gets: a request that waits
// for it has less of the function's time for its paid call.
const mostRateLimitBudget = 2 * time.Second

// rateLimits reads the limits on bursts.
func (s section) rateLimits(c *Config) {
	lines := make(map[string]int) // of the names
	list := s.list("rate_limits")
	if len(list) > mostRules {
		s.at(list[mostRules], index("rate_limits", mostRules), "there are more than %d rules: each is a store call of each request of its paths", mostRules)
		list = list[:mostRules]
	}
	for i, n := range list {
		rule, paths, ok := s.rateLimit(n, index("rate_limits", i))
		if !ok {
			continue
		}
		if line, taken := lines[rule.Name]; taken {
			s.at(n, index("rate_limits", i)+".name", "%s is the name of the rule in line %d too: rules of one name would share their counts", quote(rule.Name), line)
			continue
		}
		if isOfACap(rule.Name) {
			s.at(n, index("rate_limits", i)+".name", "%s is what the headers of answers call a cap: take another name", quote(rule.Name))
			continue
		}
		lines[rule.Name] = n.Line
		if c.RateLimits == nil {
			c.RateLimits = make(map[string][]ratelimit.Rule)
		}
		for _, path := range paths {
			c.RateLimits[path] = append(c.RateLimits[path], rule)
		}
	}
}

// isOfACap tells whether a name is one of those by which the headers RateLimit and
// RateLimit-Policy, whose lists have each name once, tell of the caps.
func isOfACap(name string) bool {
	scope, unit, _ := strings.Cut(name, "-")
	scopes := []caps.Scope{caps.ScopeCaller, caps.ScopeAddress, caps.ScopeGlobal}
	return slices.Contains(scopes, caps.Scope(scope)) && (unit == "calls" || unit == "usd")
}

// rateLimit reads one rule and the paths that it is for.
func (p *problems) rateLimit(n *yaml.Node, field string) (rule ratelimit.Rule, paths []string, ok bool) {
	group, ok := p.group(n, field, "name", "requests", "window", "when_down", "budget", "paths")
	if !ok {
		return rule, nil, false
	}
	if group.required("name", "write what the limit is called in the headers of answers, such as burst") {
		rule.Name, _ = group.text("name")
	}
	if group.required("requests", "set how many requests one caller has in a window, such as 10") {
		n, _ := group.integer("requests", 1, ratelimit.MaxRequests)
		rule.Requests = int(n)
	}
	if group.required("window", "set its length, such as 1m") {
		rule.Window = group.duration("window", ratelimit.MinWindow, ratelimit.MaxWindow)
	}
	if group.required("when_down", "write allow or refuse: what becomes of a request when the store cannot be asked") {
		rule.WhenDown = group.policy("when_down")
	}
	if group.has("budget") {
		rule.Budget = group.duration("budget", time.Millisecond, mostRateLimitBudget)
	}
	if group.required("paths", "list the paths that it is for, such as /api/v1/*") {
		paths = group.paths("paths")
	}
	if p.inside(field) {
		return rule, nil, false
	}
	if err := rule.Check(); err != nil {
		_, what, _ := strings.Cut(err.Error(), ": ")
		p.at(n, field, "%s", what)
		return rule, nil, false
	}
	return rule, paths, true
}

// duration reads a length of time in whole milliseconds, from least to most.
func (s section) duration(key string, least, most time.Duration) time.Duration {
	text, ok := s.text(key)
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(text)
	switch n, field := s.values[key], s.field(key); {
	case err != nil:
		s.at(n, field, "%s is not a length of time: write a number and a unit, such as 500ms, 90s, 1m or 1h30m", quote(text))
	case d < least || d > most:
		s.at(n, field, "%s is not between %v and %v", quote(text), least, most)
	case d%time.Millisecond != 0:
		s.at(n, field, "%s is finer than a millisecond", quote(text))
	default:
		return d
	}
	return 0
}

func (s section) policy(key string) ratelimit.Policy {
	text, ok := s.text(key)
	for _, p := range []ratelimit.Policy{ratelimit.Allow, ratelimit.Refuse} {
		if text == p.String() {
			return p
		}
	}
	if ok {
		s.at(s.values[key], s.field(key), "%s is neither allow nor refuse", quote(text))
	}
	return 0
}

// paths reads a list of paths, of which one may stand for all that begin with it.
func (s section) paths(key string) []string {
	var paths []string
	list := s.list(key)
	if n := s.values[key]; n != nil && n.Kind == yaml.SequenceNode && len(list) == 0 {
		s.at(n, s.field(key), "is empty: list the paths that it is for")
	}
	for i, n := range list {
		field := index(s.field(key), i)
		text, ok := s.textOf(n, field)
		if !ok {
			continue
		}
		found := matching(text)
		if len(found) == 0 {
			s.at(n, field, "%s is no path of the API: there are %s, and /* at the end stands for all that begin so", quote(text), strings.Join(endpoint.All(), ", "))
		}
		for _, path := range found {
			if slices.Contains(paths, path) {
				s.at(n, field, "%s has %s, which is listed already: keep one", quote(text), path)
				break
			}
			paths = append(paths, path)
		}
	}
	return paths
}

// matching are the paths that text is, or that begin with it up to the star.
func matching(text string) []string {
	prefix, star := strings.CutSuffix(text, "/*")
	var found []string
	for _, path := range endpoint.All() {
		if path == text || star && strings.HasPrefix(path, prefix+"/") {
			found = append(found, path)
		}
	}
	return found
}
