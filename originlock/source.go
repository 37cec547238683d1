package originlock

import "context"

// Source gives the secrets that are accepted at this moment.
//
// Each call asks afresh; the lock does the caching. The order of the secrets has no
// meaning, and one that [CheckSecret] refuses is as good as absent. An error means
// that the source could not be asked or that what it holds is unusable, and the lock
// then goes by the last good answer; neither the error nor its text may hold a
// secret. Secrets returns when ctx is done. It is called by one goroutine at a time
// for each lock.
//
// A source whose secrets move from place to place while it reads them has to
// read against no move: a secret that is accepted before and after the call has to
// be in the answer, or a viewer is refused in the middle of a rotation.
type Source interface {
	Secrets(ctx context.Context) ([]string, error)
}

// Starter is a Source that can give the secret that the edge most likely sends with
// less work than all of them. [New] asks it instead of Secrets, so that a cold start
// waits for no more than this. The first value that is not this secret makes the
// lock ask for all.
type Starter interface {
	Source
	Current(ctx context.Context) (string, error)
}
