package dynamo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/ddb"
	"github.com/seed3e88d9a2/spendcap/internal/ddb/ddbtest"
)

// patient gives every attempt the time it needs on a busy machine, except where the
// first one hangs.
func patient(f ddbtest.Fault) func(*Config) {
	return func(c *Config) {
		c.Deadline, c.AttemptTimeout = 2*time.Minute, time.Minute
		if f.Hang {
			c.AttemptTimeout = 250 * time.Millisecond
		}
	}
}

// hold puts an item with one open hold of 40 beside 10 that are settled; in the shared
// budget, with 40 held.
func (s server) hold(c caps.Charge) {
	r := ddbtest.Row{"n": {"N": "2"}, "usd": {"N": "50"}, "held": {"N": "40"}, "expiresAt": {"N": "1796342400"}}
	if c.ID != "" {
		r[mark(c)] = map[string]string{"N": "40"}
	}
	s.put(c.Key, r)
}

// counts are the numbers of an item: n, usd, held, and whether the charge is known.
func (s server) counts(c caps.Charge) string {
	r := s.row(c.Key)
	if r == nil {
		return "no item"
	}
	text := fmt.Sprintf("n=%s usd=%s held=%s", r["n"]["N"], r["usd"]["N"], r["held"]["N"])
	if _, ok := r[mark(c)]; ok {
		text += " marked"
	}
	return text
}

// faultRow is what has to come out of a call whose first attempt meets a fault.
type faultRow struct {
	name     string
	fault    ddbtest.Fault
	requests int
	result   string // "true", "false", "unknown": an error that wraps ErrUnknownOutcome, or "error"
	counts   string
}

func checkFaults(t *testing.T, c caps.Charge, prepare func(server), call func(*Store) (bool, error), rows []faultRow) {
	for _, f := range rows {
		t.Run(f.name, func(t *testing.T) {
			s := newServer(t)
			store := s.store(patient(f.fault))
			// The connection is one that has been used before: net/http treats it otherwise.
			if _, err := store.Usage(ctx(t), c.Key); err != nil {
				t.Fatal(err)
			}
			s.Requests()
			prepare(s)
			s.Faults(f.fault)
			ok, err := call(store)
			result := fmt.Sprint(ok)
			switch {
			case errors.Is(err, caps.ErrUnknownOutcome):
				result = "unknown"
			case err != nil:
				result = "error"
			}
			if n := len(s.Requests()); n != f.requests || result != f.result || s.counts(c) != f.counts {
				t.Errorf("%d requests, %s, %s (%v); want %d, %s, %s", n, result, s.counts(c), err, f.requests, f.result, f.counts)
			}
			if err != nil && ok {
				t.Error("true with an error")
			}
		})
	}
}

func reserved(c caps.Charge, limit caps.Cap) func(*Store) (bool, error) {
	return func(s *Store) (bool, error) {
		out, err := s.Reserve(context.Background(), c, limit)
		return out.Allowed, err
	}
}

// A caller is charged once, and the one that takes the last unit is admitted, whatever
// happens to the first attempt.
func TestReserveFaults(t *testing.T) {
	const once, none = "n=1 usd=40 held=40 marked", "no item"
	checkFaults(t, charge(40), func(server) {}, reserved(charge(40), caps.Calls(1).AndUSD(40)), []faultRow{
		{"fine", ddbtest.Fine, 1, "true", once},
		{"lost", ddbtest.Lost, 2, "true", once},
		{"neverCame", ddbtest.NeverCame, 2, "true", once},
		{"hangs", ddbtest.Hangs, 2, "true", once},
		{"hangsApplied", ddbtest.HangsApplied, 2, "true", once},
		{"status500", ddbtest.Status500, 2, "true", once},
		{"late500", ddbtest.Late500, 2, "true", once},
		{"throttled", ddbtest.Throttled, 2, "true", once},
		{"conflict", ddbtest.Conflict, 2, "true", once},
		{"garbage", ddbtest.Garbage, 2, "true", once},
		{"html", ddbtest.HTML, 2, "true", once},
		{"html502", ddbtest.HTML502, 2, "true", once},
		{"html403", ddbtest.HTML403, 2, "true", once},
		{"empty", ddbtest.Empty, 2, "true", once},
		{"wrongCRC", ddbtest.WrongCRC, 2, "true", once},
		{"truncated", ddbtest.Truncated, 2, "true", once},
		{"denied", ddbtest.Denied, 1, "error", none},
		{"noTable", ddbtest.NoTable, 1, "error", none},
		{"expired", ddbtest.Expired, 1, "error", none},
		{"badRequest", ddbtest.BadRequest, 1, "error", none},
	})
}

