package supervisor

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"waymark/internal/await"
)

// spool stores the output of a process in files of limited size, named by the offset of
// their first byte. It keeps the first files forever, and the newest of the others.
//
// One goroutine writes and any number read, without waiting for each other.
type spool struct {
	dir     string
	limits  Limits
	budget  *budget
	changed await.Signal

	// Only for the writer.
	file *os.File

	mu sync.Mutex // guards the fields below
	// segments are ordered, with gaps where files were dropped.
	segments []segment
	length   int64 // total length of the output, including dropped parts
	kept     int64 // bytes in segments
	sealed   bool  // nothing is added any more
}

// segment is a file with the output from start to end.
type segment struct{ start, end int64 }

const segmentPrefix = "out-"

func (s *spool) path(start int64) string {
	return filepath.Join(s.dir, fmt.Sprintf("%s%016x", segmentPrefix, start))
}

// segmentSize returns the size of files. It is a small part of the limit, because output is
// dropped by whole files.
func (l *Limits) segmentSize() int64 {
	return max(4<<10, min(1<<20, l.Head, (l.Spool-l.Head)/8))
}

// openSpool opens the output that an earlier supervisor has left. It is read-only. length
// is the length of the output when the process ended, or negative if that is unknown.
func openSpool(dir string, limits Limits, b *budget, length int64) (*spool, error) {
	s := &spool{dir: dir, limits: limits, budget: b, sealed: true}
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		hex, ok := strings.CutPrefix(name.Name(), segmentPrefix)
		start, err := strconv.ParseInt(hex, 16, 64)
		info, statErr := name.Info()
		if !ok || err != nil || statErr != nil || !info.Mode().IsRegular() {
			continue
		}
		g := segment{start, start + info.Size()}
		if length >= 0 { // output after the end was never reported
			g.end = min(g.end, length)
		}
		s.segments = append(s.segments, g)
		s.kept += max(0, g.end-g.start)
	}
	slices.SortFunc(s.segments, func(a, b segment) int { return int(max(-1, min(1, a.start-b.start))) })
	s.length = length
	if n := len(s.segments); n > 0 {
		s.length = max(length, s.segments[n-1].end)
	}
	b.used.Add(s.kept)
	return s, nil
}

// write adds output. If it can't be stored, for example because the disk is full, it is
// counted and dropped, so that a process never waits for the disk.
func (s *spool) write(b []byte) {
	for len(b) > 0 {
		n := s.writeSome(b)
		if n == 0 {
			return // it is sealed
		}
		b = b[n:]
	}
	s.changed.Notify()
}

// writeSome adds as much as fits into the current file.
func (s *spool) writeSome(b []byte) int {
	size := s.limits.segmentSize()
	s.mu.Lock()
	if s.sealed {
		s.mu.Unlock()
		return 0
	}
	start, room := s.length, int64(0)
	if n := len(s.segments); n > 0 && s.file != nil {
		start = s.segments[n-1].start
		room = size - (s.segments[n-1].end - start)
	}
	s.mu.Unlock()
	fresh := room == 0
	if fresh {
		s.closeFile()
		start, room = s.length, size // only the writer changes length
	}
	b = b[:min(int64(len(b)), room)]
	stored := s.budget.reserve(int64(len(b))) && s.store(start, b)
	s.publish(start, int64(len(b)), fresh, stored)
	return len(b)
}

// store appends to the file that begins at start.
func (s *spool) store(start int64, b []byte) bool {
	if s.file == nil {
		f, err := os.OpenFile(s.path(start), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			s.budget.release(int64(len(b)))
			return false
		}
		s.file = f
	}
	if _, err := s.file.Write(b); err != nil {
		s.closeFile() // the next output begins a new file
		s.budget.release(int64(len(b)))
		return false
	}
	return true
}

// publish makes new output visible to readers, or the gap in its place.
func (s *spool) publish(start, n int64, fresh, stored bool) {
	s.mu.Lock()
	if s.sealed {
		s.mu.Unlock()
		if stored {
			s.budget.release(n)
		}
		return
	}
	s.length += n
	if !stored {
		s.mu.Unlock()
		s.closeFile()
		return
	}
	if fresh {
		s.segments = append(s.segments, segment{start, start})
	}
	s.segments[len(s.segments)-1].end += n
	s.kept += n
	over := s.kept > s.limits.Spool
	s.mu.Unlock()
	if over {
		s.dropOldest(1)
	}
}

