package mcp

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"waymark/workspace/launch"
	"waymark/workspace/mcp/catalog"
)

// allowsServer reports whether the patterns allow any tool of a server.
func (s *Settings) allowsServer(server string) bool {
	if slices.ContainsFunc(s.Deny, func(p string) bool { return !strings.Contains(p, catalog.Separator) && matches(p, server) }) {
		return false
	}
	return len(s.Allow) == 0 || slices.ContainsFunc(s.Allow, func(p string) bool {
		ofServer, _, _ := strings.Cut(p, catalog.Separator)
		return matches(ofServer, server)
	})
}

// allowsTool reports whether the patterns allow a tool.
func (s *Settings) allowsTool(server, tool string) bool {
	names := func(p string) bool {
		if strings.Contains(p, catalog.Separator) {
			return matches(p, server+catalog.Separator+tool)
		}
		return matches(p, server)
	}
	return !slices.ContainsFunc(s.Deny, names) && (len(s.Allow) == 0 || slices.ContainsFunc(s.Allow, names))
}

// matches reports whether a pattern matches a name. An invalid pattern, which the
// configuration refuses, matches nothing. Slashes in names of tools aren't special, unlike
// in path.Match.
func matches(pattern, name string) bool {
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
	return ok && err == nil
}

// widened combines the widenings of an approval and of the operator.
func widened(a, b launch.Widening) launch.Widening {
	w := launch.Widening{
		Read: union(a.Read, b.Read), Write: union(a.Write, b.Write), Env: union(a.Env, b.Env),
		Unix: a.Unix || b.Unix, Unconfined: a.Unconfined || b.Unconfined, Ports: union(a.Ports, b.Ports),
		Asks: union(a.Asks, b.Asks),
	}
	if w.Ports == nil && (a.Ports != nil || b.Ports != nil) {
		w.Ports = []uint16{} // no ports, which differs from nil, all ports
	}
	return w
}

// union returns the sorted union; nil if it is empty.
func union[T cmp.Ordered](a, b []T) []T {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}
