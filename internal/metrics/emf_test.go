package metrics_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// document is one line, read back and held against the rules of the embedded metric
// format.
type document struct {
	Timestamp int64
	Units     map[string]string    // of every metric
	Values    map[string][]float64 // of every metric
	Members   map[string]any       // of the root, without _aws
}

// units are those of MetricDatum.
var units = strings.Fields(`Seconds Microseconds Milliseconds Bytes Kilobytes Megabytes Gigabytes Terabytes
	Bits Kilobits Megabits Gigabits Terabits Percent Count Bytes/Second Kilobytes/Second Megabytes/Second
	Gigabytes/Second Terabytes/Second Bits/Second Kilobits/Second Megabits/Second Gigabits/Second
	Terabits/Second Count/Second None`)

// validate reads one event: a line without its line break. The rules are those of the
// specification and of its JSON schema
// (https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html),
// with the limits of MetricDatum where the two differ. Objects that the specification
// defines must have no further members.
func validate(event []byte) (*document, error) {
	const mostBytes = 256 << 10 // the older and lower limit of a log event
	if len(event) > mostBytes {
		return nil, fmt.Errorf("%d bytes; the limit is %d", len(event), mostBytes)
	}
	if bytes.ContainsAny(event, "\n\r") {
		return nil, fmt.Errorf("more than one line: a log event ends with the first")
	}
	if err := uniqueKeys(json.NewDecoder(bytes.NewReader(event))); err != nil {
		return nil, err
	}
	var root map[string]any
	dec := json.NewDecoder(bytes.NewReader(event))
	dec.UseNumber()
	if err := dec.Decode(&root); err != nil {
		return nil, err
	}
	if dec.More() {
		return nil, fmt.Errorf("data after the object")
	}
	metadata, err := object(root["_aws"], "_aws", "Timestamp", "CloudWatchMetrics")
	if err != nil {
		return nil, err
	}
	delete(root, "_aws")
	doc := &document{Units: map[string]string{}, Values: map[string][]float64{}, Members: root}
	timestamp, ok := metadata["Timestamp"].(json.Number)
	if !ok {
		return nil, fmt.Errorf("Timestamp is not a number")
	}
	if doc.Timestamp, err = timestamp.Int64(); err != nil {
		return nil, fmt.Errorf("Timestamp is not an integer: %v", err)
	}
	// Seconds or microseconds by mistake are outside of this century.
	if at := time.UnixMilli(doc.Timestamp); at.Year() < 2000 || at.Year() > 2099 {
		return nil, fmt.Errorf("Timestamp %d is not in milliseconds", doc.Timestamp)
	}
	directives, ok := metadata["CloudWatchMetrics"].([]any)
	if !ok {
		return nil, fmt.Errorf("CloudWatchMetrics is not an array")
	}
	for _, d := range directives {
		if err := doc.directive(d); err != nil {
			return nil, err
		}
	}
	return doc, nil
}

func (doc *document) directive(v any) error {
	directive, err := object(v, "a MetricDirective", "Namespace", "Dimensions", "Metrics")
	if err != nil {
		return err
	}
	if err := name(directive["Namespace"], "Namespace", 255); err != nil {
		return err
	}
	sets, ok := directive["Dimensions"].([]any)
	if !ok || len(sets) == 0 {
		return fmt.Errorf("Dimensions is not an array of at least one set")
	}
	for _, s := range sets {
		set, ok := s.([]any)
		if !ok || len(set) > 30 {
			return fmt.Errorf("a DimensionSet is not an array of at most 30")
		}
		for _, d := range set {
			if err := name(d, "a dimension", 250); err != nil {
				return err
			}
			value, ok := doc.Members[d.(string)].(string)
			if !ok {
				return fmt.Errorf("the dimension %s has no string member at the root", d)
			}
			if value == "" || len(value) > 1024 || strings.HasPrefix(value, ":") || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
				return fmt.Errorf("the dimension %s cannot have the value %q", d, value)
			}
		}
	}
	metrics, ok := directive["Metrics"].([]any)
	if !ok || len(metrics) == 0 || len(metrics) > 100 {
		return fmt.Errorf("Metrics is not an array of 1 to 100")
	}
	for _, m := range metrics {
		definition, err := object(m, "a MetricDefinition", "Name", "Unit")
		if err != nil {
			return err
		}
		if err := name(definition["Name"], "a metric", 255); err != nil {
			return err
		}
		metric := definition["Name"].(string)
		unit, ok := definition["Unit"].(string)
		if !ok || !slices.Contains(units, unit) {
			return fmt.Errorf("the unit %v of %s is not one of CloudWatch", definition["Unit"], metric)
		}
		if doc.Units[metric] != "" {
			return fmt.Errorf("%s is defined twice", metric)
		}
		doc.Units[metric] = unit
		values, isArray := doc.Members[metric].([]any)
		if !isArray {
			values = []any{doc.Members[metric]}
		}
		if len(values) == 0 || len(values) > 100 {
			return fmt.Errorf("%s has %d values; 1 to 100 are allowed", metric, len(values))
		}
		for _, v := range values {
			n, ok := v.(json.Number)
			if !ok {
				return fmt.Errorf("%s is %v at the root, not a number", metric, v)
			}
			f, err := n.Float64()
			if err != nil || math.Abs(f) > math.Exp2(360) { // the range of MetricDatum
				return fmt.Errorf("%s is %s, which CloudWatch does not take", metric, n)
			}
			doc.Values[metric] = append(doc.Values[metric], f)
		}
	}
	return nil
}

