package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed3e88d9a2/spendcap/internal/ddb"
	"github.com/seed3e88d9a2/spendcap/internal/ddb/ddbtest"
	"github.com/seed3e88d9a2/spendcap/ratelimit"
)

// What each call sends, to the letter. 1796040000 is noon in seconds.
func TestRequests(t *testing.T) {
	s := ddbtest.New(t)
	store := newStore(t, s)
	out, err := store.Take(t.Context(), take(1, noon().Add(123*time.Microsecond)))
	if err != nil {
		t.Fatal(err)
	}
	mark, ok := strings.CutPrefix(string(out.Admission), "00:")
	if !ok || !strings.HasPrefix(mark, "1796040000001.") {
		t.Fatalf("admission %q; want the first slot, rounded up", out.Admission)
	}
	if ok, err := store.GiveBack(t.Context(), windowKey, out.Admission); !ok || err != nil {
		t.Fatal(ok, err)
	}
	sent := s.Requests()
	if len(sent) != 2 {
		t.Fatalf("%d requests; want 2", len(sent))
	}
	key := `"TableName":"limits","Key":{"k":{"S":"rate#` + windowKey + `"}},"ExpressionAttributeNames":{"#slot":"00"},`
	for i, want := range []string{
		`{` + key + `"UpdateExpression":"SET #slot = :mark, expiresAt = :ttl",
			"ConditionExpression":"attribute_not_exists(#slot) OR #slot <= :left OR #slot >= :ahead",
			"ExpressionAttributeValues":{":mark":{"N":"` + mark + `"},":left":{"N":"1796039940000.9999999"},":ahead":{"N":"1796043600000"},":ttl":{"N":"1796126460"}},
			"ReturnValues":"ALL_NEW","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`,
		`{` + key + `"UpdateExpression":"REMOVE #slot","ConditionExpression":"#slot = :mark","ExpressionAttributeValues":{":mark":{"N":"` + mark + `"}}}`,
	} {
		var a, b any
		if json.Unmarshal([]byte(sent[i].Body), &a) != nil || json.Unmarshal([]byte(want), &b) != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("sent %s\nwant %s", sent[i].Body, want)
		}
	}
}

// Whatever happens to the first attempt, one admission is recorded, and the one that
// takes the last slot is admitted.
func TestTakeFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fault         ddbtest.Fault
		requests      int
		failed        bool
		misconfigured bool
	}{
		"fine":         {ddbtest.Fine, 1, false, false},
		"lost":         {ddbtest.Lost, 2, false, false},
		"neverCame":    {ddbtest.NeverCame, 2, false, false},
		"hangs":        {ddbtest.Hangs, 2, false, false},
		"hangsApplied": {ddbtest.HangsApplied, 2, false, false},
		"status500":    {ddbtest.Status500, 2, false, false},
		"late500":      {ddbtest.Late500, 2, false, false},
		"throttled":    {ddbtest.Throttled, 2, false, false},
		"conflict":     {ddbtest.Conflict, 2, false, false},
		"garbage":      {ddbtest.Garbage, 2, false, false},
		"html":         {ddbtest.HTML, 2, false, false},
		"html502":      {ddbtest.HTML502, 2, false, false},
		"html403":      {ddbtest.HTML403, 2, false, false},
		"empty":        {ddbtest.Empty, 2, false, false},
		"wrongCRC":     {ddbtest.WrongCRC, 2, false, false},
		"truncated":    {ddbtest.Truncated, 2, false, false},
		"denied":       {ddbtest.Denied, 1, true, true},
		"noTable":      {ddbtest.NoTable, 1, true, true},
		"expired":      {ddbtest.Expired, 1, true, true},
		"badRequest":   {ddbtest.BadRequest, 1, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := ddbtest.New(t)
			store := newStore(t, s, func(c *Config) {
				if name == "hangs" || name == "hangsApplied" {
					c.AttemptTimeout = 250 * time.Millisecond
				}
			})
			if _, err := store.Take(t.Context(), take(3, noon())); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Take(t.Context(), take(3, noon())); err != nil {
				t.Fatal(err)
			}
			s.Requests()
			s.Faults(c.fault)
			out, err := store.Take(t.Context(), take(3, noon()))
			if n := len(s.Requests()); n != c.requests || (err != nil) != c.failed || errors.Is(err, ratelimit.ErrMisconfigured) != c.misconfigured {
				t.Errorf("%d requests, %+v, %v; want %d requests", n, out, err, c.requests)
			}
			if c.failed {
				if used(s) != 2 || out != (ratelimit.Outcome{}) {
					t.Errorf("%d slots, %+v", used(s), out)
				}
				return
			}
			if out.Admission == "" || out.Remaining != 0 || used(s) != 3 {
				t.Fatalf("%+v, %d slots; want the last one admitted", out, used(s))
			}
			if ok, err := store.GiveBack(t.Context(), windowKey, out.Admission); !ok || err != nil || used(s) != 2 {
				t.Errorf("GiveBack = %v, %v, %d slots; want it gone", ok, err, used(s))
			}
		})
	}
}

func TestGiveBackFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fault    ddbtest.Fault
		requests int
		ok       bool
		left     int
	}{
		"fine":      {ddbtest.Fine, 1, true, 0},
		"lost":      {ddbtest.Lost, 2, true, 0},
		"neverCame": {ddbtest.NeverCame, 2, true, 0},
		"late500":   {ddbtest.Late500, 2, true, 0},
		"throttled": {ddbtest.Throttled, 2, true, 0},
		"denied":    {ddbtest.Denied, 1, false, 1},
	} {
		s := ddbtest.New(t)
		store := newStore(t, s)
		out, err := store.Take(t.Context(), take(3, noon()))
		if err != nil {
			t.Fatal(err)
		}
		s.Requests()
		s.Faults(c.fault)
		ok, err := store.GiveBack(t.Context(), windowKey, out.Admission)
		if n := len(s.Requests()); ok != c.ok || (err == nil) != c.ok || n != c.requests || used(s) != c.left {
			t.Errorf("%s: %v, %v after %d requests, %d slots; want %+v", name, ok, err, n, used(s), c)
		}
	}
}

// A slot that somebody else took while our reply was lost is theirs, also if it was in
// the same millisecond; the take goes on with another.
func TestLostToARival(t *testing.T) {
	s := ddbtest.New(t)
	store, rival := newStore(t, s), newStore(t, s)
	if _, err := rival.Take(t.Context(), take(1, noon().Add(-time.Hour))); err != nil {
		t.Fatal(err)
	}
	came := make(chan struct{})
	s.Script(func(n int, _ ddbtest.Seen) ddbtest.Fault {
		if n != 1 {
			return ddbtest.Fine
		}
		close(came)
		return ddbtest.NeverCame
	})
	done := make(chan struct{})
	store.sender.Backoff = 400 * time.Millisecond // time for the rival
	go func() {
		defer close(done)
		out, err := store.Take(context.Background(), take(1, noon()))
		if err != nil || out.Admission != "" {
			t.Errorf("%+v, %v; want it refused", out, err)
		}
	}()
	<-came
	if out, err := rival.Take(t.Context(), take(1, noon())); err != nil || out.Admission == "" {
		t.Errorf("the rival: %+v, %v; want it admitted", out, err)
	}
	<-done
}

// A write that is late on the wire and lands after its retry changes nothing.
func TestLateTake(t *testing.T) {
	s := ddbtest.New(t)
	s.Faults(ddbtest.NeverCame)
	store := newStore(t, s)
	if out, err := store.Take(t.Context(), take(5, noon())); out.Admission == "" || err != nil {
		t.Fatal(out, err)
	}
	before := s.Row("rate#" + windowKey)
	if status := s.Apply(s.Requests()[0]); status != 400 || !reflect.DeepEqual(before, s.Row("rate#"+windowKey)) {
		t.Errorf("the late write: status %d, %v", status, s.Row("rate#"+windowKey))
	}
}

// The SDK retries by default, and may be told to retry more. The store's writes are not
// its to repeat.
func TestSDKRetriesAreOff(t *testing.T) {
	for name, option := range map[string]func(*dynamodb.Options){
		"defaults": func(*dynamodb.Options) {},
		"ten":      func(o *dynamodb.Options) { o.RetryMaxAttempts = 10 },
		"adaptive": func(o *dynamodb.Options) { o.Retryer = retry.NewAdaptiveMode() },
	} {
		s := ddbtest.New(t)
		s.Always(ddbtest.Late500)
		store := newStore(t, s, func(c *Config) { c.Client = s.Client(option) })
		if out, err := store.Take(t.Context(), take(5, noon())); err == nil || out != (ratelimit.Outcome{}) {
			t.Errorf("%s: %+v, %v; want an error", name, out, err)
		}
		if n := len(s.Requests()); n != 4 || used(s) != 1 {
			t.Errorf("%s: %d requests, %d slots; want 4 and one admission", name, n, used(s))
		}
	}
}

