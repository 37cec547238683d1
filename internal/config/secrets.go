package config

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/hmackey"
)

// The variables that fix the two secrets.
const (
	OriginSecretVar = "SPENDCAP_ORIGIN_SECRET" // what the edge puts into X-Origin-Verify
	HMACKeyVar      = "SPENDCAP_HMAC_KEY"      // the key of the caller keys
)

// minSecretBytes is the least length of either secret.
const minSecretBytes = caps.MinSecretBytes

// maxSecretBytes bounds the origin secret, which travels in a header. CloudFront
// takes values of up to 1,783 characters
// (https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/cloudfront-limits.html).
const maxSecretBytes = 1024

// Secrets are the two secrets of one system. They print as nothing.
type Secrets struct {
	Origin string // for the origin lock

	// HMACKey is for the caller keys: a secret, or the ring of its versions as
	// [hmackey.Parse] reads it. It never has the origin secret: rotating the lock would
	// reset the counts.
	HMACKey string

	// Drawn says for each whether it was drawn for this process, because its variable
	// is not set. Counts kept elsewhere are then lost with the process.
	OriginDrawn, HMACKeyDrawn bool
}

// String keeps the secrets out of whatever prints them.
func (Secrets) String() string { return "(secrets)" }

// GoString keeps the secrets out of %#v.
func (Secrets) GoString() string { return "(secrets)" }

// LogValue keeps the secrets out of logs written with log/slog.
func (Secrets) LogValue() slog.Value { return slog.StringValue("(secrets)") }

// ReadSecrets reads [OriginSecretVar] and [HMACKeyVar] with lookup, which is
// [os.LookupEnv] outside tests. One that is not set is drawn afresh, which is meant
// for the local system only. One that is set has to be good: empty, blank, shorter
// than 32 bytes, not visible ASCII, or equal to the other is an error, which names
// the variable and never its value. [HMACKeyVar] may also be a ring of versions.
func ReadSecrets(lookup func(string) (string, bool)) (Secrets, error) {
	var s Secrets
	var errs [3]error
	s.Origin, s.OriginDrawn, errs[0] = readSecret(OriginSecretVar, lookup)
	var versions []caps.KeyVersion
	s.HMACKey, versions, s.HMACKeyDrawn, errs[1] = readKeys(lookup)
	if errs[0] == nil && errs[1] == nil && slices.ContainsFunc(versions, func(v caps.KeyVersion) bool { return string(v.Secret) == s.Origin }) {
		errs[2] = fmt.Errorf("%s and %s are the same: %s for one of them, or rotating the lock resets the counts", OriginSecretVar, HMACKeyVar, drawOne)
	}
	if err := errors.Join(errs[:]...); err != nil {
		return Secrets{}, err
	}
	return s, nil
}

// readKeys reads [HMACKeyVar] in either of its forms.
func readKeys(lookup func(string) (string, bool)) (value string, versions []caps.KeyVersion, drawn bool, err error) {
	if value, _ = lookup(HMACKeyVar); !strings.HasPrefix(strings.TrimSpace(value), "{") {
		if value, drawn, err = readSecret(HMACKeyVar, lookup); err != nil {
			return "", nil, false, err
		}
	}
	if versions, err = hmackey.Parse(value); err != nil {
		return "", nil, false, fmt.Errorf("%s: %w", HMACKeyVar, err)
	}
	return value, versions, drawn, nil
}

const drawOne = "draw another with `openssl rand -hex 32`"

func readSecret(name string, lookup func(string) (string, bool)) (value string, drawn bool, err error) {
	value, set := lookup(name)
	if !set {
		var b [minSecretBytes]byte
		rand.Read(b[:]) // never fails
		return hex.EncodeToString(b[:]), true, nil
	}
	fail := func(problem string) (string, bool, error) {
		return "", false, fmt.Errorf("%s %s: %s", name, problem, drawOne)
	}
	switch trimmed := strings.TrimSpace(value); {
	case value == "":
		return fail("is set and empty")
	case trimmed == "":
		return fail("is blank")
	case trimmed != value:
		return fail("has white space around it")
	case len(value) < minSecretBytes:
		return fail(fmt.Sprintf("is shorter than %d bytes", minSecretBytes))
	case len(value) > maxSecretBytes:
		return fail(fmt.Sprintf("is longer than %d bytes", maxSecretBytes))
	case strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fail("has characters that a header cannot carry")
	}
	return value, false, nil
}
