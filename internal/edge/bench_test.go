package edge_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// BenchmarkSystem measures what the local system costs around the handler: viewers on
// 16 kept connections, the edge, the side door and the client that measures, all in
// this process. p50 and p99 are what a viewer waits.
func BenchmarkSystem(b *testing.B) {
	edgeURL, sideDoor := newSystem(b, func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		return events.APIGatewayV2HTTPResponse{
			StatusCode: 200,
			Headers:    map[string]string{"content-type": "application/json", "cache-control": "no-store"},
			Body:       `{"capped":false}`,
		}, nil
	})
	for name, target := range map[string]string{"through the edge": edgeURL, "at the side door": sideDoor} {
		b.Run(name, func(b *testing.B) { measure(b, target, 16) })
	}
}

func measure(b *testing.B, target string, connections int) {
	u, err := url.Parse(target)
	if err != nil {
		b.Fatal(err)
	}
	request := "POST /api/demo/cap HTTP/1.1\r\nHost: site.example\r\nUser-Agent: bench\r\nAccept: */*\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
	var left atomic.Int64
	left.Store(int64(b.N))
	took := make([][]time.Duration, connections)
	conns := make([]net.Conn, connections)
	for i := range conns {
		if conns[i], err = net.Dial("tcp", u.Host); err != nil {
			b.Fatal(err)
		}
		defer conns[i].Close()
	}
	b.ReportAllocs()
	b.ResetTimer()
	var viewers sync.WaitGroup
	for i, conn := range conns {
		viewers.Go(func() {
			r := bufio.NewReader(conn)
			for left.Add(-1) >= 0 {
				started := time.Now()
				io.WriteString(conn, request)
				res, err := http.ReadResponse(r, nil)
				if err != nil {
					b.Error(err)
					return
				}
				body, err := io.ReadAll(res.Body)
				if err != nil || res.StatusCode != 200 || !strings.Contains(string(body), "capped") {
					b.Errorf("%d %s, %v", res.StatusCode, body, err)
					return
				}
				took[i] = append(took[i], time.Since(started))
			}
		})
	}
	viewers.Wait()
	b.StopTimer()
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	if len(all) == 0 {
		return
	}
	b.ReportMetric(float64(len(all))/b.Elapsed().Seconds(), "calls/s")
	b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
}
