package api

import (
	"fmt"
	"strings"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/refusal"
)

// sentence tells a person why a call was refused and when to come back.
func sentence(d caps.Decision) string {
	calls, limited := d.Cap.Calls()
	callsGone := limited && d.Remaining.Calls == 0
	usd, _ := d.Cap.USD()
	var why string
	switch {
	case closed(d.Cap):
		return "This is closed at the moment."
	case d.Scope == caps.ScopeGlobal:
		why = "Today's budget for everybody is used up."
	case d.Scope == caps.ScopeAddress:
		why = "Today's budget of all users at your network address together is used up."
	case callsGone && calls == 1:
		why = "You have used today's 1 call."
	case callsGone:
		why = fmt.Sprintf("You have used today's %d calls.", calls)
	case d.Held > 0:
		why = fmt.Sprintf("Today's %s are used or held by calls that are still running, and what is left (%s) is too little for this call.", dollars(usd), dollars(d.Remaining.USD))
	default:
		why = fmt.Sprintf("What is left of today's %s (%s) is too little for this call.", dollars(usd), dollars(d.Remaining.USD))
	}
	return why + " Try again in " + refusal.Wait(d.RetryAfter) + "."
}

// closed tells whether the cap is 0, so that tomorrow is no better.
func closed(c caps.Cap) bool {
	calls, limitsCalls := c.Calls()
	usd, limitsUSD := c.USD()
	return limitsCalls && calls == 0 || limitsUSD && usd == 0
}

// dollars writes an amount as people do: two digits at least, no idle zeros.
func dollars(m caps.MicroUSD) string {
	s := m.String()
	whole, fraction, _ := strings.Cut(s, ".")
	return "$" + whole + "." + fraction[:2] + strings.TrimRight(fraction[2:], "0")
}
