package rotation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/seed3e88d9a2/spendcap/originlock"
)

const (
	// askAttempts and askEvery give a lock that meets a secret for the first time the
	// chance to ask its source, which it does once in originlock.DefaultRefreshEvery.
	askAttempts = 5
	askEvery    = originlock.DefaultRefreshEvery + time.Second

	// askInRow is how many answers have to be good: there may be many locks.
	askInRow = 3
)

// errShut says that an origin lock has refused a request that should have passed.
var errShut = errors.New("the origin lock refuses it")

// askEdge asks through the edge, as a viewer would.
func (r *Rotation) askEdge(ctx context.Context) error {
	return r.ask(ctx, "the edge", r.c.EdgeURL, nil)
}

// askSideDoor asks the origin as the edge is going to.
func (r *Rotation) askSideDoor(ctx context.Context, secret string) error {
	if r.c.SideDoorURL == "" {
		return nil
	}
	return r.ask(ctx, "the side door", r.c.SideDoorURL, http.Header{
		originlock.Header: {secret},
		// An address kept for documentation (RFC 5737); the request spends nothing.
		"Cloudfront-Viewer-Address": {"192.0.2.1:443"},
	})
}

func (r *Rotation) ask(ctx context.Context, who, url string, header http.Header) error {
	good, failures := 0, 0
	for {
		err := r.askOnce(ctx, url, header)
		if err == nil {
			if good++; good == askInRow {
				return nil
			}
			continue
		}
		good = 0
		if failures++; failures == askAttempts {
			return fmt.Errorf("%s gives no good answer with the secret: %w", who, err)
		}
		if err := r.c.Sleep(ctx, askEvery); err != nil {
			return err
		}
	}
}

// askOnce tells whether the request has passed the lock: the answer is 200 or one of
// the API's own refusals, which come after it, such as that of a site that its
// operator has stopped. An error of CloudFront, of the HTTP API or of a bucket is
// neither, and says nothing about the lock.
func (r *Rotation) askOnce(ctx context.Context, url string, header http.Header) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	resp, err := r.c.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	if err != nil {
		return err
	}
	own := parse(body)
	switch {
	case resp.StatusCode == http.StatusOK:
		return nil
	case resp.StatusCode != http.StatusUnauthorized && (own.Capped || own.Error != ""):
		return nil
	case resp.StatusCode == http.StatusUnauthorized && own.Error == parse([]byte(originlock.Refusal)).Error:
		return errShut
	}
	return fmt.Errorf("status %d", resp.StatusCode)
}

// answer is what all refusals of the API have one of.
type answer struct {
	Error  string `json:"error"`
	Capped bool   `json:"capped"`
}

func parse(body []byte) answer {
	var a answer
	if json.Unmarshal(body, &a) != nil {
		return answer{}
	}
	return a
}
