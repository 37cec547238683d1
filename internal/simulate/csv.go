package simulate

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// MaxCSVBytes bounds a file of requests, and what is read of it.
const MaxCSVBytes = 256 << 20

// Most of what a single value may be.
const (
	maxIDBytes   = 256  // of a caller or a model
	maxNames     = 1000 // of tiers and models
	maxLatencyMS = 60 * 60 * 1000
)

// CSVDefaults is what applies where the file says nothing.
type CSVDefaults struct {
	Day     caps.Day      // of times without a date
	Tier    string        // of a file without a column tier; empty: callers are anonymous
	Model   string        // of a file without a column model; empty: the first of the operator's file
	Latency time.Duration // of a file without a column latency_ms
}

// CSVError is what is wrong with a file of requests. It never quotes the file, which may
// have addresses in any place if its columns are not where they should be.
type CSVError struct {
	Line   int    // 1 is the first; 0 if it is about the file as a whole
	Column string // by its name; empty for the line as a whole
	What   string // what is wrong, and what to write
}

func (e *CSVError) Error() string {
	switch {
	case e.Line == 0:
		return e.What
	case e.Column == "":
		return fmt.Sprintf("line %d: %s", e.Line, e.What)
	}
	return fmt.Sprintf("line %d, column %s: %s", e.Line, e.Column, e.What)
}

// ReadCSV reads requests, one a line, below a line with the columns' names, in any order:
//
//	time           RFC 3339, such as 2026-12-01T09:30:00Z, or 09:30:00 in UTC; all of one UTC day
//	caller         who it was: any text, the same for the same caller; only told apart, never kept
//	tier           of a signed-in caller, as the operator's file calls it, or nothing; optional
//	model          as the operator's file calls it; optional
//	input_tokens   what the request sent, without the operator's prompt, in tokens
//	input_bytes    or in bytes of UTF-8; one of the two
//	cached_tokens  the part of input_tokens that came from the provider's cache; optional
//	output_tokens  what the model answered
//	max_tokens     what the caller allowed it to answer; optional
//	latency_ms     until the answer was there, in milliseconds; optional
//
// The separator is a comma, as in RFC 4180. Times may have fractions of a second. Lines
// need not be in order: logs have a call where it ended. At most [MaxCalls] lines and
// [MaxCSVBytes] are read.
//
// What is wrong with the content comes back as a [*CSVError].
func ReadCSV(r io.Reader, d CSVDefaults) (*Traffic, error) {
	return readCSV(r, d, MaxCSVBytes, MaxCalls)
}

func readCSV(r io.Reader, d CSVDefaults, maxBytes int64, maxCalls int) (*Traffic, error) {
	in := bufio.NewReader(&bounded{r: r, max: maxBytes, left: maxBytes})
	if mark, _ := in.Peek(3); bytes.Equal(mark, []byte("\ufeff")) {
		in.Discard(3) // as spreadsheets write it
	}
	f := &file{csv: csv.NewReader(in), traffic: &Traffic{Day: d.Day}, defaults: d, maxCalls: maxCalls, callers: make(map[[16]byte]int), names: make(map[string]string)}
	f.csv.ReuseRecord = true
	f.csv.FieldsPerRecord = -1 // counted here, to say what to write
	if err := f.header(); err != nil {
		return nil, f.explain(err)
	}
	for {
		switch err := f.row(); {
		case err == io.EOF && len(f.traffic.Requests) == 0:
			return nil, &CSVError{Line: 1, What: "there is no request below the columns' names: write one a line"}
		case err == io.EOF:
			slices.SortStableFunc(f.traffic.Requests, byArrival)
			return f.traffic, nil
		case err != nil:
			return nil, f.explain(err)
		}
	}
}