// An endpoint that hangs is given up within the store's own deadline, and at once when
// the caller gives up.
func TestDeadline(t *testing.T) {
	s := ddbtest.New(t)
	s.Always(ddbtest.Hangs)
	store := newStore(t, s, func(c *Config) { c.Deadline, c.AttemptTimeout = 120*time.Millisecond, 50*time.Millisecond })
	if _, err := store.Take(t.Context(), take(5, noon())); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v; want the deadline", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Millisecond)
	defer cancel()
	patient := newStore(t, s)
	if _, err := store.GiveBack(t.Context(), windowKey, "00:1796040000000.5"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v; want the deadline", err)
	}
	if _, err := patient.Take(ctx, take(5, noon())); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v; want the caller's deadline", err)
	}
	// A rule may give more time than the store would take.
	s.Faults(ddbtest.Hangs, ddbtest.Hangs, ddbtest.Fine)
	generous, cancelGenerous := context.WithTimeout(t.Context(), time.Minute)
	defer cancelGenerous()
	short := newStore(t, s, func(c *Config) { c.Deadline, c.AttemptTimeout = 1, 50*time.Millisecond })
	if out, err := short.Take(generous, take(5, noon())); out.Admission == "" || err != nil {
		t.Errorf("%+v, %v; want the third attempt admitted", out, err)
	}
}

func TestErrorTexts(t *testing.T) {
	for want, f := range map[string]ddbtest.Fault{
		"misconfigured: DynamoDB table limits, UpdateItem: allow dynamodb:UpdateItem":                                   ddbtest.Denied,
		"misconfigured: DynamoDB table limits, UpdateItem: the table does not exist in this account and region":         ddbtest.NoTable,
		"DynamoDB table limits, UpdateItem: the table is throttled: ":                                                   ddbtest.Throttled,
		"DynamoDB table limits, UpdateItem: operation error DynamoDB: UpdateItem, https response error StatusCode: 500": ddbtest.Status500,
	} {
		s := ddbtest.New(t)
		s.Always(f)
		_, err := newStore(t, s).Take(t.Context(), take(5, noon()))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v\nwant %s...", err, want)
		}
		if err != nil && strings.Contains(err.Error(), windowKey) {
			t.Errorf("%v tells the key", err)
		}
	}
}

// An item that was not written by this package, and an endpoint that does not know what
// is asked, are failures and never a window with room.
func TestBroken(t *testing.T) {
	for _, broken := range []map[string]string{{"S": "1796040000000"}, {"N": "1796040000000.12345678"}} {
		s := ddbtest.New(t)
		s.Put("rate#"+windowKey, ddbtest.Row{"01": broken, "00": {"N": "1796040000000.5"}})
		store := newStore(t, s)
		for range 4 {
			out, err := store.Take(t.Context(), take(2, noon()))
			if err == nil || out != (ratelimit.Outcome{}) || !strings.Contains(err.Error(), "the item is broken: its attribute 01 is not a ") {
				t.Errorf("%v: %+v, %v; want an error", broken, out, err)
			}
		}
	}
	s := ddbtest.New(t)
	s.Always(ddbtest.Fault{Status: 400, Skip: true, Body: `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"The conditional request failed"}`})
	if _, err := newStore(t, s).Take(t.Context(), take(5, noon())); !errors.Is(err, ddb.ErrNoOldItem) {
		t.Errorf("%v; want %v", err, ddb.ErrNoOldItem)
	}
}

func TestConfig(t *testing.T) {
	client := ddbtest.New(t).Client()
	for want, c := range map[string]Config{
		"dynamo.Config.Client is missing: pass a *dynamodb.Client":                    {Table: "limits"},
		"dynamo.Config.Table is missing: pass the name of the table":                  {Client: client},
		"dynamo.Config: Deadline (-1ns) and AttemptTimeout (0s) must not be negative": {Client: client, Table: "limits", Deadline: -1},
		"dynamo.Config: Deadline (0s) and AttemptTimeout (-1ns) must not be negative": {Client: client, Table: "limits", AttemptTimeout: -1},
	} {
		if _, err := New(c); err == nil || err.Error() != want {
			t.Errorf("%v; want %s", err, want)
		}
	}
	s, err := New(Config{Client: client, Table: "limits"})
	if err != nil || s.deadline != time.Second || s.sender.AttemptTimeout != 300*time.Millisecond {
		t.Errorf("%+v, %v; want the defaults", s, err)
	}
}
