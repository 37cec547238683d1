package site

import "strings"

// Header is a header of every answer of the page.
type Header struct{ Name, Value string }

// Headers are what a browser is told about the page: what it may load and ask, that
// nothing frames it, and that it needs none of the browser's powers. The side door is
// the one other origin that the page may send to, for the attack on it.
//
// Strict-Transport-Security is not among them: it belongs to the connection, and so to
// the distribution.
func Headers(s Settings) []Header {
	connect := "connect-src 'self'"
	if s.SideDoor != "" {
		connect += " " + s.SideDoor
	}
	policy := []string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", connect,
		"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
		// The page never turns text into HTML; a browser that knows this makes sure.
		"require-trusted-types-for 'script'", "trusted-types 'none'",
	}
	return []Header{
		{"Content-Security-Policy", strings.Join(policy, "; ")},
		{"Cross-Origin-Opener-Policy", "same-origin"},
		{"Cross-Origin-Resource-Policy", "same-origin"},
		{"Permissions-Policy", "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"},
		{"Referrer-Policy", "no-referrer"},
		{"X-Content-Type-Options", "nosniff"},
		{"X-Frame-Options", "DENY"},
	}
}