// object returns v if it is an object with exactly these members.
func object(v any, what string, members ...string) (map[string]any, error) {
	o, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is not an object", what)
	}
	for _, m := range members {
		if _, ok := o[m]; !ok {
			return nil, fmt.Errorf("%s has no %s", what, m)
		}
	}
	if len(o) != len(members) {
		return nil, fmt.Errorf("%s has members beyond %v", what, members)
	}
	return o, nil
}

func name(v any, what string, most int) error {
	s, ok := v.(string)
	if !ok || s == "" || len(s) > most {
		return fmt.Errorf("the name of %s is %v, not a string of 1 to %d characters", what, v, most)
	}
	return nil
}

// uniqueKeys refuses an object that has a key twice, which encoding/json lets pass.
func uniqueKeys(dec *json.Decoder) error {
	token, err := dec.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		seen := map[string]bool{}
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return err
			}
			if seen[key.(string)] {
				return fmt.Errorf("%s is given twice", key)
			}
			seen[key.(string)] = true
			if err := uniqueKeys(dec); err != nil {
				return err
			}
		}
	case json.Delim('['):
		for dec.More() {
			if err := uniqueKeys(dec); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	_, err = dec.Token()
	return err
}

// The validator itself: it lets the example pass that the format's rules describe, and
// refuses each way of breaking them.
func TestValidate(t *testing.T) {
	const good = `{"_aws":{"Timestamp":1796040000000,"CloudWatchMetrics":[{"Namespace":"n","Dimensions":[["d"]],"Metrics":[{"Name":"m","Unit":"Count"}]}]},"d":"v","m":1}`
	if _, err := validate([]byte(good)); err != nil {
		t.Fatalf("%s: %v", good, err)
	}
	values := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("1,", n), ",") + "]" }
	if _, err := validate([]byte(strings.Replace(good, `"m":1`, `"m":`+values(100), 1))); err != nil {
		t.Errorf("100 values: %v", err)
	}
	definitions := strings.TrimSuffix(strings.Repeat(`{"Name":"m","Unit":"Count"},`, 101), ",")
	for _, c := range [][2]string{
		{`"Timestamp":1796040000000`, `"Timestamp":1796040000`},
		{`"Timestamp":1796040000000`, `"Timestamp":1796040000000000`},
		{`"Timestamp":1796040000000`, `"Timestamp":1796040000000.5`},
		{`"Timestamp":1796040000000`, `"Timestamp":"1796040000000"`},
		{`"Timestamp":1796040000000,`, ``},
		{`"Timestamp":1796040000000,`, `"Timestamp":1796040000000,"More":1,`},
		{`"_aws"`, `"aws"`},
		{`"CloudWatchMetrics":[`, `"CloudwatchMetrics":[`},
		{`"Namespace":"n"`, `"Namespace":""`},
		{`"Namespace":"n",`, ``},
		{`"Namespace":"n"`, `"Namespace":"` + strings.Repeat("n", 256) + `"`},
		{`[["d"]]`, `[]`},
		{`[["d"]]`, `["d"]`},
		{`[["d"]]`, `[["e"]]`},
		{`[["d"]]`, `[["m"]]`},
		{`[["d"]]`, `[["d"` + strings.Repeat(`,"d"`, 30) + `]]`},
		{`"d":"v"`, `"d":1`},
		{`"d":"v"`, `"d":""`},
		{`"d":"v"`, `"d":":v"`},
		{`"d":"v"`, `"d":"ü"`},
		{`"d":"v"`, `"d":"v","d":"w"`},
		{`"m":1`, `"m":"1"`},
		{`"m":1`, `"m":null`},
		{`"m":1`, `"m":{"m":1}`},
		{`"m":1`, `"M":1`},
		{`"m":1`, `"m":[]`},
		{`"m":1`, `"m":` + values(101)},
		{`"m":1`, `"m":[1,"2"]`},
		{`"m":1`, `"m":1e400`},
		{`"m":1`, `"m":1,"m":2`},
		{`"Count"`, `"Number"`},
		{`"Count"`, `"count"`},
		{`"Name":"m"`, `"Name":""`},
		{`,"Unit":"Count"`, `,"Unit":"Count","More":1`},
		{`{"Name":"m","Unit":"Count"}`, ``},
		{`{"Name":"m","Unit":"Count"}`, definitions},
		{`{"Name":"m","Unit":"Count"}`, `{"Name":"m","Unit":"Count"},{"Name":"m","Unit":"Count"}`},
		{`"m":1}`, `"m":1} {}`},
		{`"m":1}`, "\"m\":1,\n\"x\":1}"},
		{`"m":1}`, `"m":1`},
		{`"m":1}`, `"m":1,"x":"` + strings.Repeat("x", 256<<10) + `"}`},
	} {
		bad := strings.Replace(good, c[0], c[1], 1)
		if bad == good {
			t.Errorf("%s is not in the example", c[0])
		}
		if _, err := validate([]byte(bad)); err == nil {
			t.Errorf("valid with %.80s", c[1])
		}
	}
}
