package config

import "github.com/seed3e88d9a2/spendcap/caps"

// maxCalls bounds a cap on calls far above what a day can have.
const maxCalls = 1_000_000_000_000

// caps reads the budgets of the guarded calls.
func (s section) caps(c *Config) {
	if !s.has("caps") {
		if s.has("llm") {
			s.required("caps", "paid calls need caps.caller and caps.global")
		}
		return
	}
	group, ok := s.section("caps", "caller", "address", "global")
	if !ok {
		return
	}
	if c.Auth == nil && group.has("address") && !s.has("auth") {
		s.at(group.values["address"], group.field("address"), "this is for signed-in callers, and there is no auth: callers are addresses, and caps.caller is their cap")
	}
	c.Address = group.budget("address", addressBudget)
	if c.Auth != nil && !c.Auth.Anonymous && !s.reported("auth.anonymous") {
		c.Caller = caps.Budget{Name: callerBudget, Cap: caps.Calls(0)}
		if group.has("caller") {
			s.at(group.values["caller"], group.field("caller"), "this is for callers without a token, which auth.anonymous refuses: remove it, or write allow there")
		}
	} else if group.required("caller", "set calls, usd or both for one viewer address and UTC day") {
		c.Caller = group.budget("caller", callerBudget)
	}
	if group.required("global", "set calls, usd or both for everybody together and UTC day: many addresses are many callers, so this bounds the bill") {
		c.Global = group.budget("global", globalBudget)
	}
}

// budget reads {calls, usd}, of which one at least has to be given. 0 is a limit like
// another, one that refuses everything: it closes the budget.
func (s section) budget(key, name string) caps.Budget {
	group, ok := s.section(key, "calls", "usd")
	if !ok {
		return caps.Budget{}
	}
	limit, ok := group.cap()
	if !ok {
		return caps.Budget{}
	}
	return caps.Budget{Name: name, Cap: limit}
}

// cap reads calls and usd, of which one at least has to be given.
func (s section) cap() (c caps.Cap, ok bool) {
	if !s.has("calls") && !s.has("usd") {
		s.add(s.line, s.path, "limits nothing: set calls, usd or both")
		return c, false
	}
	if n, ok := s.integer("calls", 0, maxCalls); ok {
		c = c.AndCalls(n)
	}
	if amount, ok := s.usd("usd"); ok {
		c = c.AndUSD(amount)
	}
	return c, true
}

// demo reads the cap of the demo endpoint, which calls nothing and so costs nothing.
func (s section) demo(c *Config) {
	group, ok := s.section("demo", "calls")
	if !ok || !group.required("calls", "set how many calls one caller has on one UTC day") {
		return
	}
	if n, ok := group.integer("calls", 0, maxCalls); ok {
		c.Demo = caps.Budget{Name: demoBudget, Cap: caps.Calls(n)}
	}
}

// viewer reads how many leading bits of an address make one caller.
func (s section) viewer(c *Config) {
	group, ok := s.section("viewer", "ipv4_prefix", "ipv6_prefix")
	if !ok {
		return
	}
	if bits, ok := group.integer("ipv4_prefix", 1, 32); ok {
		c.Mask.IPv4Bits = int(bits)
	}
	if bits, ok := group.integer("ipv6_prefix", 1, 64); ok {
		c.Mask.IPv6Bits = int(bits)
	}
}
