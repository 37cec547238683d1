package config_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/ratelimit"
)

func TestRateLimits(t *testing.T) {
	c, err := load(`
demo: {calls: 1}
rate_limits:
  - {name: burst, requests: 10, window: 1m, when_down: refuse, paths: [/api/v1/*]}
  - name: demo
    requests: 1000
    window: 1h30m
    when_down: allow
    budget: 250ms
    paths: [/api/demo/cap, /api/v1/messages]
  - {name: all, requests: 1, window: 1s, when_down: allow, paths: ["/api/*"]}
`)
	if err != nil {
		t.Fatal(err)
	}
	burst := ratelimit.Rule{Name: "burst", Requests: 10, Window: time.Minute, WhenDown: ratelimit.Refuse}
	demo := ratelimit.Rule{Name: "demo", Requests: 1000, Window: 90 * time.Minute, WhenDown: ratelimit.Allow, Budget: 250 * time.Millisecond}
	all := ratelimit.Rule{Name: "all", Requests: 1, Window: time.Second, WhenDown: ratelimit.Allow}
	want := map[string][]ratelimit.Rule{
		"/api/demo/cap":            {demo, all},
		"/api/cap":                 {all},
		"/api/v1/chat/completions": {burst, all},
		"/api/v1/messages":         {burst, demo, all},
		"/api/v1/models":           {burst, all},
	}
	if !reflect.DeepEqual(c.RateLimits, want) {
		t.Errorf("%+v\nwant %+v", c.RateLimits, want)
	}
	for _, text := range []string{"", "rate_limits: []"} {
		if c, err := load("demo: {calls: 1}\n" + text); err != nil || c.RateLimits != nil {
			t.Errorf("%q: %v, %v; want none", text, c, err)
		}
	}
}

func TestRateLimitsRefused(t *testing.T) {
	const good = "name: burst, requests: 10, window: 1m, when_down: refuse, paths: [/api/v1/*]"
	const known = "/api/demo/cap, /api/cap, /api/v1/chat/completions, /api/v1/messages, /api/v1/models"
	for change, want := range map[string]string{
		"name: burst -> name: Burst":           `rate_limits[0]: a name has lower-case letters, digits and hyphens, a letter first, 40 at most`,
		"name: burst -> name: 1":               `rate_limits[0].name: "1" is not read as text: put it in quotes`,
		"name: burst, -> ":                     `rate_limits[0].name: missing: write what the limit is called in the headers of answers, such as burst`,
		"name: burst -> name: global-usd":      `rate_limits[0].name: "global-usd" is what the headers of answers call a cap: take another name`,
		"requests: 10 -> requests: 0":          `rate_limits[0].requests: "0" is not between 1 and 1000`,
		"requests: 10 -> requests: 1001":       `rate_limits[0].requests: "1001" is not between 1 and 1000`,
		"requests: 10 -> requests: ten":        `rate_limits[0].requests: "ten" is not a whole number: write digits only, without a leading zero, such as 10`,
		"requests: 10, -> ":                    `rate_limits[0].requests: missing: set how many requests one caller has in a window, such as 10`,
		"window: 1m -> window: 60":             `rate_limits[0].window: "60" is not read as text: put it in quotes`,
		"window: 1m -> window: '60'":           `rate_limits[0].window: "60" is not a length of time: write a number and a unit, such as 500ms, 90s, 1m or 1h30m`,
		"window: 1m -> window: 1 min":          `rate_limits[0].window: "1 min" is not a length of time: write a number and a unit, such as 500ms, 90s, 1m or 1h30m`,
		"window: 1m -> window: -1m":            `rate_limits[0].window: "-1m" is not between 1s and 24h0m0s`,
		"window: 1m -> window: 25h":            `rate_limits[0].window: "25h" is not between 1s and 24h0m0s`,
		"window: 1m -> window: 1.0005s":        `rate_limits[0].window: "1.0005s" is finer than a millisecond`,
		"window: 1m, -> ":                      `rate_limits[0].window: missing: set its length, such as 1m`,
		"when_down: refuse -> when_down: open": `rate_limits[0].when_down: "open" is neither allow nor refuse`,
		"when_down: refuse -> when_down: ~":    `rate_limits[0].when_down: nothing stands where a text has to`,
		"when_down: refuse, -> ":               `rate_limits[0].when_down: missing: write allow or refuse: what becomes of a request when the store cannot be asked`,
		"name: burst -> budget: 3s, name: b":   `rate_limits[0].budget: "3s" is not between 1ms and 2s`,
		"name: burst -> budgets: 1s, name: b":  `rate_limits[0].budgets: unknown key: known here are name, requests, window, when_down, budget, paths`,
		", paths: [/api/v1/*] -> ":             `rate_limits[0].paths: missing: list the paths that it is for, such as /api/v1/*`,
		"[/api/v1/*] -> []":                    `rate_limits[0].paths: is empty: list the paths that it is for`,
		"[/api/v1/*] -> /api/v1/*":             `rate_limits[0].paths: the text "/api/v1/*" stands where a list has to`,
		"[/api/v1/*] -> [/api/v2/*]":           `rate_limits[0].paths[0]: "/api/v2/*" is no path of the API: there are ` + known + `, and /* at the end stands for all that begin so`,
		"[/api/v1/*] -> [/api/v1/chat]":        `rate_limits[0].paths[0]: "/api/v1/chat" is no path of the API: there are ` + known + `, and /* at the end stands for all that begin so`,
		"[/api/v1/*] -> [/api/c*]":             `rate_limits[0].paths[0]: "/api/c*" is no path of the API: there are ` + known + `, and /* at the end stands for all that begin so`,
		"[/api/v1/*] -> [/api/cap, /api/*]":    `rate_limits[0].paths[1]: "/api/*" has /api/cap, which is listed already: keep one`,
		"{" + good + "} -> 5":                  `rate_limits[0]: the text "5" stands where a group of keys has to: name, requests, window, when_down, budget, paths`,
		"- {" + good + "} -> " + `5`:           `rate_limits: the text "5" stands where a list has to`,
	} {
		from, to, _ := strings.Cut(change, " -> ")
		text := strings.Replace("- {"+good+"}", from, to, 1)
		if got := errorText(errorOf(load("demo: {calls: 1}\nrate_limits:\n  " + text))); got != "line 3: "+want {
			t.Errorf("%s\n%s\nwant\nline 3: %s", text, got, want)
		}
	}
	twice := "demo: {calls: 1}\nrate_limits:\n  - {" + good + "}\n  - {" + good + "}"
	if got, want := errorText(errorOf(load(twice))), `line 4: rate_limits[1].name: "burst" is the name of the rule in line 3 too: rules of one name would share their counts`; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	many := "demo: {calls: 1}\nrate_limits:\n"
	for i := range 21 {
		many += "  - {" + strings.Replace(good, "burst", "b"+strings.Repeat("x", i), 1) + "}\n"
	}
	if got, want := errorText(errorOf(load(many))), `line 23: rate_limits[20]: there are more than 20 rules: each is a store call of each request of its paths`; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