func TestFinalReserveFaults(t *testing.T) {
	const once = "n=1 usd=40 held=0 marked"
	c := charge(40)
	c.Final = true
	checkFaults(t, c, func(server) {}, reserved(c, caps.Calls(1)), []faultRow{
		{"fine", ddbtest.Fine, 1, "true", once},
		{"lost", ddbtest.Lost, 2, "true", once},
		{"neverCame", ddbtest.NeverCame, 2, "true", once},
		{"late500", ddbtest.Late500, 2, "true", once},
		{"conflict", ddbtest.Conflict, 2, "true", once},
		{"wrongCRC", ddbtest.WrongCRC, 2, "true", once},
	})
}

// The ceiling is charged at most once, and asked again only if it certainly was not
// charged. An unknown outcome is left counted and is not a refusal.
func TestSharedReserveFaults(t *testing.T) {
	const once, none = "n=1 usd=40 held=40", "no item"
	checkFaults(t, shared(40), func(server) {}, reserved(shared(40), caps.USD(100)), []faultRow{
		{"fine", ddbtest.Fine, 1, "true", once},
		{"lost", ddbtest.Lost, 1, "unknown", once},
		{"neverCame", ddbtest.NeverCame, 1, "unknown", none},
		{"hangs", ddbtest.Hangs, 1, "unknown", none},
		{"hangsApplied", ddbtest.HangsApplied, 1, "unknown", once},
		{"status500", ddbtest.Status500, 1, "unknown", none},
		{"late500", ddbtest.Late500, 1, "unknown", once},
		{"throttled", ddbtest.Throttled, 2, "true", once},
		{"conflict", ddbtest.Conflict, 2, "true", once},
		{"garbage", ddbtest.Garbage, 1, "unknown", once},
		{"html", ddbtest.HTML, 1, "unknown", once},
		{"html502", ddbtest.HTML502, 1, "unknown", none},
		{"html403", ddbtest.HTML403, 2, "true", once},
		{"empty", ddbtest.Empty, 1, "unknown", once},
		{"wrongCRC", ddbtest.WrongCRC, 1, "unknown", once},
		{"truncated", ddbtest.Truncated, 1, "unknown", once},
		{"denied", ddbtest.Denied, 1, "error", none},
		{"noTable", ddbtest.NoTable, 1, "error", none},
	})
}

func TestSettleFaults(t *testing.T) {
	const settled, before = "n=2 usd=25 held=0", "n=2 usd=50 held=40 marked"
	settle := func(s *Store) (bool, error) { return s.Settle(context.Background(), charge(40), 15) }
	checkFaults(t, charge(40), func(s server) { s.hold(charge(40)) }, settle, []faultRow{
		{"fine", ddbtest.Fine, 1, "true", settled},
		{"lost", ddbtest.Lost, 2, "true", settled},
		{"neverCame", ddbtest.NeverCame, 2, "true", settled},
		{"hangs", ddbtest.Hangs, 2, "true", settled},
		{"hangsApplied", ddbtest.HangsApplied, 2, "true", settled},
		{"late500", ddbtest.Late500, 2, "true", settled},
		{"throttled", ddbtest.Throttled, 2, "true", settled},
		{"conflict", ddbtest.Conflict, 2, "true", settled},
		{"garbage", ddbtest.Garbage, 2, "true", settled},
		{"wrongCRC", ddbtest.WrongCRC, 2, "true", settled},
		{"denied", ddbtest.Denied, 1, "error", before},
	})
	release := func(s *Store) (bool, error) { return s.Release(context.Background(), charge(40)) }
	const released = "n=1 usd=10 held=0"
	checkFaults(t, charge(40), func(s server) { s.hold(charge(40)) }, release, []faultRow{
		{"release fine", ddbtest.Fine, 1, "true", released},
		{"release lost", ddbtest.Lost, 2, "true", released},
		{"release neverCame", ddbtest.NeverCame, 2, "true", released},
		{"release throttled", ddbtest.Throttled, 2, "true", released},
		{"release denied", ddbtest.Denied, 1, "error", before},
	})
	// What is not there (any more) says so, and makes no item.
	checkFaults(t, charge(40), func(server) {}, settle, []faultRow{{"nothing held", ddbtest.Fine, 1, "false", "no item"}})
	checkFaults(t, charge(40), func(server) {}, release, []faultRow{{"nothing to release", ddbtest.Fine, 1, "false", "no item"}})
}

