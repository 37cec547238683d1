package simulate

import (
	"fmt"
	"io"
	"strings"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// The picture, in pixels of its own.
const (
	svgWidth, svgHeight = 860, 520

	svgLeft, svgRight = 104, 836 // of both plots
	moneyTop          = 92       // the ceiling
	moneyBottom       = 300
	callsTop          = 362
	callsBottom       = 452
)

// svgStyle has a colour for each scheme. They keep 4.5:1 for text and 3:1 for shapes
// against the background (WCAG 2.2, 1.4.3 and 1.4.11), and what they tell apart differs in
// lightness too.
const svgStyle = `
.bg{fill:#fff}.t{fill:#1c2430;font:14px system-ui,sans-serif}.h{font-weight:600;font-size:17px}.s{fill:#566070;font-size:12px}
.grid{stroke:#d8dee6}.axis{stroke:#566070}.ceiling{stroke:#b3261e;stroke-width:2}.first{stroke:#b3261e;stroke-dasharray:4 3}
.spent{fill:#1769aa}.held{fill:#5b95c4}.ok{fill:#1769aa}.own{fill:#c77700}.all{fill:#8c1d18}.other{fill:#6b7482}
@media (prefers-color-scheme:dark){
.bg{fill:#12161c}.t{fill:#e6eaf0}.s{fill:#a3adba}.grid{stroke:#2c3541}.axis{stroke:#a3adba}
.ceiling,.first{stroke:#ff8a80}.spent,.ok{fill:#4aa3e8}.held{fill:#3272a8}.own{fill:#ffb74d}.all{fill:#ff6f61}.other{fill:#8d97a5}}
`

// SVG writes the report as a picture: what was spent and held against the ceiling over
// the day, and below it what became of the requests of every hour. It stands alone, heeds
// the dark colour scheme, and says in words what it shows.
func (r *Report) SVG(w io.Writer) error {
	p := new(picture)
	p.add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-labelledby="spendcap-title spendcap-desc">`, svgWidth, svgHeight)
	p.add(`<title id="spendcap-title">Simulated day %s: %s spent of a ceiling of %s</title>`, r.Day, usd(r.Spent), usd(r.Ceiling.USD))
	p.add(`<desc id="spendcap-desc">%s</desc>`, r.describe())
	p.add(`<style>%s</style>`, svgStyle)
	p.add(`<rect class="bg" width="%d" height="%d" rx="8"/>`, svgWidth, svgHeight)
	p.text(24, 34, "start", "h", "%s spent of a ceiling of %s", usd(r.Spent), usd(r.Ceiling.USD))
	p.text(24, 56, "start", "s", "%s, simulated: %s from %s, %d admitted; without caps %s", r.Day, plural(r.Attempted, "request"), plural(r.Callers, "caller"), r.Admitted, usd(r.WithoutCaps))
	r.drawMoney(p)
	r.drawCalls(p)
	p.add(`</svg>`)
	_, err := io.WriteString(w, p.String())
	return err
}

// describe says in words what the picture shows.
func (r *Report) describe() string {
	s := fmt.Sprintf("%s from %s: %d admitted, %d refused by the caller's cap, %d by the ceiling, %d for other reasons. The ceiling was full to %d percent at most.",
		plural(r.Attempted, "request"), plural(r.Callers, "caller"), r.Admitted, r.Refused.Caller(), r.Refused.Ceiling(), r.Refused.TooLarge+r.Refused.UnknownModel, r.Ceiling.Peak)
	if at := r.FirstCeilingRefusal; !at.IsZero() {
		s += fmt.Sprintf(" It refused for the first time at %s UTC.", clock(at))
	}
	return s + fmt.Sprintf(" Without caps the requests would have cost %s.", usd(r.WithoutCaps))
}

func (r *Report) drawMoney(p *picture) {
	const height = moneyBottom - moneyTop
	for i := int64(1); i <= 4; i++ {
		y := moneyBottom - height*i/4
		if i < 4 {
			p.add(`<path class="grid" d="M%d %dH%d"/>`, svgLeft, y, svgRight)
		}
		if i%2 == 0 {
			p.text(svgLeft-8, y+4, "end", "s", "%s", usd(r.Ceiling.USD*caps.MicroUSD(i)/4))
		}
	}
	p.text(svgLeft-8, moneyBottom+4, "end", "s", "$0")
	if r.Ceiling.USD > 0 {
		// A tenth of a pixel is fine enough.
		y := func(m caps.MicroUSD) string { return tenths(10*moneyBottom - r.level(m, 10*height)) }
		area := func(class string, of func(*Point) caps.MicroUSD) {
			p.add(`<path class="%s" d="M%d %d`, class, svgLeft, moneyBottom)
			for i := range r.Points {
				p.add(`L%s %s`, x10(i, len(r.Points)-1), y(of(&r.Points[i])))
			}
			p.add(`V%dZ"/>`, moneyBottom)
		}
		area("held", func(at *Point) caps.MicroUSD { return at.Peak })
		area("spent", func(at *Point) caps.MicroUSD { return at.Spent })
	}
	p.add(`<path class="ceiling" d="M%d %dH%d"/>`, svgLeft, moneyTop, svgRight)
	if at := r.FirstCeilingRefusal; at.IsZero() {
		p.text(svgLeft, moneyTop-8, "start", "s", "ceiling")
	} else {
		x := svgLeft + int64(at.Sub(r.Points[0].At)*(svgRight-svgLeft)/day)
		p.add(`<path class="first" d="M%d %dV%d"/>`, x, moneyTop, moneyBottom)
		anchor := "start"
		if x > (svgLeft+svgRight)/2 {
			anchor = "end"
		}
		p.text(x, moneyTop-8, anchor, "s", "the ceiling refuses from %s on", clock(at))
	}
	r.drawAxis(p, moneyBottom)
	p.legend(svgLeft, moneyBottom+40, "spent", "spent (settled)", "held", "held, at its most")
}

