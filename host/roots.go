package host

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"

	"waymark/abi"
	"waymark/host/resolve"
	"waymark/host/vfs"
	"waymark/internal/beneath"
	"waymark/internal/errtext"
	"waymark/snapshot"
)

// newSlot makes a slot with a unique name.
func (h *Host) newSlot(spec RootSpec) *rootSlot {
	h.named++
	return &rootSlot{spec: spec, owner: strconv.Itoa(h.named)}
}

// unknown returns the scope of the roots that were never looked at. A missing root isn't one
// of them: its path is watched, and the watcher says when to look again.
func (h *Host) unknown() scope {
	s := scope{owners: map[string]bool{}}
	for _, slot := range h.slots {
		if missing := slot.err != nil && !slot.refused(); !slot.known && !missing {
			s.owners[slot.owner] = true
		}
	}
	return s
}

// openRoots opens the roots that aren't open and can be, and reopens those whose path leads
// to another file or directory by now. The caller holds h.turn.
func (h *Host) openRoots(s scope) {
	top, err := beneath.OpenTop() // shared, because most roots lie below the same few directories
	if err == nil {
		defer top.Close()
	} else {
		top = nil // each root then opens the path itself, and fails or not
	}
	for _, slot := range h.slots {
		if s.covers(slot) {
			slot.refresh(vfs.RootOptions{
				Exclude: h.config.exclude, Own: h.config.own, MCPFiles: h.mcpFiles(slot.spec.Path), Settings: h.config.settings, Within: slot.spec.within(), Top: top,
				Beyond: slot.spec.Scope == snapshot.ScopeUser,
			})
			h.logRefused(slot)
		}
	}
}

// within returns Within without the paths that mean nothing here.
func (s *RootSpec) within() []string {
	return slices.DeleteFunc(slices.Clone(s.Within), func(dir string) bool { return !filepath.IsAbs(dir) })
}

// logRefused logs that a root is refused, once for each reason. A required root that never
// opened is an error for the caller instead.
func (h *Host) logRefused(slot *rootSlot) {
	text := ""
	if slot.refused() && (slot.spec.Optional || slot.opened) {
		text = errtext.Of(slot.err)
	}
	if text != slot.logged && text != "" {
		h.log.Warn("root not looked at", slog.String("root", absolute(slot.spec.Path)), slog.Any("error", slot.err))
	}
	slot.logged = text
}

// mcpFiles lists the files of roots with role mcp that lie below a directory, relative to it.
// They hold tokens, whichever root leads to them.
func (h *Host) mcpFiles(dir string) []string {
	var files []string
	for _, slot := range h.slots {
		spec := &slot.spec
		if spec.Role != abi.RoleMCP || isDir(spec.Path) {
			continue
		}
		for _, form := range []func(string) string{absolute, resolved} {
			base := form(dir)
			if spec.Path == dir { // as a root it is the one file of its directory
				base = filepath.Dir(base)
			}
			rel, err := filepath.Rel(base, form(spec.Path))
			if err == nil && filepath.IsLocal(rel) && rel != "." {
				files = append(files, rel)
			}
		}
	}
	return files
}

// used lists the open roots in order. A directory that occurs twice in the same role counts
// only where it occurs first.
func (h *Host) used() []usedRoot {
	type identity struct{ path, file, role, scope string }
	seen := map[identity]bool{}
	var list []usedRoot
	for _, slot := range h.slots {
		if slot.open == nil {
			continue
		}
		id := identity{slot.open.Path(), slot.open.File(), string(slot.spec.Role), string(slot.spec.Scope)}
		if seen[id] {
			slot.outcomes, slot.known = nil, false
			continue
		}
		seen[id] = true
		root := resolve.Root{FS: slot.open, Role: slot.spec.Role, Scope: slot.spec.Scope, Position: len(list)}
		if slot.spec.Source {
			root.SourcePath = absolute(slot.spec.Path)
		}
		list = append(list, usedRoot{slot, root})
	}
	return list
}

// checkRequired opens all roots for the first time, and fails if a required one can't be
// opened.
func (h *Host) checkRequired() error {
	h.openRoots(everything(""))
	for _, slot := range h.slots {
		if err := slot.required(); err != nil {
			return err
		}
	}
	return nil
}

// missing lists the paths that are waited for.
func (h *Host) missing() []string {
	var paths []string
	for _, slot := range h.slots {
		if slot.open == nil && !slot.refused() {
			paths = append(paths, absolute(slot.spec.Path))
		}
	}
	return paths
}

// rootsNow lists the roots that are looked at and those that are refused. The caller holds
// h.turn.
func (h *Host) rootsNow(used []usedRoot) *lookedAt {
	l := &lookedAt{paths: make([]string, len(used))}
	for i, u := range used {
		l.paths[i] = filepath.Join(u.root.FS.Path(), u.root.FS.File())
	}
	for _, slot := range h.slots {
		if slot.refused() {
			l.refused = append(l.refused, RefusedRoot{absolute(slot.spec.Path), slot.err})
		}
		if c := &slot.children; slot.open != nil && len(c.names)+c.unasked > 0 {
			l.children = append(l.children, Children{slot.open.Path(), c.names, c.more, c.unasked})
		}
	}
	return l
}

// rootProblem describes, for the snapshot, the roots that exist but can't be read; empty if
// there are none. Their resources are missing from the snapshot. What Check refuses is
// missing on purpose, and isn't mentioned.
func rootProblem(refused []RefusedRoot) string {
	refused = slices.DeleteFunc(slices.Clone(refused), func(r RefusedRoot) bool {
		return !errors.As(r.Err, new(*vfs.Error)) && !errors.As(r.Err, new(*vfs.LinkError))
	})
	switch len(refused) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%s is not looked at: %v", refused[0].Path, refused[0].Err)
	}
	return fmt.Sprintf("%s and %d more are not looked at, see 'agent status': %v", refused[0].Path, len(refused)-1, refused[0].Err)
}

// same reports whether two specs mean the same.
func (s *RootSpec) same(other *RootSpec) bool {
	return s.Path == other.Path && s.Role == other.Role && s.Source == other.Source && s.Optional == other.Optional &&
		s.Scope == other.Scope && s.Children == other.Children
}

// replaceSlots makes the slots for specs and reuses existing ones. It also returns those that
// are no longer needed.
func (h *Host) replaceSlots(specs []RootSpec) (next, gone []*rootSlot) {
	left := slices.Clone(h.slots)
	for i := range specs {
		at := slices.IndexFunc(left, func(s *rootSlot) bool { return s.spec.same(&specs[i]) })
		if at < 0 {
			next = append(next, h.newSlot(specs[i]))
			continue
		}
		left[at].spec = specs[i]
		next = append(next, left[at])
		left = slices.Delete(left, at, at+1)
	}
	return next, left
}
