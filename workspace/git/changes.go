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
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"waymark/agentapi"
	"waymark/internal/httpapi/problem"
	"waymark/internal/text"
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
	noteDerived = "not shown: another name of it, now or before, may be one that isn't shown"
	noteBinary  = "binary"
	noteLarge   = "too large for this answer"
	noteUncount = "too large to be counted"
	noteOwn     = "a git repository of its own"
	noteUnread  = "can't be read"
)

// file is one that has changed. Its names are as git says them until it is told.
type file struct {
	agentapi.GitFile
	untracked bool
	size      int // of an untracked one
}

// question is what is asked about repositories, and how much room is left in the answer.
type question struct {
	root   string              // of the workspace
	stay   bool                // nothing outside of root counts
	places map[string][]string // by repository, relative to it; none is everything
	files  int
	texts  int
}

func (q *question) inside(path string) bool { return q.root != "" && within(path, q.root) }

// Diff says what isn't committed in the repositories of a caller, or at paths: absolute ones,
// of the workspace or those repositories. It looks for itself, and git ends with ctx.
//
// # Errors
//
// A *problem.Error of code 404 where there is no repository, or nothing at a path.
func (s *Service) Diff(ctx context.Context, caller agentapi.Caller, paths []string) (*agentapi.GitDiffs, error) {
	q := &question{root: s.opts.Root(), stay: s.opts.Within != nil && s.opts.Within(ctx), files: maxFiles, texts: maxTexts}
	tops, err := s.places(caller.Chat, paths, q)
	if err != nil {
		return nil, err
	}
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-s.slots }()
	answer := &agentapi.GitDiffs{Repositories: []agentapi.GitDiff{}}
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
func (s *Service) places(chat uuid.UUID, paths []string, q *question) ([]string, error) {
	tops := s.topsOf(chat)
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
		if top == "" || !q.inside(at) && (q.stay || !slices.Contains(tops, top)) {
			return nil, notThere(path, "it lies in no git repository of the workspace or, for a chat, where it has worked")
		}
		q.places[top] = append(q.places[top], strings.Trim(at[len(top):], "/"))
	}
	return slices.Sorted(maps.Keys(q.places)), nil
}

// resolved is a path without links in the directories above it, as far as they are there:
// a link is a file of a repository, too.
func resolved(path string) string {
	dir, name := filepath.Split(filepath.Clean(path))
	at, err := filepath.EvalSymlinks(dir)
	if err != nil && dir != "/" {
		at = resolved(dir)
	}
	return filepath.Join(at, name)
}

func notThere(path, why string) error {
	return &problem.Error{Code: http.StatusNotFound, Message: "there is no " + text.Printable(valid(path)), Detail: why}
}

// changes says what isn't committed in a repository.
func (s *scan) changes(ctx context.Context, top string, q *question) (*agentapi.GitDiff, error) {
	d := &agentapi.GitDiff{RepoRoot: valid(top), Files: []agentapi.GitFile{}}
	return d, s.with(ctx, top, func(t *target, may visible) error {
		d.Branch, d.RemoteOrigin = t.branchName(), t.remote
		files, unread, err := s.changed(ctx, t, q.places[top])
		if err != nil {
			return err
		}
		find := findRenames
		for _, f := range files {
			switch {
			case !may(strings.TrimSuffix(f.Path, "/")):
				f.withhold(noteSecret)
			case f.RenamedFrom != "" && !may(f.RenamedFrom):
				f.withhold(noteDerived)
			default:
				continue
			}
			if !f.untracked {
				find = findCopies // what has been made of it, too
			}
		}
		files = slices.DeleteFunc(files, func(f *file) bool { return !f.meant(top, q) })
		for _, place := range q.places[top] {
			in := func(f *file) bool { return f.in(place) }
			if _, err := os.Lstat(filepath.Join(top, place)); err != nil && !slices.ContainsFunc(files, in) {
				return notThere(filepath.Join(top, place), "it isn't among the files, and hasn't gone since the last commit")
			}
		}
		slices.SortFunc(files, func(a, b *file) int { return cmp.Compare(a.Path, b.Path) })
		named := min(len(files), q.files)
		files, d.Omitted = files[:named], len(files)-named
		q.files -= named
		count(ctx, top, files)
		d.Diff, err = s.texts(ctx, t, may, files, specs(butNot, unread), find, q)
		for _, f := range files {
			f.Path, f.RenamedFrom = valid(f.Path), valid(f.RenamedFrom)
			d.Files = append(d.Files, f.GitFile)
		}
		return err
	})
}

// changed returns the files that have changed: of those that git knows all, with how many
// lines, and of the others those in some places. It tells which of them can't be read.
func (s *scan) changed(ctx context.Context, t *target, places []string) (files []*file, unread []string, err error) {
	var untracked, unmerged []string
	var listErr error
	var listing sync.WaitGroup // beside the other: both have the same files looked at
	listing.Go(func() { untracked, unmerged, _, listErr = s.list(ctx, t, places) })
	files, unread, err = s.counted(ctx, t)
	if listing.Wait(); listErr != nil {
		return nil, nil, listErr
	}
	if len(unmerged) > 0 { // which git has no numbers for
		if err := s.track(ctx, t, unmerged); err != nil {
			return nil, nil, err
		}
		files, unread, err = s.counted(ctx, t)
	}
	for _, name := range unread {
		files = append(files, &file{GitFile: agentapi.GitFile{Path: name, Note: noteUnread}})
	}
	for _, name := range untracked {
		files = append(files, &file{GitFile: agentapi.GitFile{Path: name}, untracked: true})
	}
	return files, unread, err
}

