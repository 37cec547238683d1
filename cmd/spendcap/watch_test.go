package main

import (
	"bufio"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/status"
)

// It looks at once, then at each interval, survives a look that fails, and ends with the
// context without an error.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 35*time.Second)
		defer cancel()
		var out, errs strings.Builder
		e := env{stdout: &out, stderr: &errs}
		looks := 0
		err := e.watch(ctx, statusOptions{interval: 10 * time.Second, json: true}, func() (*status.Report, error) {
			if looks++; looks == 2 {
				return nil, errors.New("throttled")
			}
			return &status.Report{Day: caps.DayOf(time.Now()), AsOf: time.Now()}, nil
		})
		if err != nil || looks != 4 || errs.String() != "spendcap status: throttled; looking again in 10s\n" {
			t.Errorf("%v after %d looks, %q", err, looks, errs.String())
		}
		lines := 0
		for s := bufio.NewScanner(strings.NewReader(out.String())); s.Scan(); lines++ {
			if !strings.HasPrefix(s.Text(), `{"day":"2000-01-01"`) || !strings.HasSuffix(s.Text(), "}") {
				t.Errorf("line %q", s.Text())
			}
		}
		if lines != 3 {
			t.Errorf("%d lines", lines)
		}
	})
}

func TestWatchFailsIfItCannotLookAtAll(t *testing.T) {
	e := env{stdout: new(strings.Builder), stderr: new(strings.Builder)}
	broken := errors.New("no table")
	if err := e.watch(t.Context(), statusOptions{interval: time.Second}, func() (*status.Report, error) { return nil, broken }); err != broken {
		t.Error(err)
	}
}
