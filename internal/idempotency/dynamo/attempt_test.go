package dynamo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go"

	"github.com/seed3e88d9a2/spendcap/internal/idempotency"
)

// fault is something that goes wrong with one attempt, before or after the update has
// reached the table.
type fault func(w http.ResponseWriter, r *http.Request, tb *table)

// The update lands, and its reply does not.
func landsWithoutReply(w http.ResponseWriter, r *http.Request, tb *table) {
	tb.answer(r)
	cut(w, r, tb)
}

// The update lands, and its reply is not what DynamoDB says.
func landsWithGarbage(w http.ResponseWriter, r *http.Request, tb *table) {
	tb.answer(r)
	reply(w, 200, `{"Attributes":`)
}

// The update lands, and its reply is late.
func landsAndHangs(w http.ResponseWriter, r *http.Request, tb *table) {
	tb.answer(r)
	<-r.Context().Done()
}

// The connection ends before the update lands.
func cut(w http.ResponseWriter, r *http.Request, _ *table) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	conn.Close()
}

func fails(status int, code string) fault {
	return func(w http.ResponseWriter, r *http.Request, _ *table) { reply(w, status, failure(code)) }
}

func failsWithoutCode(status int) fault {
	return func(w http.ResponseWriter, r *http.Request, _ *table) { reply(w, status, "<html>") }
}

// faulty lets the first attempts meet the faults; later ones reach the table. It
// counts them.
func faulty(t *testing.T, tb *table, faults ...fault) (*Store, *atomic.Int64) {
	var attempts atomic.Int64
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := int(attempts.Add(1)); n <= len(faults) {
			faults[n-1](w, r, tb)
			return
		}
		tb.ServeHTTP(w, r)
	}))
	return s, &attempts
}

var passing = map[string]fault{
	"the reply is lost":           landsWithoutReply,
	"the reply is garbage":        landsWithGarbage,
	"the connection is cut":       cut,
	"throttled":                   fails(400, "ProvisionedThroughputExceededException"),
	"throttled by the account":    fails(400, "RequestLimitExceeded"),
	"throttled by key range":      fails(400, "ThrottlingException"),
	"broken on the other side":    fails(500, "InternalServerError"),
	"unavailable":                 fails(503, "ServiceUnavailable"),
	"unavailable, says a gateway": failsWithoutCode(502),
	"forbidden, says a gateway":   failsWithoutCode(403),
}

// Whatever goes wrong with the attempts before the last, a call does its work once.
func TestFaultsThatPass(t *testing.T) {
	for name, f := range passing {
		t.Run(name, func(t *testing.T) {
			tb, c := newTable(), newClaim()
			want := int64(defaultLimits.attempts)
			again := func() (*Store, func()) {
				t.Helper()
				s, attempts := faulty(t, tb, f, f, f)
				return s, func() {
					t.Helper()
					if n := attempts.Load(); n != want {
						t.Errorf("%d attempts, want %d", n, want)
					}
				}
			}

			s, check := again()
			if r, claimed, err := s.Claim(t.Context(), c); !claimed || err != nil {
				t.Fatalf("Claim = %v, %v, %v", r, claimed, err)
			}
			check()

			s, check = again()
			if kept, err := s.Keep(t.Context(), c.Item, c.ID, []byte("sealed"), now.Add(time.Hour)); !kept || err != nil {
				t.Errorf("Keep = %v, %v", kept, err)
			}
			check()

			rival := c
			rival.ID[0]++
			s, check = again()
			if r, claimed, err := s.Claim(t.Context(), rival); claimed || err != nil || string(r.Answer) != "sealed" || r.Claim != c.ID {
				t.Errorf("the rival's Claim = %v, %v, %v", r, claimed, err)
			}
			check()

			rival.Item += "0"
			if _, claimed, err := serve(t, tb).Claim(t.Context(), rival); !claimed || err != nil {
				t.Fatalf("Claim = %v, %v", claimed, err)
			}
			s, check = again()
			if _, err := s.Free(t.Context(), rival.Item, rival.ID); err != nil {
				t.Errorf("Free: %v", err)
			}
			check()
			if old := tb.items[rival.Item]; old["freeAt"] != nil || old["claim"] != nil {
				t.Errorf("after Free: %v", old)
			}
		})
	}
}

func TestFaultsThatStay(t *testing.T) {
	for name, f := range passing {
		t.Run(name, func(t *testing.T) {
			c := newClaim()
			s, attempts := faulty(t, newTable(), f, f, f, f)
			if r, claimed, err := s.Claim(t.Context(), c); claimed || err == nil || r.Answer != nil {
				t.Errorf("Claim = %v, %v, %v; want an error", r, claimed, err)
			}
			if n := attempts.Load(); n != 4 {
				t.Errorf("%d attempts, want 4", n)
			}
		})
	}
}

