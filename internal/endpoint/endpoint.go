// Package endpoint names the paths of the guarded API.
package endpoint

// The paths, as they are in a request that is not signed in.
const (
	DemoCap         = "/api/demo/cap"
	Cap             = "/api/cap"
	ChatCompletions = "/api/v1/chat/completions"
	Messages        = "/api/v1/messages"
	Models          = "/api/v1/models"
)

// All are the paths, in the order in which people are told of them.
func All() []string { return []string{DemoCap, Cap, ChatCompletions, Messages, Models} }
