package llm

import "encoding/json"

// Front is an API that clients already speak.
type Front byte

const (
	ChatCompletions Front = iota // OpenAI, POST .../chat/completions
	Messages                     // Anthropic, POST .../messages
)

// RequestError is a request that is refused before anything is counted. Its Error is a
// sentence for the caller that names the field and the remedy.
type RequestError struct {
	Status  int    // 413 for too much input, 422 for the rest
	Code    string // such as unsupported_parameter
	Param   string // the field, such as messages[0].content; empty for the whole request
	Message string
}

func (e *RequestError) Error() string { return e.Message }

// Codes of a [RequestError].
const (
	CodeInvalidJSON = "invalid_json"
	CodeInvalid     = "invalid_value"         // a field has a value that it cannot have
	CodeMissing     = "missing_parameter"     // a field has to be there
	CodeUnsupported = "unsupported_parameter" // a field, or its value, is not carried
	CodeModel       = "model_not_found"       // the model is not in the price list
	CodeTooLarge    = "request_too_large"     // over [Config.MaxInputBytes]
)

// Failure is what [ErrorBody] tells the caller.
type Failure struct {
	Status  int            // of the answer; it decides the type that the API has for it
	Code    string         // such as budget_exceeded
	Param   string         // the field at fault, if any
	Message string         // what an SDK shows
	Extra   map[string]any // more members, such as capped and scope, at the top level and in the error
}

// ErrorBody returns the body of an error in the form of the API, which its SDKs show
// the message of. What is in Extra does not replace the members that the form has.
func ErrorBody(f Front, e Failure) []byte {
	inner := make(map[string]any, len(e.Extra)+4)
	outer := make(map[string]any, len(e.Extra)+2)
	for name, value := range e.Extra {
		inner[name], outer[name] = value, value
	}
	inner["message"] = e.Message
	inner["code"] = orNull(e.Code)
	inner["param"] = orNull(e.Param)
	switch f {
	case Messages:
		inner["type"] = anthropicErrorType(e.Status)
		outer["type"] = "error"
	default:
		inner["type"] = openAIErrorType(e.Status)
	}
	outer["error"] = inner
	body, err := json.Marshal(outer)
	if err != nil { // something in Extra has no JSON form
		e.Extra = nil
		return ErrorBody(f, e)
	}
	return body
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// openAIErrorType and anthropicErrorType give the types that the APIs have for errors
// (https://platform.openai.com/docs/guides/error-codes,
// https://docs.anthropic.com/en/api/errors).
func openAIErrorType(status int) string {
	switch {
	case status == 401:
		return "authentication_error"
	case status == 403:
		return "permission_error"
	case status == 429:
		return "rate_limit_error"
	case status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

func anthropicErrorType(status int) string {
	switch {
	case status == 401:
		return "authentication_error"
	case status == 403:
		return "permission_error"
	case status == 404:
		return "not_found_error"
	case status == 413:
		return "request_too_large"
	case status == 429:
		return "rate_limit_error"
	case status == 504:
		return "timeout_error"
	case status >= 500:
		return "api_error"
	}
	return "invalid_request_error"
}
