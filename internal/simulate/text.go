package simulate

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// TextOptions says how a terminal shows a report.
type TextOptions struct {
	Width int  // columns; 0: 80; the plot takes 40 to 160 of them
	ASCII bool // draw with ASCII only
}

// Text writes the report for a terminal, with a plot of what was spent against the
// ceiling.
func (r *Report) Text(w io.Writer, o TextOptions) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, a simulated day: %s from %s\n\n", r.Day, plural(r.Attempted, "request"), plural(r.Callers, "caller"))
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	line := func(name, value, note string) { fmt.Fprintf(t, "%s\t%s\t%s\n", name, value, note) }
	line("Spent", usd(r.Spent), fmt.Sprintf("of a ceiling of %s", usd(r.Ceiling.USD)))
	line("Ceiling, at most", fmt.Sprintf("%d %%", r.Ceiling.Peak), fmt.Sprintf("%s settled and held; held at most %s", usd(r.Ceiling.PeakUSD), usd(r.Ceiling.PeakHeld)))
	line("Without caps", usd(r.WithoutCaps), "the same requests, all admitted that have a price")
	if r.Unsettled > 0 {
		line("Not settled", usd(r.UnsettledHeld), plural(r.Unsettled, "call")+" cut off: held at the worst case, and perhaps paid")
	}
	line("", "", "")
	line("Admitted", fmt.Sprint(r.Admitted), percent(r.Admitted, r.Attempted))
	line("Refused", fmt.Sprint(r.Refused.Total()), percent(r.Refused.Total(), r.Attempted))
	line("  caller's cap", fmt.Sprint(r.Refused.Caller()), by(r.Refused.CallerCalls, r.Refused.CallerUSD, r.FirstCallerRefusal))
	line("  ceiling", fmt.Sprint(r.Refused.Ceiling()), by(r.Refused.CeilingCalls, r.Refused.CeilingUSD, r.FirstCeilingRefusal))
	line("  too large", fmt.Sprint(r.Refused.TooLarge), "")
	line("  unknown model", fmt.Sprint(r.Refused.UnknownModel), "")
	line("", "", "")
	line("Callers refused", "", "")
	line("  by their cap", fmt.Sprint(r.CallersRefused.Caller), percent(r.CallersRefused.Caller, r.Callers))
	line("  by the ceiling", fmt.Sprint(r.CallersRefused.Ceiling), percent(r.CallersRefused.Ceiling, r.Callers))
	line("  every time", fmt.Sprint(r.CallersRefused.Everything), percent(r.CallersRefused.Everything, r.Callers))
	if err := t.Flush(); err != nil {
		return err
	}
	if n := r.Refused.CrowdedOut; n > 0 {
		fmt.Fprintf(&b, "\n%s refused only because of what running calls held: once those were\nsettled, there was room again.\n", were(n))
	}
	b.WriteByte('\n')
	r.plot(&b, o)
	_, err := io.WriteString(w, trimLines(b.String()))
	return err
}

func usd(m caps.MicroUSD) string { return "$" + m.String() }

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func were(n int) string {
	if n == 1 {
		return "1 request was"
	}
	return fmt.Sprintf("%d requests were", n)
}

func percent(n, of int) string {
	if of == 0 {
		return ""
	}
	if n > 0 && n*100 < of {
		return "under 1 %"
	}
	rounded := (n*100 + of/2) / of
	if n < of && rounded == 100 {
		return "over 99 %"
	}
	return fmt.Sprintf("%d %%", rounded)
}

// by tells which part of a cap refused, and when first.
func by(calls, usd int, first time.Time) string {
	if calls+usd == 0 {
		return ""
	}
	var s []string
	if calls > 0 {
		s = append(s, fmt.Sprintf("%d no call left", calls))
	}
	if usd > 0 {
		s = append(s, fmt.Sprintf("%d not enough dollars left", usd))
	}
	return strings.Join(s, ", ") + "; first at " + clock(first)
}

func clock(t time.Time) string { return t.Format("15:04:05") }

func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}