// counted returns the files that git knows and that have changed, with how many lines, and
// those that can't be read.
func (s *scan) counted(ctx context.Context, t *target) (files []*file, unread []string, err error) {
	unread, err = despite(func(without []string) error {
		files = nil
		return s.run.run(ctx, s.diffCommand(t, specs(butNot, without), "--numstat", "-z", findRenames), func(in io.Reader) error {
			var f *file // whose names come in records of their own
			return records(in, func(record string) error {
				switch {
				case f == nil:
					numbers := append(strings.SplitN(record, "\t", 3), "", "")
					f = &file{GitFile: agentapi.GitFile{Path: numbers[2]}}
					f.Added, _ = strconv.Atoi(numbers[0])
					f.Removed, _ = strconv.Atoi(numbers[1])
					if numbers[0] == "-" {
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
	return files, unread, err
}

// withhold takes away what a file says that isn't to be shown.
func (f *file) withhold(note string) { f.Added, f.Removed, f.Note = 0, 0, note }

// meant reports whether a file is asked for.
func (f *file) meant(top string, q *question) bool {
	places := q.places[top]
	return (!q.stay || q.inside(filepath.Join(top, f.Path))) && (len(places) == 0 || slices.ContainsFunc(places, f.in))
}

// in reports whether a file lies in a place, or did.
func (f *file) in(place string) bool {
	return place == "" || within(strings.TrimSuffix(f.Path, "/"), place) || within(f.RenamedFrom, place)
}

// count counts the lines of the files that git doesn't know, and withholds those that may be
// secret by another name: which ones that are is nowhere in a file.
func count(ctx context.Context, top string, files []*file) {
	left, toRead := int64(maxRead), []*file(nil)
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
			f.withhold(noteDerived)
		case f.untracked && regular && st.Size > left:
			f.Note = noteUncount
		case f.untracked && regular:
			f.size, left = int(st.Size), left-st.Size
			toRead = append(toRead, f)
		case f.untracked:
			f.Added = 1 // the place that a link leads to
		}
	}
	var next atomic.Int64
	var readers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		readers.Go(func() {
			buf := make([]byte, 64<<10)
			for i := next.Add(1) - 1; i < int64(len(toRead)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				f := toRead[i]
				f.Added, f.Note = lines(filepath.Join(top, f.Path), f.size, buf)
			}
		})
	}
	readers.Wait()
}

// lines counts the lines in a file of so many bytes, or says why not. It does without an
// os.File, which costs as much as the rest where files are many and small.
func lines(path string, size int, buf []byte) (n int, note string) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, noteUnread
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return 0, noteUnread
	}
	last := byte('\n')
	for size > 0 { // it may grow
		got, err := unix.Read(fd, buf[:min(size, len(buf))])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0, noteUnread
		case got == 0: // it has shrunk
			size = 0
			continue
		case bytes.IndexByte(buf[:got], 0) >= 0:
			return 0, noteBinary
		}
		n, last, size = n+bytes.Count(buf[:got], []byte("\n")), buf[got-1], size-got
	}
	if last != '\n' {
		n++
	}
	return n, ""
}

// texts returns the diffs of the files that have room, by one git.
func (s *scan) texts(ctx context.Context, t *target, may visible, files []*file, without []string, find string, q *question) (string, error) {
	var chosen, untracked []string
	byName, room := make(map[string]*file), q.texts
	for _, f := range files {
		// What git says of it has as many bytes at least: a line has two, but for an empty one.
		least := 40 + 2*len(f.Path) + f.Added + f.Removed + f.size
		switch {
		case f.Note != "":
			continue
		case len(files) > 1 && least > room:
			f.Note = noteLarge
			continue
		case f.untracked:
			untracked = append(untracked, f.Path)
		case f.RenamedFrom != "":
			chosen = append(chosen, f.RenamedFrom)
		}
		room -= least
		chosen, byName[f.Path] = append(chosen, f.Path), f
	}
	if len(chosen) == 0 {
		return "", nil
	}
	if err := s.track(ctx, t, untracked); err != nil {
		return "", err
	}
	if find == findCopies {
		chosen = nil // what isn't shown is compared, too
	}
	var b strings.Builder
	err := s.diff(ctx, t, append(specs(only, chosen), without...), find, func(in io.Reader) error {
		return sections(in, func(section *section) {
			from, to, err := names(string(section.head))
			f := byName[to]
			if err != nil || f == nil {
				return
			}
			switch shown := section.text(from, to); {
			case !may(from), q.stay && !q.inside(filepath.Join(t.top, from)):
				f.withhold(noteDerived)
			case section.binary():
				f.Note = noteBinary
			case b.Len()+len(shown) <= q.texts:
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