func (r *Report) drawCalls(p *picture) {
	most := 1
	for i := range r.Hours {
		most = max(most, r.Hours[i].Attempted)
	}
	p.text(svgLeft-8, callsTop+4, "end", "s", "%d", most)
	p.text(svgLeft-8, callsBottom+4, "end", "s", "0")
	p.add(`<path class="grid" d="M%d %dH%d"/>`, svgLeft, callsTop, svgRight)
	const wide = 10 * (svgRight - svgLeft) / 24 // tenths of a pixel
	for i := range r.Hours {
		h := &r.Hours[i]
		p.add(`<g><title>%s to %02d:00: %d admitted, %d refused by the caller's cap, %d by the ceiling, %d for other reasons</title>`,
			h.Start.Format("15:04"), i+1, h.Admitted, h.CallerRefused, h.CeilingRefused, h.OtherRefused)
		below := 0
		for _, part := range []struct {
			class string
			n     int
		}{{"ok", h.Admitted}, {"own", h.CallerRefused}, {"all", h.CeilingRefused}, {"other", h.OtherRefused}} {
			if part.n == 0 {
				continue
			}
			from := int64(10 * (callsBottom - callsTop) * below / most)
			below += part.n
			to := int64(10 * (callsBottom - callsTop) * below / most)
			p.add(`<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, part.class,
				tenths(10*svgLeft+wide*int64(i)+30), tenths(10*callsBottom-to), tenths(wide-60), tenths(to-from))
		}
		p.add(`</g>`)
	}
	r.drawAxis(p, callsBottom)
	p.legend(svgLeft, callsBottom+44, "ok", "admitted", "own", "refused by the caller's cap", "all", "by the ceiling", "other", "other")
}

func (r *Report) drawAxis(p *picture, y int64) {
	p.add(`<path class="axis" d="M%d %dH%d"/>`, svgLeft, y, svgRight)
	for h := int64(0); h <= 24; h += 3 {
		p.text(svgLeft+(svgRight-svgLeft)*h/24, y+16, "middle", "s", "%02d:00", h)
	}
}

// picture is an SVG under way. All that comes into it is numbers and fixed words.
type picture struct{ strings.Builder }

func (p *picture) add(format string, args ...any) { fmt.Fprintf(p, format, args...) }

func (p *picture) text(x, y int64, anchor, class, format string, args ...any) {
	p.add(`<text class="t %s" x="%d" y="%d" text-anchor="%s">%s</text>`, class, x, y, anchor, fmt.Sprintf(format, args...))
}

// legend writes pairs of a class and what it stands for.
func (p *picture) legend(x, y int64, pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		p.add(`<rect class="%s" x="%d" y="%d" width="12" height="12" rx="2"/>`, pairs[i], x, y-11)
		p.text(x+18, y, "start", "s", "%s", pairs[i+1])
		x += 44 + 7*int64(len(pairs[i+1]))
	}
}

// x10 is where a point of so many lies, in pixels.
func x10(i, of int) string { return tenths(10*svgLeft + 10*(svgRight-svgLeft)*int64(i)/int64(of)) }

func tenths(n int64) string { return fmt.Sprintf("%d.%d", n/10, n%10) }
