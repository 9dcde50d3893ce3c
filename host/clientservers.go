package host

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"waymark/abi"
	"waymark/host/codingagents"
	"waymark/host/vfs"
	"waymark/plugins/conventions"
	"waymark/plugins/mcpconfig/servers"
)

// maxServersFile bounds a configuration of MCP servers, in bytes.
const maxServersFile = 1 << 20

// settingsVisible shows settings files alone. Of what is read with it, only names and digests
// are kept.
var settingsVisible = sync.OnceValues(func() (*vfs.Filter, error) {
	return vfs.View{Reads: []string{"**"}, MCPOnly: true}.Compile()
})

// projectServers returns the MCP servers that the project's own files give a client. Of a
// server it keeps the name and a digest, which covers no value of a variable or a header.
// Files that can't be read or parsed have none: their rows in the snapshot say why.
func projectServers(opts *Options, in *codingagents.Input) (list []codingagents.Server) {
	lookInto(cmp.Or(in.Project, in.Start), vfs.RootOptions{Exclude: opts.Exclude, Own: opts.own()}, settingsVisible, vfs.Limits{KeepBytes: maxServersFile}, func(root *vfs.Root, run *vfs.Run) {
		for i := range conventions.All {
			c := &conventions.All[i]
			if c.Kind != abi.KindMCPConfig || c.Scope != conventions.ScopeProject || !slices.Contains(c.Readers, in.Client.Reader) {
				continue
			}
			for _, place := range c.Places {
				content, err := run.Content(place)
				if err != nil || content.Class != vfs.ContentOK || strings.Contains(place, "*") { // that is of a plugin
					continue
				}
				found, err := servers.Parse(servers.ShapeOf(place), content.Data)
				if err != nil {
					continue
				}
				for j := range found {
					if s := &found[j]; s.Problem == "" && !s.Disabled && s.Project == "" && !slices.ContainsFunc(list, func(l codingagents.Server) bool { return l.Name == s.Name }) {
						list = append(list, codingagents.Server{Name: s.Name, Path: filepath.Join(root.Path(), content.Path), Digest: definition(s)})
					}
				}
			}
		}
	})
	return list
}

// definition is the digest of what a server is, however its client writes it: the values of
// variables and headers, which may be secret, don't count.
func definition(s *servers.Server) []byte {
	parts := []string{s.Transport, plain(s.Syntax, s.Command), plain(s.Syntax, s.Cwd), plain(s.Syntax, s.URL)}
	for _, arg := range s.Args {
		parts = append(parts, plain(s.Syntax, arg))
	}
	variables := append(slices.Collect(maps.Keys(s.Env)), s.Inherit...)
	headers := slices.Collect(maps.Keys(s.Headers))
	headers = slices.AppendSeq(headers, maps.Keys(s.HeaderVariables))
	for i := range headers {
		headers[i] = strings.ToLower(headers[i])
	}
	for _, names := range [][]string{variables, headers} {
		slices.Sort(names)
		parts = append(parts, strings.Join(slices.Compact(names), "\x01"))
	}
	h := sha256.New()
	for _, part := range parts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(part), part) // a hash takes everything
	}
	return h.Sum(nil)
}

// plain replaces the references in a text by one form for all clients.
func plain(syntax servers.Syntax, text string) string {
	var b strings.Builder
	for {
		before, ref, after, ok := syntax.Next(text)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		_, _ = fmt.Fprintf(&b, "\x01%s\x01%s\x01%s\x01", ref.Kind, ref.Name, ref.Default)
		text = after
	}
}
