package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"spendcap": main})
}

// process is a `spendcap dev` in a process of its own.
type process struct {
	*exec.Cmd
	edge, origin string        // URLs
	drained      chan struct{} // closed when it has written all
}

var urls = regexp.MustCompile(`(?m)^(edge|side door) +(http://\S+)`)

// start runs `spendcap dev` on free ports, and ends it with the test by Ctrl-C, which
// has to work.
func start(t testing.TB, env []string, args ...string) *process {
	t.Helper()
	p := startToKill(t, env, args...)
	t.Cleanup(func() {
		p.Process.Signal(syscall.SIGINT)
		<-p.drained
		if err := p.Wait(); err != nil {
			t.Errorf("spendcap dev did not end cleanly: %v", err)
		}
	})
	return p
}

// startToKill is start without the end.
func startToKill(t testing.TB, env []string, args ...string) *process {
	t.Helper()
	cmd := exec.Command("spendcap", append([]string{"dev", "-edge", "127.0.0.1:0", "-origin", "127.0.0.1:0", "-config", "../../spendcap.yaml"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: cmd, drained: make(chan struct{})}
	var banner strings.Builder
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "Ctrl-C ends it." {
		banner.WriteString(lines.Text() + "\n")
	}
	go func() { io.Copy(io.Discard, out); close(p.drained) }()
	for _, m := range urls.FindAllStringSubmatch(banner.String(), -1) {
		switch m[1] {
		case "edge":
			p.edge = m[2]
		case "side door":
			p.origin = m[2]
		}
	}
	if p.edge == "" || p.origin == "" {
		t.Fatalf("no addresses in the banner: %q", banner.String())
	}
	return p
}

func runForTest(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	code = run(context.Background(), env{&out, &errs, os.LookupEnv, time.Now}, args)
	return code, out.String(), errs.String()
}
