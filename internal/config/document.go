package config

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MaxBytes bounds the file. A generous one with a long system prompt has a tenth
// of it; the bound keeps a wrong path from filling the memory.
const MaxBytes = 64 << 10

// document parses YAML into nodes. Nothing is converted to Go values by the YAML
// library: a node keeps the text as it stands in the file, so that 0.05 is never a
// float on its way.
func document(data []byte) (*yaml.Node, error) {
	p := new(problems)
	if len(data) > MaxBytes {
		p.add(0, "", "the file is larger than %d bytes: is it the right one?", MaxBytes)
		return nil, p.err()
	}
	dec := yaml.NewDecoder(strings.NewReader(string(data)))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		p.add(0, "", "the file is empty: start from the spendcap.yaml that comes with spendcap")
		return nil, p.err()
	case err != nil:
		p.syntax(err)
		return nil, p.err()
	}
	var next yaml.Node
	switch err := dec.Decode(&next); {
	case err == nil:
		p.at(&next, "", "a second document starts here: keep everything in one, without ---")
		return nil, p.err()
	case !errors.Is(err, io.EOF):
		p.syntax(err)
		return nil, p.err()
	}
	return doc.Content[0], nil
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line ([0-9]+): )?`)

// syntax reports an error of the YAML parser, which says the line in its text.
func (p *problems) syntax(err error) {
	text := err.Error()
	line := 0
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1]) // 0 where the parser names no line
		text = text[len(m[0]):]
	}
	switch text {
	case "did not find expected key", "did not find expected '-' indicator":
		text += ": here or further down a line is not indented like its neighbours, or a quote is not closed"
	}
	p.add(line, "", "not valid YAML: %s", text)
}

// plain refuses what makes a value something else than what stands in its place:
// aliases, anchors and tags.
func (p *problems) plain(n *yaml.Node, field string) bool {
	switch {
	case n.Kind == yaml.AliasNode:
		p.at(n, field, "*%s is an alias: write the value out", n.Value)
	case n.Anchor != "":
		p.at(n, field, "&%s is an anchor: remove it, aliases are not followed", n.Anchor)
	case n.Style&yaml.TaggedStyle != 0:
		p.at(n, field, "the tag %s is not allowed: write the value alone", quote(n.Tag))
	default:
		return true
	}
	return false
}

// what names a node in a message.
func what(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a group of keys"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "nothing"
	}
	return fmt.Sprintf("the text %s", quote(n.Value))
}
