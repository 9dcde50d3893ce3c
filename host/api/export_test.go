package api

import "strings"

// Routes lists the paths, in the words of OpenAPI, and their methods.
func Routes(b Backend) map[string][]string {
	list := map[string][]string{}
	h := &handler{opts: Options{Backend: b}}
	h.opts.setDefaults()
	for _, route := range h.routes() {
		path := strings.ReplaceAll(route.Pattern, "...}", "}")
		list[path] = append(list[path], route.Method)
	}
	return list
}
