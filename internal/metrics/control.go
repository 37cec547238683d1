package metrics

import (
	"context"

	"github.com/seed3e88d9a2/spendcap/internal/control"
)

// Control returns inner with its reads recorded like the store calls of [Store].
func Control(inner control.Reader) control.Reader { return measuredReader{inner} }

type measuredReader struct{ inner control.Reader }

func (m measuredReader) Read(ctx context.Context) (control.State, int64, error) {
	call := begin(ctx)
	s, version, err := m.inner.Read(ctx)
	call.end(err)
	return s, version, err
}
