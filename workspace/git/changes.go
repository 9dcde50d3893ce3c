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
	// maxFiles limits the files that an answer lists, and maxTexts its diffs, in bytes, if the
	// question doesn't: a model reads all of it.
	maxFiles = 4000
	maxTexts = 32 << 10
	// maxRead limits how much is read to count the lines of untracked files, in bytes.
	// 400,000 lines have about 20 MB.
	maxRead = 128 << 20
)

// Notes in place of a text.
const (
	noteSecret  = "not shown: the secret list names it"
	noteDerived = "not shown: another name of it, now or before, may be one that isn't shown"
	noteBinary  = "binary"
	noteLarge   = "too large for this answer"
	noteUncount = "too large to be counted"
	noteOwn     = "a git repository of its own"
	noteUnread  = "can't be read"
)

// file is a changed file. Its names are git's until they are sent.
type file struct {
	agentapi.GitFile
	untracked bool
	size      int // size of an untracked file
}

// question is a question about repositories, with the room that is left in the answer.
type question struct {
	root   string              // the workspace's root
	stay   bool                // ignore everything outside of root
	places map[string][]string // places by repository, relative to it; none means everything
	asked  []string            // absolute paths that were asked for, without links
	files  int
	texts  int
	inner  []string // repositories within those that were looked at
}

func (q *question) inside(path string) bool { return q.root != "" && within(path, q.root) }

// Diff returns the uncommitted changes in a caller's repositories, or at absolute paths in
// the workspace or those repositories, and in repositories within them. It scans them itself,
// and git ends with ctx.
//
// # Errors
//
// A *problem.Error with code 404 if there is no repository, or a path doesn't exist.
func (s *Service) Diff(ctx context.Context, caller agentapi.Caller, asked agentapi.GitQuestion) (*agentapi.GitDiffs, error) {
	q := &question{root: s.opts.Root(), stay: s.opts.Within != nil && s.opts.Within(ctx), files: maxFiles, texts: min(cmp.Or(asked.MaxBytes, maxTexts), maxDiff)}
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
	answer := &agentapi.GitDiffs{Repositories: []agentapi.GitDiff{}}
	var warnings []string
	outer := len(tops)
	for i := 0; i < len(tops); i++ {
		d, err := s.scanner.changes(ctx, tops[i], q)
		var refused *problem.Error
		switch {
		case ctx.Err() != nil, errors.As(err, &refused):
			return nil, cmp.Or(ctx.Err(), err)
		case errors.Is(err, errGone):
		case err != nil:
			warnings = append(warnings, valid(tops[i])+": "+text.Line(err.Error(), 1024))
		case i < outer || len(d.Files) > 0: // of one within another, only changes matter
			answer.Repositories = append(answer.Repositories, *d)
		}
		for _, top := range q.inner {
			switch {
			case slices.Contains(tops, top) || !q.wants(top):
			case len(tops) < outer+maxNested:
				tops = append(tops, top)
			default:
				warnings = append(warnings, valid(top)+": not looked at, as there are too many repositories: ask for its path")
			}
		}
		q.inner = nil
	}
	if answer.Message = strings.Join(warnings, "\n"); len(answer.Repositories) == 0 && answer.Message == "" {
		return nil, &problem.Error{Code: http.StatusNotFound, Message: "there is no git repository", Detail: "not around the workspace's directory or, for a chat, where it has worked"}
	}
	return answer, nil
}

// wants reports whether a repository within another one is asked for.
func (q *question) wants(top string) bool {
	asked := len(q.asked) == 0 || slices.ContainsFunc(q.asked, func(path string) bool { return within(top, path) })
	return asked && (q.inside(top) || !q.stay)
}

