package mcp

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"waymark/workspace/launch"
	"waymark/workspace/mcp/catalog"
)

// allowsServer reports whether the patterns leave a server any tool.
func (s *Settings) allowsServer(server string) bool {
	if slices.ContainsFunc(s.Deny, func(p string) bool { return !strings.Contains(p, catalog.Separator) && matches(p, server) }) {
		return false
	}
	return len(s.Allow) == 0 || slices.ContainsFunc(s.Allow, func(p string) bool {
		ofServer, _, _ := strings.Cut(p, catalog.Separator)
		return matches(ofServer, server)
	})
}

// allowsTool reports whether the patterns leave a server's tool.
func (s *Settings) allowsTool(server, tool string) bool {
	names := func(p string) bool {
		if strings.Contains(p, catalog.Separator) {
			return matches(p, server+catalog.Separator+tool)
		}
		return matches(p, server)
	}
	return !slices.ContainsFunc(s.Deny, names) && (len(s.Allow) == 0 || slices.ContainsFunc(s.Allow, names))
}

// matches reports whether a pattern matches. The configuration refuses bad ones;
// one that comes here nevertheless matches nothing. Tools may have slashes in their
// names, which path.Match keeps apart.
func matches(pattern, name string) bool {
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
	return ok && err == nil
}

// widened joins what an approval gives with what the operator gives.
func widened(a, b launch.Widening) launch.Widening {
	w := launch.Widening{
		Read: union(a.Read, b.Read), Write: union(a.Write, b.Write), Env: union(a.Env, b.Env),
		Unix: a.Unix || b.Unix, Unconfined: a.Unconfined || b.Unconfined, Ports: union(a.Ports, b.Ports),
	}
	if w.Ports == nil && (a.Ports != nil || b.Ports != nil) {
		w.Ports = []uint16{} // closed, which is something else than open
	}
	return w
}

// union returns what is in either, in order; nil for nothing.
func union[T cmp.Ordered](a, b []T) []T {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}
