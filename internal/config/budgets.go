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
	group, ok := s.section("caps", "caller", "global")
	if !ok {
		return
	}
	if group.required("caller", "set calls, usd or both for one viewer address and UTC day") {
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
	if !group.has("calls") && !group.has("usd") {
		s.add(group.line, group.path, "limits nothing: set calls, usd or both")
		return caps.Budget{}
	}
	b := caps.Budget{Name: name}
	if n, ok := group.integer("calls", 0, maxCalls); ok {
		b.Cap = b.Cap.AndCalls(n)
	}
	if amount, ok := group.usd("usd"); ok {
		b.Cap = b.Cap.AndUSD(amount)
	}
	return b
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
