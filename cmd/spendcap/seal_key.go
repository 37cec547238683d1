package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/seed3e88d9a2/spendcap/internal/sealed"
)

// sealKey draws the pair of keys for sealed addresses.
func sealKey(e env) *cli.Command {
	var asJSON bool
	return &cli.Command{
		Name:      "seal-key",
		Category:  operate,
		Usage:     "draw the keys with which addresses of blocked callers are sealed",
		UsageText: "spendcap seal-key [flags] FILE",
		Description: `
Draws a pair of keys. The private one goes into FILE, which must not be there yet and
which only you can read; it is all that opens what is sealed, so keep it where you keep
such things, and never in AWS or in the repository. The public one is printed, for the
operator's file. Read docs/privacy.md first: this turns a system that keeps no address
into one that keeps those of blocked callers.

Example:
  spendcap seal-key ~/spendcap-seal.key

JSON: {"publicKey", "privateKeyFile"}.
`,
		Flags: []cli.Flag{jsonFlag(&asJSON)},
		Action: arguments(1, []string{"FILE"}, func(_ context.Context, cmd *cli.Command) error {
			file := cmd.Args().First()
			key, err := sealed.GenerateKey()
			if err != nil {
				return err
			}
			text, err := key.Text()
			if err != nil {
				return err
			}
			if err := create(file, text+"\n"); err != nil {
				return err
			}
			if asJSON {
				return e.json(map[string]string{"publicKey": key.Public().String(), "privateKeyFile": file})
			}
			_, err = fmt.Fprintf(e.stdout, "The private key is in %s. For spendcap.yaml:\n\nsealed_addresses:\n  public_key: %s\n", file, key.Public())
			return err
		}),
	}
}

// create writes a file that is not there yet and that nobody else can read.
func create(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already, and what it opens would be lost with it: give another name", file)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// opener opens what was sealed for the key in a file.
func opener(file string) (sealed.PrivateKey, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return sealed.PrivateKey{}, err
	}
	key, err := sealed.ParsePrivateKey(string(text))
	if err != nil {
		return sealed.PrivateKey{}, fmt.Errorf("%s: %w", file, err)
	}
	return key, nil
}
