package connect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"waymark/host/codingagents"
	"waymark/internal/atomicfile"
)

// maxMended is the largest file that is changed, in bytes.
const maxMended = 4 << 20

// Project is a directory in which changes are made.
type Project struct {
	dir   string // free of links
	state string // of the records
}

// ProjectIn returns the project in a directory. Records of changes are kept in state, which is made
// on the first change.
func ProjectIn(dir, state string) *Project { return &Project{dir, state} }

// mended is a change that was made.
type mended struct {
	Path   string    `json:"path"` // relative to the project
	At     time.Time `json:"at"`
	Before []byte    `json:"before,omitempty"` // the file's content
	Was    bool      `json:"was"`              // there was a file
	After  string    `json:"after"`            // the SHA-256 of the result, or a link's target
	Link   bool      `json:"link,omitempty"`
	Dirs   []string  `json:"dirs,omitempty"` // that were made, outermost first
}

// Plan returns the file's contents before and after a change; before is nil if there is no
// file. Of a link they are empty.
//
// # Errors
//
// What would keep Make from making the change.
func (p *Project) Plan(ctx context.Context, m *codingagents.Mend) (before, after []byte, err error) {
	root, rel, err := p.open(m.Path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = root.Close() }()
	info, err := root.Lstat(rel)
	switch {
	case m.Action != codingagents.MendInsert && err == nil:
		return nil, nil, fmt.Errorf("%s exists by now: look again with 'agent context'", rel)
	case m.Action != codingagents.MendInsert && !errors.Is(err, fs.ErrNotExist):
		return nil, nil, err
	case m.Action == codingagents.MendLink:
		return nil, nil, nil
	case m.Action == codingagents.MendCreate:
		return nil, []byte(m.Text), nil
	case err != nil:
		return nil, nil, err
	case !info.Mode().IsRegular():
		return nil, nil, fmt.Errorf("%s isn't a regular file", rel)
	case info.Size() > maxMended:
		return nil, nil, fmt.Errorf("%s has more than %d MiB", rel, maxMended>>20)
	}
	if err := p.committed(ctx, rel); err != nil {
		return nil, nil, err
	}
	if before, err = root.ReadFile(rel); err != nil {
		return nil, nil, err
	}
	return before, append([]byte(m.Text), before...), nil
}

// committed returns an error if a file isn't what the last commit has. It neither runs what
// the repository's configuration names nor writes to it. Outside of a repository, or without
// git, everything counts as committed.
func (p *Project) committed(ctx context.Context, rel string) error {
	git := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"}, args...)...) //nolint:gosec // no shell
		cmd.Dir = p.dir
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}
	if inside, err := git("rev-parse", "--is-inside-work-tree"); err != nil || inside != "true" {
		return nil //nolint:nilerr // there is no repository, or no git
	}
	has, err := git("rev-parse", "--verify", "--quiet", "HEAD:./"+rel)
	if err != nil {
		return fmt.Errorf("%s isn't committed: commit it first", rel)
	}
	is, err := git("hash-object", "--no-filters", "--", rel)
	if err != nil {
		return err
	}
	if is != has {
		return fmt.Errorf("%s has changes that aren't committed: commit or stash them first", rel)
	}
	return nil
}

// Make makes a change.
//
// # Errors
//
// Those of Plan, and of the file system; then nothing has changed.
func (p *Project) Make(ctx context.Context, m *codingagents.Mend) error {
	return p.locked(func(list *[]mended) (err error) {
		before, after, err := p.Plan(ctx, m)
		if err != nil {
			return err
		}
		root, rel, err := p.open(m.Path)
		if err != nil {
			return err
		}
		defer func() { _ = root.Close() }()
		rec := mended{Path: rel, At: time.Now().UTC(), Before: before, Was: m.Action == codingagents.MendInsert, After: digest(after)}
		if rec.Dirs, err = makeDirs(root, filepath.Dir(rel)); err != nil {
			return err
		}
		switch m.Action {
		case codingagents.MendLink:
			rec.Link, rec.After = true, m.Target
			err = root.Symlink(m.Target, rel)
		case codingagents.MendCreate:
			err = create(root, rel, after, 0o644)
		default:
			err = replace(root, rel, before, after)
		}
		if err != nil {
			removeDirs(root, rec.Dirs)
			return err
		}
		*list = append(*list, rec)
		return nil
	})
}

