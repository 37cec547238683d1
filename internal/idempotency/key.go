package idempotency

import "strings"

// maxKeyBytes is the longest key, without quotes and escapes.
const maxKeyBytes = 255

// parseKey reads the value of the header Idempotency-Key. It has one of two forms,
// and the same key in either is the same key:
//
//   - a string of RFC 9651 section 3.3.3, as the draft wants it: quoted, printable
//     ASCII with \" and \\ as the escapes, without parameters;
//   - raw, as the SDKs send it: visible ASCII without quotes and commas. A comma is
//     what the HTTP API puts between two headers of the same name, and two keys are
//     none.
//
// The key itself has 1 to 255 characters.
func parseKey(value string) (key string, ok bool) {
	if quoted, found := strings.CutPrefix(value, `"`); found {
		key = unquote(quoted)
	} else if !strings.ContainsFunc(value, func(r rune) bool {
		return r <= ' ' || r > '~' || r == '"' || r == ','
	}) {
		key = value
	}
	if key == "" || len(key) > maxKeyBytes {
		return "", false
	}
	return key, true
}

// unquote reads a string of RFC 9651 from behind the opening quote to the closing
// one, which has to be the last character. It returns nothing if the string is
// malformed.
func unquote(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' && i == len(s)-1:
			return b.String()
		case c == '"' || c < ' ' || c > '~':
			return ""
		case c == '\\':
			i++
			if i == len(s) || s[i] != '"' && s[i] != '\\' {
				return ""
			}
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return ""
}
