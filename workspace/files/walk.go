package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"waymark/agentapi"
	"waymark/internal/beneath"
	"waymark/internal/httpapi"
	"waymark/internal/text"
	"waymark/workspace/files/search"
)

const (
	// maxWalk limits the time of a search, maxWalked the names that it looks at, and maxSearched
	// the bytes that it reads.
	maxWalk     = 10 * time.Second
	maxWalked   = 1_000_000
	maxSearched = 2 << 30
	// maxFileSearched limits the size of a file that is searched, because it is in memory.
	maxFileSearched = 32 << 20
	// maxWalks limits the searches at the same time.
	maxWalks = 2
)

// walk walks through the files below a directory, without following links. What the caller
// may not read isn't there for it.
type walk struct {
	a       *asker
	ctx     context.Context //nolint:containedctx // of one call
	w       beneath.Walker  // of the directory
	all     *beneath.Walker // of the file system
	top     string          // the directory, absolute and without links
	dev     uint64          // of the directory that was listed last
	ignored bool            // ignored files are included
	above   string          // the path from the top of the patterns to the directory
	names   int             // that were looked at
	wanted  func(rel string) bool
	visit   func(rel string) error
}

// errEnough ends a walk that is over a limit.
var errEnough = errors.New("the limit is reached")

// walkBelow calls visit for the wanted files below a directory, in the order of their paths.
// The paths are relative. If incomplete isn't empty, a limit has ended the walk.
func (a *asker) walkBelow(ctx context.Context, found *beneath.Resolution, top string, ignored bool, wanted func(rel string) bool, visit func(*walk, string) error) (incomplete string, err error) {
	fd, errno := found.OpenDir(found.Path())
	if errno != 0 {
		return "", notListed(found, top, errno)
	}
	defer unix.Close(fd)
	if err := (&place{asked: top}).onFileSystem(fd); err != nil {
		return "", err
	}
	all, err := beneath.OpenTop()
	if err != nil {
		return "", refuseFor(top, err)
	}
	defer all.Close()
	within, cancel := context.WithTimeout(ctx, maxWalk)
	defer cancel()
	w := &walk{a: a, ctx: within, top: top, ignored: ignored, wanted: wanted, w: beneath.Walker{Root: fd}, all: all}
	defer w.w.Forget()
	w.visit = func(rel string) error { return visit(w, rel) }
	rules := w.patternsAbove()
	switch err := w.directory(".", rules); {
	case err == nil:
		return "", nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, errEnough):
		return "it has ended after " + text.Count(w.names, "name", "names") + ", as there is too much: name a directory below, or a glob", nil
	case within.Err() != nil:
		return "it has ended after " + maxWalk.String() + ": name a directory below, or a glob", nil
	default:
		return "", err
	}
}

// patternsAbove returns the patterns of the directories above, up to the top of the
// repository or else of the workspace. If they ignore the directory itself, which was asked
// for, they don't count.
func (w *walk) patternsAbove() (rules *search.Ignored) {
	w.above = "."
	if w.ignored {
		return nil
	}
	var dirs []string
	for dir := w.top; ; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
		var st unix.Stat_t
		if unix.Lstat(filepath.Join(dir, ".git"), &st) == nil || dir == w.a.root {
			break
		}
		if dir == "/" {
			return nil
		}
	}
	slices.Reverse(dirs)
	from := dirs[0]
	rel := func(dir string) string { return strings.TrimPrefix(strings.TrimPrefix(dir, from), "/") }
	for _, dir := range dirs {
		if dir != from && rules.Ignores(rel(dir), true) {
			return nil
		}
		if dir == w.top {
			break
		}
		for _, name := range slices.Concat(excludes(dir == from), search.IgnoreFiles()) {
			if data := w.small(filepath.Join(dir, name)); data != nil {
				rules = rules.With(path.Join(rel(dir), "."), data)
			}
		}
	}
	w.above = path.Join(rel(w.top), ".")
	return rules
}

// excludes returns the file of a repository's own patterns, if a directory may be its top.
func excludes(top bool) []string {
	if top {
		return []string{".git/info/exclude"}
	}
	return nil
}

// small reads a file of patterns that isn't reached through a link, as git does; nil if it
// can't. Nobody sees the patterns, so that the secret list, which has all of .git, doesn't
// matter.
func (w *walk) small(name string) []byte {
	fd, _, errno := w.all.Open(relative(name))
	if errno != 0 {
		return nil
	}
	f := file{fd: fd}
	defer f.close()
	if unix.Fstat(fd, &f.st) != nil || beneath.TypeOf(&f.st) != 0 {
		return nil
	}
	data, _ := io.ReadAll(io.NewSectionReader(&f, 0, min(f.st.Size, search.MaxIgnore)))
	return data
}