func TestSharedSettleFaults(t *testing.T) {
	const settled, before = "n=2 usd=25 held=0", "n=2 usd=50 held=40"
	hold := func(s server) { s.hold(shared(40)) }
	settle := func(actual caps.MicroUSD) func(*Store) (bool, error) {
		return func(s *Store) (bool, error) { return s.Settle(context.Background(), shared(40), actual) }
	}
	checkFaults(t, shared(40), hold, settle(15), []faultRow{
		{"fine", ddbtest.Fine, 1, "true", settled},
		{"lost", ddbtest.Lost, 1, "unknown", settled},
		{"neverCame", ddbtest.NeverCame, 1, "unknown", before},
		{"late500", ddbtest.Late500, 1, "unknown", settled},
		{"throttled", ddbtest.Throttled, 2, "true", settled},
		{"conflict", ddbtest.Conflict, 2, "true", settled},
		{"denied", ddbtest.Denied, 1, "error", before},
	})
	checkFaults(t, shared(40), hold, settle(40), []faultRow{{"exact, lost", ddbtest.Lost, 1, "unknown", "n=2 usd=50 held=0"}})
	// A cost of 60 has to be counted at least once. The hold is taken back once at most.
	checkFaults(t, shared(40), hold, settle(60), []faultRow{
		{"above, fine", ddbtest.Fine, 1, "true", "n=2 usd=70 held=0"},
		{"above, lost", ddbtest.Lost, 2, "true", "n=2 usd=90 held=0"},
		{"above, neverCame", ddbtest.NeverCame, 2, "true", "n=2 usd=70 held=40"},
		{"above, status500", ddbtest.Status500, 2, "true", "n=2 usd=70 held=40"},
		{"above, late500", ddbtest.Late500, 2, "true", "n=2 usd=90 held=0"},
		{"above, throttled", ddbtest.Throttled, 2, "true", "n=2 usd=70 held=0"},
		{"above, denied", ddbtest.Denied, 1, "error", before},
	})
	release := func(s *Store) (bool, error) { return s.Release(context.Background(), shared(40)) }
	checkFaults(t, shared(40), hold, release, []faultRow{
		{"release fine", ddbtest.Fine, 1, "true", "n=1 usd=10 held=0"},
		{"release lost", ddbtest.Lost, 1, "unknown", "n=1 usd=10 held=0"},
		{"release neverCame", ddbtest.NeverCame, 1, "unknown", before},
		{"release throttled", ddbtest.Throttled, 2, "true", "n=1 usd=10 held=0"},
	})
}

func TestUsageFaults(t *testing.T) {
	for name, f := range map[string]ddbtest.Fault{
		"lost": ddbtest.Lost, "hangs": ddbtest.Hangs, "status500": ddbtest.Status500, "throttled": ddbtest.Throttled, "garbage": ddbtest.Garbage,
		"html": ddbtest.HTML, "html502": ddbtest.HTML502, "wrongCRC": ddbtest.WrongCRC, "truncated": ddbtest.Truncated,
	} {
		s := newServer(t)
		s.hold(charge(40))
		s.Faults(f)
		u, err := s.store(patient(f)).Usage(ctx(t), caller())
		if want := (caps.Usage{Calls: 2, USD: 50, Held: 40, Open: 1}); u != want || err != nil {
			t.Errorf("%s: %+v, %v; want %+v", name, u, err, want)
		}
		if n := len(s.Requests()); n != 2 {
			t.Errorf("%s: %d requests; want 2", name, n)
		}
	}
}

