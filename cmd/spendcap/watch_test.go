package main

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/ddb/ddbtest"
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

// Ctrl-C ends a watch with success, and a command that waits for an answer with a failure
// that says why.
func TestCtrlC(t *testing.T) {
	table := ddbtest.New(t)
	arguments := []string{"status", "--dynamodb-endpoint", table.URL, "--config", "../../spendcap.yaml", "--json"}
	watch := exec.Command("spendcap", append(arguments, "--watch", "--interval", "1h")...)
	out, err := watch.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasPrefix(line, `{"day":`) {
		t.Errorf("%q %v", line, err)
	}
	watch.Process.Signal(os.Interrupt)
	if err := watch.Wait(); err != nil {
		t.Error(err)
	}

	asked := make(chan struct{}, 10)
	table.Script(func(int, ddbtest.Seen) ddbtest.Fault {
		asked <- struct{}{}
		return ddbtest.Hangs
	})
	var errs strings.Builder
	waits := exec.Command("spendcap", arguments...)
	waits.Stderr = &errs
	if err := waits.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	waits.Process.Signal(os.Interrupt)
	if err := waits.Wait(); err == nil || waits.ProcessState.ExitCode() != failure || errs.String() != "spendcap: interrupted\n" {
		t.Errorf("%v %q", err, errs.String())
	}
}
