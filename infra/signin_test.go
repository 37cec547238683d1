package infra_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"github.com/seed3e88d9a2/spendcap/infra"
)

const issuer = "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_Example"

// signInFile is an operator's file with signed-in callers.
func signInFile(anonymous string) string {
	content, err := os.ReadFile("../spendcap.yaml")
	if err != nil {
		panic(err)
	}
	file := string(content) + `
auth: {issuer: "` + issuer + `", audience: [client-1, client-2], anonymous: ` + anonymous + `, default_tier: free, scopes: [chat]}
tiers: [{name: free, calls: 20, usd: 0.10}]
`
	if anonymous == "refuse" {
		lines := strings.SplitAfter(file, "\n")
		for i, line := range lines {
			if strings.HasPrefix(line, "  caller: ") {
				lines[i] = ""
			}
		}
		file = strings.Join(lines, "")
	}
	return file
}

const (
	route      = "AWS::ApiGatewayV2::Route"
	authorizer = "AWS::ApiGatewayV2::Authorizer"
	permission = "AWS::Lambda::Permission"
)

// onlyWithToken: these routes and no others, each with the authorizer or without, and the
// function may be invoked by each.
func onlyWithToken(want map[string]bool) func(template) error {
	return func(t template) error {
		id, a, err := t.one(authorizer, "")
		if err != nil {
			return err
		}
		var errs []error
		for path, want := range map[string]any{
			"AuthorizerType": "JWT", "IdentitySource": []string{"$request.header.Authorization"},
			"JwtConfiguration": map[string]any{"Issuer": issuer, "Audience": []string{"client-1", "client-2"}},
		} {
			if got, _ := get(a, "Properties/"+path); !same(got, want) {
				errs = append(errs, fmt.Errorf("%s is %s", path, text(got)))
			}
		}
		invokers := ""
		for _, p := range t.all(permission) {
			arn, _ := get(p, "Properties/SourceArn")
			invokers += text(arn)
		}
		found := map[string]bool{}
		for name, r := range t.all(route) {
			key, _ := get(r, "Properties/RouteKey")
			signedIn, known := want[fmt.Sprint(key)]
			if !known || found[fmt.Sprint(key)] {
				errs = append(errs, fmt.Errorf("%s: a route %v", name, key))
				continue
			}
			found[fmt.Sprint(key)] = true
			kind, _ := get(r, "Properties/AuthorizationType")
			by, has := get(r, "Properties/AuthorizerId")
			scopes, _ := get(r, "Properties/AuthorizationScopes")
			switch {
			case signedIn && (kind != "JWT" || !same(by, map[string]string{"Ref": id}) || !same(scopes, []string{"chat"})):
				errs = append(errs, fmt.Errorf("%v is open: %v, %v, scopes %v", key, kind, by, scopes))
			case !signedIn && (kind != "NONE" || has):
				errs = append(errs, fmt.Errorf("%v is closed: %v", key, kind))
			}
			source := "/$default/$default"
			if _, path, ok := strings.Cut(fmt.Sprint(key), " "); ok {
				source = "/$default/*" + path
			}
			if !strings.Contains(invokers, source+`"`) {
				errs = append(errs, fmt.Errorf("%v may not invoke the function: %s", key, invokers))
			}
		}
		if len(found) != len(want) {
			errs = append(errs, fmt.Errorf("routes %v, want %v", found, want))
		}
		return errors.Join(errs...)
	}
}