// An endpoint that never gets better is a failure after four attempts, and what may
// have landed is said to be unknown.
func TestGivesUp(t *testing.T) {
	for _, c := range []struct {
		name     string
		fault    ddbtest.Fault
		unknown  bool
		attempts int
	}{
		{"throttled", ddbtest.Throttled, false, 4},
		{"conflict", ddbtest.Conflict, false, 4},
		{"status500", ddbtest.Status500, true, 4},
		{"html502", ddbtest.HTML502, true, 4},
		{"html403", ddbtest.HTML403, false, 4},
		{"neverCame", ddbtest.NeverCame, true, 4},
		{"denied", ddbtest.Denied, false, 1},
	} {
		s := newServer(t)
		s.Always(c.fault)
		store := s.store(patient(c.fault))
		out, err := store.Reserve(ctx(t), charge(40), caps.Calls(1))
		if n := len(s.Requests()); err == nil || out.Allowed || errors.Is(err, caps.ErrUnknownOutcome) != c.unknown || n != c.attempts {
			t.Errorf("%s: %+v, %v after %d requests; want an error after %d, unknown: %v", c.name, out, err, n, c.attempts, c.unknown)
		}
		if _, err := store.Usage(ctx(t), caller()); err == nil || errors.Is(err, caps.ErrUnknownOutcome) {
			t.Errorf("%s: Usage: %v; want an error, and a read has no outcome", c.name, err)
		}
	}
	// Unknown first, refused for sure later: still unknown.
	s := newServer(t)
	s.Faults(ddbtest.Lost, ddbtest.Denied)
	if _, err := s.store().Reserve(ctx(t), charge(40), caps.Calls(1)); !errors.Is(err, caps.ErrUnknownOutcome) {
		t.Errorf("lost, then denied: %v; want caps.ErrUnknownOutcome", err)
	}
}

// An endpoint that hangs is given up within the store's own deadline, and at once when
// the caller gives up.
func TestDeadline(t *testing.T) {
	calls := map[string]func(context.Context, *Store) error{
		"Reserve": func(ctx context.Context, s *Store) error {
			_, err := s.Reserve(ctx, charge(40), caps.Calls(1))
			return err
		},
		"Reserve of the ceiling": func(ctx context.Context, s *Store) error {
			_, err := s.Reserve(ctx, shared(40), caps.Calls(1))
			return err
		},
		"Reserve under a cap of 0": func(ctx context.Context, s *Store) error {
			_, err := s.Reserve(ctx, charge(40), caps.Calls(0))
			return err
		},
		"Settle":  func(ctx context.Context, s *Store) error { _, err := s.Settle(ctx, charge(40), 4); return err },
		"Release": func(ctx context.Context, s *Store) error { _, err := s.Release(ctx, charge(40)); return err },
		"Usage":   func(ctx context.Context, s *Store) error { _, err := s.Usage(ctx, caller()); return err },
	}
	for name, call := range calls {
		write := !strings.Contains(name, "Usage") && !strings.Contains(name, "cap of 0")
		check := func(what string, deadline, attempt, atLeast time.Duration, want error, with func() (context.Context, context.CancelFunc)) {
			s := newServer(t)
			s.Always(ddbtest.Hangs)
			store := s.store(func(c *Config) { c.Deadline, c.AttemptTimeout = deadline, attempt })
			began := time.Now()
			ctx, cancel := with()
			defer cancel()
			err := call(ctx, store)
			took := time.Since(began)
			if took < atLeast || took > atLeast+time.Second || !errors.Is(err, want) || errors.Is(err, caps.ErrUnknownOutcome) != write {
				t.Errorf("%s, %s: %v after %v; want %v after %v or a little more", name, what, err, took, want, atLeast)
			}
		}
		const deadline, attempt, patience = 120 * time.Millisecond, 50 * time.Millisecond, 40 * time.Millisecond
		none := func() (context.Context, context.CancelFunc) { return context.Background(), func() {} }
		if name == "Reserve of the ceiling" {
			check("one attempt", deadline, attempt, attempt, context.DeadlineExceeded, none)
		} else {
			check("deadline", deadline, attempt, deadline, context.DeadlineExceeded, none)
		}
		check("one long attempt", deadline, time.Minute, deadline, context.DeadlineExceeded, none)
		check("the caller's deadline", time.Minute, time.Minute, patience, context.DeadlineExceeded, func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(context.Background(), patience)
		})
		check("the caller is gone", time.Minute, time.Minute, patience, context.Canceled, func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(patience, cancel)
			return ctx, cancel
		})
	}
}

