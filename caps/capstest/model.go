package capstest

import (
	"maps"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// model is what the contract says about one budget, without failures and one call at a
// time. Its methods leave it as it is and return what it becomes.
type model struct {
	calls     int64
	usd, held caps.MicroUSD
	known     map[string]caps.Charge // open holds and final charges by ID
}

func (m model) usage() caps.Usage {
	u := caps.Usage{Calls: m.calls, USD: m.usd, Held: min(m.held, m.usd)}
	for _, c := range m.known {
		if !c.Final {
			u.Open++
		}
	}
	return u
}

func (m model) has(c caps.Charge) bool {
	if c.ID == "" {
		return m.calls > 0 && m.usd >= c.Amount && (c.Final || m.held >= c.Amount)
	}
	return m.known[c.ID] == c
}

func (m model) reserve(c caps.Charge, limit caps.Cap) (model, bool) {
	if c.ID != "" && m.has(c) {
		return m, true
	}
	if !limit.Admits(m.usage(), c.Amount) {
		return m, false
	}
	return m.add(c, 1, c.Amount, c.Amount), true
}

func (m model) settle(c caps.Charge, actual caps.MicroUSD) (model, bool) {
	if !m.has(c) {
		return m, false
	}
	return m.add(c, 0, actual-c.Amount, -c.Amount), true
}

func (m model) release(c caps.Charge) (model, bool) {
	if !m.has(c) {
		return m, false
	}
	return m.add(c, -1, -c.Amount, -c.Amount), true
}

// add changes the counts, and makes the charge known if it holds and unknown if not.
func (m model) add(c caps.Charge, calls int64, usd, held caps.MicroUSD) model {
	m.calls += calls
	m.usd += usd
	if !c.Final {
		m.held += held
	}
	if c.ID != "" {
		m.known = maps.Clone(m.known)
		if m.known == nil {
			m.known = make(map[string]caps.Charge)
		}
		if calls > 0 {
			m.known[c.ID] = c
		} else {
			delete(m.known, c.ID)
		}
	}
	return m
}

func (m model) equal(n model) bool {
	return m.calls == n.calls && m.usd == n.usd && m.held == n.held && maps.Equal(m.known, n.known)
}
