package site_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/site"
)

var settings = site.Settings{SideDoor: "https://abc.execute-api.eu-central-1.amazonaws.com"}

func file(t *testing.T, name string) string {
	t.Helper()
	for _, f := range site.Files(settings) {
		if f.Name == name {
			return string(f.Content)
		}
	}
	t.Fatalf("there is no %s", name)
	return ""
}

// inline is what the policy would stop in a browser.
func inline(t *testing.T, page string) (found []string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var inside string
	for {
		token, err := d.Token()
		if err == io.EOF {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.CharData:
			if (inside == "script" || inside == "style") && len(bytes.TrimSpace(token)) > 0 {
				found = append(found, "text in a "+inside)
			}
		case xml.EndElement:
			inside = ""
		case xml.StartElement:
			inside = strings.ToLower(token.Name.Local)
			for _, a := range token.Attr {
				name := strings.ToLower(a.Name.Local)
				switch {
				case name == "style", strings.HasPrefix(name, "on"), name == "srcdoc",
					strings.HasPrefix(strings.TrimSpace(strings.ToLower(a.Value)), "javascript:"):
					found = append(found, inside+" "+name)
				}
			}
		}
	}
}

func TestNothingIsInline(t *testing.T) {
	if found := inline(t, file(t, "index.html")); len(found) > 0 {
		t.Errorf("the page has %q", found)
	}
	for _, page := range []string{
		`<script>alert(1)</script>`, `<style>p{}</style>`, `<p style="color:red"></p>`, `<p onclick="f()"></p>`, `<a href=" JavaScript:f()"></a>`, `<iframe srcdoc="x"></iframe>`,
	} {
		if len(inline(t, page)) != 1 {
			t.Errorf("the check does not see %s", page)
		}
	}
}

var (
	attribute = regexp.MustCompile(`(?:src|href)="([^"]*)"`)
	imported  = regexp.MustCompile(`(?:from|import) *\(?"([^"]*)"`)
	linked    = regexp.MustCompile(`(?:url\(|@import)`)
	anywhere  = regexp.MustCompile(`(?:https?:)?//[a-zA-Z0-9]`)
)

// Everything that the page loads is one of its files, and every file is used.
func TestFilesThatAreUsed(t *testing.T) {
	used := map[string]bool{"index.html": true, "config.json": true}
	for _, found := range attribute.FindAllStringSubmatch(file(t, "index.html"), -1) {
		used[found[1]] = true
	}
	var names []string
	for _, f := range site.Files(settings) {
		names = append(names, f.Name)
		content := string(f.Content)
		switch path.Ext(f.Name) {
		case ".js":
			for _, found := range imported.FindAllStringSubmatch(content, -1) {
				name := strings.TrimPrefix(found[1], "./")
				if !used[name] {
					t.Errorf("%s imports %s, which index.html does not load ahead", f.Name, name)
				}
				used[name] = true
			}
			for _, way := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "localStorage", "sessionStorage", "document.cookie", "indexedDB"} {
				if strings.Contains(content, way) {
					t.Errorf("%s has %s", f.Name, way)
				}
			}
		case ".css":
			if linked.MatchString(content) {
				t.Errorf("%s loads something", f.Name)
			}
		}
		for line := range strings.Lines(content) {
			if host := anywhere.FindString(line); host != "" && f.Name != "config.json" && !strings.Contains(line, "http://www.w3.org/2000/svg") && !strings.Contains(line, "https://SIDE_DOOR") {
				t.Errorf("%s names another host: %s", f.Name, strings.TrimSpace(line))
			}
		}
	}
	for name := range used {
		if !slices.Contains(names, name) {
			t.Errorf("there is no %s", name)
		}
	}
	for _, name := range names {
		if !used[name] {
			t.Errorf("nothing uses %s", name)
		}
	}
}

// The page is to be there at once, also on a phone.
func TestThePageIsSmall(t *testing.T) {
	total := 0
	for _, f := range site.Files(settings) {
		total += len(f.Content)
	}
	if total > 64<<10 {
		t.Errorf("the page has %d bytes, want 64 KB at the most", total)
	}
}

