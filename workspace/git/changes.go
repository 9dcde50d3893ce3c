package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"waymark/host/vfs"
	"waymark/internal/httpapi/problem"
	"waymark/internal/text"
	"waymark/workspace"
)

const (
	// maxFiles bounds the files that an answer names, and maxTexts its diffs, in bytes: a
	// model reads all of it.
	maxFiles = 200
	maxTexts = 32 << 10
	// maxLines bounds what is read to count the lines of one untracked file, and maxRead of
	// all that an answer names, in bytes. 400,000 lines have 20 MB.
	maxLines = 64 << 20
	maxRead  = 256 << 20
	// maxNamed bounds the files that git is asked about by name. More are all.
	maxNamed = 1000
	// maxLinked bounds how many files with several names are looked for by the others: each
	// takes up to 50 ms.
	maxLinked = 20
)

// What stands in the place of a text.
const (
	noteSecret  = "not shown: the secret list names it"
	noteDerived = "not shown: it is, or was, a file that the secret list names"
	noteLinked  = "not shown: it has several names, of which the secret list may name one"
	noteBinary  = "binary"
	noteLarge   = "its diff is too large to be shown beside others: ask for it alone by paths, or read the file"
	noteCut     = "its diff is cut: read the file"
	noteNoCount = "too large to be counted"
	noteOwn     = "a git repository of its own"
	noteUnread  = "can't be read"
)

// row is a file that has changed.
type row struct {
	workspace.GitFile
	name, from string // as git says them; from is "" where it is the same
	untracked  bool
	size       int // of an untracked one whose lines are counted
}

// question is what is asked about repositories, and how much of the answer is left.
type question struct {
	places map[string][]string // by repository, relative to it; none is everything
	within bool                // nothing outside of the workspace counts
	offset int
	files  int
	texts  int
}

// changes says what isn't committed in a repository.
func (s *scan) changes(ctx context.Context, top string, q *question) (*workspace.GitDiff, error) {
	d := &workspace.GitDiff{RepoRoot: valid(top), Files: []workspace.GitFile{}}
	return d, s.with(ctx, top, func(t *target, may visible) error {
		d.Branch, d.RemoteOrigin = t.branchName(), t.remote
		places := slices.DeleteFunc(slices.Clone(q.places[top]), func(place string) bool { return place == "" })
		if len(places) < len(q.places[top]) {
			places = nil // one of them is all of the repository
		}
		var all []*row
		var trackedErr error
		var other sync.WaitGroup
		other.Go(func() { all, trackedErr = s.tracked(ctx, t) })
		untracked, unmerged, more, err := s.list(ctx, t, places)
		other.Wait()
		if err == nil && trackedErr == nil && len(unmerged) > 0 {
			if err = s.track(ctx, t, nil, unmerged); err == nil {
				all, trackedErr = s.tracked(ctx, t)
			}
		}
		if err := cmp.Or(err, trackedErr); err != nil {
			return err
		}
		if more {
			d.Note = s.tooMany()
		}
		secret := &part{} // what a file may have been made of that isn't shown
		for _, r := range all {
			if r.hide(may) {
				secret.only = append(secret.only, r.name, r.from)
			}
		}
		for _, name := range untracked {
			all = append(all, &row{name: name, from: name, untracked: true})
		}
		wanted := slices.DeleteFunc(all, func(r *row) bool {
			return !(r.in(places) && (!q.within || within(filepath.Join(top, r.name), t.root)))
		})
		for _, place := range places {
			if err := s.there(ctx, t, place, wanted); err != nil {
				return err
			}
		}
		slices.SortFunc(wanted, func(a, b *row) int { return cmp.Compare(a.name, b.name) })
		var page []*row
		page, d.Omitted = q.page(wanted)
		s.count(ctx, t, may, page)
		if d.Diff, err = s.texts(ctx, t, may, page, secret, q); err != nil {
			return err
		}
		for _, r := range page {
			if r.Path = valid(r.name); r.from != r.name {
				r.RenamedFrom = valid(r.from)
			}
			d.Files = append(d.Files, r.GitFile)
		}
		return nil
	})
}

