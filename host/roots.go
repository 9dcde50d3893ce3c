package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"waymark/abi"
	"waymark/host/resolve"
	"waymark/host/vfs"
)

// rootSlot is one RootSpec with the root that is open for it now.
type rootSlot struct {
	spec RootSpec
	open *vfs.Root // nil while it doesn't exist
	mcp  []string  // the MCPFiles that it was opened with
	err  error     // why it isn't open
}

// openRoots opens what isn't open and can be, and opens anew what has become
// another file or directory since. The caller holds the turn.
func (h *Host) openRoots() {
	for _, slot := range h.slots {
		slot.refresh(vfs.RootOptions{Exclude: h.opts.Exclude, MCPFiles: h.mcpFiles(slot.spec.Path)})
	}
}

// refresh opens the root again and keeps the new one only where it differs:
// a path may lead elsewhere, and to another type of file, without a trace in
// what is open.
func (s *rootSlot) refresh(opts vfs.RootOptions) {
	next, err := openRoot(s.spec.Path, opts)
	if err == nil && s.open != nil && next.ID() == s.open.ID() && next.Path() == s.open.Path() &&
		next.File() == s.open.File() && slices.Equal(opts.MCPFiles, s.mcp) {
		_ = next.Close()
		return
	}
	if s.open != nil {
		_ = s.open.Close()
	}
	s.open, s.err, s.mcp = next, err, opts.MCPFiles
}

// mcpFiles lists the files of roots of role mcp that lie below a directory,
// relative to it: whichever root leads to one, it holds tokens.
func (h *Host) mcpFiles(dir string) []string {
	var files []string
	for _, spec := range h.opts.Roots {
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

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// absolute is filepath.Abs, or the path as it is when there is no working
// directory.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// resolved is the link-free absolute path, as far as it exists.
func resolved(path string) string {
	path = absolute(path)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// openRoot is vfs.OpenRoot with a nil root on errors.
func openRoot(path string, opts vfs.RootOptions) (*vfs.Root, error) {
	root, err := vfs.OpenRoot(path, opts)
	if err != nil {
		return nil, err
	}
	return root, nil
}

// roots lists the open roots in order; a directory that comes up twice in the
// same role counts once, where it comes first.
func (h *Host) roots() []resolve.Root {
	type identity struct{ path, file, role string }
	seen := map[identity]bool{}
	var list []resolve.Root
	for _, slot := range h.slots {
		if slot.open == nil {
			continue
		}
		id := identity{slot.open.Path(), slot.open.File(), string(slot.spec.Role)}
		if seen[id] {
			continue
		}
		seen[id] = true
		root := resolve.Root{FS: slot.open, Role: slot.spec.Role}
		if slot.spec.Source {
			root.SourcePath = filepath.Join(slot.open.Path(), slot.open.File())
		}
		list = append(list, root)
	}
	return list
}

// checkRequired opens all roots for the first time and fails for one that
// must exist.
func (h *Host) checkRequired() error {
	h.openRoots()
	for _, slot := range h.slots {
		if slot.open != nil || slot.spec.Optional {
			continue
		}
		if errors.Is(slot.err, fs.ErrNotExist) {
			return fmt.Errorf("root %s does not exist: name an existing directory", slot.spec.Path)
		}
		return fmt.Errorf("root %s can't be used: %w", slot.spec.Path, slot.err)
	}
	return nil
}

// rootPaths lists the open roots for the status.
func rootPaths(roots []resolve.Root) []string {
	paths := make([]string, len(roots))
	for i, r := range roots {
		paths[i] = filepath.Join(r.FS.Path(), r.FS.File())
	}
	return paths
}
