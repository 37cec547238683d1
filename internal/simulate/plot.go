package simulate

import (
	"fmt"
	"math/bits"
	"strings"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// plotRows is the height of the plot in a terminal.
const plotRows = 10

// glyphs draw a plot.
type glyphs struct {
	levels                         []string // from an empty cell to a full one
	held, ceiling, left, low, mark string
}

var (
	blocks = glyphs{[]string{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}, "░", "─", "┤", "─", "▲"}
	ascii  = glyphs{[]string{" ", "#"}, ":", "-", "|", "-", "^"}
)

// plot draws what was spent, and held on top of it, from 0 to the ceiling over the day.
func (r *Report) plot(b *strings.Builder, o TextOptions) {
	if r.Ceiling.USD == 0 {
		b.WriteString("The ceiling is 0: it is closed, and there is nothing to draw.\n")
		return
	}
	g := blocks
	if o.ASCII {
		g = ascii
	}
	if o.Width == 0 {
		o.Width = 80
	}
	margin := len(usd(r.Ceiling.USD)) + 1
	// Times of the day stand every three hours, so the width is a multiple of eight.
	columns := max(8, (min(max(o.Width, 40), 160)-margin-2)/8*8)
	spent, peak := make([]int64, columns), make([]int64, columns)
	levels := int64(len(g.levels) - 1)
	last := len(r.Points) - 1
	for i := range columns {
		from, to := i*last/columns, (i+1)*last/columns
		spent[i] = r.level(r.Points[to].Spent, plotRows*levels)
		for at := from + 1; at <= to; at++ {
			peak[i] = max(peak[i], r.level(r.Points[at].Peak, plotRows*levels))
		}
		peak[i] = max(peak[i], spent[i])
	}
	label := func(s string) { fmt.Fprintf(b, "%*s %s", margin, s, g.left) }
	label(usd(r.Ceiling.USD))
	b.WriteString(strings.Repeat(g.ceiling, columns) + "\n")
	for row := int64(plotRows - 1); row >= 0; row-- {
		name := ""
		if row == plotRows/2-1 {
			name = usd(r.Ceiling.USD / 2)
		}
		label(name)
		for i := range columns {
			full := min(max(spent[i]-row*levels, 0), levels)
			if full == 0 && peak[i] > row*levels {
				b.WriteString(g.held)
			} else {
				b.WriteString(g.levels[full])
			}
		}
		b.WriteByte('\n')
	}
	label("$0")
	b.WriteString(strings.Repeat(g.low, columns) + "\n")
	b.WriteString(strings.Repeat(" ", margin+1))
	for h := 0; h < 24; h += 3 {
		fmt.Fprintf(b, "%-*s", columns/8, fmt.Sprintf("%02d", h))
	}
	b.WriteString("24\n")
	if at := r.FirstCeilingRefusal; !at.IsZero() {
		column := int(at.Sub(r.Points[0].At) * time.Duration(columns) / day)
		fmt.Fprintf(b, "%*s%s\n", margin+2+column, "", g.mark)
		fmt.Fprintf(b, "%*s%s the ceiling refuses for the first time at %s UTC\n", margin+2, "", g.mark, clock(at))
	}
	fmt.Fprintf(b, "%*s%s spent, settled   %s held, at its most\n", margin+2, "", g.levels[levels], g.held)
}

// level is how far up an amount reaches if the ceiling is at to. What is not nothing
// reaches 1.
func (r *Report) level(m caps.MicroUSD, to int64) int64 {
	n := scale(m, r.Ceiling.USD, to)
	if n == 0 && m > 0 {
		n = 1
	}
	return n
}

// scale is to*n/of rounded down, for what is not negative, and n up to of.
func scale(n, of caps.MicroUSD, to int64) int64 {
	hi, lo := bits.Mul64(uint64(min(n, of)), uint64(to))
	q, _ := bits.Div64(hi, lo, uint64(of))
	return int64(q)
}