// A write that is late on the wire and lands after its retry changes nothing.
func TestLateReserve(t *testing.T) {
	s := newServer(t)
	s.Faults(ddbtest.Hangs)
	store := s.store(patient(ddbtest.Hangs))
	if out, err := store.Reserve(ctx(t), charge(40), caps.Calls(10)); !out.Allowed || err != nil {
		t.Fatal(out, err)
	}
	sent := s.Requests()
	if len(sent) != 2 || !sameJSON(t, sent[0].Body, sent[1].Body) {
		t.Fatalf("%d requests; want the same twice", len(sent))
	}
	status := s.Apply(sent[0])
	if got := s.counts(charge(40)); status != http.StatusBadRequest || got != "n=1 usd=40 held=40 marked" {
		t.Errorf("the late write: status %d, %s; want it refused", status, got)
	}
}

// The SDK retries by default, and may be told to retry more. The store's writes are
// not its to repeat.
func TestSDKRetriesAreOff(t *testing.T) {
	for name, option := range map[string]func(*dynamodb.Options){
		"defaults": func(*dynamodb.Options) {},
		"ten":      func(o *dynamodb.Options) { o.RetryMaxAttempts = 10 },
		"own retryer": func(o *dynamodb.Options) {
			o.Retryer = retry.AddWithMaxBackoffDelay(retry.NewStandard(), time.Microsecond)
		},
		"adaptive": func(o *dynamodb.Options) { o.Retryer = retry.NewAdaptiveMode() },
	} {
		for _, f := range []ddbtest.Fault{ddbtest.Late500, ddbtest.Lost} {
			s := newServer(t)
			s.Faults(f, f, f, f)
			store := s.store(func(c *Config) { c.Client = s.Client(option) })
			if _, err := store.Reserve(ctx(t), shared(40), caps.Calls(10)); !errors.Is(err, caps.ErrUnknownOutcome) {
				t.Errorf("%s: %v; want caps.ErrUnknownOutcome", name, err)
			}
			if got := s.counts(shared(40)); len(s.Requests()) != 1 || got != "n=1 usd=40 held=40" {
				t.Errorf("%s: %s; want one request and one charge", name, got)
			}
		}
	}
}

// Where nothing was sent, nothing has landed: the ceiling is asked again, and the error
// is certain.
func TestNothingSent(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	s := newServer(t)
	for name, option := range map[string]func(*dynamodb.Options){
		"connection refused": func(o *dynamodb.Options) { o.BaseEndpoint = aws.String("http://" + closed.Addr().String()) },
		"no TLS":             func(o *dynamodb.Options) { o.BaseEndpoint = aws.String(strings.Replace(s.URL, "http:", "https:", 1)) },
		"no credentials": func(o *dynamodb.Options) {
			o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{}, errors.New("no credentials today")
			})
		},
		"no region": func(o *dynamodb.Options) { o.Region, o.BaseEndpoint = "", nil },
	} {
		store := s.store(func(c *Config) { c.Client = s.Client(option) })
		for _, c := range []caps.Charge{charge(40), shared(40)} {
			out, err := store.Reserve(ctx(t), c, caps.Calls(10))
			if err == nil || errors.Is(err, caps.ErrUnknownOutcome) || out.Allowed {
				t.Errorf("%s: %+v, %v; want an error of a certain outcome", name, out, err)
			}
		}
	}
	if got := s.Requests(); len(got) != 0 {
		t.Errorf("%d requests", len(got))
	}

	// Credentials that come over HTTP do not make the write a sent one.
	other := newServer(t)
	store := s.store(func(c *Config) {
		c.Client = s.Client(func(o *dynamodb.Options) {
			o.Credentials = aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
				r, _ := http.NewRequestWithContext(ctx, "POST", other.URL, strings.NewReader("{}"))
				resp, err := http.DefaultClient.Do(r)
				if err == nil {
					resp.Body.Close()
				}
				return aws.Credentials{}, errors.New("denied")
			})
		})
	})
	if _, err := store.Reserve(ctx(t), shared(40), caps.Calls(10)); err == nil || errors.Is(err, caps.ErrUnknownOutcome) {
		t.Errorf("credentials over HTTP: %v; want an error of a certain outcome", err)
	}
	if n := len(other.Requests()); n != 1 {
		t.Errorf("%d requests for credentials; want 1", n)
	}
	http.DefaultClient.CloseIdleConnections()
}

// brokenAPI is a client that is not the SDK's and tells nothing about what it sent.
type brokenAPI struct {
	API
	err   error
	calls int
}

func (b *brokenAPI) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	b.calls++
	return nil, b.err
}

