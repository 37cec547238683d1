package api

import (
	"context"

	"github.com/seed3e88d9a2/spendcap/internal/control"
)

// sealAddress keeps the address of a blocked caller for the operator, where the file says
// so. That it cannot changes nothing for the caller.
func (r *request) sealAddress(ctx context.Context, b *control.Block) {
	if r.Sealed == nil {
		return
	}
	if err := r.Sealed.Keep(ctx, *b, r.address); err != nil {
		r.log.WarnContext(ctx, "the address of a blocked caller could not be sealed for the operator", "error", err)
	}
}
