package infra_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/site"
)

const (
	pageHeaders = "AWS::CloudFront::ResponseHeadersPolicy"
	secured     = "Properties/ResponseHeadersPolicyConfig/SecurityHeadersConfig/"
)

// served are the headers that the page's policy adds, with the side door as text.
func served(t template) (map[string]string, error) {
	id, r, err := t.one(pageHeaders, "PageHeaders")
	if err != nil {
		return nil, err
	}
	if used := t.at(distribution, "Edge", config+"DefaultCacheBehavior/ResponseHeadersPolicyId"); !same(used, map[string]any{"Ref": id}) {
		return nil, fmt.Errorf("the page has the policy %s", text(used))
	}
	headers := map[string]string{}
	for name, field := range map[string]string{
		"Content-Security-Policy": "ContentSecurityPolicy/ContentSecurityPolicy",
		"Referrer-Policy":         "ReferrerPolicy/ReferrerPolicy",
		"X-Frame-Options":         "FrameOptions/FrameOption",
	} {
		if value, ok := get(r, secured+field); ok {
			headers[name] = sideDoorAsText(value)
		}
	}
	if _, ok := get(r, secured+"ContentTypeOptions"); ok {
		headers["X-Content-Type-Options"] = "nosniff"
	}
	behaviours, _ := get(r, secured[:len(secured)-1])
	fields, _ := behaviours.(map[string]any)
	for name, field := range fields {
		if override, _ := get(field, "Override"); override != true {
			return nil, fmt.Errorf("%s may be replaced by the bucket's", name)
		}
	}
	custom, _ := get(r, "Properties/ResponseHeadersPolicyConfig/CustomHeadersConfig/Items")
	items, _ := custom.([]any)
	for _, item := range items {
		header, _ := get(item, "Header")
		value, _ := get(item, "Value")
		if override, _ := get(item, "Override"); override != true {
			return nil, fmt.Errorf("%v may be replaced by the bucket's", header)
		}
		headers[fmt.Sprint(header)] = fmt.Sprint(value)
	}
	return headers, nil
}

const door = "https://SIDE-DOOR"

// sideDoorAsText undoes the Fn::Join that the API's own URL makes of a text.
func sideDoorAsText(v any) string {
	join, ok := get(v, "Fn::Join/1")
	if !ok {
		return fmt.Sprint(v)
	}
	var b strings.Builder
	for _, part := range join.([]any) {
		if s, ok := part.(string); ok {
			b.WriteString(s)
			continue
		}
		b.WriteString("|" + text(part) + "|")
	}
	id, rest, _ := strings.Cut(b.String(), `|{"Ref":"SpendCapApi`)
	_, rest, _ = strings.Cut(rest, `|{"Ref":"AWS::URLSuffix"}|`)
	return strings.Replace(id, "https://", door, 1) + rest
}

// pageIsHeld fails if the deployed page is not sent with the headers of package site.
func pageIsHeld(t template) error {
	got, err := served(t)
	if err != nil {
		return err
	}
	want := map[string]string{}
	for _, h := range site.Headers(site.Settings{SideDoor: door}) {
		want[h.Name] = h.Value
	}
	if !same(got, want) {
		return fmt.Errorf("the page is sent with %s\nwant %s", text(got), text(want))
	}
	if url := text(t.at("Custom::SpendCapPage", "PageFiles", "Properties/SideDoor")); !strings.Contains(url, `{"Ref":"SpendCapApi`) {
		return fmt.Errorf("the page is told that the side door is %s", url)
	}
	return nil
}

func TestPageHeaders(t *testing.T) {
	whole := plainTemplate(t)
	breaks := map[string]func(template){
		"another policy": func(t template) {
			t.with(distribution, "Edge", config+"DefaultCacheBehavior/ResponseHeadersPolicyId", "67f7725c-6f97-4210-82d7-5512b31e9d03")
		},
		"inline scripts": func(t template) {
			t.with(pageHeaders, "PageHeaders", secured+"ContentSecurityPolicy/ContentSecurityPolicy", "default-src 'self' 'unsafe-inline'")
		},
		"overridden": func(t template) { t.with(pageHeaders, "PageHeaders", secured+"FrameOptions/Override", false) },
		"no custom": func(t template) {
			t.with(pageHeaders, "PageHeaders", "Properties/ResponseHeadersPolicyConfig/CustomHeadersConfig/Items", []any{})
		},
		"no side door": func(t template) {
			t.with("Custom::SpendCapPage", "PageFiles", "Properties/SideDoor", "https://x.example")
		},
	}
	for _, field := range []string{"ContentSecurityPolicy", "ContentTypeOptions", "FrameOptions", "ReferrerPolicy"} {
		breaks["no "+field] = func(t template) {
			_, r, _ := t.one(pageHeaders, "PageHeaders")
			remove(r, secured+field)
		}
	}
	rule{pageIsHeld, breaks}.run(t, whole)
}