// The columns, and which have to be there.
var columns = []struct {
	name     string
	required bool
	read     func(*file, *Request, string) string // what is wrong, or nothing
}{
	{"time", true, (*file).time},
	{"caller", true, (*file).caller},
	{"tier", false, (*file).tier},
	{"model", false, (*file).model},
	{"input_tokens", false, count(1, maxCount, func(r *Request) *int { return &r.InputTokens })},
	{"input_bytes", false, count(1, maxCount, func(r *Request) *int { return &r.InputBytes })},
	{"cached_tokens", false, count(0, maxCount, func(r *Request) *int { return &r.CachedTokens })},
	{"output_tokens", true, count(0, maxCount, func(r *Request) *int { return &r.OutputTokens })},
	{"max_tokens", false, count(1, maxCount, func(r *Request) *int { return &r.MaxTokens })},
	{"latency_ms", false, (*file).latency},
}

// file is a file of requests on its way in.
type file struct {
	csv      *csv.Reader
	order    []int // of the file's columns in columns
	line     int
	traffic  *Traffic
	defaults CSVDefaults
	maxCalls int

	first   int // line of the first request
	dated   bool
	callers map[[16]byte]int  // numbers of callers, by a hash: the text is not kept
	names   map[string]string // of tiers and models, each once
}

func (f *file) header() error {
	names, err := f.csv.Read()
	if err == io.EOF {
		return f.wrong("", "the file is empty: begin with the columns' names, such as time,caller,input_tokens,output_tokens")
	}
	if err != nil {
		return err
	}
	f.line = 1
	var known []string
	for _, c := range columns {
		known = append(known, c.name)
	}
	for i, name := range names {
		at := slices.Index(known, strings.TrimSpace(name))
		switch {
		case at < 0 && len(names) == 1 && strings.Contains(name, ";"):
			return f.wrong("", "the columns are not separated by commas: save the file with commas")
		case at < 0:
			return f.wrong(strconv.Itoa(i+1), "no such column: the first line names the columns, and there are "+strings.Join(known, ", "))
		case slices.Contains(f.order, at):
			return f.wrong(known[at], "named twice: keep one")
		}
		f.order = append(f.order, at)
	}
	has := func(name string) bool { return slices.Contains(f.order, slices.Index(known, name)) }
	for _, c := range columns {
		if c.required && !has(c.name) {
			return f.wrong(c.name, "missing: add it to the columns")
		}
	}
	switch tokens, size := has("input_tokens"), has("input_bytes"); {
	case tokens && size:
		return f.wrong("input_bytes", "there is input_tokens as well, which is exact: keep that one")
	case !tokens && !size:
		return f.wrong("input_tokens", "missing: add it to the columns, or input_bytes")
	case size && has("cached_tokens"):
		return f.wrong("cached_tokens", "these are a part of input_tokens: give that instead of input_bytes, or leave cached_tokens out")
	}
	return nil
}

func (f *file) row() error {
	values, err := f.csv.Read()
	if err != nil {
		return err
	}
	f.line, _ = f.csv.FieldPos(0)
	if len(values) != len(f.order) {
		return f.wrong("", fmt.Sprintf("it has %d values for %d columns: write one for each, and put those with a comma in quotes", len(values), len(f.order)))
	}
	if len(f.traffic.Requests) == f.maxCalls {
		return f.wrong("", fmt.Sprintf("more than %d requests: take every second caller out, and halve the ceiling", f.maxCalls))
	}
	r := Request{Tier: f.defaults.Tier, Model: f.defaults.Model, Latency: f.defaults.Latency}
	for i, at := range f.order {
		if wrong := columns[at].read(f, &r, values[i]); wrong != "" {
			return f.wrong(columns[at].name, wrong)
		}
	}
	if r.CachedTokens > r.InputTokens && r.InputTokens > 0 {
		return f.wrong("cached_tokens", "more than input_tokens, of which it is a part: write input_tokens with those from the cache")
	}
	f.traffic.Requests = append(f.traffic.Requests, r)
	return nil
}

func (f *file) wrong(column, what string) error {
	return &CSVError{Line: max(1, f.line), Column: column, What: what}
}

