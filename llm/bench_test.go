package llm

import (
	"context"
	"strings"
	"testing"
)

var (
	shortChat = []byte(`{"model":"small","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"What is the capital of France?"}],"temperature":0.2,"max_tokens":100}`)
	longChat  = []byte(`{"model":"small","messages":[{"role":"user","content":"` + strings.Repeat(`All work and no play makes Jack a dull boy.\n`, 150) + `"}]}`)
	toolChat  = []byte(`{"model":"small",` + hello + `,"tools":[{"type":"function","function":{"name":"weather","description":"Says the weather.","parameters":{"type":"object","properties":{"city":{"type":"string"},"unit":{"type":"string","enum":["C","F"]}},"required":["city"]}}}]}`)
	shortMess = []byte(`{"model":"small","max_tokens":100,"system":"Be brief.","messages":[{"role":"user","content":[{"type":"text","text":"What is the capital of France?"}]}]}`)
)

func BenchmarkParse(b *testing.B) {
	s := testService(b)
	for _, c := range []struct {
		name  string
		parse func([]byte) (*Call, error)
		body  []byte
	}{
		{"chat", s.ParseChatCompletions, shortChat},
		{"chat of 6 kB", s.ParseChatCompletions, longChat},
		{"chat with a tool", s.ParseChatCompletions, toolChat},
		{"messages", s.ParseMessages, shortMess},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(c.body)))
			for b.Loop() {
				if _, err := c.parse(c.body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDo(b *testing.B) {
	for name, stream := range map[string]string{"json": "false", "stream": "true"} {
		b.Run(name, func(b *testing.B) {
			s := newService(b, testConfig(), &fake{features: everything, response: text})
			call, err := s.ParseChatCompletions([]byte(`{"model":"small",` + hello + `,"stream":` + stream + `}`))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := call.Do(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