// places returns the repositories that are meant, and records the places in them.
func (s *Service) places(chat uuid.UUID, paths []string, q *question) ([]string, error) {
	tops := s.topsOf(chat)
	if len(paths) == 0 {
		if len(tops) == 0 && q.root != "" {
			tops = s.nested(q.root)
		}
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
		q.asked = append(q.asked, at)
		if below := []string(nil); top == "" && q.inside(at) {
			for _, one := range s.nested(dir) {
				if below = append(below, one); q.places[one] == nil {
					q.places[one] = []string{""}
				}
			}
			if below != nil {
				continue
			}
		}
		if top == "" || !q.inside(at) && (q.stay || !slices.Contains(tops, top)) {
			return nil, notThere(path, "it lies in no git repository of the workspace or, for a chat, where it has worked")
		}
		q.places[top] = append(q.places[top], strings.Trim(at[len(top):], "/"))
	}
	return slices.Sorted(maps.Keys(q.places)), nil
}

// resolved returns a path without links in its existing parent directories. The last name
// may be a link, because a repository can contain links.
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

// changes returns the uncommitted changes of a repository.
func (s *scan) changes(ctx context.Context, top string, q *question) (*agentapi.GitDiff, error) {
	d := &agentapi.GitDiff{RepoRoot: valid(top), Files: []agentapi.GitFile{}}
	return d, s.with(ctx, top, func(t *target, may visible) error {
		d.Branch, d.RemoteOrigin = t.branchName(), t.remote
		files, unread, err := s.changed(ctx, t, q.places[top])
		if err != nil {
			return err
		}
		q.inner = inner(top, files)
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
				find = findCopies // also find copies of it
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

// changed returns the changed files: all tracked ones with line counts, and untracked ones
// in the places. It also returns those that can't be read.
func (s *scan) changed(ctx context.Context, t *target, places []string) (files []*file, unread []string, err error) {
	var untracked, unmerged []string
	var listErr error
	var listing sync.WaitGroup // in parallel, although both stat the same files
	listing.Go(func() { untracked, unmerged, _, listErr = s.list(ctx, t, places) })
	files, unread, err = s.counted(ctx, t)
	if listing.Wait(); listErr != nil {
		return nil, nil, listErr
	}
	if len(unmerged) > 0 { // git has no line counts for these
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

// counted returns the changed tracked files with line counts, and those that can't be read.
func (s *scan) counted(ctx context.Context, t *target) (files []*file, unread []string, err error) {
	unread, err = despite(func(without []string) error {
		files = nil
		return s.run.run(ctx, s.diffCommand(t, specs(butNot, without), "--numstat", "-z", findRenames), func(in io.Reader) error {
			var f *file // the names of a rename follow in separate records
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

// withhold removes what must not be shown of a file.
func (f *file) withhold(note string) { f.Added, f.Removed, f.Note = 0, 0, note }

// meant reports whether a file is asked for.
func (f *file) meant(top string, q *question) bool {
	places := q.places[top]
	return (!q.stay || q.inside(filepath.Join(top, f.Path))) && (len(places) == 0 || slices.ContainsFunc(places, f.in))
}

// in reports whether a file is or was in a place.
func (f *file) in(place string) bool {
	return place == "" || within(strings.TrimSuffix(f.Path, "/"), place) || within(f.RenamedFrom, place)
}

// count counts the lines of untracked files. It withholds files with hard links, because
// they may be secret under another name that can't be found.
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
			f.Added = 1 // the target of a link counts as a line
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

// lines counts the lines in a file of this size, or says why it can't. It avoids os.File,
// which would double the cost of many small files.
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
	for size > 0 { // the file may be growing
		got, err := unix.Read(fd, buf[:min(size, len(buf))])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0, noteUnread
		case got == 0: // the file has shrunk
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

// texts returns the diffs of the files that fit, with a single git process.
func (s *scan) texts(ctx context.Context, t *target, may visible, files []*file, without []string, find string, q *question) (string, error) {
	var chosen, untracked []string
	byName, room := make(map[string]*file), q.texts
	for _, f := range files {
		// A lower bound for the length of the diff: a changed line has at least two bytes,
		// unless it is empty.
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
		chosen = nil // hidden files must take part in the comparison
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
