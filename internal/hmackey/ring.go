package hmackey

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// ring is the JSON form:
//
//	{"versions":[{"id":"1","secret":"..."},{"id":"2","from":"2026-12-02","secret":"..."}]}
type ring struct {
	Versions []version `json:"versions"`
}

type version struct {
	ID     string `json:"id"`
	From   string `json:"from,omitempty"` // YYYY-MM-DD; the first version needs none
	Secret string `json:"secret"`
}

// Parse reads the kept form: a secret of at least [caps.MinSecretBytes] bytes, or, if it
// begins with a brace, a ring. The errors never quote it.
func Parse(value string) ([]caps.KeyVersion, error) {
	if !strings.HasPrefix(strings.TrimSpace(value), "{") {
		if strings.TrimSpace(value) != value {
			return nil, errors.New("the HMAC secret has white space around it: store it without")
		}
		versions := []caps.KeyVersion{{ID: caps.FirstKeyVersion, Secret: []byte(value)}}
		if err := caps.CheckKeyVersions(versions...); err != nil {
			_, err = caps.NewKeyer([]byte(value)) // there is no version to name
			return nil, err
		}
		return versions, nil
	}
	var r ring
	d := json.NewDecoder(strings.NewReader(value))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return nil, errors.New(`the HMAC secret begins like a ring and is none: want {"versions":[{"id":"1","from":"YYYY-MM-DD","secret":"..."}]} and nothing else`)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows the ring of the HMAC secret")
	}
	versions := make([]caps.KeyVersion, len(r.Versions))
	for i, v := range r.Versions {
		versions[i] = caps.KeyVersion{ID: v.ID, Secret: []byte(v.Secret)}
		if strings.TrimSpace(v.Secret) != v.Secret {
			return nil, fmt.Errorf("version %d of the HMAC secret has white space around it: store it without", i+1)
		}
		if i == 0 && v.From == "" {
			continue
		}
		from, err := caps.ParseDay(v.From)
		if err != nil {
			return nil, fmt.Errorf("version %d of the HMAC secret: from: %w", i+1, err)
		}
		versions[i].From = from
	}
	return versions, caps.CheckKeyVersions(versions...)
}

// NewKeyer returns the Keyer of a kept form that does not change while it is used.
func NewKeyer(value string) (*caps.Keyer, error) {
	versions, err := Parse(value)
	if err != nil {
		return nil, err
	}
	return caps.NewKeyring(versions...)
}

// Format writes the ring that [Parse] reads as these versions.
func Format(versions []caps.KeyVersion) (string, error) {
	if err := caps.CheckKeyVersions(versions...); err != nil {
		return "", err
	}
	r := ring{Versions: make([]version, len(versions))}
	for i, v := range versions {
		r.Versions[i] = version{ID: v.ID, Secret: string(v.Secret)}
		if i > 0 || v.From != 0 {
			r.Versions[i].From = v.From.String()
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return "", errors.New("the ring cannot be written as JSON")
	}
	return strings.TrimSpace(b.String()), nil
}
