package resolve

import (
	"path"
	"slices"
	"strings"

	"waymark/abi"
	"waymark/host/vfs"
)

// childrenKey returns the part of the key that depends on a resolver's children.
func (r *Resolver) childrenKey() string {
	if len(r.Children) == 0 {
		return ""
	}
	key := strings.Join(r.Children, "/")
	if r.ChildrenAlways {
		return key + "/" // no name ends with a slash
	}
	return key
}

// childOf returns the child that contains a row's find, or "" for the root itself. The host
// decides this, because it has named the children. A file in a child may still be at a place
// of the root, for example in skills/ if that is a repository of its own.
func (r *Resolver) childOf(row *abi.Resource) string {
	if slices.Contains(r.Nested, row.Path) {
		for _, place := range r.Conventions.placesOf(row.Convention) {
			if dir, nested := strings.CutSuffix(row.Path, "/"+place); nested {
				return dir
			}
		}
	}
	child, _, below := strings.Cut(row.Path, "/")
	if !below || !slices.Contains(r.Children, child) {
		return ""
	}
	places := slices.DeleteFunc(slices.Clone(r.Conventions.placesOf(row.Convention)), func(place string) bool {
		first, _, _ := strings.Cut(place, "/")
		return first != child && !strings.Contains(first, "*")
	})
	if len(places) == 0 {
		return child
	}
	asked := []string{row.Path}
	if row.Kind == abi.KindSkill {
		asked[0] = path.Join(row.Path, "SKILL.md")
	}
	if len(vfs.Matching(places, asked)) > 0 {
		return ""
	}
	return child
}
