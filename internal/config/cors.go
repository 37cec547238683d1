package config

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// cors reads the web origins that are allowed to call from another site.
func (s section) cors(c *Config) {
	group, ok := s.section("cors", "allowed_origins")
	if !ok || !group.required("allowed_origins", "list them, such as https://www.example.com, or remove cors") {
		return
	}
	for i, n := range group.list("allowed_origins") {
		field := index(group.field("allowed_origins"), i)
		origin, ok := s.textOf(n, field)
		if !ok {
			continue
		}
		switch problem := originProblem(origin); {
		case problem != "":
			s.at(n, field, "%s %s", quote(origin), problem)
		case slices.Contains(c.AllowedOrigins, origin):
			s.at(n, field, "%s is listed twice: keep one", quote(origin))
		default:
			c.AllowedOrigins = append(c.AllowedOrigins, origin)
		}
	}
}

var hostName = regexp.MustCompile(`^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$`)

// originProblem tells why an origin is refused, or nothing. The value is compared
// byte for byte with what a browser sends (RFC 6454 section 6.2), so a spelling that
// no browser uses would never match.
func originProblem(origin string) string {
	if origin == "*" {
		return "would let the pages of any site spend your budget: list the origins that may"
	}
	if origin == "null" {
		return "is what every sandboxed page sends: list the origins that may call"
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Opaque != "" {
		return "is not an origin: write https://host or https://host:port"
	}
	if strings.Contains(origin, "*") {
		return "has a wildcard: list each origin by itself"
	}
	if origin != u.Scheme+"://"+u.Host {
		return "has more than an origin has: write https://host or https://host:port, without path, slash at the end or user"
	}
	host, port := u.Hostname(), u.Port()
	loopback := host == "localhost"
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.String() != host {
			return "is not how a browser writes the address"
		}
		loopback = addr.IsLoopback()
	} else if !hostName.MatchString(host) {
		return "is not how a browser writes the host: lower case, and in its xn-- form if it has other letters"
	}
	if u.Scheme == "http" && !loopback {
		return "is not encrypted: write https"
	}
	if strings.HasSuffix(u.Host, ":") {
		return "has a colon without a port: remove it"
	}
	if port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
			return "has a port that is not between 1 and 65535"
		}
	}
	if port == "443" && u.Scheme == "https" || port == "80" && u.Scheme == "http" {
		return "names the default port, which browsers leave out: remove it"
	}
	return ""
}
