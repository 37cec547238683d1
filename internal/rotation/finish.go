package rotation

import (
	"context"
	"errors"
)

// finish makes the pending secret the current one, if the whole edge sends it.
func (r *Rotation) finish(ctx context.Context, version string) error {
	secret, done, err := r.pending(ctx, version)
	if err != nil || done {
		return err
	}
	e, err := r.edge(ctx)
	if err != nil {
		return err
	}
	if !e.sends(secret) || !e.deployed {
		return errors.New("a part of the edge does not send the pending secret yet: setSecret and testSecret come first")
	}
	l, err := r.labels(ctx)
	if err != nil {
		return err
	}
	if l.current == version {
		return nil
	}
	if err := l.expectPending(version); err != nil {
		return err
	}
	return r.promote(ctx, l, version)
}