// explain makes a CSVError of what the csv package says.
func (f *file) explain(err error) error {
	var at *csv.ParseError
	if errors.As(err, &at) && (errors.Is(at.Err, csv.ErrQuote) || errors.Is(at.Err, csv.ErrBareQuote)) {
		return &CSVError{Line: at.StartLine, What: `a quote is not closed, or stands inside a value: put the whole value in quotes, and write "" for one`}
	}
	return err
}

const timeForms = "write 2026-12-01T09:30:00Z, or 09:30:00 in every line, for UTC"

func (f *file) time(r *Request, s string) string {
	var at time.Time
	dated := strings.ContainsAny(s, "Tt")
	if dated {
		var err error
		// time.Parse takes an hour of one digit, and a comma before fractions.
		if at, err = time.Parse(time.RFC3339, s); err != nil || s[13] != ':' || strings.Contains(s, ",") {
			return "not a time: " + timeForms
		}
	} else {
		clock, err := time.Parse("15:04:05", s)
		if err != nil || len(s) < 8 || s[2] != ':' || s[5] != ':' || strings.Contains(s, ",") {
			return "not a time: " + timeForms
		}
		at = f.defaults.Day.Start().Add(clock.Sub(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)))
	}
	switch {
	case f.first == 0:
		f.first, f.dated, f.traffic.Day = f.line, dated, caps.DayOf(at)
	case dated != f.dated:
		return fmt.Sprintf("with a date in one line and without in another, see line %d: %s", f.first, timeForms)
	case caps.DayOf(at) != f.traffic.Day:
		return fmt.Sprintf("another UTC day than in line %d: budgets start afresh at 00:00 UTC, so play one day at a time", f.first)
	}
	r.At = at.Sub(f.traffic.Day.Start())
	return ""
}

func (f *file) caller(r *Request, s string) string {
	if wrong := id(s); wrong != "" {
		return wrong
	}
	sum := sha256.Sum256([]byte(s))
	key := [16]byte(sum[:16])
	n, ok := f.callers[key]
	if !ok {
		n = len(f.callers)
		f.callers[key] = n
	}
	r.Caller = n
	return ""
}

func (f *file) tier(r *Request, s string) string {
	if r.Tier = ""; s == "" {
		return "" // anonymous
	}
	return f.name(s, &r.Tier)
}

func (f *file) model(r *Request, s string) string { return f.name(s, &r.Model) }

func (f *file) name(s string, into *string) string {
	if wrong := id(s); wrong != "" {
		return wrong
	}
	name, ok := f.names[s]
	if !ok {
		if len(f.names) == maxNames {
			return fmt.Sprintf("more than %d different names: write those of the operator's file", maxNames)
		}
		name = strings.Clone(s) // of the whole line
		f.names[name] = name
	}
	*into = name
	return ""
}

func id(s string) string {
	if s == "" || len(s) > maxIDBytes || strings.TrimSpace(s) != s {
		return fmt.Sprintf("empty, longer than %d bytes or with white space around it: write a name", maxIDBytes)
	}
	return ""
}

func (f *file) latency(r *Request, s string) string {
	var ms int
	wrong := number(s, 0, maxLatencyMS, &ms)
	r.Latency = time.Duration(ms) * time.Millisecond
	return wrong
}

func count(least, most int, field func(*Request) *int) func(*file, *Request, string) string {
	return func(_ *file, r *Request, s string) string { return number(s, least, most, field(r)) }
}

func number(s string, least, most int, into *int) string {
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most || s != strconv.Itoa(n) {
		return fmt.Sprintf("not a whole number from %d to %d: write digits only, such as 120", least, most)
	}
	*into = n
	return ""
}

// bounded reads no more than is left.
type bounded struct {
	r         io.Reader
	max, left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		// One more byte tells a file of just the size from a longer one.
		if n, err := io.ReadFull(b.r, make([]byte, 1)); n == 0 {
			return 0, err
		}
		return 0, &CSVError{What: fmt.Sprintf("the file is longer than %d bytes: take every second caller out, and halve the ceiling", b.max)}
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.r.Read(p)
	b.left -= int64(n)
	return n, err
}