// Diff says what isn't committed in the repositories of a caller, or at the paths that are
// asked for: absolute ones, of the workspace or those repositories. It looks for itself, and
// git ends with ctx.
//
// # Errors
//
// A *problem.Error of code 404 where there is no repository, or nothing at a path.
func (s *Service) Diff(ctx context.Context, caller workspace.Caller, asked workspace.GitQuestion) (*workspace.GitDiffs, error) {
	q := &question{offset: asked.Offset, files: maxFiles, texts: maxTexts}
	q.within = s.opts.Within != nil && s.opts.Within(ctx)
	tops, err := s.places(caller.Chat, asked.Paths, q)
	if err != nil {
		return nil, err
	}
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-s.slots }()
	answer, shown, omitted := &workspace.GitDiffs{Repositories: []workspace.GitDiff{}}, 0, 0
	var warnings []string
	for _, top := range tops {
		d, err := s.own.changes(ctx, top, q)
		var refused *problem.Error
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.As(err, &refused):
			return nil, err
		case errors.Is(err, errGone):
		case err != nil:
			warnings = append(warnings, valid(top)+": "+text.Line(err.Error(), 1024))
		default:
			answer.Repositories = append(answer.Repositories, *d)
			shown, omitted = shown+len(d.Files), omitted+d.Omitted
		}
	}
	if answer.Message = strings.Join(warnings, "\n"); len(answer.Repositories) == 0 && answer.Message == "" {
		return nil, &problem.Error{Code: http.StatusNotFound, Message: "there is no git repository", Detail: "not around the workspace's directory or, for a chat, where it has worked"}
	}
	if q.files == 0 && omitted > 0 {
		answer.NextOffset = asked.Offset + shown
	}
	return answer, nil
}

// places returns the repositories that are meant, and notes what of them is.
func (s *Service) places(chat uuid.UUID, paths []string, q *question) ([]string, error) {
	tops := s.topsOf(chat)
	if len(paths) == 0 {
		return tops, nil
	}
	q.places = make(map[string][]string)
	for _, asked := range paths {
		at := resolved(asked)
		dir := at
		if info, err := os.Lstat(at); err != nil || !info.IsDir() {
			dir = filepath.Dir(at)
		}
		root, top := s.opts.Root(), s.find(dir)
		if top == "" || !(root != "" && within(at, root) || !q.within && slices.Contains(tops, top)) {
			return nil, notThere(asked, "it lies in no git repository of the workspace or, for a chat, where it has worked")
		}
		q.places[top] = append(q.places[top], strings.TrimPrefix(strings.TrimPrefix(at, top), "/"))
	}
	return slices.Sorted(maps.Keys(q.places)), nil
}

// resolved is a path without links in the directories above it, as far as they are there:
// a link is a file of a repository, too.
func resolved(path string) string {
	dir, name := filepath.Split(filepath.Clean(path))
	for rest := name; ; {
		if real, err := filepath.EvalSymlinks(dir); err == nil || dir == "/" {
			return filepath.Join(real, rest)
		}
		dir = filepath.Clean(dir)
		rest = filepath.Join(filepath.Base(dir), rest)
		dir = filepath.Dir(dir)
	}
}

func notThere(path, why string) error {
	return &problem.Error{Code: http.StatusNotFound, Message: "there is no " + text.Printable(valid(path)), Detail: why}
}

// in reports whether a file lies in one of some places, or did; none is everywhere.
func (r *row) in(places []string) bool {
	return len(places) == 0 || slices.ContainsFunc(places, func(place string) bool {
		return within(strings.TrimSuffix(r.name, "/"), place) || within(r.from, place)
	})
}

