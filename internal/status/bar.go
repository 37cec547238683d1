package status

import (
	"strings"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// Style is how a report is drawn.
type Style struct {
	Color bool // ANSI colours
	Width int  // of the bars, in characters; 0 means 40
}

const (
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
	bold   = "\x1b[1m"
	reset  = "\x1b[0m"
)

func (s Style) paint(code, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return code + text + reset
}

// bar draws what is used, held and left of whole. Something is never drawn as nothing,
// and not all as all.
func (s Style) bar(used, held, whole int64) string {
	width := int64(s.Width)
	if width <= 0 {
		width = 40
	}
	taken := cells(used+held, whole, width)
	solid := min(cells(used, whole, width), taken)
	switch {
	case held <= 0 || solid < taken:
	case taken < width-1:
		taken++
	default:
		solid--
	}
	color := green
	switch {
	case used+held >= whole:
		color = red
	case float64(used+held) >= 0.8*float64(whole):
		color = yellow
	}
	return s.paint(color, strings.Repeat("█", int(solid))+strings.Repeat("▒", int(taken-solid))) +
		strings.Repeat("░", int(width-taken))
}

func cells(part, whole, width int64) int64 {
	switch {
	case part <= 0:
		return 0
	case part >= whole:
		return width
	}
	n := int64(float64(part) / float64(whole) * float64(width))
	return min(max(n, 1), width-1)
}

// percent is rounded down, so that 100 % is all of it.
func percent(part, whole int64) int64 {
	if whole <= 0 {
		return 100
	}
	return int64(float64(part) / float64(whole) * 100)
}

func dollars(m caps.MicroUSD) string { return "$" + m.String() }
