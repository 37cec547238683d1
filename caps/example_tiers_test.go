package caps_test

import (
	"context"
	"fmt"
	"log"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/memory"
	"github.com/seed3e88d9a2/spendcap/identity"
)

// Guard a paid call for signed-in and anonymous callers: anonymous ones are counted by
// address, signed-in ones as the user, with the cap of their tier and a looser one for
// all users at one address. Each tier is a guard; they share the store, and the name of
// the users' budget, so that an upgrade in the middle of a day keeps what is used.
func Example_signedIn() {
	keyer, err := caps.NewKeyer(secret)
	if err != nil {
		log.Fatal(err)
	}
	store := memory.New(noon) // caps/dynamo for more than one process
	guard := func(caller, address caps.Budget) *caps.Guard {
		g, err := caps.NewGuard(caps.Config{
			Store: store, Keyer: keyer, Now: noon,
			Caller: caller, Address: address,
			Global: caps.Budget{Name: "global", Cap: caps.USD(5_000_000)}, // the one ceiling
		})
		if err != nil {
			log.Fatal(err)
		}
		return g
	}
	office := caps.Budget{Name: "address", Cap: caps.Calls(6)}
	anonymous := guard(caps.Budget{Name: "caller", Cap: caps.Calls(1)}, caps.Budget{})
	tiers := map[string]*caps.Guard{
		"free": guard(caps.Budget{Name: "user", Cap: caps.Calls(2)}, office),
		"pro":  guard(caps.Budget{Name: "user", Cap: caps.Calls(4)}, office),
	}

	// claims are those of a token that somebody has verified: the JWT authorizer of API
	// Gateway, or a library. Never a header that says who the caller is.
	call := func(viewer string, claims map[string]string) {
		address, err := caps.ViewerCaller(viewer)
		if err != nil {
			log.Fatal(err)
		}
		caller, guard := address, anonymous
		if claims != nil {
			if caller, err = identity.Subject(claims["iss"], claims["sub"]); err != nil {
				log.Fatal(err)
			}
			if guard = tiers[claims["tier"]]; guard == nil {
				guard = tiers["free"]
			}
		}
		res, err := guard.ReserveFrom(context.Background(), caller, address, 20_000)
		switch {
		case err != nil:
			log.Fatal(err) // the store could not be asked: do not call
		case !res.Allowed:
			fmt.Printf("refused by the budget of the %s, which has %d calls\n", res.Scope, calls(res.Cap))
		default:
			fmt.Printf("call %d of %d\n", res.Used.Calls, calls(res.Cap))
			res.Settle(context.Background(), 450) // after the paid call
		}
	}

	const here = "198.51.100.10:46532"
	anna := map[string]string{"iss": "https://issuer.example.com", "sub": "anna", "tier": "free"}
	ben := map[string]string{"iss": "https://issuer.example.com", "sub": "ben", "tier": "pro"}
	call(here, nil)
	call(here, nil)
	call(here, anna)
	call(here, anna)
	call(here, anna)
	anna["tier"] = "pro" // she upgrades
	call("203.0.113.9:1234", anna)
	for range 5 {
		call(here, ben)
	}
	call(here, map[string]string{"iss": "https://issuer.example.com", "sub": "clara"})
	call(here, map[string]string{"iss": "https://issuer.example.com", "sub": "dora"})

	// Output:
	// call 1 of 1
	// refused by the budget of the caller, which has 1 calls
	// call 1 of 2
	// call 2 of 2
	// refused by the budget of the caller, which has 2 calls
	// call 3 of 4
	// call 1 of 4
	// call 2 of 4
	// call 3 of 4
	// call 4 of 4
	// refused by the budget of the caller, which has 4 calls
	// refused by the budget of the address, which has 6 calls
	// refused by the budget of the address, which has 6 calls
}

func calls(c caps.Cap) int64 {
	n, _ := c.Calls()
	return n
}
