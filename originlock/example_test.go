package originlock_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed3e88d9a2/spendcap/originlock"
)

// The lock in a Lambda behind an HTTP API. It is made once, in the init phase. The
// header that is sent twice reaches the Lambda joined with a comma.
func Example() {
	secret := strings.Repeat("0123456789abcdef", 4) // drawn with `openssl rand -hex 32`

	source, err := originlock.NewStatic(secret)
	if err != nil {
		log.Fatal(err)
	}
	lock, err := originlock.New(context.Background(), originlock.Config{Source: source})
	if err != nil {
		log.Fatal(err)
	}
	handle := func(ctx context.Context, event events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		if ok, err := lock.CheckEvent(ctx, event); !ok || err != nil {
			return events.APIGatewayV2HTTPResponse{StatusCode: 401, Body: originlock.Refusal}, nil
		}
		return events.APIGatewayV2HTTPResponse{StatusCode: 200, Body: `{"hello":"viewer"}`}, nil
	}

	for _, value := range []string{secret, secret + "," + secret, ""} {
		event := events.APIGatewayV2HTTPRequest{Headers: map[string]string{"x-origin-verify": value}}
		answer, _ := handle(context.Background(), event)
		fmt.Println(answer.StatusCode, answer.Body)
	}
	// Output:
	// 200 {"hello":"viewer"}
	// 401 {"error":"not_via_cloudfront"}
	// 401 {"error":"not_via_cloudfront"}
}

// The lock around a net/http server.
func ExampleLock_Middleware() {
	secret := strings.Repeat("0123456789abcdef", 4)
	source, err := originlock.NewStatic(secret)
	if err != nil {
		log.Fatal(err)
	}
	lock, err := originlock.New(context.Background(), originlock.Config{Source: source})
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(lock.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "the secret stays outside: %q", r.Header.Get(originlock.Header))
	})))
	defer server.Close()

	for _, value := range []string{secret, "a guess"} {
		request, err := http.NewRequest("GET", server.URL, nil)
		if err != nil {
			log.Fatal(err)
		}
		request.Header.Set(originlock.Header, value)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			log.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		fmt.Println(response.StatusCode, string(body), err)
	}
	// Output:
	// 200 the secret stays outside: "" <nil>
	// 401 {"error":"not_via_cloudfront"} <nil>
}

// A start without a usable secret fails and says what to do.
func ExampleNewStatic() {
	_, err := originlock.NewStatic(os.Getenv("A_VARIABLE_THAT_NOBODY_HAS_SET"))
	fmt.Println(err)
	// Output: secret 1 of 1: the origin secret is empty: draw one with `openssl rand -hex 32`
}

// vault stands for a store of secrets that is not AWS Secrets Manager.
type vault map[string]string

// Secrets gives the new secret beside the old one while both are in use.
func (v vault) Secrets(context.Context) ([]string, error) {
	return []string{v["current"], v["next"]}, nil
}

// A source of your own. What it does not have it may give as an empty string, which
// no request gets in with.
func ExampleSource() {
	v := vault{"current": strings.Repeat("0123456789abcdef", 4)}
	lock, err := originlock.New(context.Background(), originlock.Config{Source: v})
	if err != nil {
		log.Fatal(err)
	}
	next := strings.Repeat("fedcba9876543210", 4)
	v["next"] = next
	for _, value := range []string{v["current"], next, ""} {
		fmt.Println(lock.Check(context.Background(), value))
	}
	// Output:
	// true <nil>
	// true <nil>
	// false <nil>
}
