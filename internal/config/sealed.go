package config

import "github.com/seed3e88d9a2/spendcap/internal/sealed"

// sealedAddresses reads for whom the addresses of blocked callers are sealed.
func (s section) sealedAddresses(c *Config) {
	group, ok := s.section("sealed_addresses", "public_key")
	if !ok || !group.required("public_key", "write the one that `spendcap seal-key` has printed, or remove sealed_addresses") {
		return
	}
	text, ok := group.text("public_key")
	if !ok {
		return
	}
	key, err := sealed.ParsePublicKey(text)
	if err != nil {
		s.at(group.values["public_key"], group.field("public_key"), "%v", err) // never quoted: it may be the private one
		return
	}
	c.SealTo = &key
}
