package infra_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// reachesAPI tells whether something in a template leads to the HTTP API or to its
// function: it refers to one of them, or names one in the way of AWS.
func reachesAPI(t template, v any) bool {
	s := text(v)
	for _, kind := range []string{"AWS::ApiGatewayV2::Api", function, "AWS::Lambda::Url"} {
		for id := range t.all(kind) {
			if strings.Contains(s, `"`+id+`"`) || strings.Contains(s, "${"+id) {
				return true
			}
		}
	}
	return strings.Contains(s, "execute-api") || strings.Contains(s, "lambda-url")
}

// onlyWithSecret fails if any origin or behaviour of any distribution, or anything else
// in the template, reaches the API without the secret. What is not known to be
// harmless is taken not to be.
func onlyWithSecret(t template) error {
	secret, _, err := t.one("AWS::SecretsManager::Secret", "OriginSecret")
	if err != nil {
		return err
	}
	reference := map[string]any{"Fn::Join": []any{"", []any{"{{resolve:secretsmanager:", map[string]any{"Ref": secret}, ":SecretString:::}}"}}}
	site, _, err := t.one(bucket, "Site")
	if err != nil {
		return err
	}
	var errs []error
	seen := false
	for id, d := range t.all(distribution) {
		harmless := map[string]bool{}
		origins, _ := get(d, "Properties/DistributionConfig/Origins")
		list, _ := origins.([]any)
		for _, o := range list {
			name, _ := get(o, "Id")
			domain, _ := get(o, "DomainName")
			if s := text(domain); strings.Contains(s, site) && !reachesAPI(t, domain) {
				if _, signed := get(o, "OriginAccessControlId"); signed {
					harmless[text(name)] = true
					continue
				}
			}
			good := 0
			headers, _ := get(o, "OriginCustomHeaders")
			all, _ := headers.([]any)
			for _, h := range all {
				if key, _ := get(h, "HeaderName"); strings.EqualFold(fmt.Sprint(key), "X-Origin-Verify") {
					if value, _ := get(h, "HeaderValue"); same(value, reference) {
						good++
					} else {
						good = -100
					}
				}
			}
			if good != 1 {
				errs = append(errs, fmt.Errorf("%s: the origin %v does not send the secret", id, name))
				continue
			}
			if !reachesAPI(t, domain) {
				errs = append(errs, fmt.Errorf("%s: the origin %v gets the secret and is not the API", id, name))
			}
			harmless[text(name)], seen = true, true
		}
		behaviours := []any{}
		if b, ok := get(d, "Properties/DistributionConfig/CacheBehaviors"); ok {
			behaviours = append(behaviours, b.([]any)...)
		}
		if b, ok := get(d, "Properties/DistributionConfig/DefaultCacheBehavior"); ok {
			behaviours = append(behaviours, b)
		}
		for _, b := range behaviours {
			target, _ := get(b, "TargetOriginId")
			if !harmless[text(target)] {
				errs = append(errs, fmt.Errorf("%s: a behaviour goes to %v, which does not send the secret", id, target))
			}
			for _, code := range []string{"FunctionAssociations", "LambdaFunctionAssociations"} {
				if _, ok := get(b, code); ok {
					errs = append(errs, fmt.Errorf("%s: a behaviour has %s, which may choose another origin", id, code))
				}
			}
		}
		if _, ok := get(d, "Properties/DistributionConfig/OriginGroups"); ok {
			errs = append(errs, fmt.Errorf("%s: an origin group is another way to an origin", id))
		}
	}
	if !seen {
		errs = append(errs, errors.New("no origin sends the secret"))
	}
	for id, r := range t.resources() {
		switch kind := r.(map[string]any)["Type"].(string); kind {
		case "AWS::Lambda::Url", "AWS::ApiGatewayV2::DomainName", "AWS::ApiGatewayV2::ApiMapping",
			"AWS::ElasticLoadBalancingV2::TargetGroup", "AWS::ApiGateway::RestApi":
			errs = append(errs, fmt.Errorf("%s: a %s is a way around the edge", id, kind))
		}
	}
	return errors.Join(errs...)
}

