package api

import "context"

// checkPage refuses what spends or counts if a browser says that a page of another site
// makes it send it. Without this, any page could have its visitors spend their budgets,
// and the ceiling, with requests that need no preflight and whose answers it cannot read.
//
// Browsers tell with Sec-Fetch-Site (https://www.w3.org/TR/fetch-metadata/), which no page
// can set; other clients do not send it and are not concerned. A sibling domain
// ("same-site") is another site. An origin that the file allows may.
func (r *request) checkPage(context.Context) *answer {
	switch r.header("sec-fetch-site") {
	case "", "same-origin", "none": // "none" is the user's own doing, such as a bookmark
		return nil
	}
	if r.event.RequestContext.HTTP.Method != "POST" || r.origins[r.header("origin")] {
		return nil
	}
	return failure(401, "cross_origin")
}
