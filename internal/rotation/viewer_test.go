package rotation_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed3e88d9a2/spendcap/internal/edge"
	"github.com/seed3e88d9a2/spendcap/internal/httpapi"
	"github.com/seed3e88d9a2/spendcap/internal/rotation"
)

// TestViewersThroughTenRotations calls through the local edge, all the time and from
// several clients, while ten rotations go through, each with its deployment at the
// edge and with the old secret retired. Not one call is refused.
func TestViewersThroughTenRotations(t *testing.T) {
	w := newWorld(t)
	var turn atomic.Int64
	sideDoor := httptest.NewServer(httpapi.New(httpapi.Config{
		Now: w.clock,
		Handler: func(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			lock := w.locks[int(turn.Add(1))%len(w.locks)]
			if ok, err := lock.CheckEvent(ctx, e); !ok || err != nil {
				return events.APIGatewayV2HTTPResponse{StatusCode: 401, Body: `{"error":"not_via_cloudfront"}`}, nil
			}
			return events.APIGatewayV2HTTPResponse{StatusCode: 200, Body: `{}`}, nil
		},
	}))
	defer sideDoor.Close()
	origin, err := url.Parse(sideDoor.URL)
	ok(t, err)
	e, err := edge.New(edge.Config{Origin: origin, Secret: firstSecret, Logger: slog.New(slog.DiscardHandler)})
	ok(t, err)
	defer e.Close()
	viewerSide := httptest.NewServer(e)
	defer viewerSide.Close()

	var calls, refused atomic.Int64
	call := func() {
		resp, err := http.Get(viewerSide.URL + "/api/cap")
		if err != nil {
			t.Error(err)
			return
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		calls.Add(1)
		if resp.StatusCode != 200 {
			refused.Add(1)
		}
	}
	// Half of the deployment passes before this edge hears of the new configuration.
	heard := map[string]time.Time{}
	w.onSleep = func() {
		config, _ := w.cloud.current()
		secret := originHeader(config, apiOrigin)
		if _, known := heard[secret]; !known {
			heard[secret] = w.clock().Add(w.cloud.deploy / 2)
		}
		call()
		if !w.clock().Before(heard[secret]) {
			e.SetSecret(secret)
		}
		call()
	}

	w.config.EdgeURL, w.config.SideDoorURL = viewerSide.URL+"/api/cap", sideDoor.URL+"/api/cap"
	w.rebuild()
	over := make(chan struct{})
	var viewers sync.WaitGroup
	for range 2 {
		viewers.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					call()
				}
			}
		})
	}
	for n := range 10 {
		previous := w.secrets.valueAt("AWSCURRENT")
		w.secrets.begin(token(n))
		ok(t, w.rotate(token(n)))
		w.finished(token(n), previous)
		w.pass(time.Hour)
		w.sleep(t.Context(), 5*time.Minute)
		ok(t, w.step(rotation.StepRetire, ""))
		if w.secrets.versionAt("AWSPREVIOUS") != "" {
			t.Fatal("the old secret was not retired")
		}
		w.sleep(t.Context(), 2*time.Minute)
	}
	close(over)
	viewers.Wait()
	t.Logf("%d calls during ten rotations", calls.Load())
	if refused.Load() != 0 || calls.Load() < 1000 {
		t.Errorf("%d of %d calls were refused", refused.Load(), calls.Load())
	}
	if _, updates := w.cloud.current(); updates != 10 {
		t.Errorf("%d updates", updates)
	}
}
