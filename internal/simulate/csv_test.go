package simulate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
)

func read(text string) (*Traffic, error) {
	return ReadCSV(strings.NewReader(text), CSVDefaults{Day: testDay, Model: "small", Latency: 3 * time.Second})
}

func TestReadCSV(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		day  caps.Day
		want []Request
	}{
		"all columns, out of order": {
			"time,caller,model,input_tokens,cached_tokens,output_tokens,max_tokens,latency_ms\n" +
				"2026-11-30T10:00:00.5+02:00,bob,large,200,50,10,20,1500\n" +
				"2026-11-30T07:59:59Z,\"eve, the second\",small,1,0,0,1,0\n" +
				"2026-11-30T08:00:00.5Z,bob,small,1,0,0,1,0\n",
			testDay - 1,
			[]Request{
				{At: 8*time.Hour - time.Second, Caller: 1, Model: "small", InputTokens: 1, MaxTokens: 1},
				{At: 8*time.Hour + time.Second/2, Caller: 0, Model: "large", InputTokens: 200, CachedTokens: 50, OutputTokens: 10, MaxTokens: 20, Latency: 1500 * time.Millisecond},
				{At: 8*time.Hour + time.Second/2, Caller: 0, Model: "small", InputTokens: 1, MaxTokens: 1},
			},
		},
		"fewest columns, a mark, CRLF, spaces in names, an empty line, no end of line": {
			"\ufeffoutput_tokens, caller,input_bytes,time\r\n7,x,4000,23:59:59.999\r\n\r\n8,y,1,00:00:00",
			testDay,
			[]Request{
				{At: 0, Caller: 1, Model: "small", InputBytes: 1, OutputTokens: 8, Latency: 3 * time.Second},
				{At: 24*time.Hour - time.Millisecond, Caller: 0, Model: "small", InputBytes: 4000, OutputTokens: 7, Latency: 3 * time.Second},
			},
		},
		"tiers": {
			"time,caller,tier,input_bytes,output_tokens\n00:00:00,x,pro,1,0\n00:00:01,x,,1,0\n",
			testDay,
			[]Request{
				{Tier: "pro", Model: "small", InputBytes: 1, Latency: 3 * time.Second},
				{At: time.Second, Model: "small", InputBytes: 1, Latency: 3 * time.Second},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if got.Day != test.day || !slices.Equal(got.Requests, test.want) {
				t.Errorf("%v %+v\nwant %v %+v", got.Day, got.Requests, test.day, test.want)
			}
		})
	}
}

// Every error says where it is and what to write, and quotes nothing.
func TestReadCSVRefuses(t *testing.T) {
	const head = "time,caller,model,input_tokens,cached_tokens,output_tokens,max_tokens,latency_ms\n"
	row := func(column int, value string) string {
		values := strings.Split("09:30:00,someone,small,200,50,10,20,1500", ",")
		values[column] = value
		return head + "09:30:00,someone,small,200,50,10,20,1500\n" + strings.Join(values, ",") + "\n"
	}
	for _, test := range []struct{ text, want string }{
		{"", "line 1: the file is empty: begin with the columns' names"},
		{head, "line 1: there is no request below"},
		{"time;caller;input_tokens;output_tokens\n", "line 1: the columns are not separated by commas"},
		{"time,203.0.113.7,input_tokens,output_tokens\n", "line 1, column 2: no such column"},
		{"time,caller,Input_tokens,output_tokens\n", "line 1, column 3: no such column"},
		{"caller,input_tokens,output_tokens\n", "line 1, column time: missing"},
		{"time,input_tokens,output_tokens\n", "line 1, column caller: missing"},
		{"time,caller,input_tokens\n", "line 1, column output_tokens: missing"},
		{"time,caller,output_tokens\n", "line 1, column input_tokens: missing"},
		{"time,caller,output_tokens,time,input_tokens\n", "line 1, column time: named twice"},
		{"time,caller,input_bytes,input_tokens,output_tokens\n", "line 1, column input_bytes: there is input_tokens as well"},
		{"time,caller,input_bytes,cached_tokens,output_tokens\n", "line 1, column cached_tokens: these are a part of input_tokens"},
		{head + "09:30:00,203.0.113.7,small\n", "line 2: it has 3 values for 8 columns"},
		{head + "\n09:30:00,203.0.113.7,small,1,2,3,4,5,6\n", "line 3: it has 9 values for 8 columns"},
		{head + "09:30:00,\"203.0.113.7,small\n1,2,3", "line 2: a quote is not closed"},
		{head + "09:30:00,203.0\"113.7,small,1,2,3,4,5\n", "line 2: a quote is not closed, or stands inside"},
		{row(0, "9:30:00"), "line 3, column time: not a time: write 2026-12-01T09:30:00Z, or 09:30:00"},
		{row(0, "09:30"), "line 3, column time: not a time"},
		{row(0, "24:00:00"), "line 3, column time: not a time"},
		{row(0, "09:30:60"), "line 3, column time: not a time"},
		{row(0, " 09:30:00"), "line 3, column time: not a time"},
		{row(0, "203.0.113.7"), "line 3, column time: not a time"},
		{row(0, "\"09:30:00,5\""), "line 3, column time: not a time"},
		{row(0, "1764581400"), "line 3, column time: not a time"},
		{row(0, "2026-12-01 09:30:00"), "line 3, column time: not a time"},
		{row(0, "2026-12-01T9:30:00Z"), "line 3, column time: not a time"},
		{row(0, "2026-12-01T09:30:00"), "line 3, column time: not a time"},
		{row(0, "2026-12-01T09:30:00Z"), "line 3, column time: with a date in one line and without in another, see line 2"},
		{head + "2026-12-01T23:00:00Z,a,b,1,1,1,1,1\n2026-12-01T23:30:00-01:00,a,b,1,1,1,1,1\n", "line 3, column time: another UTC day than in line 2"},
		{row(1, ""), "line 3, column caller: empty"},
		{row(1, " someone"), "line 3, column caller: empty, longer than 256 bytes or with white space"},
		{row(1, strings.Repeat("x", 257)), "line 3, column caller: empty, longer"},
		{row(2, ""), "line 3, column model: empty"},
		{row(3, "0"), "line 3, column input_tokens: not a whole number from 1 to 100000000: write digits only, such as 120"},
		{row(3, "100000001"), "line 3, column input_tokens: not a whole number"},
		{row(3, "99999999999999999999"), "line 3, column input_tokens: not a whole number"},
		{row(3, "1e3"), "line 3, column input_tokens: not a whole number"},
		{row(3, "+200"), "line 3, column input_tokens: not a whole number"},
		{row(3, "0200"), "line 3, column input_tokens: not a whole number"},
		{row(3, ""), "line 3, column input_tokens: not a whole number"},
		{row(4, "201"), "line 3, column cached_tokens: more than input_tokens"},
		{row(4, "-1"), "line 3, column cached_tokens: not a whole number"},
		{row(5, "1.0"), "line 3, column output_tokens: not a whole number from 0"},
		{row(6, "0"), "line 3, column max_tokens: not a whole number from 1"},
		{row(7, "3600001"), "line 3, column latency_ms: not a whole number from 0 to 3600000"},
	} {
		_, err := read(test.text)
		var wrong *CSVError
		if !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%.200q:\n%v\nwant %s", test.text, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "203.0") {
			t.Errorf("quoted: %v", err)
		}
	}
}

