package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// section is one group of keys of the file. Its methods read one setting each; what
// is wrong is added to the problems and answered with false.
type section struct {
	*problems
	path   string
	line   int
	values map[string]*yaml.Node
}

// group reads a group that may have the known keys and no others.
func (p *problems) group(n *yaml.Node, path string, known ...string) (section, bool) {
	if !p.plain(n, path) {
		return section{}, false
	}
	if n.Kind != yaml.MappingNode {
		p.at(n, path, "%s stands where a group of keys has to: %s", what(n), strings.Join(known, ", "))
		return section{}, false
	}
	s := section{problems: p, path: path, line: n.Line, values: make(map[string]*yaml.Node)}
	p.found(path, n.Line)
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode && key.Kind != yaml.AliasNode {
			p.at(key, path, "%s stands where a key has to: write one of %s", what(key), strings.Join(known, ", "))
			continue
		}
		field := s.field(keyName(key.Value))
		switch {
		case key.Tag == "!!merge":
			p.at(key, path, "the merge key << is not followed: write the keys out")
		case !p.plain(key, field):
		case !slices.Contains(known, key.Value):
			p.at(key, field, "%s", unknown(key.Value, known))
		case s.values[key.Value] != nil:
			p.at(key, field, "given twice, first in line %d: keep one", s.values[key.Value].Line)
		default:
			s.values[key.Value] = value
			p.found(field, value.Line)
		}
	}
	return s, true
}

var simpleKey = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)

func keyName(key string) string {
	if simpleKey.MatchString(key) {
		return key
	}
	return quote(key)
}

func unknown(key string, known []string) string {
	switch strings.ToLower(key) {
	case "api_key", "apikey", "key", "secret", "token", "password", "hmac_key", "origin_secret":
		return "unknown key: secrets do not belong in this file, they come from the environment or from Secrets Manager"
	}
	if strings.Trim(key, "0123456789") == "" {
		// {usd: 0,05} has the keys usd and 05.
		return "unknown key: if it is the end of an amount, write a point in it and not a comma, such as 0.05"
	}
	return "unknown key: known here are " + strings.Join(known, ", ")
}

func (s section) field(key string) string {
	if s.path == "" {
		return key
	}
	return s.path + "." + key
}

// node returns the value of a key, or nil if it is not given or not plain.
func (s section) node(key string) *yaml.Node {
	n := s.values[key]
	if n == nil || !s.plain(n, s.field(key)) {
		return nil
	}
	return n
}

func (s section) has(key string) bool { return s.values[key] != nil }

// required reports a key that is not given.
func (s section) required(key, remedy string) bool {
	if s.has(key) {
		return true
	}
	s.add(s.line, s.field(key), "missing: %s", remedy)
	return false
}

// section reads the group under a key. It is not there if the key is not given.
func (s section) section(key string, known ...string) (section, bool) {
	n := s.values[key]
	if n == nil {
		return section{}, false
	}
	return s.group(n, s.field(key), known...)
}

// list reads the items of a list under a key, nil if it is not given.
func (s section) list(key string) []*yaml.Node {
	n := s.node(key)
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		s.at(n, s.field(key), "%s stands where a list has to", what(n))
		return nil
	}
	return n.Content
}

var wholeNumber = regexp.MustCompile(`^(?:0|[1-9][0-9]*)$`)

// integer reads a whole number from least to most.
func (s section) integer(key string, least, most int64) (int64, bool) {
	n := s.node(key)
	if n == nil {
		return 0, false
	}
	field := s.field(key)
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		s.at(n, field, "%s stands where a whole number has to", what(n))
		return 0, false
	}
	if n.Style != 0 {
		s.at(n, field, "%s is text: write the number without quotes", quote(n.Value))
		return 0, false
	}
	if !wholeNumber.MatchString(n.Value) {
		s.at(n, field, "%s is not a whole number: write digits only, without a leading zero, such as 10", quote(n.Value))
		return 0, false
	}
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil || v < least || v > most {
		s.at(n, field, "%s is not between %d and %d", quote(n.Value), least, most)
		return 0, false
	}
	return v, true
}

var plainDecimal = regexp.MustCompile(`^(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$`)

// decimal reads the text of a decimal number. Quotes around it are accepted: they
// are how other tools keep an amount from becoming a float, and the text is the same.
func (s section) decimal(key, example string) (string, bool) {
	n := s.node(key)
	if n == nil {
		return "", false
	}
	field := s.field(key)
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		s.at(n, field, "%s stands where a decimal number such as %s has to", what(n), example)
		return "", false
	}
	const longest = 40 // digits; no amount that is accepted needs half of it
	if !plainDecimal.MatchString(n.Value) || len(n.Value) > longest {
		s.at(n, field, "%s is not a plain decimal number: write digits and a point, such as %s, without sign, unit, exponent or separator", quote(n.Value), example)
		return "", false
	}
	return n.Value, true
}

// usd reads an amount of dollars, exact to the micro-dollar.
func (s section) usd(key string) (caps.MicroUSD, bool) {
	text, ok := s.decimal(key, "0.05")
	if !ok {
		return 0, false
	}
	amount, err := caps.ParseUSD(text)
	if err != nil {
		s.at(s.values[key], s.field(key), "%s", strings.TrimPrefix(err.Error(), caps.ErrAmount.Error()+": "))
		return 0, false
	}
	return amount, true
}

// text reads a text. What YAML takes for something else than text (true, 1.0, ~)
// needs quotes.
func (s section) text(key string) (string, bool) {
	n := s.node(key)
	if n == nil {
		return "", false
	}
	return s.textOf(n, s.field(key))
}

func (p *problems) textOf(n *yaml.Node, field string) (string, bool) {
	if !p.plain(n, field) {
		return "", false
	}
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		p.at(n, field, "%s stands where a text has to", what(n))
		return "", false
	}
	if n.Tag != "!!str" {
		p.at(n, field, "%s is not read as text: put it in quotes", quote(n.Value))
		return "", false
	}
	return n.Value, true
}

func index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
