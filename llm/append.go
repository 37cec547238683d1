package llm

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed3e88d9a2/spendcap/llm/internal/strictjson"
)

// appendString appends s as a JSON string. What is not valid UTF-8 becomes U+FFFD. The
// result has no line break, so it may stand in an event of a stream.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && size == 1:
				b = append(append(b, s[start:i]...), "\uFFFD"...)
				start = i + 1
			case r == '\u2028' || r == '\u2029': // line breaks to some readers
				b = append(append(b, s[start:i]...), '\\', 'u', '2', '0', '2', hex[r&0xf])
				start = i + size
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		}
		i++
		start = i
	}
	return append(append(b, s[start:]...), '"')
}

func appendInt(b []byte, n int64) []byte { return strconv.AppendInt(b, n, 10) }

// object returns the arguments of a tool call if they are one JSON object on one line,
// and an object without members if not: a model that was cut off has written half of
// one, and half an object cannot stand where the API has an object.
func object(arguments string) string {
	d, err := strictjson.New([]byte(arguments))
	if err != nil || d.Kind() != strictjson.Object || d.Skip() != nil || d.End() != nil {
		return "{}"
	}
	return oneLine(arguments)
}

// oneLine replaces line breaks, which in valid JSON are white space between values.
func oneLine(json string) string {
	return strings.NewReplacer("\n", " ", "\r", " ").Replace(json)
}