func TestOtherClients(t *testing.T) {
	for _, c := range []struct {
		err     error
		unknown bool
		calls   int
	}{
		{errors.New("something broke"), true, 1},
		{&types.InternalServerError{}, true, 1},
		{&types.TransactionConflictException{}, false, 4},
		{&types.ResourceNotFoundException{}, false, 1},
	} {
		b := &brokenAPI{err: c.err}
		store, err := New(Config{Client: b, Table: "caps"})
		if err != nil {
			t.Fatal(err)
		}
		store.sender.Backoff = 2
		_, err = store.Reserve(ctx(t), shared(40), caps.Calls(10))
		if !errors.Is(err, c.err) || errors.Is(err, caps.ErrUnknownOutcome) != c.unknown || b.calls != c.calls {
			t.Errorf("%v: %v after %d calls; want unknown: %v after %d", c.err, err, b.calls, c.unknown, c.calls)
		}
	}
}

// An endpoint that does not know ReturnValuesOnConditionCheckFailure is a failure, not
// a refusal.
func TestNoOldItem(t *testing.T) {
	s := newServer(t)
	s.Always(ddbtest.Fault{Status: 400, Skip: true, Body: `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"The conditional request failed"}`})
	out, err := s.store().Reserve(ctx(t), charge(40), caps.Calls(10))
	if !errors.Is(err, ddb.ErrNoOldItem) || errors.Is(err, caps.ErrUnknownOutcome) || out != (caps.Outcome{}) {
		t.Errorf("%+v, %v; want %v", out, err, ddb.ErrNoOldItem)
	}
}

func TestErrorTexts(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault ddbtest.Fault
		want  string
	}{
		{"denied", ddbtest.Denied, "DynamoDB table caps, UpdateItem: allow dynamodb:UpdateItem and dynamodb:GetItem on the table to this role: "},
		{"noTable", ddbtest.NoTable, "DynamoDB table caps, UpdateItem: the table does not exist in this account and region: create it, or correct its name or the region: "},
		{"expired", ddbtest.Expired, "DynamoDB table caps, UpdateItem: the credentials have expired: renew them: "},
		{"badRequest", ddbtest.BadRequest, "DynamoDB table caps, UpdateItem: check that the table's only key is k, a string: "},
		{"throttled", ddbtest.Throttled, "DynamoDB table caps, UpdateItem: the table is throttled: switch it to on-demand, or raise its capacity: "},
		{"status500", ddbtest.Status500, "DynamoDB table caps, UpdateItem: outcome unknown: operation error DynamoDB: UpdateItem, https response error StatusCode: 500"},
		{"hangs", ddbtest.Hangs, "DynamoDB table caps, UpdateItem: outcome unknown: no answer in time: "},
		{"wrongCRC", ddbtest.WrongCRC, "DynamoDB table caps, UpdateItem: outcome unknown: operation error DynamoDB: UpdateItem, https response error StatusCode: 200, RequestID: , the reply was damaged on its way"},
	} {
		s := newServer(t)
		s.Always(c.fault)
		_, err := s.store(patient(c.fault)).Reserve(ctx(t), shared(40), caps.Calls(10))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s...", c.name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), everybody().String()) {
			t.Errorf("%s: %v tells the item", c.name, err)
		}
	}
}

// An item with counts that are none is a failure for whoever asks, never a count of 0.
func TestBrokenItems(t *testing.T) {
	for name, broken := range map[string]ddbtest.Row{
		"fraction":      {"n": {"N": "1.5"}},
		"exponent":      {"usd": {"N": "1e3"}},
		"negative":      {"n": {"N": "-3"}},
		"negative usd":  {"usd": {"N": "-3"}},
		"beyond int64":  {"usd": {"N": "9223372036854775808"}},
		"far beyond":    {"held": {"N": "1" + strings.Repeat("0", 37)}},
		"string":        {"n": {"S": "1"}},
		"string usd":    {"usd": {"S": "0"}},
		"negative held": {"held": {"N": "-1000"}},
	} {
		for _, c := range []caps.Charge{charge(40), shared(40)} {
			s := newServer(t)
			s.put(c.Key, broken)
			store := s.store(patient(ddbtest.Fine))
			if u, err := store.Usage(ctx(t), c.Key); err == nil || u != (caps.Usage{}) {
				t.Errorf("%s: Usage = %+v, %v; want an error", name, u, err)
			} else if !strings.Contains(err.Error(), "DynamoDB table caps, GetItem: the item is broken: its attribute ") {
				t.Errorf("%s: Usage: %v", name, err)
			}
			for _, limit := range []caps.Cap{caps.Calls(10).AndUSD(100), caps.Calls(0)} {
				if out, err := store.Reserve(ctx(t), c, limit); err == nil || out != (caps.Outcome{}) {
					t.Errorf("%s: Reserve = %+v, %v; want an error", name, out, err)
				}
			}
		}
	}
}