// page takes from the files what the answer has room for, from the offset on, and tells how
// many are left.
func (q *question) page(all []*row) (page []*row, left int) {
	skip := min(q.offset, len(all))
	n := min(q.files, len(all)-skip)
	q.offset -= skip
	q.files -= n
	return all[skip : skip+n], len(all) - skip - n
}

// tracked returns the files that git knows and that have changed, with how many lines.
func (s *scan) tracked(ctx context.Context, t *target) (rows []*row, err error) {
	unread, err := despite(func(without []string) error {
		rows = nil
		var r *row // whose names come in records of their own
		return s.run.run(ctx, s.diffCommand(t, &part{without: without}, "--numstat", "-z", "--find-renames"), func(in io.Reader) error {
			return records(in, func(record string) error {
				switch {
				case r != nil && r.from == "":
					r.from = record
					return nil
				case r != nil:
					r.name = record
				default:
					fields := append(strings.SplitN(record, "\t", 3), "", "")
					r = &row{name: fields[2], from: fields[2]}
					r.Added, _ = strconv.Atoi(fields[0])
					r.Removed, _ = strconv.Atoi(fields[1])
					if fields[0] == "-" {
						r.Note = noteBinary
					}
					if r.name == "" {
						return nil
					}
				}
				rows, r = append(rows, r), nil
				return nil
			})
		})
	})
	for _, name := range unread {
		rows = append(rows, &row{name: name, from: name, GitFile: workspace.GitFile{Note: noteUnread}})
	}
	return rows, err
}

// there says that something is at a place, or has been there and isn't committed as gone.
func (s *scan) there(ctx context.Context, t *target, place string, changed []*row) error {
	if _, err := os.Lstat(filepath.Join(t.top, place)); err == nil {
		return nil
	}
	if slices.ContainsFunc(changed, func(r *row) bool { return r.in([]string{place}) }) {
		return nil
	}
	if t.head != "" { // it may be outside of what a sparse checkout has
		if _, err := s.run.output(ctx, s.confined(t, "rev-parse", "-q", "--verify", t.head+":"+place)); err == nil {
			return nil
		}
	}
	return notThere(filepath.Join(t.top, place), "it is neither among the files nor among those that are committed")
}

// count counts the lines of files that git doesn't know, and finds those that aren't to be
// shown.
func (s *scan) count(ctx context.Context, t *target, may visible, page []*row) {
	left, linked := int64(maxRead), 0
	for _, r := range page {
		var st unix.Stat_t
		err := unix.Lstat(filepath.Join(t.top, r.name), &st)
		kind := st.Mode & unix.S_IFMT
		switch {
		case ctx.Err() != nil:
			return
		case r.hide(may), r.Note != "":
		case strings.HasSuffix(r.name, "/"):
			r.Note = noteOwn
		case err == nil && kind == unix.S_IFREG && st.Nlink > 1 && (linked == maxLinked || t.linked(&st)):
			r.GitFile = workspace.GitFile{Note: noteLinked}
		case r.untracked && kind == unix.S_IFLNK:
			r.Added = 1 // the place that it leads to
		case r.untracked && st.Size > min(maxLines, left):
			r.Note = noteNoCount
		case r.untracked:
			r.Added, r.size, r.Note = lines(filepath.Join(t.top, r.name))
			left -= int64(r.size)
		}
		if st.Nlink > 1 && kind == unix.S_IFREG {
			linked = min(linked+1, maxLinked)
		}
	}
}

// hide takes away what a file says that isn't to be shown.
func (r *row) hide(may visible) bool {
	switch {
	case !may(strings.TrimSuffix(r.name, "/")):
		r.GitFile = workspace.GitFile{Note: noteSecret}
	case r.from != r.name && !may(r.from):
		r.GitFile = workspace.GitFile{Note: noteDerived}
	default:
		return false
	}
	return true
}

