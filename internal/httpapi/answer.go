package httpapi

import (
	"encoding/base64"
	"io"
	"net/http"

	"github.com/aws/aws-lambda-go/events"
)

// answer writes the handler's response; nil stands for a failed invocation.
func answer(w http.ResponseWriter, res *events.APIGatewayV2HTTPResponse) {
	if res == nil || res.StatusCode < 200 || res.StatusCode > 599 {
		message(w, http.StatusInternalServerError, "Internal Server Error")
		return
	}
	body := []byte(res.Body)
	if res.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(res.Body); err != nil {
			message(w, http.StatusInternalServerError, "Internal Server Error")
			return
		}
	}
	h := w.Header()
	for name, value := range res.Headers {
		h.Set(name, value)
	}
	for _, cookie := range res.Cookies {
		h.Add("Set-Cookie", cookie)
	}
	w.WriteHeader(res.StatusCode)
	w.Write(body)
}

// message writes an answer that the gateway makes by itself.
func message(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	io.WriteString(w, `{"message":"`+text+`"}`)
}
