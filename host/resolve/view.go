package resolve

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"sync"

	"waymark/abi"
	"waymark/host/vfs"
	"waymark/plugins/conventions"
)

// PartsOfBundle is the pattern of files that may be part of a bundle, below its directory.
const PartsOfBundle = "**/*.{md,mdc,markdown,txt,toml,json}"

// viewOf returns what a resolver may see of a root: what it declared, literal paths from its
// configuration, and the file of a single-file root with a suitable role. In a root with a
// manifest at its top, a resolver of bundles sees all files in the formats of its kinds,
// because a manifest can name any of them.
func viewOf(r *Resolver, root Root, bundle bool) vfs.View {
	v := vfs.View{
		Reads:        slices.Clone(r.Info.Reads),
		Narrow:       r.Narrow,
		GrantSecrets: r.GrantSecrets,
		MCPOnly:      vfs.SeesSettings(r.Info.Kinds),
		Manifests:    r.Manifests,
		Below:        r.Children,
	}
	v.Reads = append(v.Reads, r.Places...)
	if bundle {
		v.Reads = append(v.Reads, PartsOfBundle)
	}
	for _, p := range configPaths(r.Config, r.Info.ReadsFromConfig) {
		v.Reads = append(v.Reads, vfs.LiteralPattern(p))
	}
	if file := root.FS.File(); file != "" && roleFits(root.Role, r.Info.Kinds) {
		v.Reads = append(v.Reads, vfs.LiteralPattern(file))
	}
	if isContainer(root) && slices.Contains(r.Info.Kinds, abi.KindSkill) {
		for _, p := range r.Info.Reads {
			if !strings.ContainsAny(p, `/*?[{\`) {
				v.Reads = append(v.Reads, "*/"+p)
			}
		}
	}
	return v
}

// isContainer reports whether the directories in a root are skills themselves. In other roots
// resolvers need not see everything at the top.
func isContainer(root Root) bool {
	return root.FS.File() == "" && (root.Role == abi.RoleSkills || root.Role == abi.RoleNone && root.FS.Name() == "skills")
}

// roleFits reports whether a resolver of these kinds may read a single-file root of this
// role, whatever the file's name.
func roleFits(role abi.Role, kinds []abi.Kind) bool {
	switch role {
	case abi.RoleInstructions:
		return slices.Contains(kinds, abi.KindInstructionFile)
	case abi.RoleSkills:
		return slices.Contains(kinds, abi.KindSkill)
	case abi.RoleMCP:
		return slices.Contains(kinds, abi.KindMCPConfig)
	}
	return false
}

// configPaths collects the literal relative paths under keys. A value that isn't a clean
// relative path grants nothing. The resolver itself reports values of the wrong type.
func configPaths(config []byte, keys []string) []string {
	if len(config) == 0 || len(keys) == 0 {
		return nil
	}
	var table map[string]json.RawMessage
	if json.Unmarshal(config, &table) != nil {
		return nil
	}
	var paths []string
	for i, key := range keys {
		if slices.Contains(keys[:i], key) {
			continue
		}
		var one string
		var many []string
		switch raw := table[key]; {
		case raw == nil:
		case json.Unmarshal(raw, &one) == nil:
			paths = append(paths, one)
		case json.Unmarshal(raw, &many) == nil:
			paths = append(paths, many...)
		}
	}
	return slices.DeleteFunc(paths, func(p string) bool { return !cleanPath(p) })
}

// cleanPath reports whether p is a relative slash path in its shortest form that stays below
// the root.
func cleanPath(p string) bool {
	return p != "" && p == path.Clean(p) && !path.IsAbs(p) && p != ".." && !strings.HasPrefix(p, "../") &&
		!strings.ContainsAny(p, "\x00\\")
}

// manifests are the places of manifests at the top of a root.
var manifests = sync.OnceValue(func() map[string]bool {
	places := map[string]bool{}
	for i := range conventions.All {
		if c := &conventions.All[i]; c.Kind == abi.KindPlugin && c.Scope == conventions.ScopeProject && c.Format == conventions.JSON {
			for _, p := range c.Places {
				places[p] = true
			}
		}
	}
	return places
})

// isBundle reports whether a run has met a manifest at the top of its root.
func isBundle(r *Resolver, trace []vfs.Dep) bool {
	return r.Bundles && slices.ContainsFunc(trace, func(d vfs.Dep) bool {
		return d.Kind == vfs.DepRead && d.Errno == 0 && manifests()[d.Path]
	})
}
