package assemble_test

import (
	"testing"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// testKeyer has the secret of the tests.
func testKeyer(t testing.TB) *caps.Keyer {
	t.Helper()
	keyer, err := caps.NewKeyer([]byte(hmacKey))
	if err != nil {
		t.Fatal(err)
	}
	return keyer
}
