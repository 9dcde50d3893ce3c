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

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"waymark/internal/httpapi/problem"
	"waymark/internal/text"
	"waymark/workspace"
)

const (
	// maxFiles bounds the files that an answer names, and maxTexts its diffs, in bytes: a
	// model reads all of it.
	maxFiles = 4000
	maxTexts = 32 << 10
	// maxRead bounds what is read to count the lines of untracked files, in bytes. 400,000
	// lines have 20 MB.
	maxRead = 128 << 20
)

// What stands in the place of a text.
const (
	noteSecret  = "not shown: the secret list names it"
	noteDerived = "not shown: it is, or was, a file that the secret list names"
	noteLinked  = "not shown: it has several names, of which the secret list may name one"
	noteBinary  = "binary"
	noteLarge   = "too large for this answer"
	noteUncount = "too large to be counted"
	noteOwn     = "a git repository of its own"
	noteUnread  = "can't be read"
)

// file is one that has changed. Its names are as git says them until it is told.
type file struct {
	workspace.GitFile
	untracked bool
	size      int // of an untracked one
}

// question is what is asked about repositories, and how much room is left in the answer.
type question struct {
	places map[string][]string // by repository, absolute; none is everything
	within string              // nothing outside of this directory counts; "" is none
	files  int
	texts  int
}

// Diff says what isn't committed in the repositories of a caller, or at paths: absolute ones,
// of the workspace or those repositories. It looks for itself, and git ends with ctx.
//
// # Errors
//
// A *problem.Error of code 404 where there is no repository, or nothing at a path.
func (s *Service) Diff(ctx context.Context, caller workspace.Caller, paths []string) (*workspace.GitDiffs, error) {
	q := &question{files: maxFiles, texts: maxTexts}
	tops, err := s.places(ctx, caller.Chat, paths, q)
	if err != nil {
		return nil, err
	}
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-s.slots }()
	answer := &workspace.GitDiffs{Repositories: []workspace.GitDiff{}}
	var warnings []string
	for _, top := range tops {
		d, err := s.scanner.changes(ctx, top, q)
		var refused *problem.Error
		switch {
		case ctx.Err() != nil, errors.As(err, &refused):
			return nil, cmp.Or(ctx.Err(), err)
		case errors.Is(err, errGone):
		case err != nil:
			warnings = append(warnings, valid(top)+": "+text.Line(err.Error(), 1024))
		default:
			answer.Repositories = append(answer.Repositories, *d)
		}
	}
	if answer.Message = strings.Join(warnings, "\n"); len(answer.Repositories) == 0 && answer.Message == "" {
		return nil, &problem.Error{Code: http.StatusNotFound, Message: "there is no git repository", Detail: "not around the workspace's directory or, for a chat, where it has worked"}
	}
	return answer, nil
}

// places returns the repositories that are meant, and notes what of them is.
func (s *Service) places(ctx context.Context, chat uuid.UUID, paths []string, q *question) ([]string, error) {
	root, tops := s.opts.Root(), s.topsOf(chat)
	if s.opts.Within != nil && s.opts.Within(ctx) {
		q.within = root
		if root == "" { // yet
			return nil, nil
		}
	}
	if len(paths) == 0 {
		return tops, nil
	}
	q.places = make(map[string][]string)
	for _, path := range paths {
		at := resolved(path)
		dir := at
		if info, err := os.Lstat(at); err != nil || !info.IsDir() {
			dir = filepath.Dir(at)
		}
		top := s.find(dir)
		if inside := root != "" && within(at, root); top == "" || !inside && (q.within != "" || !slices.Contains(tops, top)) {
			return nil, notThere(path, "it lies in no git repository of the workspace or, for a chat, where it has worked")
		}
		q.places[top] = append(q.places[top], at)
	}
	return slices.Sorted(maps.Keys(q.places)), nil
}

// resolved is a path without links in the directories above it, as far as they are there:
// a link is a file of a repository, too.
func resolved(path string) string {
	dir, name := filepath.Split(filepath.Clean(path))
	real, err := filepath.EvalSymlinks(dir)
	if err != nil && dir != "/" {
		real = resolved(dir)
	}
	return filepath.Join(real, name)
}