// entry is an entry of a directory.
type entry struct {
	name string
	dir  bool
}

// directory walks through a directory.
func (w *walk) directory(rel string, rules *search.Ignored) error {
	list, err := w.list(rel)
	if err != nil || list == nil {
		return err
	}
	at := filepath.Join(w.top, rel)
	if !w.ignored {
		rules = w.patterns(rel, at, list, rules)
	}
	for _, e := range list {
		if e.name == ".git" {
			continue
		}
		name, full := e.name, at+"/"+e.name
		if rel != "." {
			name = rel + "/" + e.name
		}
		if rules.Ignores(path.Join(w.above, name), e.dir) || !e.dir && !w.wanted(name) {
			continue
		}
		if _, secret := w.a.secret(full); secret || w.a.isForbidden(full) {
			continue
		}
		if e.dir {
			err = w.directory(name, rules)
		} else {
			err = w.visit(name)
		}
		if err == nil {
			err = w.ctx.Err()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// patterns adds the patterns in a directory to those of the ones above. Those of another
// repository don't count in a repository.
func (w *walk) patterns(rel, at string, list []entry, rules *search.Ignored) *search.Ignored {
	has := func(name string) bool { return slices.ContainsFunc(list, func(e entry) bool { return e.name == name }) }
	top := has(".git")
	if top {
		rules = nil
	}
	for _, name := range slices.Concat(excludes(top), search.IgnoreFiles()) {
		if first, _, _ := strings.Cut(name, "/"); !has(first) {
			continue
		}
		if data := w.small(filepath.Join(at, name)); data != nil {
			rules = rules.With(path.Join(w.above, rel), data)
		}
	}
	return rules
}

// list lists a directory; nil if it may not or can't be listed, is the agent's own or has
// what isn't files.
func (w *walk) list(rel string) (list []entry, err error) {
	var before, after unix.Stat_t
	_, errno := w.w.List(rel, &before, &after, func(name []byte, typ fs.FileMode) bool {
		w.names++
		if (typ == 0 || typ == fs.ModeDir) && utf8.Valid(name) {
			list = append(list, entry{string(name), typ == fs.ModeDir})
		}
		return w.names < maxWalked
	})
	switch dev := uint64(before.Dev); { //nolint:unconvert // the types differ between platforms
	case w.names >= maxWalked:
		return nil, errEnough
	case errno != 0, slices.Contains(w.a.forbidden, identityOf(&before)):
		return nil, nil //nolint:nilerr // it is skipped
	case dev != w.dev:
		fd, _, errno := w.w.Dir(rel)
		if errno != 0 {
			return nil, nil //nolint:nilerr // it is skipped
		}
		if strange, err := noFiles(fd); err != nil || strange {
			return nil, nil //nolint:nilerr // it is skipped
		}
		w.dev = dev
	}
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return list, nil
}

// walked serves a call that walks: ask gets the directory or file that it is about.
func walked[A any](s *Service, c *httpapi.Call, asked string, do func(a *asker, found *beneath.Resolution, path string) (A, error)) error {
	a, err := s.asker(c.Context())
	if err != nil {
		return err
	}
	if asked == "" {
		asked = a.root
	}
	if asked == "" {
		return answer(c, refuse(http.StatusBadRequest, "the agent has no directory yet: name one"))
	}
	select {
	case s.walks <- struct{}{}:
		defer func() { <-s.walks }()
	case <-c.Context().Done():
		return c.Context().Err()
	}
	for range beneath.MaxSwaps {
		var found *beneath.Resolution
		var path string
		if found, path, err = a.find(asked, reading); err == nil {
			var result A
			result, err = do(a, found, path)
			found.Close()
			if err == nil {
				return c.JSON(http.StatusOK, result)
			}
		}
		if !errors.Is(err, errSwapped) {
			return answer(c, err)
		}
	}
	return answer(c, keptChanging(asked, err))
}

// findFiles answers POST /api/v0/find-files.
func (s *Service) findFiles(c *httpapi.Call) error {
	var ask agentapi.FindFiles
	if err := c.Decode(&ask); err != nil {
		return err
	}
	names, err := search.NewNames(&ask)
	if err != nil {
		return answer(c, refuse(http.StatusBadRequest, "%s", err))
	}
	return walked(s, c, ask.Path, func(a *asker, found *beneath.Resolution, path string) (_ *agentapi.FoundFiles, err error) {
		result := &agentapi.FoundFiles{Path: path}
		result.Incomplete, err = a.walkBelow(c.Context(), found, path, ask.Ignored, names.Match, func(_ *walk, rel string) error {
			names.Add(rel)
			return nil
		})
		names.Answer(result)
		return result, err
	})
}
