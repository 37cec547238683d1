package status

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// Text writes the report for people.
func (r *Report) Text(w io.Writer, s Style) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s   table %s, UTC day %s", s.paint(bold, "spendcap"), r.Table, r.Day)
	if left := r.Day.End().Sub(r.AsOf); left > 0 {
		fmt.Fprintf(&b, ", %s, ends in %s", r.AsOf.Format(time.TimeOnly), spell(left))
	}
	b.WriteString("\n\n")
	r.control(&b, s)
	r.ceiling(&b, s)
	r.budgets(&b)
	r.top(&b, s)
	if r.Day.End().Before(r.AsOf) && r.empty() {
		b.WriteString("Nothing of this day is in the table. The items of a day are deleted from three days after its end on.\n")
	}
	if r.Broken > 0 {
		fmt.Fprintf(&b, "%s\n", s.paint(red, fmt.Sprintf("%d items of the day cannot be read and are not counted above: something else writes into the table.", r.Broken)))
	}
	if !r.Reads.Complete {
		fmt.Fprintf(&b, "%s\n", s.paint(red, fmt.Sprintf("PARTIAL: the table has more than the %d MB that were read, so the callers' numbers are too low. The ceiling's are right. Go on with --max-reads %d.", r.Reads.Pages, 10*r.Reads.Pages)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// empty tells whether there is no item of the day.
func (r *Report) empty() bool {
	for _, c := range r.Callers {
		if c.Seen > 0 {
			return false
		}
	}
	return r.Global == nil || r.Global.Usage == caps.Usage{}
}

func (r *Report) ceiling(b *strings.Builder, s Style) {
	g := r.Global
	if g == nil {
		b.WriteString("everybody  the file has no ceiling\n\n")
		return
	}
	settled, held := g.Usage.Settled(), g.Usage.Held
	if limit, ok := g.Cap.USD(); ok {
		fmt.Fprintf(b, "everybody  spend  %s %3d%%  %s used + %s held of %s\n", s.bar(int64(settled), int64(held), int64(limit)),
			percent(int64(g.Usage.USD), int64(limit)), dollars(settled), dollars(held), dollars(limit))
	} else {
		fmt.Fprintf(b, "everybody  spend  %s used + %s held, not limited\n", dollars(settled), dollars(held))
	}
	if limit, ok := g.Cap.Calls(); ok {
		fmt.Fprintf(b, "           calls  %s %3d%%  %d of %d\n", s.bar(g.Usage.Calls, 0, limit), percent(g.Usage.Calls, limit), g.Usage.Calls, limit)
	} else {
		fmt.Fprintf(b, "           calls  %d, not limited\n", g.Usage.Calls)
	}
	b.WriteString("\n")
}

func (r *Report) budgets(b *strings.Builder) {
	rows := [][]string{{"budget", "callers", "capped", "calls", "used", "held", "open holds", "cap of one"}}
	for _, c := range r.Callers {
		limit := "no cap for all"
		if c.Cap != nil {
			limit = c.Cap.String()
		}
		rows = append(rows, []string{c.Budget, fmt.Sprint(c.Seen), fmt.Sprint(c.Capped), fmt.Sprint(c.Calls), dollars(c.Used), dollars(c.Held), fmt.Sprint(c.OpenHolds), limit})
	}
	columns(b, rows)
}

// control tells what an operator has set.
func (r *Report) control(b *strings.Builder, s Style) {
	if stop := r.Control.Stop; stop != nil {
		text := fmt.Sprintf("STOPPED since %s by %s", stop.Since.Format(time.RFC3339), stop.By)
		if stop.Message != "" {
			text += fmt.Sprintf("; callers are told %q", stop.Message)
		}
		fmt.Fprintf(b, "%s\n\n", s.paint(red, text))
	}
	for _, l := range r.Control.Limits {
		until := "until further notice"
		if l.Day != 0 {
			until = "for " + l.Day.String()
		}
		fmt.Fprintf(b, "limit of %s: %s %s, by %s\n", l.Budget, l.Cap, until, l.By)
	}
	if n := len(r.Control.Blocks); n > 0 {
		fmt.Fprintf(b, "blocked callers: %d, see `spendcap blocks`\n", n)
	}
	if len(r.Control.Limits)+len(r.Control.Blocks) > 0 {
		b.WriteString("\n")
	}
}

// columns writes a table whose first and last columns are on the left, the ones between
// on the right.
func columns(b *strings.Builder, rows [][]string) {
	widths := make([]int, len(rows[0])-1)
	for _, row := range rows {
		for i := range widths {
			widths[i] = max(widths[i], len(row[i]))
		}
	}
	for _, row := range rows {
		line := fmt.Sprintf("%-*s", widths[0], row[0])
		for i := 1; i < len(widths); i++ {
			line += fmt.Sprintf("  %*s", widths[i], row[i])
		}
		b.WriteString(strings.TrimRight(line+"  "+row[len(row)-1], " ") + "\n")
	}
	b.WriteString("\n")
}

// top tells the callers of the budgets that cost money, and of others only if there are
// no such.
func (r *Report) top(b *strings.Builder, s Style) {
	paid := false
	for _, c := range r.Callers {
		paid = paid || c.Seen > 0 && c.costs()
	}
	for _, c := range r.Callers {
		if c.Seen == 0 || paid && !c.costs() {
			continue
		}
		rows := [][]string{{"top of " + c.Budget, "calls", "used", "held", "open holds", ""}}
		for _, t := range c.Top {
			mark := ""
			if t.Capped {
				mark = s.paint(yellow, "capped")
			}
			rows = append(rows, []string{t.Key, fmt.Sprint(t.Calls), dollars(t.Used), dollars(t.Held), fmt.Sprint(t.OpenHolds), mark})
		}
		columns(b, rows)
	}
}

func (c Callers) costs() bool {
	if c.Cap == nil {
		return c.Used+c.Held > 0
	}
	_, limited := c.Cap.USD()
	return limited || c.Used+c.Held > 0
}

// spell is a time in hours and minutes, rounded up to the minute.
func spell(d time.Duration) string {
	minutes := int64((d + time.Minute - 1) / time.Minute)
	if minutes < 60 {
		return fmt.Sprintf("%d min", minutes)
	}
	return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
}