func notThere(path, why string) error {
	return &problem.Error{Code: http.StatusNotFound, Message: "there is no " + text.Printable(valid(path)), Detail: why}
}

// changes says what isn't committed in a repository.
func (s *scan) changes(ctx context.Context, top string, q *question) (*workspace.GitDiff, error) {
	d := &workspace.GitDiff{RepoRoot: valid(top), Files: []workspace.GitFile{}}
	return d, s.with(ctx, top, func(t *target, may visible) error {
		d.Branch, d.RemoteOrigin = t.branchName(), t.remote
		files, unread, more, err := s.changed(ctx, t, q.places[top])
		if err != nil {
			return err
		}
		find := findRenames
		for _, f := range files {
			if f.hide(may) && !f.untracked {
				find = findCopies
			}
		}
		files = slices.DeleteFunc(files, func(f *file) bool { return !f.meant(top, q) })
		for _, place := range q.places[top] {
			there := func(f *file) bool { return f.in(top, place) }
			if _, err := os.Lstat(place); err != nil && !slices.ContainsFunc(files, there) {
				return notThere(place, "it isn't among the files, and hasn't gone since the last commit")
			}
		}
		slices.SortFunc(files, func(a, b *file) int { return cmp.Compare(a.Path, b.Path) })
		named := min(len(files), q.files)
		files, d.Omitted = files[:named], len(files)-named
		q.files -= named
		count(ctx, top, files)
		if d.Diff, err = s.texts(ctx, t, may, files, &part{without: unread}, find, q); err != nil {
			return err
		}
		if more {
			d.Note = s.tooMany()
		}
		for _, f := range files {
			f.Path, f.RenamedFrom = valid(f.Path), valid(f.RenamedFrom)
			d.Files = append(d.Files, f.GitFile)
		}
		return nil
	})
}

// changed returns the files that have changed: of those that git knows all, with how many
// lines, and of the others those in some places.
func (s *scan) changed(ctx context.Context, t *target, places []string) (files []*file, unread []string, more bool, err error) {
	untracked, unmerged, more, err := s.list(ctx, t, places)
	if err == nil {
		err = s.track(ctx, t, nil, unmerged)
	}
	if err != nil {
		return nil, nil, false, err
	}
	unread, err = despite(func(without []string) error {
		files = nil
		var f *file // whose names come in records of their own
		return s.run.run(ctx, s.diffCommand(t, &part{without: without}, "--numstat", "-z", findRenames), func(in io.Reader) error {
			return records(in, func(record string) error {
				switch {
				case f == nil:
					added, rest, _ := strings.Cut(record, "\t")
					removed, name, _ := strings.Cut(rest, "\t")
					f = &file{GitFile: workspace.GitFile{Path: name}}
					f.Added, _ = strconv.Atoi(added)
					f.Removed, _ = strconv.Atoi(removed)
					if added == "-" {
						f.Note = noteBinary
					}
				case f.RenamedFrom == "":
					f.RenamedFrom = record
				default:
					f.Path = record
				}
				if f.Path != "" {
					files, f = append(files, f), nil
				}
				return nil
			})
		})
	})
	for _, name := range unread {
		files = append(files, &file{GitFile: workspace.GitFile{Path: name, Note: noteUnread}})
	}
	for _, name := range untracked {
		files = append(files, &file{GitFile: workspace.GitFile{Path: name}, untracked: true})
	}
	return files, unread, more, err
}

// hide takes away what a file says that isn't to be shown.
func (f *file) hide(may visible) bool {
	note := ""
	if !may(strings.TrimSuffix(f.Path, "/")) {
		note = noteSecret
	} else if f.RenamedFrom != "" && !may(f.RenamedFrom) {
		note = noteDerived
	}
	if note != "" {
		f.withhold(note)
	}
	return note != ""
}

func (f *file) withhold(note string) { f.Added, f.Removed, f.Note = 0, 0, note }

