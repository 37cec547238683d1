// Package llm turns a request of an API that clients already speak into one paid
// call with a known worst case.
package llm