func TestFaultsForGood(t *testing.T) {
	for name, f := range map[string]fault{
		"wrong":         fails(400, "ValidationException"),
		"forbidden":     fails(400, "AccessDeniedException"),
		"no such table": fails(400, "ResourceNotFoundException"),
		"expired":       fails(400, "ExpiredTokenException"),
	} {
		t.Run(name, func(t *testing.T) {
			c := newClaim()
			s, attempts := faulty(t, newTable(), f)
			if kept, err := s.Keep(t.Context(), c.Item, c.ID, []byte("sealed"), now); kept || err == nil || !strings.HasPrefix(err.Error(), "DynamoDB table spendcap: ") {
				t.Errorf("Keep = %v, %v; want an error", kept, err)
			}
			if n := attempts.Load(); n != 1 {
				t.Errorf("%d attempts, want 1", n)
			}
			s, _ = faulty(t, newTable(), f)
			if freed, err := s.Free(t.Context(), c.Item, c.ID); freed || err == nil {
				t.Errorf("Free = %v, %v; want an error", freed, err)
			}
		})
	}
}

// An attempt that gets no answer is given up in time for another one.
func TestSlowAttempt(t *testing.T) {
	c := newClaim()
	s, attempts := faulty(t, newTable(), landsAndHangs, landsAndHangs)
	s.limits.attempt = 50 * time.Millisecond
	if _, claimed, err := s.Claim(t.Context(), c); !claimed || err != nil {
		t.Errorf("Claim = %v, %v", claimed, err)
	}
	if n := attempts.Load(); n != 3 {
		t.Errorf("%d attempts, want 3", n)
	}
}

func TestContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, attempts := faulty(t, newTable(), func(w http.ResponseWriter, r *http.Request, _ *table) {
		io.Copy(io.Discard, r.Body) // the server sees the connection end only after the body
		cancel()
		<-r.Context().Done()
	})
	if _, claimed, err := s.Claim(ctx, newClaim()); claimed || !errors.Is(err, context.Canceled) {
		t.Errorf("Claim = %v, %v; want it canceled", claimed, err)
	}
	if n := attempts.Load(); n != 1 {
		t.Errorf("%d attempts, want 1", n)
	}
}

// The time that a call may take is the sum of what its attempts may, up to a total.
func TestLimits(t *testing.T) {
	failed := errors.New("failed")
	for name, test := range map[string]struct {
		takes    time.Duration // each attempt, unless it is cut off
		err      error
		attempts int
		least    time.Duration
		most     time.Duration
	}{
		"hangs":      {time.Hour, failed, 3, 2 * time.Second, 2 * time.Second},
		"is refused": {0, failed, 4, 0, 350 * time.Millisecond},
		"is refused late": {
			500 * time.Millisecond, failed, 4, 2 * time.Second, 2 * time.Second,
		},
		"is wrong": {0, &smithy.GenericAPIError{Code: "ValidationException"}, 1, 0, 0},
		"succeeds": {100 * time.Millisecond, nil, 1, 100 * time.Millisecond, 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, attempts := time.Now(), 0
				err := defaultLimits.run(t.Context(), func(ctx context.Context) error {
					attempts++
					if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > 700*time.Millisecond {
						t.Errorf("attempt %d may take until %v", attempts, deadline)
					}
					select {
					case <-ctx.Done():
					case <-time.After(test.takes):
					}
					return test.err
				})
				took := time.Since(began)
				if err != test.err || attempts != test.attempts || took < test.least || took > test.most {
					t.Errorf("%d attempts in %v: %v; want %d in %v to %v: %v", attempts, took, err, test.attempts, test.least, test.most, test.err)
				}
			})
		})
	}
}

// No more may be written than one claim, however the replies are lost among rivals.
func TestRivalsWithLostReplies(t *testing.T) {
	tb := newTable()
	var n atomic.Int64
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1)%3 != 0 {
			landsWithoutReply(w, r, tb)
			return
		}
		tb.ServeHTTP(w, r)
	}))
	s.limits.attempts = 50
	const rivals = 40
	results := make(chan string, rivals)
	for i := range rivals {
		go func() {
			c := newClaim()
			c.ID[0] = byte(i)
			r, claimed, err := s.Claim(t.Context(), c)
			if claimed {
				r.Claim = c.ID
			}
			results <- fmt.Sprintln(claimed, r.Claim, err)
		}()
	}
	seen := make(map[string]int)
	for range rivals {
		seen[<-results]++
	}
	winner := idempotency.ClaimID{1, 2, 3}
	for i := range rivals {
		winner[0] = byte(i)
		if seen[fmt.Sprintln(true, winner, nil)] == 1 && seen[fmt.Sprintln(false, winner, nil)] == rivals-1 {
			return
		}
	}
	t.Errorf("one of %d is to be granted, and the others are to see it: %v", rivals, seen)
}
