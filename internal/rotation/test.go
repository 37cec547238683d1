package rotation

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	pollEvery = 10 * time.Second

	// staleReads is how many replies of CloudFront without the pending secret are put
	// down to a reply that is behind, before setSecret is taken to be missing.
	staleReads = 6
)

// test waits until the whole edge sends the pending secret and then asks through it.
//
// Secrets Manager also calls this step alone, to try out a new schedule, with a version
// that it removes afterwards
// (https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_RotateSecret.html).
// If that has no value, or the current one, the answer through the edge is all that
// is asked for.
func (r *Rotation) test(ctx context.Context, version string) error {
	secret, done, err := r.pending(ctx, version)
	if done || errors.Is(err, errNoValue) {
		return r.askEdge(ctx)
	}
	if err != nil {
		return err
	}
	if err := r.deployed(ctx, secret); err != nil {
		return err
	}
	err = r.askEdge(ctx)
	if errors.Is(err, errShut) {
		return errors.Join(err, r.fallBack(ctx))
	}
	return err
}

func (r *Rotation) deployed(ctx context.Context, secret string) error {
	began := r.c.Now()
	for stale := 0; ; {
		e, err := r.edge(ctx)
		if err != nil {
			return err
		}
		switch {
		case !e.sends(secret):
			if stale++; stale == staleReads {
				return errors.New("the edge is not set to send the pending secret: setSecret comes first")
			}
		case e.deployed:
			return nil
		}
		if waited := r.c.Now().Sub(began); waited+pollEvery > r.c.Patience {
			return fmt.Errorf("the distribution has not been deployed within %v: the step has to be tried again", waited.Round(time.Second))
		}
		if err := r.c.Sleep(ctx, pollEvery); err != nil {
			return err
		}
	}
}

// fallBack puts the current secret back. The locks are found to refuse the pending one,
// and the current one they have known for long.
func (r *Rotation) fallBack(ctx context.Context) error {
	l, err := r.labels(ctx)
	if err != nil {
		return err
	}
	secret, _, err := r.value(ctx, l.current)
	if err != nil {
		return err
	}
	r.c.Log.ErrorContext(ctx, "the origin refuses the pending secret: the edge gets the current one back")
	return r.send(ctx, secret)
}
