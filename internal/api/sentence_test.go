package api

import (
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
)

func TestSentence(t *testing.T) {
	for want, d := range map[string]caps.Decision{
		"You have used today's 1 call. Try again in 1 minute.":           {Cap: caps.Calls(1), RetryAfter: time.Minute},
		"You have used today's 10 calls. Try again in 59 seconds.":       {Cap: caps.Calls(10), RetryAfter: 59 * time.Second},
		"You have used today's 10 calls. Try again in 1 hour 1 minute.":  {Cap: caps.Calls(10), RetryAfter: time.Hour + time.Second},
		"Today's budget for everybody is used up. Try again in 2 hours.": {Scope: caps.ScopeGlobal, Cap: caps.Calls(10), RetryAfter: 2 * time.Hour},
		"This is closed at the moment.":                                  {Cap: caps.Calls(0).AndUSD(5), RetryAfter: time.Hour},
		"What is left of today's $0.05 ($0.0001) is too little for this call. Try again in 1 second.": {
			Cap: caps.Calls(10).AndUSD(50_000), Remaining: caps.Amount{Calls: 3, USD: 100}, RetryAfter: time.Second},
		"Today's $0.05 are used or held by calls that are still running, and what is left ($0.00) is too little for this call. Try again in 1 second.": {
			Cap: caps.USD(50_000), Held: 7, RetryAfter: time.Second},
	} {
		if got := sentence(d); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