func TestSignedInRoutes(t *testing.T) {
	for anonymous, want := range map[string]map[string]bool{
		"allow":  {"$default": false, "ANY /api/u/{proxy+}": true, "OPTIONS /api/u/{proxy+}": false},
		"refuse": {"$default": true, "OPTIONS /{proxy+}": false},
	} {
		whole := synth(t, signInFile(anonymous), nil)
		closed := "" // the id of the route that asks for a token
		for id, r := range whole.all(route) {
			if key, _ := get(r, "Properties/RouteKey"); want[fmt.Sprint(key)] {
				closed = id
			}
		}
		breaks := map[string]func(template){
			"the issuer is gone":   func(t template) { remove(t.at(authorizer, "", "Properties/JwtConfiguration"), "Issuer") },
			"the audience is gone": func(t template) { remove(t.at(authorizer, "", "Properties/JwtConfiguration"), "Audience") },
			"another header": func(t template) {
				t.with(authorizer, "", "Properties/IdentitySource", []string{"$request.header.X-Token"})
			},
			"no JWT authorizer":           func(t template) { t.with(authorizer, "", "Properties/AuthorizerType", "REQUEST") },
			"the authorizer is gone":      func(t template) { id, _, _ := t.one(authorizer, ""); delete(t.resources(), id) },
			"the signed-in route is open": func(t template) { t.with(route, closed, "Properties/AuthorizationType", "NONE") },
			"its authorizer is gone":      func(t template) { remove(t.at(route, closed, "Properties"), "AuthorizerId") },
			"its scopes are gone":         func(t template) { remove(t.at(route, closed, "Properties"), "AuthorizationScopes") },
			"the route is gone":           func(t template) { id, _, _ := t.one(route, closed); delete(t.resources(), id) },
			"one more open route": func(t template) {
				t.resources()["More"] = map[string]any{"Type": route, "Properties": map[string]any{"RouteKey": "POST /api/u/v1/messages", "AuthorizationType": "NONE"}}
			},
			"nothing may invoke the function": func(t template) {
				for id := range t.all(permission) {
					delete(t.resources(), id)
				}
			},
		}
		rule{onlyWithToken(want), breaks}.run(t, whole)
		if err := onlyWithSecret(whole); err != nil {
			t.Error(err)
		}
		// Nobody has more rights for it.
		if got, want := strings.Join(grants(whole, "HandlerRole"), "\n"), strings.Join(grants(plainTemplate(t), "HandlerRole"), "\n"); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
	// Without auth there is one route, and no authorizer.
	whole := plainTemplate(t)
	if n, m := len(whole.all(route)), len(whole.all(authorizer)); n != 1 || m != 0 {
		t.Errorf("%d routes and %d authorizers without auth", n, m)
	}
}

func TestSignInOfOnesOwnHandler(t *testing.T) {
	dir, err := lambdas()
	if err != nil {
		t.Fatal(err)
	}
	for anonymous, want := range map[bool]map[string]bool{
		true:  {"$default": false, "ANY /api/u/{proxy+}": true, "OPTIONS /api/u/{proxy+}": false},
		false: {"$default": true, "OPTIONS /{proxy+}": false},
	} {
		app := awscdk.NewApp(&awscdk.AppProps{Outdir: jsii.String(t.TempDir())})
		stack := awscdk.NewStack(app, jsii.String("theirs"), nil)
		own := awslambda.NewFunction(stack, jsii.String("Own"), &awslambda.FunctionProps{
			Runtime: awslambda.Runtime_PROVIDED_AL2023(), Handler: jsii.String("bootstrap"),
			Code: awslambda.Code_FromAsset(jsii.String(filepath.Join(dir, "api")), nil),
		})
		_, err := infra.NewSpendCap(stack, "Cap", &infra.Props{Handler: own, Lambdas: dir, SignIn: &infra.SignIn{
			Issuer: issuer, Audience: []string{"client-1", "client-2"}, Scopes: []string{"chat"}, Anonymous: anonymous,
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := onlyWithToken(want)(template(*assertions.Template_FromStack(stack, nil).ToJSON()).clone()); err != nil {
			t.Error(err)
		}
	}
}

func TestWrongSignIn(t *testing.T) {
	for want, c := range map[string]struct {
		file   string
		change func(*infra.Props)
	}{
		"SignIn is for a handler of one's own": {demoOnly, func(p *infra.Props) {
			p.SignIn = &infra.SignIn{Issuer: issuer, Audience: []string{"a"}}
		}},
		"an issuer that it can reach with https": {strings.Replace(signInFile("allow"), issuer, "http://127.0.0.1:9000", 1), nil},
	} {
		if _, _, err := stackOf(t, c.file, c.change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
