package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// claimStrings writes claims as the real one writes them into the event, where each is a
// text (observed): a number as it stands in the token, a list as [a b], an object as
// map[a:b], and null not at all. A list or an object cannot be told from a text that
// looks like one.
func claimStrings(raw map[string]json.RawMessage) (map[string]string, error) {
	claims := make(map[string]string, len(raw))
	for name, value := range raw {
		d := json.NewDecoder(bytes.NewReader(value))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		if v != nil {
			claims[name] = claimString(v)
		}
	}
	return claims, nil
}

func claimString(v any) string {
	switch v := v.(type) {
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = claimString(item)
		}
		return "[" + strings.Join(items, " ") + "]"
	case map[string]any:
		items := make([]string, 0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			items = append(items, name+":"+claimString(v[name]))
		}
		return "map[" + strings.Join(items, " ") + "]"
	default:
		return fmt.Sprint(v) // a text, a number as it was written, true or false
	}
}
