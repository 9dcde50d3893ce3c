package resolve

import (
	"path"
	"slices"
	"strings"

	"waymark/abi"
	"waymark/host/vfs"
)

// childrenKey is what of a resolver's children decides its answer.
func (r *Resolver) childrenKey() string {
	if len(r.Children) == 0 {
		return ""
	}
	key := strings.Join(r.Children, "/")
	if r.ChildrenAlways {
		return key + "/" // no name ends so
	}
	return key
}

// childOf returns the child whose find a row is; empty for one of the root itself. That is
// for the host to say, which has named the children. What lies in one may be at a place of
// the root all the same, as in skills/ where that is a repository of its own.
func (r *Resolver) childOf(row *abi.Resource) string {
	if len(r.Children) == 0 {
		return ""
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