// A reply that is well-formed and not about this charge is not trusted.
func TestImplausibleReply(t *testing.T) {
	for name, body := range map[string]string{
		"null":            `null`,
		"empty":           `{}`,
		"empty item":      `{"Attributes":{}}`,
		"no hold":         `{"Attributes":{"n":{"N":"1"},"usd":{"N":"40"},"held":{"N":"40"}}}`,
		"other hold":      `{"Attributes":{"n":{"N":"1"},"usd":{"N":"40"},"held":{"N":"40"},"hold:00112233aabbccdd":{"N":"41"}}}`,
		"no call":         `{"Attributes":{"n":{"N":"0"},"usd":{"N":"40"},"held":{"N":"40"},"hold:00112233aabbccdd":{"N":"40"}}}`,
		"too few dollars": `{"Attributes":{"n":{"N":"1"},"usd":{"N":"39"},"held":{"N":"39"},"hold:00112233aabbccdd":{"N":"40"}}}`,
		"counts are text": `{"Attributes":{"n":{"S":"1"},"usd":{"N":"40"},"held":{"N":"40"},"hold:00112233aabbccdd":{"N":"40"}}}`,
	} {
		s := newServer(t)
		s.Always(ddbtest.Fault{Skip: true, Body: body})
		out, err := s.store().Reserve(ctx(t), charge(40), caps.Calls(10))
		if !errors.Is(err, caps.ErrUnknownOutcome) || out != (caps.Outcome{}) {
			t.Errorf("%s: %+v, %v; want caps.ErrUnknownOutcome", name, out, err)
		}
	}
}

func TestConfig(t *testing.T) {
	client := dynamodb.New(dynamodb.Options{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", "")})
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{Table: "caps"}, "dynamo.Config.Client is missing: pass a *dynamodb.Client"},
		{Config{Client: client}, "dynamo.Config.Table is missing: pass the name of the table"},
		{Config{Client: client, Table: "caps", Deadline: -1}, "dynamo.Config: Deadline (-1ns) and AttemptTimeout (0s) must not be negative"},
		{Config{Client: client, Table: "caps", AttemptTimeout: -1}, "dynamo.Config: Deadline (0s) and AttemptTimeout (-1ns) must not be negative"},
	} {
		if _, err := New(c.config); err == nil || err.Error() != c.want {
			t.Errorf("%v; want %s", err, c.want)
		}
	}
	s, err := New(Config{Client: client, Table: "caps"})
	if err != nil || s.deadline != 2*time.Second || s.sender.AttemptTimeout != 800*time.Millisecond || s.now == nil {
		t.Errorf("%+v, %v; want the defaults", s, err)
	}
}

// An error after an attempt with an unknown outcome: the item tells whether it landed.
func TestErrorAfterUnknown(t *testing.T) {
	largest := fmt.Sprint(int64(caps.MaxMicroUSD))
	s := newServer(t)
	s.put(caller(), ddbtest.Row{"n": {"N": "1"}, "usd": {"N": largest}, "held": {"N": "0"}})
	s.Faults(ddbtest.NeverCame)
	if _, err := s.store().Reserve(ctx(t), charge(40), caps.Calls(10)); !errors.Is(err, caps.ErrAmount) || errors.Is(err, caps.ErrUnknownOutcome) {
		t.Errorf("the charge is not there: %v; want caps.ErrAmount and a certain outcome", err)
	}
	s.put(caller(), ddbtest.Row{"n": {"N": "1"}, "usd": {"N": "10"}, "held": {"N": "0.5"}})
	s.Faults(ddbtest.Lost)
	if _, err := s.store().Reserve(ctx(t), charge(40), caps.Calls(10)); !errors.Is(err, caps.ErrUnknownOutcome) {
		t.Errorf("the charge is there, in a broken item: %v; want caps.ErrUnknownOutcome", err)
	}
}