func TestSettingsReachThePage(t *testing.T) {
	var got map[string]string
	if err := json.Unmarshal([]byte(file(t, "config.json")), &got); err != nil || got["sideDoor"] != settings.SideDoor || len(got) != 1 {
		t.Errorf("%v %v", got, err)
	}
	for _, f := range site.Files(site.Settings{}) {
		if f.Name == "config.json" && string(f.Content) != "{}" {
			t.Errorf("without settings config.json is %s", f.Content)
		}
	}
}

func get(t *testing.T, method, url string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, url, nil)
	for name, values := range header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	site.Handler(settings).ServeHTTP(w, r)
	for _, h := range site.Headers(settings) {
		if got := w.Header().Values(h.Name); len(got) != 1 || got[0] != h.Value {
			t.Errorf("%s %s: %s: %q, want %q", method, url, h.Name, got, h.Value)
		}
	}
	return w
}

func TestPolicy(t *testing.T) {
	got := get(t, "GET", "/", nil).Header()
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
			"connect-src 'self' https://abc.execute-api.eu-central-1.amazonaws.com; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
			"require-trusted-types-for 'script'; trusted-types 'none'",
		"Referrer-Policy":              "no-referrer",
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
	} {
		if v := got.Get(name); v != want {
			t.Errorf("%s: %q, want %q", name, v, want)
		}
	}
	if policy := site.Headers(site.Settings{})[0]; !strings.Contains(policy.Value, "connect-src 'self';") {
		t.Errorf("without a side door: %s", policy.Value)
	}
	for _, h := range site.Headers(settings) {
		if strings.Contains(h.Value, "unsafe") || strings.Contains(h.Value, "*") {
			t.Errorf("%s: %s", h.Name, h.Value)
		}
	}
}

func TestHandler(t *testing.T) {
	types := map[string]string{
		"index.html": "text/html; charset=utf-8", "style.css": "text/css; charset=utf-8", "app.js": "text/javascript; charset=utf-8",
		"icon.svg": "image/svg+xml", "config.json": "application/json",
	}
	for _, f := range site.Files(settings) {
		w := get(t, "GET", "/"+f.Name, nil)
		if w.Code != 200 || !bytes.Equal(w.Body.Bytes(), f.Content) || w.Header().Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: %d, %v", f.Name, w.Code, w.Header())
		}
		got := w.Header().Get("Content-Type")
		if got == "" || got != f.ContentType || types[f.Name] != "" && got != types[f.Name] {
			t.Errorf("%s has the type %q", f.Name, got)
		}
		// What a browser has already is not sent again.
		again := get(t, "GET", "/"+f.Name, http.Header{"If-None-Match": {w.Header().Get("Etag")}})
		if again.Code != 304 || again.Body.Len() != 0 {
			t.Errorf("%s again: %d with %d bytes", f.Name, again.Code, again.Body.Len())
		}
		if head := get(t, "HEAD", "/"+f.Name, nil); head.Code != 200 || head.Body.Len() != 0 {
			t.Errorf("HEAD %s: %d with %d bytes", f.Name, head.Code, head.Body.Len())
		}
	}
	if w := get(t, "GET", "/", nil); w.Code != 200 || w.Body.String() != file(t, "index.html") {
		t.Errorf("/: %d", w.Code)
	}
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{"POST", "/", 403}, {"DELETE", "/index.html", 403},
		{"GET", "/nothing", 404}, {"GET", "/index.html/", 404}, {"GET", "/../go.mod", 404}, {"GET", "/www/index.html", 404}, {"GET", "/site.go", 404}, {"GET", "//", 404},
	} {
		w := get(t, c.method, c.path, nil)
		body, _ := io.ReadAll(w.Body)
		if w.Code != c.status || len(body) == 0 {
			t.Errorf("%s %s: %d %s, want %d", c.method, c.path, w.Code, body, c.status)
		}
	}
}
