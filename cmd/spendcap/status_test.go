package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/ddb/ddbtest"
	"github.com/seed3e88d9a2/spendcap/internal/status"
)

// The program on 100,000 callers of a day: right, with its progress, in exactly the reads
// that reached the table, within the bound that the help states. Package status has the
// same with every kind of item, and the memory.
func TestStatusOfHundredThousandCallers(t *testing.T) {
	const callers = 100_000
	table := ddbtest.New(t)
	table.Table = "spendcap"
	day, err := caps.ParseDay("2026-01-02")
	if err != nil {
		t.Fatal(err)
	}
	used := 0
	for i := range callers {
		used += i % 1000
		table.Put(caps.ItemKey{Budget: "caller", Day: day, Caller: fmt.Sprintf("%032x", i)}.String(),
			ddbtest.Row{"n": {"N": "1"}, "usd": {"N": fmt.Sprint(i % 1000)}, "held": {"N": "0"}})
	}
	arguments := []string{"status", "--dynamodb-endpoint", table.URL, "--config", "../../spendcap.yaml", "--day", day.String(), "--json", "--progress", "--read-units", "1000000"}
	code, stdout, stderr := runForTest(t, arguments...)
	var got struct {
		Complete bool
		Budgets  []struct {
			Seen, Calls int64
			Used        string
			Top         []struct{ Key, Used string }
		}
		Reads struct{ Pages int }
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != success {
		t.Fatalf("%d %v %s", code, err, stderr)
	}
	b := got.Budgets[0]
	if !got.Complete || b.Seen != callers || b.Calls != callers || b.Used != caps.MicroUSD(used).String() || len(b.Top) != 10 || b.Top[9].Key != fmt.Sprintf("%032x", 9999) || b.Top[9].Used != "0.000999" {
		t.Errorf("%+v", got)
	}
	scans := 0
	for _, r := range table.Requests() {
		if r.Operation == "Scan" {
			scans++
		}
	}
	if lines := strings.Count(stderr, "reading the table: "); scans != got.Reads.Pages || lines != scans || scans < 6 || scans > 13 || !strings.Contains(stderr, ", 100000 items\n") {
		t.Errorf("%d Scan reached the table, %d are told, %d lines of progress:\n%s", scans, got.Reads.Pages, lines, stderr)
	}

	code, stdout, _ = runForTest(t, append(arguments, "--max-reads", "2")...)
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != success || got.Complete || got.Reads.Pages != 2 || len(table.Requests()) != 2+1 {
		t.Errorf("%d %v %+v with --max-reads 2", code, err, got)
	}
	_, help, _ := runForTest(t, "status", "--help")
	units := strings.Replace(fmt.Sprint(status.DefaultMaxReads*status.UnitsPerRead), "12800", "12,800", 1)
	for _, part := range []string{fmt.Sprintf("(%d: %[1]d MB, %s units, 0.0016 dollars", status.DefaultMaxReads, units), "100,000 callers are about 13 reads", "--max-reads N"} {
		if !strings.Contains(strings.ReplaceAll(help, "\n", " "), part) {
			t.Errorf("the help does not state %q", part)
		}
	}
}
