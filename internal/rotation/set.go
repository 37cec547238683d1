package rotation

import "context"

// set lets the edge send the pending secret, once every lock accepts it.
//
// It waits the whole time that a lock may go without asking its source, each time
// that it finds the edge without the secret: the version's own date does not say when
// it got its value. A minute of a small Lambda per rotation costs nothing.
func (r *Rotation) set(ctx context.Context, version string) error {
	secret, done, err := r.pending(ctx, version)
	if err != nil || done {
		return err
	}
	e, err := r.edge(ctx)
	if err != nil {
		return err
	}
	if e.sends(secret) {
		return nil
	}
	if err := r.c.Sleep(ctx, r.c.Spread); err != nil {
		return err
	}
	if err := r.askSideDoor(ctx, secret); err != nil {
		return err
	}
	// Somebody may have cancelled the rotation meanwhile.
	if secret, done, err = r.pending(ctx, version); err != nil || done {
		return err
	}
	return r.send(ctx, secret)
}

// pending reads the secret of the version whose turn it is. done: the version is
// current already, and a repeated step has nothing to do.
func (r *Rotation) pending(ctx context.Context, version string) (secret string, done bool, err error) {
	l, err := r.labels(ctx)
	if err != nil {
		return "", false, err
	}
	if l.current == version {
		return "", true, nil
	}
	if err := l.expectPending(version); err != nil {
		return "", false, err
	}
	secret, _, err = r.value(ctx, version)
	return secret, false, err
}
