package dynamo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// server is an endpoint that speaks DynamoDB's JSON protocol over HTTP, keeps a table,
// and misbehaves as scripted.
type server struct {
	t   testing.TB
	url string

	mu     sync.Mutex
	rows   map[string]row
	seen   []seen
	script func(n int, s seen) fault // n counts from 0
}

// seen is a request that reached the server.
type seen struct {
	operation string
	body      string
	request   request
}

// fault is how the server treats a request.
type fault struct {
	skip   bool   // the write is not applied
	status int    // of the answer; 0 means 200, or 400 for a failed write
	body   string // in place of the answer's own
	crc    string // in place of the right one
	cut    int    // this many bytes are missing at the end of the answer
	close  bool   // the connection is closed without an answer
	hang   bool   // no answer until the client goes away

	unlessFailed bool // no fault if the write's condition fails
}

// What can go wrong, by name.
var (
	fine         = fault{}
	lost         = fault{close: true}             // applied, the reply is lost
	neverCame    = fault{close: true, skip: true} // the request is lost
	hangs        = fault{hang: true, skip: true}
	hangsApplied = fault{hang: true}
	status500    = fault{status: 500, skip: true, body: `{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"oops"}`}
	late500      = fault{status: 500, body: status500.body} // applied, and yet 500
	throttled    = fault{status: 400, skip: true, body: `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"slow down"}`}
	conflict     = fault{status: 400, skip: true, body: `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionConflictException","message":"Transaction is ongoing for the item"}`}
	denied       = fault{status: 400, skip: true, body: `{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"not authorized"}`}
	noTable      = fault{status: 400, skip: true, body: `{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"Requested resource not found"}`}
	expired      = fault{status: 400, skip: true, body: `{"__type":"com.amazon.coral.service#ExpiredTokenException","message":"The security token included in the request is expired"}`}
	badRequest   = fault{status: 400, skip: true, body: `{"__type":"com.amazon.coral.validate#ValidationException","message":"The provided key element does not match the schema"}`}
	garbage      = fault{body: `{"Attributes": nonsense`}
	html         = fault{body: "<html><body>502 Bad Gateway</body></html>"}
	html502      = fault{status: 502, skip: true, body: "<html><body>502 Bad Gateway</body></html>"}
	html403      = fault{status: 403, skip: true, body: "<html><body>Forbidden</body></html>"}
	empty        = fault{body: `{}`}
	wrongCRC     = fault{crc: "1"}
	truncated    = fault{cut: 10}
)

func newServer(t testing.TB) *server {
	s := &server{t: t, rows: map[string]row{}}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	s.url = h.URL
	return s
}

// faults scripts the first requests.
func (s *server) faults(list ...fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := len(s.seen)
	s.script = func(n int, _ seen) fault {
		if n-first < len(list) {
			return list[n-first]
		}
		return fine
	}
}

// always scripts all requests.
func (s *server) always(f fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = func(int, seen) fault { return f }
}

// requests returns how many requests have come since the last time, and forgets them.
func (s *server) requests() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.seen
	s.seen = nil
	return list
}

func (s *server) row(key caps.ItemKey) row {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows[key.String()]
}

func (s *server) put(key caps.ItemKey, r row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r[attrKey] = map[string]string{"S": key.String()}
	s.rows[key.String()] = r
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	this := seen{operation: operation, body: string(raw)}
	if err := json.Unmarshal(raw, &this.request); err != nil {
		s.t.Errorf("request body: %v", err)
	}

	s.mu.Lock()
	f := fine
	if s.script != nil {
		f = s.script(len(s.seen), this)
	}
	s.seen = append(s.seen, this)
	status, body := http.StatusOK, []byte("{}")
	if f.unlessFailed && f.skip {
		f.skip, f.unlessFailed = !s.fails(&this), false
		if !f.skip {
			f = fine
		}
	}
	if !f.skip {
		status, body = s.answer(&this)
		if f.unlessFailed && status != http.StatusOK {
			f = fine
		}
	}
	s.mu.Unlock()

	if f.hang {
		select {
		case <-r.Context().Done():
		case <-time.After(10 * time.Second):
		}
		return
	}
	if f.body != "" {
		body = []byte(f.body)
	}
	status = cmp.Or(f.status, status)
	if f.close {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			conn.Close()
		}
		return
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.Header().Set("X-Amz-Crc32", cmp.Or(f.crc, strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10)))
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body[:max(0, len(body)-f.cut)])
}

// fails tells whether an UpdateItem would be refused.
func (s *server) fails(r *seen) bool {
	_, err := r.request.update(maps.Clone(s.rows))
	return r.operation == "UpdateItem" && err != nil
}

func (s *server) answer(r *seen) (status int, body []byte) {
	var answer any
	var err error
	switch r.operation {
	case "GetItem":
		answer = r.request.get(s.rows)
	case "UpdateItem":
		answer, err = r.request.update(s.rows)
	default:
		err = &failure{code: "UnknownOperationException", message: r.operation}
	}
	if f := (*failure)(nil); errors.As(err, &f) {
		fields := map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#" + f.code, "message": f.message}
		if f.item != nil {
			fields["Item"] = f.item
		}
		return http.StatusBadRequest, mustJSON(fields)
	}
	return http.StatusOK, mustJSON(answer)
}

// client is an SDK client with the SDK's own defaults, retries included.
func (s *server) client(options ...func(*dynamodb.Options)) *dynamodb.Client {
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	s.t.Cleanup(transport.CloseIdleConnections)
	o := dynamodb.Options{
		Region:       "us-east-1",
		BaseEndpoint: aws.String(s.url),
		Credentials:  credentials.NewStaticCredentialsProvider("id", "secret", ""),
		HTTPClient:   &http.Client{Transport: transport},
	}
	return dynamodb.New(o, options...)
}

// store is a store on the server, at a time that stands still.
func (s *server) store(change ...func(*Config)) *Store {
	s.t.Helper()
	c := Config{Client: s.client(), Table: "caps", Now: noon}
	for _, f := range change {
		f(&c)
	}
	store, err := New(c)
	if err != nil {
		s.t.Fatal(err)
	}
	return store
}

func noon() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

func caller() caps.ItemKey {
	return caps.ItemKey{Budget: "caller", Day: caps.DayOf(noon()), Caller: "0123456789abcdef0123456789abcdef"}
}

func everybody() caps.ItemKey {
	return caps.ItemKey{Budget: "global", Day: caps.DayOf(noon()), Caller: caps.Everybody}
}

func charge(amount caps.MicroUSD) caps.Charge {
	return caps.Charge{Key: caller(), Amount: amount, ID: "00112233aabbccdd"}
}

func shared(amount caps.MicroUSD) caps.Charge {
	return caps.Charge{Key: everybody(), Amount: amount}
}

func ctx(t testing.TB) context.Context { return t.Context() }
