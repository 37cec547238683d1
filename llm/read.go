package llm

import (
	"errors"
	"strings"

	"github.com/seed3e88d9a2/spendcap/llm/internal/strictjson"
)

// Bounds of single fields. They keep messages and checks small; what they bound is
// counted against [Config.MaxInputBytes] as well.
const (
	maxStopBytes = 256
	maxNameBytes = 64  // of tools and participants, as both APIs have it
	maxIDBytes   = 256 // of tool calls
)

// reader reads one request of either API.
type reader struct {
	*strictjson.Decoder
	service *Service
	call    *Call
	request *Request

	unsupported bool // what ended the reading is not carried here
	missing     bool // what ended the reading is not there
}

// parse reads body with read, which is given the name of each member, and then checks
// and prices what was read.
func (s *Service) parse(front Front, body []byte, read func(*reader, string) error, finish func(*reader) error) (*Call, error) {
	// The longest escape of a byte has six; the rest is for the JSON around.
	if most := 6*int64(s.config.MaxInputBytes) + 65536; int64(len(body)) > most {
		return nil, s.config.tooLarge()
	}
	d, err := strictjson.New(body)
	if err != nil {
		return nil, (&reader{}).refusal(err)
	}
	c := &Call{service: s, front: front}
	c.request.Messages = make([]Message, len(s.system), len(s.system)+8)
	copy(c.request.Messages, s.system)
	r := &reader{Decoder: d, service: s, call: c, request: &c.request}
	if d.Kind() != strictjson.Object && d.Kind() != strictjson.Invalid {
		return nil, &RequestError{Status: 422, Code: CodeInvalidJSON, Message: "The request has to be a JSON object."}
	}
	if err := d.Object(func(name string) error { return read(r, name) }); err != nil {
		return nil, r.refusal(err)
	}
	if err := d.End(); err != nil {
		return nil, r.refusal(err)
	}
	if c.model == nil {
		return nil, &RequestError{Status: 422, Code: CodeMissing, Param: "model", Message: "model is missing: name one of " + s.names + "."}
	}
	if len(c.request.Messages) == len(s.system) {
		return nil, &RequestError{Status: 422, Code: CodeMissing, Param: "messages", Message: "messages is missing or empty: send at least one message."}
	}
	if err := finish(r); err != nil {
		return nil, r.refusal(err)
	}
	if err := r.bound(); err != nil {
		return nil, err
	}
	return c, nil
}

// bound applies the operator's limits and prices the call.
func (r *reader) bound() error {
	c, s := r.call, r.service
	r.request.MaxOutputTokens = c.model.outputLimit(r.request.MaxOutputTokens)
	r.request.Model = c.model.Upstream
	if t := s.config.Temperature; t != nil && r.request.Temperature == nil {
		// Unset is 1 with every provider, which the operator may not want.
		if usual := min(max(1, t.Min), t.Max); usual != 1 {
			r.request.Temperature = &usual
		}
	}
	var err error
	c.worst, err = s.config.price(c.model, r.request.counted(), r.request.overhead(), r.request.MaxOutputTokens)
	return err
}

// refusal makes the error of a request from that of reading it.
func (r *reader) refusal(err error) error {
	var ready *RequestError
	if errors.As(err, &ready) {
		return ready
	}
	e := &RequestError{Status: 422, Code: CodeInvalid, Message: sentence(err.Error())}
	var at *strictjson.Error
	if errors.As(err, &at) {
		e.Param = at.Path
		switch {
		case at.Code == strictjson.Syntax:
			e.Code, e.Message = CodeInvalidJSON, sentence("The request is "+at.Text)
		case r.unsupported:
			e.Code = CodeUnsupported
		case r.missing:
			e.Code = CodeMissing
		}
	}
	return e
}

