// Package identity makes callers of the things that people sign in with, so that a
// user, an e-mail address or an API key can be counted like a viewer's address:
//
//	caller, err := identity.Email(typed) // refuse if err != nil
//	res, err := guard.Reserve(ctx, caller, worst)
//
// Different spellings of one identity are one caller. Each function says what it takes
// for the same, and by which rule. What is stored of a caller is the keyed hash that
// [caps.Keyer] makes, with a purpose and a day, so that no store holds an identity and
// a key that leaks from one purpose is no use in another.
//
// An identity has to be verified, or be no more than what a limit counts: anybody can
// type anybody's e-mail address.
//
// The package is beside caps, and not in it, because Unicode and IDNA need tables that
// the standard library does not have.
package identity
