package originlock

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
)

// flight is one refresh on its way, which any number of requests wait for.
type flight struct {
	done    chan struct{}
	err     error           // set before done is closed
	expired <-chan struct{} // closed after the lock's Timeout, or after done
}

var errNoAnswer = errors.New("the source has not answered in time")

// refresh brings the known secrets up to date if that is due, and waits for it. The
// error is why they are not.
func (l *Lock) refresh(ctx context.Context) error {
	f, failure := l.join(ctx)
	if f == nil {
		return failure
	}
	select {
	case <-f.done:
	case <-f.expired:
	case <-ctx.Done():
	}
	select {
	case <-f.done:
		return f.err
	default:
		return errNoAnswer
	}
}

// join returns the refresh that runs, which it starts if it is time for one. If not,
// it returns no flight but the failure of the last.
func (l *Lock) join(ctx context.Context) (*flight, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.flight != nil {
		return l.flight, nil
	}
	if !l.ended.IsZero() {
		// Negative: the clock was set back, and waiting for it could take any time.
		if since := l.config.Now().Sub(l.ended); since >= 0 && since < l.config.RefreshEvery {
			return nil, l.failure
		}
	}
	// The viewer who happens to be first may leave; the others still want the answer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.config.Timeout)
	f := &flight{done: make(chan struct{}), expired: ctx.Done()}
	l.flight = f
	go func() {
		defer cancel()
		l.fly(ctx, f)
	}()
	return f, nil
}

func (l *Lock) fly(ctx context.Context, f *flight) {
	f.err = l.load(ctx, l.config.Source.Secrets)
	if f.err != nil && l.config.OnFailure != nil {
		l.config.OnFailure(f.err)
	}
	l.mu.Lock()
	l.flight = nil
	l.ended = l.config.Now().Round(0)
	l.failure = f.err
	l.mu.Unlock()
	close(f.done)
}

// load asks the source and keeps its answer if it has a usable secret.
func (l *Lock) load(ctx context.Context, ask func(context.Context) ([]string, error)) error {
	k := &known{asked: l.config.Now().Round(0)} // without the monotonic clock: see age
	secrets, err := guarded(ctx, ask)
	if err != nil {
		return err
	}
	var unusable error
	for _, secret := range secrets {
		if err := CheckSecret(secret); err != nil {
			unusable = err
			continue
		}
		k.digests = append(k.digests, sha256.Sum256([]byte(secret)))
	}
	if len(k.digests) == 0 {
		if unusable != nil {
			return fmt.Errorf("the source has no usable secret: %w", unusable)
		}
		return errors.New("the source has no secret: " + drawOne)
	}
	l.known.Store(k)
	return nil
}

// guarded asks a source that may panic: in a goroutine of the lock's nobody else
// could catch that. The value of the panic may quote a secret.
func guarded(ctx context.Context, ask func(context.Context) ([]string, error)) (secrets []string, err error) {
	defer func() {
		if p := recover(); p != nil {
			secrets, err = nil, fmt.Errorf("the source panicked with a %T", p)
		}
	}()
	return ask(ctx)
}
