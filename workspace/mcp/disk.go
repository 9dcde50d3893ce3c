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
	// diskPause is the minimum time between two checks of a server's disk usage. The pause
	// is also at least diskRest times as long as the check took, so that checking takes at
	// most a fiftieth of a processor.
	diskPause = 15 * time.Second
	diskRest  = 50
	// leastOnDisk is the minimum that a file or directory counts. It limits the number of
	// empty ones, and with it the time of a check.
	leastOnDisk = 4 << 10
	// deepestOnDisk limits the depth of directories. Deeper ones are a mistake or hide
	// something, and count as exceeding the limit.
	deepestOnDisk = 100
)

// errDisk says that a server's own directories exceed the limit.
var errDisk = errors.New("it was ended: its cache and temporary files hold more than they may")

// diskError returns errDisk with advice.
func (s *server) diskError(limit int64) error {
	cache, _ := s.own()
	return fmt.Errorf("%w, %d MiB: empty %s, or raise disk in [mcp] of the configuration", errDisk, limit>>20, filepath.Dir(cache))
}

// watchDisk checks the disk usage of a running server, and ends its process if it exceeds
// the limit.
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

// lookAtDisk returns errDisk if a server exceeds the limit.
func (s *server) lookAtDisk(ctx context.Context) error {
	limit := s.svc.current().Disk
	cache, tmp := s.own()
	m := meter{ctx: ctx, left: limit, seen: map[uint64]bool{}}
	m.tree(cache)
	m.tree(tmp)
	if m.left < 0 {
		return s.diskError(limit)
	}
	return nil // also if ctx has ended
}

// meter adds up disk usage until a limit is exceeded.
type meter struct {
	ctx  context.Context
	left int64
	seen map[uint64]bool // inodes of files with several names
}

// tree counts a directory and its content. It doesn't follow links, and can't leave the
// directory even if that is modified meanwhile. Of a directory that can't be read only
// itself counts.
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
	_ = f.Close() // keep only one directory open
	for _, one := range below {
		if m.left < 0 || m.ctx.Err() != nil {
			return
		}
		m.dir(root, one, depth+1)
	}
}

// file counts the blocks of a file, once even if it has several names.
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
