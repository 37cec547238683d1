// Package metrics writes what happened to each request as one line in the CloudWatch
// embedded metric format, from which CloudWatch Logs makes metrics without a call of
// ours
// (https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html).
//
// There is nothing in a line that stands for a caller. The only dimension is the
// service: every further one multiplies the metrics that are paid for.
package metrics

import (
	"context"
	"io"
	"sync"
	"time"
)

// Namespace is the CloudWatch namespace of all metrics, and ServiceDimension the name
// of their one dimension.
const (
	Namespace        = "spendcap"
	ServiceDimension = "service"
)

// DefaultService is the value of the dimension if none is set.
const DefaultService = "spendcap"

// Metrics writes lines to one writer. It is safe for concurrent use, and a nil
// *Metrics makes requests that record nothing.
type Metrics struct {
	// Service is the value of the dimension, such as the name of the function, 1 to 1024
	// ASCII characters. It tells two deployments in one account apart. It must not be
	// changed once there are requests.
	Service string

	now func() time.Time

	mu sync.Mutex // one line at a time
	w  io.Writer
}

// New returns a Metrics that writes to w, which in Lambda is the standard output. now
// tells the time.
func New(w io.Writer, now func() time.Time) *Metrics {
	return &Metrics{Service: DefaultService, now: now, w: w}
}

// Request starts the record of one request.
func (m *Metrics) Request() *Request {
	if m == nil {
		return nil
	}
	return &Request{m: m, began: m.now()}
}

// Request is the record of one request. It is safe for concurrent use, and a nil
// *Request records nothing.
type Request struct {
	m     *Metrics
	began time.Time

	mu       sync.Mutex
	route    string
	counters [counters]int64 // 0 is not written: no data is no event
	gauges   [gauges]int64
	set      [gauges]bool
	timers   [timers]samples
}

// samples are the values of one timer, as many as the format lets one member have.
type samples struct {
	n      int
	first  [8]time.Duration // no request of ours makes more store calls than this
	others []time.Duration
}

// mostSamples is the limit of the format for an array of values.
const mostSamples = 100

func (s *samples) add(d time.Duration) {
	switch {
	case s.n == mostSamples:
		return
	case s.n < len(s.first):
		s.first[s.n] = d
	default:
		s.others = append(s.others, d)
	}
	s.n++
}

func (s *samples) at(i int) time.Duration {
	if i < len(s.first) {
		return s.first[i]
	}
	return s.others[i-len(s.first)]
}

// Count adds one.
func (r *Request) Count(c Counter) { r.Add(c, 1) }

// Add adds n, which is not negative.
func (r *Request) Add(c Counter, n int64) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counters[c] += n
}

// Set records a value of now; the last one of a request stays.
func (r *Request) Set(g Gauge, n int64) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gauges[g], r.set[g] = n, true
}

// Duration records how long something took. The format takes a hundred values of one
// timer in a line; more are dropped.
func (r *Request) Duration(t Timer, d time.Duration) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timers[t].add(d)
}

// Route notes which endpoint answered. It can be searched for in the logs and is no
// dimension. It has to be a name from our own list, never what the viewer sent.
func (r *Request) Route(name string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.route = name
}

// Flush writes the line, in one write, with the time since the request began as its
// [Latency]. What is recorded afterwards goes into the line of the next Flush. That a
// line cannot be written is not reported: the answer to the viewer does not depend on
// it.
func (r *Request) Flush() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.m.now()
	r.timers[Latency].add(now.Sub(r.began))

	buf := lines.Get().(*[]byte)
	defer lines.Put(buf)
	// The line is of the moment the request began: the ceiling of a day must not be told
	// as the next one's when a call runs over midnight.
	*buf = r.line((*buf)[:0], r.began)

	r.counters, r.set, r.timers = [counters]int64{}, [gauges]bool{}, [timers]samples{}
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	r.m.w.Write(*buf)
}

var lines = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

type contextKey struct{}

// NewContext returns a context that carries r to where it is recorded, such as the
// store of [Store].
func NewContext(ctx context.Context, r *Request) context.Context {
	return context.WithValue(ctx, contextKey{}, r)
}

// FromContext returns the request that ctx carries, or nil.
func FromContext(ctx context.Context) *Request {
	r, _ := ctx.Value(contextKey{}).(*Request)
	return r
}
