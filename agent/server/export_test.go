package server

import (
	"strings"

	"waymark/internal/httpapi"
)

// Routes lists the paths, in the words of OpenAPI, and their methods.
func Routes(b Backend) map[string][]string {
	list := map[string][]string{}
	for _, route := range Service(b).Routes {
		path := strings.ReplaceAll(route.Pattern, "...}", "}")
		list[path] = append(list[path], route.Method)
	}
	return list
}

// Service is the API's own.
func Service(b Backend) httpapi.Service { return New(Options{Backend: b}).Services()[0] }
