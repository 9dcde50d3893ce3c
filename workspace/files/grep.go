package files

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"waymark/agentapi"
	"waymark/internal/beneath"
	"waymark/internal/httpapi"
	"waymark/workspace/files/search"
)

// searchFiles answers POST /api/v0/search-files.
func (s *Service) searchFiles(c *httpapi.Call) error {
	var ask agentapi.SearchFiles
	if err := c.Decode(&ask); err != nil {
		return err
	}
	pattern, err := search.NewPattern(&ask)
	if err != nil {
		return answer(c, refuse(http.StatusBadRequest, "%s", err))
	}
	glob, err := search.NewGlob(ask.Glob)
	if err != nil {
		return answer(c, refuse(http.StatusBadRequest, "%s", err))
	}
	return walked(s, c, ask.Path, func(a *asker, found *beneath.Resolution, path string) (*agentapi.SearchedFiles, error) {
		g := &grep{a: a, pattern: pattern, lines: pattern.Lines(), links: links{a: a}}
		defer g.close()
		incomplete, err := a.walkBelow(c.Context(), found, path, ask.Ignored, glob.Match, g.visit)
		if r, ok := errors.AsType[*refusal](err); ok && r.notDirectory {
			err = g.one(path)
		}
		if err == nil {
			err = g.search(c.Context())
		}
		result := g.lines.Answer()
		result.Path, result.Large, result.Unread, result.Incomplete = path, g.large, g.unread, incomplete
		return result, err
	})
}

// grep searches the files of a walk, some at a time.
type grep struct {
	a       *asker
	pattern *search.Pattern
	lines   *search.Lines
	batch   []string
	readers []*reader
	root    int // the directory's descriptor, if there are readers

	mu            sync.Mutex // guards the rest
	links         links
	read          int64 // bytes
	large, unread int
}

// maxBatch is the number of files that are searched before the answer is extended.
const maxBatch = 128

// reader opens and reads files, for one goroutine.
type reader struct {
	w   beneath.Walker
	buf []byte
}

func (g *grep) close() {
	for _, r := range g.readers {
		r.w.Forget()
	}
	if g.readers != nil {
		_ = unix.Close(g.root)
	}
	g.links.close()
}

// visit takes a file of a walk.
func (g *grep) visit(w *walk, rel string) error {
	if g.readers == nil { // their directory stays open behind the walk
		root, errno := duplicate(w.w.Root)
		if errno != 0 {
			return refuseFor(w.top, errno)
		}
		g.root = root
		for range runtime.GOMAXPROCS(0) {
			g.readers = append(g.readers, &reader{w: beneath.Walker{Root: root}})
		}
	}
	if g.batch = append(g.batch, rel); len(g.batch) < maxBatch {
		return nil
	}
	return g.search(w.ctx)
}

// search searches the batch, and adds what it finds in the order of the walk.
func (g *grep) search(ctx context.Context) error {
	found, show := make([]search.Found, len(g.batch)), !g.lines.Full()
	next := make(chan int)
	var readers sync.WaitGroup
	for _, r := range g.readers {
		readers.Go(func() {
			for i := range next {
				if data, ok := g.content(r, g.batch[i]); ok {
					found[i] = g.pattern.Search(g.batch[i], data, show)
				}
			}
		})
	}
	for i := range g.batch {
		if ctx.Err() == nil {
			next <- i
		}
	}
	close(next)
	readers.Wait()
	for i := range found {
		g.lines.Add(&found[i])
	}
	g.batch = g.batch[:0]
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.read > maxSearched {
		return errEnough
	}
	return ctx.Err()
}

// content reads a file that the caller may read, into the reader's buffer.
func (g *grep) content(r *reader, rel string) (data []byte, ok bool) {
	var f file
	fd, _, errno := r.w.Open(rel)
	if errno == unix.ENOENT {
		return nil, false
	}
	if errno != 0 {
		return nil, g.skip(&g.unread)
	}
	f.fd = fd
	defer f.close()
	if unix.Fstat(fd, &f.st) != nil || beneath.TypeOf(&f.st) != 0 {
		return nil, g.skip(&g.unread)
	}
	if strange, err := noFiles(fd); err != nil || strange || !g.mayRead(rel, &f.st) {
		return nil, g.skip(&g.unread)
	}
	if f.st.Size > maxFileSearched {
		return nil, g.skip(&g.large)
	}
	if cap(r.buf) < int(f.st.Size) {
		r.buf = make([]byte, max(f.st.Size, 64<<10))
	}
	n, err := f.ReadAt(r.buf[:f.st.Size], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, g.skip(&g.unread)
	}
	return r.buf[:n], true
}

// mayRead judges an open file, as for every other call that reads, and counts its bytes.
func (g *grep) mayRead(rel string, st *unix.Stat_t) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.read += st.Size
	return g.links.check(rel, st) == nil
}

// skip counts a file that isn't searched. It returns false.
func (g *grep) skip(counter *int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	*counter++
	return false
}

// one searches a single file.
func (g *grep) one(path string) error {
	f, err := g.a.open(path)
	if err != nil {
		return err
	}
	defer f.close()
	if f.st.Size > maxFileSearched {
		g.large++
		return nil
	}
	data := make([]byte, f.st.Size)
	n, err := f.ReadAt(data, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return refuseFor(path, err)
	}
	found := g.pattern.Search("", data[:n], true)
	g.lines.Add(&found)
	return nil
}
