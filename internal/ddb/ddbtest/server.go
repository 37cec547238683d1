// Package ddbtest is an endpoint for the SDK that speaks DynamoDB's JSON protocol over
// HTTP, keeps a table, and misbehaves as scripted: it loses replies, hangs, throttles,
// damages, as no emulator does.
package ddbtest

import (
	"cmp"
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
)

// Server is the endpoint. Use [New].
type Server struct {
	URL   string
	Table string // its name; empty: it has any
	t     testing.TB

	mu     sync.Mutex
	rows   map[string]Row
	order  []position      // see positions
	done   map[string]bool // tokens of transactions that were applied
	seen   []Seen
	came   int // requests so far
	script func(n int, s Seen) Fault
}

// Seen is a request that reached the server.
type Seen struct {
	Operation string
	Body      string
	Request   Request
}

// Fault is how the server treats a request.
type Fault struct {
	Skip   bool   // the write is not applied
	Status int    // of the answer; 0 means 200, or 400 for a failed write
	Body   string // in place of the answer's own
	CRC    string // in place of the right one
	Cut    int    // this many bytes are missing at the end of the answer
	Close  bool   // the connection is closed without an answer
	Hang   bool   // no answer until the client goes away

	UnlessFailed bool // no fault if the write's condition fails
}

// What can go wrong, by name.
var (
	Fine         = Fault{}
	Lost         = Fault{Close: true}             // applied, the reply is lost
	NeverCame    = Fault{Close: true, Skip: true} // the request is lost
	Hangs        = Fault{Hang: true, Skip: true}
	HangsApplied = Fault{Hang: true}
	Status500    = Fault{Status: 500, Skip: true, Body: `{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"oops"}`}
	Late500      = Fault{Status: 500, Body: Status500.Body} // applied, and yet 500
	Throttled    = Fault{Status: 400, Skip: true, Body: `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"slow down"}`}
	Conflict     = Fault{Status: 400, Skip: true, Body: `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionConflictException","message":"Transaction is ongoing for the item"}`}
	Denied       = Fault{Status: 400, Skip: true, Body: `{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"not authorized"}`}
	NoTable      = Fault{Status: 400, Skip: true, Body: `{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"Requested resource not found"}`}
	Expired      = Fault{Status: 400, Skip: true, Body: `{"__type":"com.amazon.coral.service#ExpiredTokenException","message":"The security token included in the request is expired"}`}
	BadRequest   = Fault{Status: 400, Skip: true, Body: `{"__type":"com.amazon.coral.validate#ValidationException","message":"The provided key element does not match the schema"}`}
	Garbage      = Fault{Body: `{"Attributes": nonsense`}
	HTML         = Fault{Body: "<html><body>502 Bad Gateway</body></html>"}
	HTML502      = Fault{Status: 502, Skip: true, Body: "<html><body>502 Bad Gateway</body></html>"}
	HTML403      = Fault{Status: 403, Skip: true, Body: "<html><body>Forbidden</body></html>"}
	Empty        = Fault{Body: `{}`}
	WrongCRC     = Fault{CRC: "1"}
	Truncated    = Fault{Cut: 10}
)

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	s := &Server{t: t, rows: map[string]Row{}, done: map[string]bool{}}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	s.URL = h.URL
	return s
}

// Faults scripts the first requests.
func (s *Server) Faults(list ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.came
	s.script = func(n int, _ Seen) Fault {
		if n-first < len(list) {
			return list[n-first]
		}
		return Fine
	}
}

// Always scripts all requests.
func (s *Server) Always(f Fault) { s.Script(func(int, Seen) Fault { return f }) }

// Script scripts requests; n counts from 0.
func (s *Server) Script(script func(n int, s Seen) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = script
}

// Requests returns which requests have come since the last time, and forgets them.
func (s *Server) Requests() []Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.seen
	s.seen = nil
	return list
}

// Row is the item of a key, nil if there is none.
func (s *Server) Row(key string) Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.rows[key])
}

