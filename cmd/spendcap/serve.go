package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// reachable is how a listener is reached from this machine: one on every address, on
// loopback.
func reachable(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return a.String()
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
}

func listen(addr, flag string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is taken already: choose another address with --%s HOST:PORT", addr, flag)
	case err != nil:
		return nil, fmt.Errorf("--%s: %w: give HOST:PORT, such as 127.0.0.1:9080", flag, err)
	}
	return l, nil
}

type server struct {
	listener net.Listener
	handler  http.Handler
}

// serve runs the servers until one fails or ctx ends, then lets running requests
// finish for a few seconds. Edges come first: they stop before what they ask.
func serve(ctx context.Context, log *slog.Logger, servers ...server) error {
	group, ctx := errgroup.WithContext(ctx)
	var running []*http.Server
	for _, s := range servers {
		h := &http.Server{Handler: s.handler, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
		running = append(running, h)
		group.Go(func() error {
			if err := h.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		})
	}
	group.Go(func() error {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		for _, h := range running {
			if h.Shutdown(grace) != nil {
				h.Close()
			}
		}
		return nil
	})
	return group.Wait()
}
