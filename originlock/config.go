package originlock

import (
	"errors"
	"fmt"
	"time"
)

// MaxTTL is the longest that [Config.TTL] may be, and its default. A rotation waits
// at least this long, plus [Config.Timeout], between making a secret and sending it
// through the edge, because by then every lock has heard of it.
const MaxTTL = time.Minute

// Defaults of [Config].
const (
	DefaultRefreshEvery = 5 * time.Second
	DefaultMaxAge       = time.Hour
	DefaultTimeout      = 3 * time.Second
)

// Config is what a [Lock] is made from. A duration that is 0 has its default.
type Config struct {
	Source Source

	// TTL is how old the source's last good answer may be before it is asked again.
	// Up to MaxTTL, which is the default.
	TTL time.Duration

	// RefreshEvery is the least time between the end of one refresh and the begin of
	// the next, whatever its cause and outcome. Up to TTL.
	RefreshEvery time.Duration

	// MaxAge is how old the last good answer may become while the source fails. From
	// TTL up. Longer outlives a longer outage of the source, and for as long a
	// withdrawn secret stays good if the outage comes at the wrong time.
	MaxAge time.Duration

	// Timeout bounds one asking of the source, and with it how long a request waits.
	Timeout time.Duration

	// Now gives the time; nil means time.Now. It is called from many goroutines.
	Now func() time.Time

	// OnFailure, if not nil, is told of each refresh that fails, before the requests
	// that wait for it go on. While the secrets last nothing else shows the failure.
	OnFailure func(error)
}

// complete returns the configuration with its defaults, or an error that names the
// field that is wrong.
func (c Config) complete() (Config, error) {
	if c.Source == nil {
		return Config{}, errors.New("originlock.Config.Source is missing: without one the lock has no secret")
	}
	for _, field := range []struct {
		name     string
		value    *time.Duration
		fallback time.Duration
	}{
		{"TTL", &c.TTL, MaxTTL},
		{"RefreshEvery", &c.RefreshEvery, DefaultRefreshEvery},
		{"MaxAge", &c.MaxAge, DefaultMaxAge},
		{"Timeout", &c.Timeout, DefaultTimeout},
	} {
		if *field.value < 0 {
			return Config{}, fmt.Errorf("originlock.Config.%s is negative: leave it 0 for %v", field.name, field.fallback)
		}
		if *field.value == 0 {
			*field.value = field.fallback
		}
	}
	if c.TTL > MaxTTL {
		return Config{}, fmt.Errorf("originlock.Config.TTL is above %v, which is as long as a rotation waits for the locks: shorten it", MaxTTL)
	}
	if c.RefreshEvery > c.TTL {
		return Config{}, errors.New("originlock.Config.RefreshEvery is above TTL: shorten it, or the secrets would grow older than TTL")
	}
	if c.MaxAge < c.TTL {
		return Config{}, errors.New("originlock.Config.MaxAge is below TTL: lengthen it, or good secrets would be refused before they are asked for again")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c, nil
}
