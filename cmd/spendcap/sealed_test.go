package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/internal/ddb/ddbtest"
	"github.com/seed3e88d9a2/spendcap/internal/deployment/awstest"
	"github.com/seed3e88d9a2/spendcap/internal/sealed"
)

// configured is the operator's file with a key to seal to, and the file of the private one.
func configured(t *testing.T, key sealed.PrivateKey) (config, private string) {
	t.Helper()
	file, err := os.ReadFile("../../spendcap.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, err := key.Text()
	if err != nil {
		t.Fatal(err)
	}
	config, private = filepath.Join(t.TempDir(), "spendcap.yaml"), filepath.Join(t.TempDir(), "seal.key")
	file = append(file, "\nsealed_addresses:\n  public_key: "+key.Public().String()+"\n"...)
	if err := os.WriteFile(config, file, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(private, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config, private
}

func sealKeyPair(t *testing.T) sealed.PrivateKey {
	t.Helper()
	key, err := sealed.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// sealedIn is how many sealed addresses a table has.
func sealedIn(table *ddbtest.Server) (n int) {
	for key, row := range table.Rows() {
		if strings.HasPrefix(key, "sealed#") && row["address"] != nil {
			n++
		}
	}
	return n
}

// While the keys are being changed, some blocks are sealed for the old one. Each key tells
// its own, and the command fails, so that nobody takes them for all.
func TestOpenWithOneOfTwoKeys(t *testing.T) {
	t.Setenv("SPENDCAP_HMAC_KEY", awstest.HMACKey)
	table := ddbtest.New(t)
	table.Table = "spendcap"
	viewers := []string{"198.51.100.10", "198.51.100.11", "198.51.100.12"}
	var files []string
	for i, key := range []sealed.PrivateKey{sealKeyPair(t), sealKeyPair(t)} {
		config, private := configured(t, key)
		files = append(files, private)
		for _, viewer := range viewers[i : i+1+i] {
			if code, _, stderr := runForTest(t, "block", viewer, "--config", config, "--dynamodb-endpoint", table.URL); code != success {
				t.Fatal(stderr)
			}
		}
	}
	for i, file := range files {
		for _, form := range []string{"--json=false", "--json"} {
			code, stdout, stderr := runForTest(t, "blocks", "--open", file, "--dynamodb-endpoint", table.URL, form)
			for j, viewer := range viewers {
				if strings.Contains(stdout, viewer) != ((j > 0) == (i > 0)) {
					t.Errorf("key %d, viewer %d: %s", i, j, stdout)
				}
			}
			if code != failure || !strings.Contains(stderr, "the sealed address does not open") {
				t.Errorf("key %d: %d %s", i, code, stderr)
			}
		}
	}
}

// What is wrong with the sealing does not hide that the caller is blocked.
func TestBlockedAndNotSealed(t *testing.T) {
	t.Setenv("SPENDCAP_HMAC_KEY", awstest.HMACKey)
	table := ddbtest.New(t)
	table.Table = "spendcap"
	config, _ := configured(t, sealKeyPair(t))
	table.Script(func(_ int, s ddbtest.Seen) ddbtest.Fault {
		if s.Operation == "UpdateItem" {
			return ddbtest.Denied
		}
		return ddbtest.Fine
	})
	code, _, stderr := runForTest(t, "block", "198.51.100.10", "--config", config, "--dynamodb-endpoint", table.URL)
	if code != failure || !strings.Contains(stderr, "the caller is blocked, and its address could not be sealed: ") || !strings.Contains(stderr, "dynamodb:UpdateItem") || strings.Contains(stderr, "198.51") {
		t.Errorf("%d %s", code, stderr)
	}
}

// An address that could not be erased is erased by the next attempt to unblock.
func TestUnblockErasesOrFails(t *testing.T) {
	t.Setenv("SPENDCAP_HMAC_KEY", awstest.HMACKey)
	table := ddbtest.New(t)
	table.Table = "spendcap"
	config, _ := configured(t, sealKeyPair(t))
	spendcap := func(command string) (int, string) {
		code, stdout, stderr := runForTest(t, command, "198.51.100.10", "--config", config, "--dynamodb-endpoint", table.URL)
		return code, stdout + stderr
	}
	if code, out := spendcap("block"); code != success || sealedIn(table) != 1 {
		t.Fatal(code, out, sealedIn(table))
	}
	table.Script(func(_ int, s ddbtest.Seen) ddbtest.Fault {
		if s.Operation == "UpdateItem" {
			return ddbtest.Denied
		}
		return ddbtest.Fine
	})
	if code, out := spendcap("unblock"); code != failure || sealedIn(table) != 1 {
		t.Errorf("%d %s, %d sealed; want it to fail", code, out, sealedIn(table))
	}
	if code, out := spendcap("whois"); code != success || !strings.Contains(out, "\nblocked by ") {
		t.Errorf("%d %s; want the caller still blocked", code, out)
	}
	table.Always(ddbtest.Fine)
	if code, out := spendcap("unblock"); code != success || sealedIn(table) != 0 {
		t.Errorf("%d %s, %d sealed; want it unblocked and none", code, out, sealedIn(table))
	}
}