// Rows are all items.
func (s *Server) Rows() map[string]Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.rows)
}

// Put puts an item.
func (s *Server) Put(key string, r Row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r[attrKey] = map[string]string{"S": key}
	s.rows[key] = r
}

// Apply applies a request that was late on the wire, and returns the status of its
// answer.
func (s *Server) Apply(r Seen) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	status, _ := s.answer(&r)
	return status
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	this := Seen{Operation: operation, Body: string(raw)}
	if err := json.Unmarshal(raw, &this.Request); err != nil {
		s.t.Errorf("request body: %v", err)
	}

	s.mu.Lock()
	f := Fine
	if s.script != nil {
		f = s.script(s.came, this)
	}
	s.came++
	s.seen = append(s.seen, this)
	status, body := http.StatusOK, []byte("{}")
	if f.UnlessFailed && f.Skip {
		f.Skip, f.UnlessFailed = !s.fails(&this), false
		if !f.Skip {
			f = Fine
		}
	}
	if !f.Skip {
		status, body = s.answer(&this)
		if f.UnlessFailed && status != http.StatusOK {
			f = Fine
		}
	}
	s.mu.Unlock()

	if f.Hang {
		select {
		case <-r.Context().Done():
		case <-time.After(10 * time.Second):
		}
		return
	}
	if f.Body != "" {
		body = []byte(f.Body)
	}
	status = cmp.Or(f.Status, status)
	if f.Close {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			conn.Close()
		}
		return
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.Header().Set("X-Amz-Crc32", cmp.Or(f.CRC, strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10)))
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body[:max(0, len(body)-f.Cut)])
}

// fails tells whether an UpdateItem would be refused.
func (s *Server) fails(r *Seen) bool {
	_, err := r.Request.update(maps.Clone(s.rows))
	return r.Operation == "UpdateItem" && err != nil
}

func (s *Server) answer(r *Seen) (status int, body []byte) {
	var answer any
	var err error
	switch operation := r.Operation; {
	case s.Table != "" && !r.Request.names(s.Table):
		err = &failure{code: "ResourceNotFoundException", message: "Requested resource not found"}
	case operation == "GetItem":
		answer = r.Request.get(s.rows)
	case operation == "Scan":
		answer, err = r.Request.scan(s.positions(), s.rows)
	case operation == "BatchGetItem":
		answer = r.Request.batch(s.rows)
	case operation == "TransactWriteItems":
		answer, err = r.Request.transact(s.rows, s.done)
	case operation == "UpdateItem":
		answer, err = r.Request.update(s.rows)
	default:
		err = &failure{code: "UnknownOperationException", message: r.Operation}
	}
	if f := (*failure)(nil); errors.As(err, &f) {
		fields := map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#" + f.code, "message": f.message}
		if f.item != nil {
			fields["Item"] = f.item
		}
		if f.reasons != nil {
			fields["CancellationReasons"] = f.reasons
		}
		return http.StatusBadRequest, MustJSON(fields)
	}
	return http.StatusOK, MustJSON(answer)
}

// names tells whether the request is about the table.
func (r *Request) names(table string) bool {
	for _, t := range r.TransactItems {
		if t.Put != nil && t.Put.TableName != table {
			return false
		}
	}
	for name := range r.RequestItems {
		if name != table {
			return false
		}
	}
	return r.TableName == table || len(r.TransactItems)+len(r.RequestItems) > 0
}

// Client is an SDK client with the SDK's own defaults, retries included.
func (s *Server) Client(options ...func(*dynamodb.Options)) *dynamodb.Client {
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	s.t.Cleanup(transport.CloseIdleConnections)
	o := dynamodb.Options{
		Region:       "us-east-1",
		BaseEndpoint: aws.String(s.URL),
		Credentials:  credentials.NewStaticCredentialsProvider("id", "secret", ""),
		HTTPClient:   &http.Client{Transport: transport},
	}
	return dynamodb.New(o, options...)
}
