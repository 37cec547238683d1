// Package hmackey is the secret of the caller keys as it is kept, followed and changed.
//
// It is kept as one string, in one of two forms: a secret alone, which serves all days,
// or a ring of versions, each with the day from which it serves ([Parse]). A new version
// is added well before its first day ([Plan]), and every instance reads the string
// again well before any day that a new version could begin on, or refuses on that day
// ([Keys.Check]). So no two instances count one caller of one day under two keys, and
// nobody's count starts again in the middle of a day.
package hmackey

import "time"

const (
	// Notice is how long before its first day a version is added at the least.
	Notice = 12 * time.Hour

	// Lead is how long before a day an instance may have read the ring for the last time
	// and still count on that day. It is below Notice by more than clocks differ and than
	// Secrets Manager takes to show a new value everywhere.
	Lead = 6 * time.Hour

	// ReadEvery is how old the ring gets before a request reads it again. It is far below
	// Lead, so that an outage of Secrets Manager of several hours refuses nobody.
	ReadEvery = 15 * time.Minute
)