// The memory is bounded whatever the file.
func TestReadCSVBounds(t *testing.T) {
	const head = "time,caller,input_bytes,output_tokens,model\n"
	_, err := readCSV(io.MultiReader(strings.NewReader(head+"\""), endless{}), CSVDefaults{}, 1<<20, 10)
	if err == nil || err.Error() != "the file is longer than 1048576 bytes: take every second caller out, and halve the ceiling" {
		t.Errorf("an endless value: %.200v", err)
	}
	three := head + strings.Repeat("00:00:00,a,1,1,m\n", 3)
	for _, test := range []struct {
		bytes int
		calls int
		want  string
	}{
		{len(three), 3, ""},
		{len(three) - 1, 3, "the file is longer than"},
		{len(three), 2, "line 4: more than 2 requests"},
	} {
		_, err := readCSV(strings.NewReader(three), CSVDefaults{}, int64(test.bytes), test.calls)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)) {
			t.Errorf("%d bytes, %d calls: %v; want %q", test.bytes, test.calls, err, test.want)
		}
	}
	var models strings.Builder
	models.WriteString(head)
	for i := range maxNames + 1 {
		fmt.Fprintf(&models, "00:00:00,a,1,1,m%d\n", i)
	}
	if _, err := read(models.String()); err == nil || !strings.HasPrefix(err.Error(), "line 1002, column model: more than 1000 different names") {
		t.Errorf("many models: %v", err)
	}
}

// endless never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

var errDisk = errors.New("the disk is broken")

// A file that cannot be read is not a file that is wrong.
func TestReadCSVBroken(t *testing.T) {
	for _, before := range []string{"", "time,caller,input_bytes,output_tokens\n00:00:00,a"} {
		if _, err := ReadCSV(io.MultiReader(strings.NewReader(before), broken{}), CSVDefaults{}); !errors.Is(err, errDisk) {
			t.Errorf("after %q: %v", before, err)
		}
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errDisk }

// FuzzReadCSV: whatever is read can be played, and whatever is not is a CSVError.
func FuzzReadCSV(f *testing.F) {
	f.Add("time,caller,input_tokens,output_tokens\n09:30:00,a,1,1\n")
	f.Add("time,caller,model,input_bytes,output_tokens,latency_ms\n2026-12-01T09:30:00Z,a,small,100,1,25000\n")
	f.Add("time,caller,input_tokens,cached_tokens,output_tokens,max_tokens\n09:30:00,\"a\",100000000,3,1,1\n")
	c := testConfig(caps.Calls(3), caps.USD(100_000))
	f.Fuzz(func(t *testing.T, text string) {
		traffic, err := read(text)
		if err != nil {
			var wrong *CSVError
			if !errors.As(err, &wrong) {
				t.Fatal(err)
			}
			return
		}
		r, err := Play(context.Background(), c, traffic)
		if err != nil {
			t.Fatal(err)
		}
		if err := invariants(r); err != nil {
			t.Fatal(err)
		}
	})
}
