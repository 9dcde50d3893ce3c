package mcp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// diskPause is the least time between two looks at what a server holds on the disk;
	// diskRest how much longer than a look takes the next one is away, so that looking
	// takes at most a fiftieth of a processor.
	diskPause = 15 * time.Second
	diskRest  = 50
	// leastOnDisk is what any file or directory counts for, so that many empty ones are
	// bounded as well, and with them how long a look takes.
	leastOnDisk = 4 << 10
	// deepestOnDisk is how deep directories may lie in each other. Deeper ones count for
	// more than is allowed: they are made to hide something, or by mistake.
	deepestOnDisk = 100
)

// errDisk says that a server's own directories hold more than they may.
var errDisk = errors.New("it was ended: its cache and temporary files hold more than they may")

// diskError is errDisk with what to do about it.
func (s *server) diskError(limit int64) error {
	cache, _ := s.own()
	return fmt.Errorf("%w, %d MiB: empty %s, or raise disk in [mcp] of the configuration", errDisk, limit>>20, filepath.Dir(cache))
}

// watchDisk looks at what a server holds while it runs, and ends its process when that
// is too much.
func (s *server) watchDisk(ctx context.Context, c *connection) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		begun := time.Now()
		if err := s.lookAtDisk(ctx); err != nil {
			c.full.Store(&err)
			_ = c.owned.Close()
			return
		}
		timer.Reset(max(diskPause, diskRest*time.Since(begun)))
	}
}

// lookAtDisk returns errDisk when a server holds too much.
func (s *server) lookAtDisk(ctx context.Context) error {
	limit := s.svc.current().Disk
	cache, tmp := s.own()
	m := meter{ctx: ctx, left: limit, seen: map[uint64]bool{}}
	m.tree(cache)
	m.tree(tmp)
	if m.left < 0 {
		return s.diskError(limit)
	}
	return nil // or nobody wants to know any more
}

// meter adds up what files take of the disk, until that is more than may be.
type meter struct {
	ctx  context.Context
	left int64
	seen map[uint64]bool // files with several names
}

// tree counts a directory and what is in it. Links aren't followed, and none leads out
// of it while it is changed. What can't be read counts for itself alone.
func (m *meter) tree(dir string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }()
	m.dir(root, ".", 0)
}

func (m *meter) dir(root *os.Root, name string, depth int) {
	if depth > deepestOnDisk {
		m.left = -1
		return
	}
	f, err := root.Open(name)
	if err != nil {
		return
	}
	var below []string
	for m.left >= 0 && m.ctx.Err() == nil {
		list, err := f.ReadDir(256)
		for _, e := range list {
			one := path.Join(name, e.Name())
			if info, err := root.Lstat(one); err == nil {
				m.file(info)
			}
			if e.IsDir() {
				below = append(below, one)
			}
		}
		if err != nil {
			break
		}
	}
	_ = f.Close() // one is open at a time
	for _, one := range below {
		if m.left < 0 || m.ctx.Err() != nil {
			return
		}
		m.dir(root, one, depth+1)
	}
}

// file counts a file for the blocks that it takes, once however many names it has.
func (m *meter) file(info fs.FileInfo) {
	size := info.Size()
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		if !info.IsDir() && stat.Nlink > 1 {
			if m.seen[stat.Ino] {
				return
			}
			m.seen[stat.Ino] = true
		}
		size = min(stat.Blocks, math.MaxInt64/512) * 512
	}
	m.left -= max(size, leastOnDisk)
}
