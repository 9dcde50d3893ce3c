package httpapi

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// node is one part of the paths of all routes.
type node struct {
	// literals are the literal parts that may follow.
	literals map[string]*node
	// param follows if any one part may, rest if any remainder may.
	param, rest *node
	// path is the path that ends here; nil if none does.
	path *path
}

// path has the methods of one path.
type path struct {
	template string   // in the syntax of OpenAPI
	names    []string // of the parameters
	methods  map[string]*Route
	allow    string // for the Allow header
}

// add adds a route.
func (n *node) add(route *Route) {
	if !strings.HasPrefix(route.Pattern, "/") || route.Method == "" || route.Handle == nil {
		panic("httpapi: not a route: " + route.Method + " " + route.Pattern)
	}
	var names []string
	parts := strings.Split(route.Pattern[1:], "/")
	for i, part := range parts {
		name, isParam := strings.CutPrefix(part, "{")
		if !isParam {
			n = child(&n.literals, part)
			continue
		}
		name, isWhole := strings.CutSuffix(name, "}")
		name, isRest := strings.CutSuffix(name, "...")
		if name == "" || !isWhole || isRest && i < len(parts)-1 {
			panic("httpapi: not a pattern: " + route.Pattern)
		}
		names = append(names, name)
		next := &n.param
		if isRest {
			next = &n.rest
		}
		if *next == nil {
			*next = &node{}
		}
		n = *next
	}
	template := strings.ReplaceAll(route.Pattern, "...}", "}")
	if n.path == nil {
		n.path = &path{template: template, names: names, methods: make(map[string]*Route)}
	}
	if n.path.template != template || n.path.methods[route.Method] != nil {
		panic("httpapi: " + route.Method + " " + route.Pattern + " and another route are the same")
	}
	n.path.methods[route.Method] = route
	allowed := slices.Collect(maps.Keys(n.path.methods))
	if n.path.methods[http.MethodGet] != nil && n.path.methods[http.MethodHead] == nil {
		allowed = append(allowed, http.MethodHead)
	}
	slices.Sort(allowed)
	n.path.allow = strings.Join(allowed, ", ")
}

func child(list *map[string]*node, part string) *node {
	if *list == nil {
		*list = make(map[string]*node)
	}
	if (*list)[part] == nil {
		(*list)[part] = &node{}
	}
	return (*list)[part]
}

// match finds the path of a request, nil if there is none. It unescapes the parameters and
// appends them to values.
func (n *node) match(escaped string, values []string) (*path, []string) {
	if escaped == "" {
		return n.path, values
	}
	rest, ok := strings.CutPrefix(escaped, "/")
	if !ok {
		return nil, nil
	}
	part, after := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		part, after = rest[:i], rest[i:]
	}
	if next := n.literals[part]; next != nil {
		if found, all := next.match(after, values); found != nil {
			return found, all
		}
	}
	if n.param != nil {
		if value, err := url.PathUnescape(part); err == nil && value != "" {
			if found, all := n.param.match(after, append(values, value)); found != nil {
				return found, all
			}
		}
	}
	if n.rest != nil {
		if value, err := url.PathUnescape(rest); err == nil && value != "" {
			return n.rest.path, append(values, value)
		}
	}
	return nil, nil
}
