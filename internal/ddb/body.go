package ddb

import (
	"io"

	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// plainBody hides all methods of a request's body but Read and Seek.
//
// The SDK closes the body as soon as the reply's header is there. net/http may at that
// moment still be looking whether the body has ended, and asks a body that is an
// io.WriterTo by WriteTo; smithy-go (v1.28.9) answers it with io.EOF if it is closed,
// where Read would answer the same and be right. net/http takes that for a failed
// write and closes the connection under the reply, which then cannot be read: an
// unknown outcome out of nothing. It happens where a process gets little CPU.
func plainBody(r *smithyhttp.Request) (*smithyhttp.Request, error) {
	body, ok := r.GetStream().(io.ReadSeeker)
	if !ok {
		return r, nil
	}
	return r.SetStream(struct{ io.ReadSeeker }{body})
}
