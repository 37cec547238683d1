package metrics

import (
	"encoding/json"
	"strconv"
	"time"
)

// line appends the record as one line of JSON: first the directive, which names the
// metrics, then the members that it refers to.
func (r *Request) line(b []byte, now time.Time) []byte {
	b = append(b, `{"_aws":{"Timestamp":`...)
	b = strconv.AppendInt(b, now.UnixMilli(), 10)
	b = append(b, `,"CloudWatchMetrics":[{"Namespace":"`+Namespace+`","Dimensions":[["`+ServiceDimension+`"]],"Metrics":[`...)
	for c, n := range r.counters {
		if n != 0 {
			b = appendDefinition(b, Counter(c).String(), Counter(c).unit())
		}
	}
	for g, set := range r.set {
		if set {
			b = appendDefinition(b, Gauge(g).String(), Gauge(g).unit())
		}
	}
	for t := range r.timers {
		if r.timers[t].n > 0 {
			b = appendDefinition(b, Timer(t).String(), "Milliseconds")
		}
	}
	b = b[:len(b)-1] // Flush always records the latency, so there is a comma to cut
	b = append(b, `]}]},"`+ServiceDimension+`":`...)
	b = appendString(b, r.m.Service)
	if r.route != "" {
		b = append(b, `,"route":`...)
		b = appendString(b, r.route)
	}
	for c, n := range r.counters {
		if n != 0 {
			b = strconv.AppendInt(appendMember(b, Counter(c).String()), n, 10)
		}
	}
	for g, set := range r.set {
		if set {
			b = strconv.AppendInt(appendMember(b, Gauge(g).String()), r.gauges[g], 10)
		}
	}
	for t := range r.timers {
		if r.timers[t].n > 0 {
			b = r.timers[t].append(appendMember(b, Timer(t).String()))
		}
	}
	return append(b, "}\n"...)
}

func appendDefinition(b []byte, name, unit string) []byte {
	b = append(b, `{"Name":"`...)
	b = append(b, name...)
	b = append(b, `","Unit":"`...)
	b = append(b, unit...)
	return append(b, `"},`...)
}

func appendMember(b []byte, name string) []byte {
	b = append(b, `,"`...)
	b = append(b, name...)
	return append(b, `":`...)
}

// append writes one value as a number and several as an array.
func (s *samples) append(b []byte) []byte {
	if s.n == 1 {
		return appendMilliseconds(b, s.at(0))
	}
	b = append(b, '[')
	for i := range s.n {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendMilliseconds(b, s.at(i))
	}
	return append(b, ']')
}

// appendMilliseconds writes d in milliseconds with three digits after the point. A
// clock that was set back gives 0.
func appendMilliseconds(b []byte, d time.Duration) []byte {
	us := max(0, d.Microseconds())
	b = strconv.AppendInt(b, us/1000, 10)
	return append(b, '.', byte('0'+us/100%10), byte('0'+us/10%10), byte('0'+us%10))
}

func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			text, _ := json.Marshal(s) // a string always has a JSON form
			return append(b, text...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