// dropOldest removes the oldest file and returns its size. With a positive head it keeps
// the first Limits.Head bytes. It never removes the current file.
func (s *spool) dropOldest(head int64) int64 {
	if head > 0 {
		head = s.limits.Head
	}
	s.mu.Lock()
	i := slices.IndexFunc(s.segments, func(g segment) bool { return g.start >= head })
	if i < 0 || i == len(s.segments)-1 && !s.sealed {
		s.mu.Unlock()
		return 0
	}
	g := s.segments[i]
	s.segments = slices.Delete(s.segments, i, i+1)
	s.kept -= g.end - g.start
	s.mu.Unlock()
	_ = os.Remove(s.path(g.start))
	s.budget.release(g.end - g.start)
	return g.end - g.start
}

func (s *spool) closeFile() {
	if s.file != nil {
		_ = s.file.Close()
		s.file = nil
	}
}

// seal marks the output as complete.
func (s *spool) seal() {
	s.mu.Lock()
	s.sealed = true
	s.mu.Unlock()
	s.changed.Notify()
}

func (s *spool) size() (length, kept int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.length, s.kept
}

// read returns the output at offset or, if that was dropped, the next one after it: at most
// limit bytes without gaps. If there is none, at is where the next byte will be, or offset
// if that is beyond the end.
func (s *spool) read(offset int64, limit int) (data []byte, at, length int64, err error) {
	for {
		g, at, length, ok := s.find(offset)
		if !ok {
			return nil, at, length, nil
		}
		data, err := s.readSegments(g, at, limit)
		if errors.Is(err, fs.ErrNotExist) { // dropped meanwhile: try again
			continue
		}
		return data, at, length, err
	}
}

// find returns the consecutive segments from offset on.
func (s *spool) find(offset int64) (run []segment, at, length int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.segments, func(g segment) bool { return g.end > offset })
	if i < 0 {
		return nil, max(offset, s.length), s.length, false
	}
	j := i + 1
	for j < len(s.segments) && j < i+4 && s.segments[j].start == s.segments[j-1].end {
		j++
	}
	return slices.Clone(s.segments[i:j]), max(offset, s.segments[i].start), s.length, true
}

func (s *spool) readSegments(run []segment, at int64, limit int) ([]byte, error) {
	n := min(int64(limit), run[len(run)-1].end-at)
	data := make([]byte, 0, n)
	for _, g := range run {
		part := min(n-int64(len(data)), g.end-at)
		if part <= 0 {
			break
		}
		f, err := os.Open(s.path(g.start))
		if err != nil {
			if len(data) > 0 && errors.Is(err, fs.ErrNotExist) {
				return data, nil // what was read is valid
			}
			return nil, err
		}
		k, err := f.ReadAt(data[len(data):int64(len(data))+part], at-g.start)
		_ = f.Close()
		data = data[:len(data)+k]
		at += int64(k)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if int64(k) < part {
			break
		}
	}
	return data, nil
}

// remove deletes the output. Nobody may write any more.
func (s *spool) remove() error {
	s.mu.Lock()
	kept := s.kept
	s.segments, s.kept, s.sealed = nil, 0, true
	s.mu.Unlock()
	s.budget.release(kept)
	return os.RemoveAll(s.dir)
}

// budget limits all spools together.
type budget struct {
	limit int64
	used  atomic.Int64
	// room drops output, and reports whether it could.
	room func() bool
	// making serializes room, so that concurrent writers don't drop too much.
	making sync.Mutex
}

// reserve takes n bytes, or reports that there is no room.
func (b *budget) reserve(n int64) bool {
	if b.used.Add(n) <= b.limit {
		return true
	}
	b.making.Lock()
	defer b.making.Unlock()
	for b.used.Load() > b.limit {
		if !b.room() {
			b.used.Add(-n)
			return false
		}
	}
	return true
}

func (b *budget) release(n int64) { b.used.Add(-n) }