// meant reports whether a file is asked for.
func (f *file) meant(top string, q *question) bool {
	places := q.places[top]
	return (q.within == "" || within(filepath.Join(top, f.Path), q.within)) &&
		(len(places) == 0 || slices.ContainsFunc(places, func(place string) bool { return f.in(top, place) }))
}

// in reports whether a file lies in a place, or did.
func (f *file) in(top, place string) bool {
	return within(filepath.Join(top, f.Path), place) || f.RenamedFrom != "" && within(filepath.Join(top, f.RenamedFrom), place)
}

// count counts the lines of the files that git doesn't know, and withholds those that may be
// secret by another name: which ones that are is nowhere in a file.
func count(ctx context.Context, top string, files []*file) {
	left, buf := int64(maxRead), make([]byte, 64<<10)
	for _, f := range files {
		var st unix.Stat_t
		path := filepath.Join(top, f.Path)
		err := unix.Lstat(path, &st)
		regular := err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG
		switch {
		case ctx.Err() != nil:
			return
		case f.Note != "":
		case strings.HasSuffix(f.Path, "/"):
			f.Note = noteOwn
		case regular && st.Nlink > 1:
			f.withhold(noteLinked)
		case f.untracked && regular && st.Size > left:
			f.Note = noteUncount
		case f.untracked && regular:
			f.size, left = int(st.Size), left-st.Size
			f.Added, f.Note = lines(path, st.Size, buf)
		case f.untracked:
			f.Added = 1 // the place that a link leads to
		}
	}
}

// lines counts the lines in the first size bytes of a file, or says why not.
func lines(path string, size int64, buf []byte) (n int, note string) {
	f, err := openRegular(path)
	if err != nil {
		return 0, noteUnread
	}
	defer func() { _ = f.Close() }()
	last := byte('\n')
	for in := io.LimitReader(f, size); ; {
		got, err := in.Read(buf)
		if got > 0 {
			last = buf[got-1]
		}
		n += bytes.Count(buf[:got], []byte("\n"))
		switch {
		case bytes.IndexByte(buf[:got], 0) >= 0:
			return 0, noteBinary
		case errors.Is(err, io.EOF) && last != '\n':
			return n + 1, ""
		case errors.Is(err, io.EOF):
			return n, ""
		case err != nil:
			return 0, noteUnread
		}
	}
}

// texts returns the diffs of the files that have room, by one git.
func (s *scan) texts(ctx context.Context, t *target, may visible, files []*file, of *part, find string, q *question) (string, error) {
	var untracked []string
	byName, room := make(map[string]*file), q.texts
	for _, f := range files {
		if f.Note != "" {
			continue
		}
		// What git says of it has as many bytes at least: a line has two, but for an empty one.
		least := 40 + 2*len(f.Path) + f.Added + f.Removed + f.size
		f.Note = noteLarge // until it is there
		if len(files) > 1 && least > room {
			continue
		}
		room -= least
		if f.untracked {
			untracked = append(untracked, f.Path)
		}
		byName[f.Path] = f
		if of.only = append(of.only, f.Path); f.RenamedFrom != "" {
			of.only = append(of.only, f.RenamedFrom)
		}
	}
	if len(byName) == 0 {
		return "", nil
	}
	if err := s.track(ctx, t, untracked, nil); err != nil {
		return "", err
	}
	if find == findCopies {
		of.only = nil // what isn't shown is compared, too
	}
	var b strings.Builder
	err := s.diff(ctx, t, of, find, func(in io.Reader) error {
		return sections(in, func(section *section) {
			from, to, err := names(string(section.head))
			f := byName[to]
			if err != nil || f == nil {
				return
			}
			if gone := byName[from]; gone != nil {
				gone.Note = "" // moved, which git hasn't been told
			}
			switch shown := section.text(from, to); {
			case !may(from):
				f.withhold(noteDerived)
			case section.binary():
				f.Note = noteBinary
			case b.Len()+len(shown) <= q.texts:
				f.Note = ""
				b.WriteString(shown)
			case len(files) == 1:
				b.WriteString(text.Truncate(shown, q.texts))
				fallthrough
			default:
				f.Note = noteLarge
			}
		})
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	q.texts -= b.Len()
	return b.String(), err
}
