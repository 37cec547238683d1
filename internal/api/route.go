package api

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/seed3e88d9a2/spendcap/internal/endpoint"
)

// route maps the methods of a path to the steps that answer them.
type route map[string][]step

func (h *Handler) routeTable() map[string]route {
	routes := make(map[string]route)
	if h.Demo != nil {
		routes[endpoint.DemoCap] = route{"POST": demoCall}
	}
	if h.Paid != nil {
		routes[endpoint.Cap] = route{"GET": readCap}
	}
	if h.LLM != nil {
		routes[endpoint.ChatCompletions] = route{"POST": chatCompletion}
		routes[endpoint.Messages] = route{"POST": message}
		routes[endpoint.Models] = route{"GET": models}
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
