package simulate

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/seed3e88d9a2/spendcap/caps"
)

var update = flag.Bool("update", false, "write the golden files in testdata")

// someDay has something of everything, and the ceiling is reached in the afternoon.
func someDay(t testing.TB) *Report {
	t.Helper()
	o := Options{Day: testDay, Seed: 3, Callers: 200, CallsPerCaller: 3, InputBytes: 1350, OutputTokens: 60, Latency: 16 * time.Second, Shape: ShapePeak, Peak: 14 * time.Hour}
	traffic := generate(t, o)
	for i := range 3 {
		traffic.Requests[i].Model = "none"
	}
	return play(t, testConfig(caps.Calls(8).AndUSD(12_000), caps.USD(250_000).AndCalls(5000)), traffic.Requests...)
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is now (go test -update writes it):\n%s", path, got)
	}
}

func TestText(t *testing.T) {
	for name, o := range map[string]TextOptions{"day.txt": {}, "day-ascii.txt": {ASCII: true, Width: 60}} {
		var b strings.Builder
		if err := someDay(t).Text(&b, o); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.String())
	}
}

// The plot keeps its width, and ASCII is ASCII.
func TestTextWidth(t *testing.T) {
	r := someDay(t)
	for _, width := range []int{-1, 1, 40, 41, 47, 48, 79, 80, 120, 160, 1000} {
		var b strings.Builder
		if err := r.Text(&b, TextOptions{Width: width, ASCII: true}); err != nil {
			t.Fatal(err)
		}
		_, plot, _ := strings.Cut(b.String(), "\n $0.250000")
		for _, line := range strings.Split(plot, "\n")[1:12] {
			if len(line) > min(max(width, 40), 160) {
				t.Errorf("%d columns are asked for: %q has %d", width, line, len(line))
			}
		}
		if n := utf8.RuneCountInString(b.String()); n != b.Len() {
			t.Errorf("%d columns: not ASCII", width)
		}
	}
}

// A day on which nothing happened to the ceiling can be shown too.
func TestTextQuiet(t *testing.T) {
	var b strings.Builder
	r := play(t, testConfig(caps.Calls(1), caps.USD(1_000_000)), request(0, 1))
	if err := r.Text(&b, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 request from 1 caller\n", "Admitted          1          100 %\n", "Ceiling, at most  0 %        $0.002016 settled and held"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, &b)
		}
	}
	for _, not := range []string{"first", "refused only", "Not settled", "▲"} {
		if strings.Contains(b.String(), not) {
			t.Errorf("%q is in\n%s", not, &b)
		}
	}
}

func TestSVG(t *testing.T) {
	var b strings.Builder
	if err := someDay(t).SVG(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "day.svg", b.String())
	if strings.Contains(strings.ReplaceAll(b.String(), "http://www.w3.org/2000/svg", ""), "//") || regexp.MustCompile(`(?i)<script|<image|<a |href|@import|url\(`).MatchString(b.String()) {
		t.Error("the picture refers to something outside")
	}
	// What assistive technology reads.
	var svg struct {
		Role   string `xml:"role,attr"`
		Label  string `xml:"aria-labelledby,attr"`
		Titles []struct {
			ID   string `xml:"id,attr"`
			Text string `xml:",chardata"`
		} `xml:"title"`
		Desc struct {
			ID   string `xml:"id,attr"`
			Text string `xml:",chardata"`
		} `xml:"desc"`
	}
	if err := xml.Unmarshal([]byte(b.String()), &svg); err != nil {
		t.Fatal(err)
	}
	if svg.Role != "img" || len(svg.Titles) != 1 || svg.Label != svg.Titles[0].ID+" "+svg.Desc.ID ||
		!strings.HasPrefix(svg.Titles[0].Text, "Simulated day 2026-12-01: $") || !strings.HasPrefix(svg.Desc.Text, "600 requests from 200 callers: ") {
		t.Errorf("%+v", svg)
	}
	// Well-formed to the end, and every number is one.
	d := xml.NewDecoder(strings.NewReader(b.String()))
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok {
			for _, a := range e.Attr {
				if strings.Contains(a.Value, "-") && (a.Name.Local == "x" || a.Name.Local == "y" || a.Name.Local == "height") {
					t.Errorf("%s=%q", a.Name.Local, a.Value)
				}
			}
		}
	}
}

// TestContrast holds the colours to WCAG 2.2: 4.5:1 for text, 3:1 for what is drawn.
func TestContrast(t *testing.T) {
	light, dark, ok := strings.Cut(svgStyle, "@media (prefers-color-scheme:dark)")
	if !ok {
		t.Fatal("no dark scheme")
	}
	for name, style := range map[string]string{"light": light, "dark": dark} {
		colour := make(map[string]string)
		for _, rule := range regexp.MustCompile(`([.a-z,]+)\{[^}]*?(?:fill|stroke):(#[0-9a-f]{3,6})`).FindAllStringSubmatch(style, -1) {
			for _, class := range strings.Split(rule[1], ",") {
				colour[class] = rule[2]
			}
		}
		for class, least := range map[string]float64{".t": 4.5, ".s": 4.5, ".axis": 3, ".ceiling": 3, ".first": 3, ".spent": 3, ".held": 3, ".ok": 3, ".own": 3, ".all": 3, ".other": 3} {
			if got := contrast(t, colour[class], colour[".bg"]); got < least {
				t.Errorf("%s %s: %s on %s is %.2f, want %v", name, class, colour[class], colour[".bg"], got, least)
			}
		}
	}
}

func contrast(t *testing.T, a, b string) float64 {
	luminance := func(s string) (l float64) {
		if len(s) == 4 {
			s = "#" + s[1:2] + s[1:2] + s[2:3] + s[2:3] + s[3:4] + s[3:4]
		}
		var c [3]int
		if _, err := fmt.Sscanf(s, "#%02x%02x%02x", &c[0], &c[1], &c[2]); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		for i, part := range []float64{0.2126, 0.7152, 0.0722} {
			v := float64(c[i]) / 255
			if v <= 0.04045 {
				v /= 12.92
			} else {
				v = math.Pow((v+0.055)/1.055, 2.4)
			}
			l += part * v
		}
		return l
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// What cannot be written is said.
func TestWriteError(t *testing.T) {
	r := someDay(t)
	for name, write := range map[string]func(io.Writer) error{
		"text": func(w io.Writer) error { return r.Text(w, TextOptions{}) },
		"SVG":  r.SVG,
	} {
		if err := write(full{}); !errors.Is(err, errDisk) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errDisk }

// What is not all is not 100 %, and what is not nothing not 0 %.
func TestPercent(t *testing.T) {
	for _, test := range []struct {
		n, of int
		want  string
	}{
		{0, 0, ""}, {0, 7, "0 %"}, {1, 1000, "under 1 %"}, {317, 416, "76 %"}, {99, 416, "24 %"}, {999, 1000, "over 99 %"}, {7, 7, "100 %"},
	} {
		if got := percent(test.n, test.of); got != test.want {
			t.Errorf("%d of %d: %q, want %q", test.n, test.of, got, test.want)
		}
	}
}