// Undo undoes the last change that was made, and returns the file's path in the project; ""
// if there is nothing to undo.
//
// # Errors
//
// If the file was changed since, or can't be restored; then the record stays.
func (p *Project) Undo() (path string, err error) {
	err = p.locked(func(list *[]mended) error {
		if len(*list) == 0 {
			return nil
		}
		rec := (*list)[len(*list)-1]
		root, rel, err := p.open(filepath.Join(p.dir, rec.Path))
		if err != nil {
			return err
		}
		defer func() { _ = root.Close() }()
		if err := rec.unchanged(root, rel); err != nil {
			return err
		}
		if rec.Was {
			now, err := root.ReadFile(rel)
			if err == nil {
				err = replace(root, rel, now, rec.Before)
			}
			if err != nil {
				return err
			}
		} else if err := root.Remove(rel); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		removeDirs(root, rec.Dirs)
		*list, path = (*list)[:len(*list)-1], rec.Path
		return nil
	})
	return path, err
}

// unchanged checks that a file is as the change has left it.
func (r *mended) unchanged(root *os.Root, rel string) error {
	changed := fmt.Errorf("%s was changed since: undo it by hand", rel)
	if r.Link {
		if target, err := root.Readlink(rel); err != nil || target != r.After {
			return changed
		}
		return nil
	}
	if data, err := root.ReadFile(rel); err != nil || digest(data) != r.After {
		return changed
	}
	return nil
}

// open opens the project, and makes a path relative to it.
func (p *Project) open(path string) (root *os.Root, rel string, err error) {
	if rel, err = filepath.Rel(p.dir, path); err != nil || !filepath.IsLocal(rel) {
		return nil, "", fmt.Errorf("%s doesn't lie in the project", path)
	}
	root, err = os.OpenRoot(p.dir)
	return root, rel, err
}

func makeDirs(root *os.Root, dir string) (made []string, err error) {
	var missing []string
	for ; dir != "."; dir = filepath.Dir(dir) {
		if _, err := root.Stat(dir); err == nil {
			break
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		missing = append(missing, dir)
	}
	slices.Reverse(missing)
	for _, dir := range missing {
		if err := root.Mkdir(dir, 0o755); err != nil {
			removeDirs(root, made)
			return nil, err
		}
		made = append(made, dir)
	}
	return made, nil
}

// removeDirs removes directories that are empty.
func removeDirs(root *os.Root, dirs []string) {
	for _, dir := range slices.Backward(dirs) {
		_ = root.Remove(dir)
	}
}

func create(root *os.Root, rel string, data []byte, mode fs.FileMode) (err error) {
	f, err := root.OpenFile(rel, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		_ = root.Remove(rel)
	}
	return err
}

// replace replaces a file that still has the content before.
func replace(root *os.Root, rel string, before, after []byte) error {
	info, err := root.Lstat(rel)
	if err != nil {
		return err
	}
	temp := rel + ".waymark.tmp"
	if err := create(root, temp, after, info.Mode().Perm()); err != nil {
		return err
	}
	now, err := root.ReadFile(rel)
	switch {
	case err == nil && !bytes.Equal(now, before):
		err = fmt.Errorf("%s was changed by another program in this moment: try again", rel)
	case err == nil:
		err = root.Chmod(temp, info.Mode().Perm()) // whatever the umask
	}
	if err == nil {
		err = root.Rename(temp, rel)
	}
	if err != nil {
		_ = root.Remove(temp)
	}
	return err
}

// locked reads the records, calls f, and writes them.
func (p *Project) locked(f func(*[]mended) error) (err error) {
	if err := os.MkdirAll(p.state, 0o700); err != nil {
		return err
	}
	path := filepath.Join(p.state, digest([]byte(p.dir))[:16]+".json")
	lock := flock.New(path + ".lock")
	if err := lock.Lock(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	var list []mended
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the record of changes: %w", err)
	}
	if err := f(&list); err != nil {
		return err
	}
	return atomicfile.Write(path, 0o600, func(w io.Writer) error { return json.NewEncoder(w).Encode(list) })
}
