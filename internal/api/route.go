package api

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// route maps the methods of a path to the steps that answer them.
type route map[string][]step

func (h *Handler) routeTable() map[string]route {
	routes := make(map[string]route)
	if h.Demo != nil {
		routes["/api/demo/cap"] = route{"POST": demoCall}
	}
	if h.Paid != nil {
		routes["/api/cap"] = route{"GET": readCap}
	}
	if h.LLM != nil {
		routes["/api/v1/chat/completions"] = route{"POST": chatCompletion}
		routes["/api/v1/messages"] = route{"POST": message}
		routes["/api/v1/models"] = route{"GET": models}
	}
	return routes
}

// findRoute answers what there is no endpoint for. What counts is POST: CloudFront
// retries a GET up to three times, a POST never
// (https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/RequestAndResponseBehaviorCustomOrigin.html).
func (r *request) findRoute(context.Context) *answer {
	methods, ok := r.routes[r.path]
	if !ok {
		return failure(404, "not_found")
	}
	method := r.event.RequestContext.HTTP.Method
	if method == "OPTIONS" {
		return r.preflight(methods)
	}
	if r.steps, ok = methods[method]; !ok {
		a := failure(405, "method_not_allowed")
		a.set("Allow", methods.allow())
		return a
	}
	return nil
}

func (m route) allow() string {
	return strings.Join(append(slices.Sorted(maps.Keys(m)), "OPTIONS"), ", ")
}