func TestNothingReachesTheAPIWithoutTheSecret(t *testing.T) {
	whole := plainTemplate(t)
	api, _, err := whole.one("AWS::ApiGatewayV2::Api", "Api")
	if err != nil {
		t.Fatal(err)
	}
	origin := func(t template, more map[string]any) {
		o := map[string]any{"Id": "second", "DomainName": map[string]any{"Fn::Join": []any{"", []any{map[string]any{"Ref": api}, ".execute-api.us-east-1.amazonaws.com"}}}}
		for k, v := range more {
			o[k] = v
		}
		t.add(distribution, "Edge", config+"Origins", o)
	}
	header := func(t template) map[string]any {
		h, _ := get(t.at(distribution, "Edge", config+"Origins/1"), "OriginCustomHeaders/0")
		return h.(map[string]any)
	}
	rule{onlyWithSecret, map[string]func(template){
		"the header is gone": func(t template) {
			o := t.at(distribution, "Edge", config+"Origins/1").(map[string]any)
			delete(o, "OriginCustomHeaders")
		},
		"the header has another name": func(t template) { header(t)["HeaderName"] = "X-Origin" },
		"a secret in the template":    func(t template) { header(t)["HeaderValue"] = "0123456789-0123456789-0123456789-0123" },
		"another secret": func(t template) {
			id, _, _ := t.one("AWS::SecretsManager::Secret", "HmacSecret")
			header(t)["HeaderValue"] = map[string]any{"Fn::Join": []any{"", []any{"{{resolve:secretsmanager:", map[string]any{"Ref": id}, ":SecretString:::}}"}}}
		},
		"an empty one": func(t template) { header(t)["HeaderValue"] = "" },
		"the header twice": func(t template) {
			o := t.at(distribution, "Edge", config+"Origins/1").(map[string]any)
			o["OriginCustomHeaders"] = append(o["OriginCustomHeaders"].([]any), map[string]any{"HeaderName": "x-origin-verify", "HeaderValue": "another"})
		},
		"a second origin": func(t template) { origin(t, nil) },
		"a second origin with another header": func(t template) {
			origin(t, map[string]any{"OriginCustomHeaders": []any{map[string]any{"HeaderName": "X-Other", "HeaderValue": "x"}}})
		},
		"a second origin by its URL": func(t template) { origin(t, map[string]any{"DomainName": "abc.execute-api.us-east-1.amazonaws.com"}) },
		"an origin elsewhere":        func(t template) { origin(t, map[string]any{"DomainName": "api.example.com"}) },
		"a behaviour to a second origin": func(t template) {
			origin(t, nil)
			t.add(distribution, "Edge", config+"CacheBehaviors", map[string]any{"PathPattern": "/v2/*", "TargetOriginId": "second"})
		},
		"the default behaviour to it": func(t template) {
			origin(t, nil)
			t.with(distribution, "Edge", config+"DefaultCacheBehavior/TargetOriginId", "second")
		},
		"an origin group": func(t template) { t.with(distribution, "Edge", config+"OriginGroups", map[string]any{"Quantity": 1}) },
		"code at the edge": func(t template) {
			t.with(distribution, "Edge", config+"DefaultCacheBehavior/FunctionAssociations", []any{map[string]any{"EventType": "viewer-request"}})
		},
		"a second distribution": func(t template) {
			d := t.clone().all(distribution)
			for _, r := range d {
				second := r
				o, _ := get(second, config+"Origins/1")
				delete(o.(map[string]any), "OriginCustomHeaders")
				t.resources()["Second"] = second
			}
		},
		"a function URL":        func(t template) { t.resources()["Url"] = map[string]any{"Type": "AWS::Lambda::Url"} },
		"a domain of the API's": func(t template) { t.resources()["D"] = map[string]any{"Type": "AWS::ApiGatewayV2::ApiMapping"} },
		"the bucket unsigned": func(t template) {
			o := t.at(distribution, "Edge", config+"Origins/0").(map[string]any)
			delete(o, "OriginAccessControlId")
		},
	}}.run(t, whole)
}
