package dynamo

import (
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// keepBody answers with an empty item and keeps the request's body, as the part of
// net/http does that writes it.
type keepBody struct{ body io.Reader }

func (k *keepBody) Do(r *http.Request) (*http.Response, error) {
	if _, err := io.CopyN(io.Discard, r.Body, r.ContentLength); err != nil {
		return nil, err
	}
	k.body = r.Body
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}, nil
}

// A body that the SDK has closed has ended, however it is asked.
func TestClosedBodyHasEnded(t *testing.T) {
	k := &keepBody{}
	store := newServer(t).store(func(c *Config) {
		c.Client = newServer(t).Client(func(o *dynamodb.Options) { o.HTTPClient = k })
	})
	if _, err := store.Usage(ctx(t), caller()); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, k.body); n != 0 || err != nil {
		t.Errorf("reading a closed body to its end: %d bytes, %v; net/http closes the connection at an error", n, err)
	}
}
