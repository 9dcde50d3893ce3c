package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"waymark/abi"
	"waymark/host/applicability"
	"waymark/host/vfs"
	"waymark/snapshot"
)

// The bounds of a skill's files. The limits on their number and total size are those that
// SEP-2640 sets for what an MCP server lists.
const (
	maxSkillFiles = 512
	maxSkillBytes = 16 << 20
	// MaxSkillFile bounds one file, in bytes. A larger one is no text for a model.
	MaxSkillFile = 4 << 20
	// maxSkillDepth bounds how deep below a skill's directory files are looked for.
	maxSkillDepth = 8
	// maxSkillEntries bounds the directory entries that are read, for example in a
	// node_modules.
	maxSkillEntries = 10_000
)

// ErrNoSkill says that there is no such skill, or no such file in it.
var ErrNoSkill = errors.New("not there")

// SkillFile is a file in the directory of a skill.
type SkillFile struct {
	// Path is relative to the skill's directory, with slashes.
	Path string
	Size int64
	// Hash is the SHA-256 of its content.
	Hash snapshot.Hash
}

// SkillFiles lists the files that are now in the directory of a skill, which is named by the
// id of its resource. It sorts them in byte order and applies the usual checks. It omits
// secret files, settings files, files that aren't regular or exceed 4 MiB, files that a link
// leads out of the directory to, and anything beyond 512 files, 16 MiB in total or 8
// directories deep. omitted counts the omitted entries that were seen.
//
// # Errors
//
// ErrNoSkill, and the context's.
func (h *Host) SkillFiles(ctx context.Context, id string) (files []SkillFile, omitted int, err error) {
	run, dir, err := h.skillRun(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = run.Close() }()
	w := skillWalk{run: run, dir: dir}
	if err := w.walk(ctx, dir, 0); err != nil {
		return nil, 0, err
	}
	slices.SortFunc(w.files, func(a, b SkillFile) int { return strings.Compare(a.Path, b.Path) })
	return w.files, w.omitted, nil
}

// SkillFile reads a file of a skill, with the same checks.
//
// # Errors
//
// ErrNoSkill, and the context's.
func (h *Host) SkillFile(ctx context.Context, id, file string) ([]byte, error) {
	if file == "" || path.Clean(file) != file || !fs.ValidPath(file) || strings.Count(file, "/") > maxSkillDepth {
		return nil, fmt.Errorf("%w: a file is named as the list of the skill's files has it", ErrNoSkill)
	}
	run, dir, err := h.skillRun(ctx, id)
	if err != nil {
		return nil, err
	}
	defer func() { _ = run.Close() }()
	w := skillWalk{run: run, dir: dir}
	c, ok := w.content(path.Join(dir, file))
	if !ok {
		return nil, fmt.Errorf("%w: the skill has no such file, or none that is shown", ErrNoSkill)
	}
	return c.Data, nil
}

// skillRun begins a run in the root that contains a skill, and returns the skill's directory
// there.
func (h *Host) skillRun(ctx context.Context, id string) (run *vfs.Run, dir string, err error) {
	r := h.Current().Find(id)
	if r == nil || r.Kind != abi.KindSkill {
		return nil, "", fmt.Errorf("%w: the snapshot has no skill of this id", ErrNoSkill)
	}
	filter, err := allVisible()
	if err != nil {
		return nil, "", err
	}
	_, leave, err := h.turn.Take(ctx) // keeps roots open until the run has begun
	if err != nil {
		return nil, "", err
	}
	defer leave()
	for _, u := range h.used() {
		dir, ok := applicability.Below(u.root.FS.Path(), r.Source)
		if !ok || u.root.FS.File() != "" {
			continue
		}
		for i := range u.slot.outcomes {
			if slices.ContainsFunc(u.slot.outcomes[i].Candidates, func(c snapshot.Candidate) bool { return c.ID() == id }) {
				return u.root.FS.Begin(filter, vfs.Limits{KeepBytes: MaxSkillFile, Entries: maxSkillEntries}), dir, nil
			}
		}
	}
	return nil, "", fmt.Errorf("%w: no directory that is looked at has it any more", ErrNoSkill)
}

// skillWalk lists a skill's files.
type skillWalk struct {
	run     *vfs.Run
	dir     string // the skill's
	files   []SkillFile
	bytes   int64
	omitted int
}

// walk reads a directory and those below it.
func (w *skillWalk) walk(ctx context.Context, dir string, depth int) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	d, err := w.run.Open(dir)
	if err != nil {
		return w.unreadable(depth, err)
	}
	entries, err := d.ReadDir()
	_ = d.Close()
	if err != nil {
		return w.unreadable(depth, err)
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name)
		switch {
		case !e.Type.IsDir():
			w.file(name)
		case depth == maxSkillDepth:
			w.omitted++
		default:
			if err := w.walk(ctx, name, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// unreadable handles a directory that can't be listed: it is an error if it is the skill's
// own, and counts as omitted otherwise.
func (w *skillWalk) unreadable(depth int, err error) error {
	if depth == 0 {
		return fmt.Errorf("%w: its directory can't be listed: %w", ErrNoSkill, err)
	}
	w.omitted++
	return nil
}

// file checks one file and adds it.
func (w *skillWalk) file(name string) {
	c, ok := w.content(name)
	if !ok || len(w.files) == maxSkillFiles || w.bytes+c.Size > maxSkillBytes {
		w.omitted++
		return
	}
	w.bytes += c.Size
	rel, _ := applicability.Below(w.dir, name)
	if w.dir == "." {
		rel = name
	}
	w.files = append(w.files, SkillFile{Path: rel, Size: c.Size, Hash: c.Hash})
}

// content reads a file, and reports whether it may be shown.
func (w *skillWalk) content(name string) (vfs.Content, bool) {
	c, err := w.run.Content(name)
	if err != nil || c.Class != vfs.ContentOK || c.Settings {
		return c, false
	}
	_, inside := applicability.Below(w.dir, c.Path)
	return c, inside || w.dir == "."
}
