package config_test

import (
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/internal/config"
	"github.com/seed3e88d9a2/spendcap/internal/sealed"
)

func TestSealedAddresses(t *testing.T) {
	load := func(text string) (*config.Config, error) {
		return config.Load(strings.NewReader("demo: {calls: 10}\n" + text))
	}
	key, err := sealed.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	private, err := key.Text()
	if err != nil {
		t.Fatal(err)
	}
	public := key.Public().String()
	if c, err := load(""); err != nil || c.SealTo != nil {
		t.Errorf("it is not off by default: %v", err)
	}
	c, err := load("sealed_addresses: {public_key: " + public + "}\n")
	if err != nil || c.SealTo == nil || c.SealTo.String() != public {
		t.Errorf("%v", err)
	}
	for text, want := range map[string]string{
		"sealed_addresses: {}\n":                                         "sealed_addresses.public_key",
		"sealed_addresses: {public_key: " + public + ", x: 1}\n":         "sealed_addresses.x",
		"sealed_addresses: {public_key: short}\n":                        "sealed_addresses.public_key: that is not a public key",
		"sealed_addresses: {public_key: " + private + "}\n":              "sealed_addresses.public_key: that is the private key",
		"sealed_addresses: true\n":                                       "sealed_addresses",
		"sealed_addresses: {public_key: " + public[:len(public)-1] + "}": "sealed_addresses.public_key: that is not a public key",
	} {
		c, err := load(text)
		if c != nil || err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), private) {
			t.Errorf("%s: %v; want %s", text[:30], err, want)
		}
	}
}