func sentence(s string) string {
	if strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

// refuse says that what is at hand is not carried.
func (r *reader) refuse(format string, args ...any) error {
	r.unsupported = true
	return strictjson.Errorf(format, args...)
}

// lack says that something is not there.
func (r *reader) lack(format string, args ...any) error {
	r.missing = true
	return strictjson.Errorf(format, args...)
}

// unknown refuses a member that is not known, after having read it, so that what is
// no JSON is told first.
func (r *reader) unknown() error {
	if err := r.Skip(); err != nil {
		return err
	}
	return r.refuse("is not supported here: leave it out")
}

// priced refuses a member that would change the price, unless it is null.
func (r *reader) priced(why string) error {
	if r.IsNull() {
		return nil
	}
	if err := r.Skip(); err != nil {
		return err
	}
	return r.refuse("is not supported here, because %s: leave it out", why)
}

// only accepts null or one of the words, and refuses any other as not carried.
func (r *reader) only(words ...string) error {
	if r.IsNull() {
		return nil
	}
	s, err := r.String()
	if err != nil {
		return err
	}
	for _, w := range words {
		if s == w {
			return nil
		}
	}
	return r.refuse("%s is not supported here: leave it out", quote(s))
}

// word reads one of the words, or null as "".
func (r *reader) word(words ...string) (string, error) {
	if r.IsNull() {
		return "", nil
	}
	s, err := r.String()
	if err != nil {
		return "", err
	}
	for _, w := range words {
		if s == w {
			return s, nil
		}
	}
	return "", strictjson.Errorf("%s is none of %s", quote(s), strings.Join(words, ", "))
}

func (r *reader) model() error {
	name, err := r.String()
	if err != nil {
		return err
	}
	m := r.service.models[name]
	if m == nil {
		return r.service.unknownModel(name)
	}
	r.call.model = m
	return nil
}

// outputLimit reads a limit of output tokens, of which the least counts.
func (r *reader) outputLimit() error {
	if r.IsNull() {
		return nil
	}
	n, err := r.Int()
	if err != nil {
		return err
	}
	if n < 1 {
		return strictjson.Errorf("%d is not positive: ask for at least 1 token", n)
	}
	n = min(n, maxOutputTokens)
	if r.request.MaxOutputTokens == 0 || int(n) < r.request.MaxOutputTokens {
		r.request.MaxOutputTokens = int(n)
	}
	return nil
}

// number reads a number between least and most, or null as nil.
func (r *reader) number(least, most float64) (*float64, error) {
	if r.IsNull() {
		return nil, nil
	}
	f, err := r.Float()
	if err != nil {
		return nil, err
	}
	if f < least || f > most {
		return nil, strictjson.Errorf("%v is not between %v and %v", f, least, most)
	}
	return &f, nil
}

// temperature reads a temperature within what the API, the provider and the operator
// take.
func (r *reader) temperature(most float64) (err error) {
	least := 0.0
	if f := r.service.features.MaxTemperature; f < most {
		most = f
	}
	if t := r.service.config.Temperature; t != nil {
		least, most = t.Min, min(most, t.Max)
	}
	r.request.Temperature, err = r.number(least, most)
	return err
}

// penalty reads a penalty, of which 0 is the same as none.
func (r *reader) penalty(into **float64) error {
	f, err := r.number(-2, 2)
	if err != nil || f == nil || *f == 0 && !r.service.features.Penalties {
		return err
	}
	*into = f
	return r.carried(nil, r.service.features.Penalties)
}

// stops reads a list of stop sequences, or a single one, or null.
func (r *reader) stops(single bool) error {
	if r.IsNull() {
		return nil
	}
	most := r.service.features.MaxStop
	add := func() error {
		s, err := r.String()
		switch {
		case err != nil:
			return err
		case s == "":
			return strictjson.Errorf("a stop sequence must not be empty")
		case len(s) > maxStopBytes:
			return strictjson.Errorf("a stop sequence must not be longer than %d bytes", maxStopBytes)
		case len(r.request.Stop) == most:
			return r.refuse("more than %d stop sequences are not supported here", most)
		}
		r.request.Stop = append(r.request.Stop, s)
		return nil
	}
	if single && r.Kind() == strictjson.String {
		return add()
	}
	return r.Array(func(int) error { return add() })
}

// optionalBool reads true, false, or null as nil.
func (r *reader) optionalBool() (*bool, error) {
	if r.IsNull() {
		return nil, nil
	}
	b, err := r.Bool()
	return &b, err
}

// flag reads true, false, or null as false.
func (r *reader) flag() (bool, error) {
	b, err := r.optionalBool()
	return b != nil && *b, err
}

// emptyOrNull accepts null, and an empty list, object or string: what SDKs write for
// nothing.
func (r *reader) emptyOrNull(why string) error {
	if r.IsNull() {
		return nil
	}
	raw, err := r.Raw()
	if err != nil {
		return err
	}
	switch strings.Join(strings.Fields(raw), "") {
	case "[]", "{}", `""`:
		return nil
	}
	return r.refuse("%s", why)
}

// object reads a JSON object as its text.
func (r *reader) object() (string, error) {
	if k := r.Kind(); k != strictjson.Object {
		return "", r.Object(nil) // says what it should be
	}
	return r.Raw()
}

// toolName reads a name that both APIs accept for a tool: ^[a-zA-Z0-9_-]{1,64}$.
func (r *reader) toolName() (string, error) {
	s, err := r.String()
	if err == nil && !isName(s) {
		err = strictjson.Errorf("%s is no name of a tool: 1 to %d letters, digits, underscores and hyphens", quote(s), maxNameBytes)
	}
	return s, err
}

func isName(s string) bool {
	for i := range len(s) {
		if c := s[i]; !(c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			return false
		}
	}
	return s != "" && len(s) <= maxNameBytes
}

func (r *reader) callID() (string, error) {
	s, err := r.String()
	if err == nil && (s == "" || len(s) > maxIDBytes) {
		err = strictjson.Errorf("the ID of a tool call has 1 to %d bytes", maxIDBytes)
	}
	return s, err
}
