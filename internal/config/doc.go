// Package config reads what the operator sets: spendcap.yaml and the two secrets
// of the environment.
//
// The file is read strictly. A setting that is misspelt, repeated, of the wrong
// type or out of range stops the start; nothing is guessed, converted or filled in
// silently, because a misread cap is a bill. Every problem is reported, not only
// the first, with its line, its field and what to write instead.
package config
