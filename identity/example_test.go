package identity_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/memory"
	"github.com/seed3e88d9a2/spendcap/identity"
)

// Count a signed-in user by the claims of a verified token.
func Example() {
	keyer, err := caps.NewKeyer([]byte(strings.Repeat("0123456789abcdef", 4))) // from a secret store
	if err != nil {
		log.Fatal(err)
	}
	guard, err := caps.NewGuard(caps.Config{
		Store: memory.New(nil), Keyer: keyer,
		Caller: caps.Budget{Name: "caller", Cap: caps.Calls(1)},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, sub := range []string{"248289761001", "248289761001", "ann"} {
		user, err := identity.Subject("https://issuer.example", sub)
		if err != nil {
			log.Fatal(err)
		}
		res, err := guard.Charge(context.Background(), user, 0)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("counted as %s: allowed %t\n", user, res.Allowed)
	}
	// Output:
	// counted as user: allowed true
	// counted as user: allowed false
	// counted as user: allowed true
}

// Different spellings of an e-mail address are one caller.
func ExampleEmail() {
	typed, err := identity.Email(" Ann@BÜCHER.example ")
	if err != nil {
		log.Fatal(err)
	}
	stored, err := identity.Email("ann@xn--bcher-kva.example")
	fmt.Println(typed == stored, err)

	_, err = identity.Email("ann at example.com")
	fmt.Println(err)
	// Output:
	// true <nil>
	// no usable identity: the e-mail address has no @
}

// One key of an e-mail address and the viewer that types it: a stranger who types
// somebody's address does not lock them out at home.
func ExampleEmail_joined() {
	email, err := identity.Email("ann@example.com")
	if err != nil {
		log.Fatal(err)
	}
	viewer, err := caps.ViewerCaller("198.51.100.10:46532")
	if err != nil {
		log.Fatal(err)
	}
	both, err := caps.Join(email, viewer)
	fmt.Println(both, err)
	// Output: email+address <nil>
}