// linked reports whether a file may be on the secret list by another of its names.
func (t *target) linked(st *unix.Stat_t) bool {
	dir := t.top
	if t.root != "" && within(t.top, t.root) {
		dir = t.root
	}
	guard, err := vfs.NewSecretGuard(nil)
	if err != nil {
		return true
	}
	root, err := vfs.OpenRoot(dir, vfs.RootOptions{})
	if err != nil {
		return true
	}
	defer root.Close()
	return root.SecretLink(guard, st) != nil
}

// lines counts the lines of a file, and its bytes, or says why not.
func lines(path string) (n, size int, note string) {
	f, err := openRegular(path)
	if err != nil {
		return 0, 0, noteUnread
	}
	defer func() { _ = f.Close() }()
	in := io.LimitReader(f, maxLines) // it may grow meanwhile
	for buf, last := make([]byte, 64<<10), byte('\n'); ; {
		got, err := in.Read(buf)
		part := buf[:got]
		if size += got; bytes.IndexByte(part, 0) >= 0 {
			return 0, size, noteBinary
		}
		if n += bytes.Count(part, []byte("\n")); got > 0 {
			last = part[got-1]
		}
		switch {
		case errors.Is(err, io.EOF) && last != '\n':
			return n + 1, size, ""
		case errors.Is(err, io.EOF):
			return n, size, ""
		case err != nil:
			return 0, size, noteUnread
		}
	}
}

// texts returns the diffs of the files that have room, by one git.
func (s *scan) texts(ctx context.Context, t *target, may visible, page []*row, secret *part, q *question) (string, error) {
	of, byName := &part{}, make(map[string]*row)
	var untracked []string
	room := q.texts
	for _, r := range page {
		least := r.size + r.Added + r.Removed // a line has two bytes at least
		if !r.untracked {
			least *= 2
		}
		switch {
		case r.Note == noteBinary:
		case r.Note != "":
			continue
		case len(page) > 1 && least > room:
			r.Note = noteLarge
			continue
		default:
			room -= least
		}
		if r.untracked {
			untracked = append(untracked, r.name)
		}
		of.only, byName[r.name] = append(of.only, r.name, r.from), r
	}
	if len(byName) == 0 {
		return "", nil
	}
	if err := s.track(ctx, t, untracked, nil); err != nil {
		return "", err
	}
	if len(secret.only) > 0 {
		made, from := may, slices.Concat(of.only, secret.only)
		if len(from) > maxNamed {
			from = nil
		}
		_, err := despite(func(without []string) (err error) {
			made, err = s.derived(ctx, t, may, &part{only: from, without: without})
			return err
		})
		if err != nil {
			return "", err
		}
		may = made
	}
	renames := "--no-renames"
	if slices.ContainsFunc(page, func(r *row) bool { return r.name != r.from }) {
		renames = "--find-renames"
	}
	var b strings.Builder
	unread, err := despite(func(without []string) error {
		of.without = without
		b.Reset()
		left := q.texts
		return s.run.run(ctx, s.diffCommand(t, of, append([]string{renames}, forPeople...)...), func(in io.Reader) error {
			return sections(in, func(section *section) {
				_, to, shown, err := section.shown(may)
				r := byName[to]
				switch {
				case r == nil || errors.Is(err, errNoFile):
				case err != nil:
					r.GitFile = workspace.GitFile{Note: noteDerived}
				case len(shown) <= left && section.size <= maxDiff:
					b.WriteString(shown)
					left -= len(shown)
				case len(page) > 1:
					r.Note = noteLarge
				default:
					r.Note = noteCut
					b.WriteString(text.Truncate(shown, left))
					left = 0
				}
				if err == nil && r != nil && (section.nul || section.binary()) {
					r.Note = noteBinary
				}
			})
		})
	})
	for _, name := range unread {
		if r := byName[name]; r != nil {
			r.Note = noteUnread
		}
	}
	q.texts -= b.Len()
	return b.String(), err
}
