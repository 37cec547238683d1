package rotation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudfront"
	"github.com/aws/aws-sdk-go-v2/service/cloudfront/types"
	"github.com/aws/smithy-go"

	"github.com/seed3e88d9a2/spendcap/originlock"
)

// updateAttempts bounds how often an update is tried that meets another one.
const updateAttempts = 5

// headers finds the header in each of the configured origins, and in no other: the
// secret is for nobody else.
func (r *Rotation) headers(c *types.DistributionConfig) ([]*types.OriginCustomHeader, error) {
	if c == nil || c.Origins == nil {
		return nil, errors.New("the reply of CloudFront has no origins")
	}
	var found []*types.OriginCustomHeader
	for _, id := range r.c.OriginIDs {
		header := headerOf(c.Origins.Items, id)
		if header == nil {
			return nil, fmt.Errorf("distribution %s has no origin %q with the header %s: deploy the stack again, or give the origin the header with the current secret", r.c.DistributionID, id, originlock.Header)
		}
		found = append(found, header)
	}
	return found, nil
}

func headerOf(origins []types.Origin, id string) *types.OriginCustomHeader {
	for i := range origins {
		if aws.ToString(origins[i].Id) != id || origins[i].CustomHeaders == nil {
			continue
		}
		items := origins[i].CustomHeaders.Items
		for j := range items {
			if strings.EqualFold(aws.ToString(items[j].HeaderName), originlock.Header) {
				return &items[j]
			}
		}
	}
	return nil
}

func allSend(headers []*types.OriginCustomHeader, secret string) bool {
	for _, h := range headers {
		if aws.ToString(h.HeaderValue) != secret {
			return false
		}
	}
	return true
}

// edge is what CloudFront says about the distribution at one moment.
type edge struct {
	headers  []*types.OriginCustomHeader
	deployed bool // what the headers say is what every part of the edge sends
}

func (e edge) sends(secret string) bool { return allSend(e.headers, secret) }

// sendsAny tells whether one origin at least gets the secret.
func (e edge) sendsAny(secret string) bool {
	for _, h := range e.headers {
		if aws.ToString(h.HeaderValue) == secret {
			return true
		}
	}
	return false
}

func (r *Rotation) edge(ctx context.Context) (edge, error) {
	out, err := r.c.Distributions.GetDistribution(ctx, &cloudfront.GetDistributionInput{Id: &r.c.DistributionID})
	if err != nil {
		return edge{}, fmt.Errorf("the distribution cannot be read: %w", err)
	}
	if out.Distribution == nil {
		return edge{}, errors.New("the reply of CloudFront has no distribution")
	}
	headers, err := r.headers(out.Distribution.DistributionConfig)
	return edge{headers, aws.ToString(out.Distribution.Status) == "Deployed"}, err
}

// send makes the edge send a secret that the locks accept. A distribution that does so
// already is left alone: an update would mean minutes of deployment for nothing.
func (r *Rotation) send(ctx context.Context, secret string) error {
	if err := originlock.CheckSecret(secret); err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		got, err := r.c.Distributions.GetDistributionConfig(ctx, &cloudfront.GetDistributionConfigInput{Id: &r.c.DistributionID})
		if err != nil {
			return fmt.Errorf("the distribution's configuration cannot be read: %w", err)
		}
		headers, err := r.headers(got.DistributionConfig)
		if err != nil {
			return err
		}
		if allSend(headers, secret) {
			return nil
		}
		for _, h := range headers {
			h.HeaderValue = &secret
		}
		_, err = r.c.Distributions.UpdateDistribution(ctx, &cloudfront.UpdateDistributionInput{
			Id:                 &r.c.DistributionID,
			IfMatch:            got.ETag,
			DistributionConfig: got.DistributionConfig,
		})
		if err == nil {
			return nil
		}
		if !conflict(err) {
			return fmt.Errorf("the distribution cannot be updated: %w", err)
		}
		if attempt == updateAttempts {
			return fmt.Errorf("the distribution was changed by others during %d attempts to update it: %w", attempt, err)
		}
		if err := r.c.Sleep(ctx, time.Duration(attempt)*2*time.Second); err != nil {
			return err
		}
	}
}

// conflict tells whether an update was refused because the configuration that it was
// made from is not the newest
// (https://docs.aws.amazon.com/cloudfront/latest/APIReference/API_UpdateDistribution.html).
// Nothing has changed then, and reading it again helps. It also is what the SDK's own
// retry meets after a lost reply.
func conflict(err error) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}
	return api.ErrorCode() == "PreconditionFailed" || api.ErrorCode() == "InvalidIfMatchVersion"
}
