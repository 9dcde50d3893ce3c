package codecache

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// memoryDir is for when the disk is full or read-only.
const memoryDir = "/dev/shm"

// places lists where scratch directories may be made, best first.
func (c *Cache) places() []string {
	var list []string
	if c.opts.TempDir != "" {
		list = append(list, c.opts.TempDir)
	}
	if c.store != nil {
		list = append(list, c.opts.Dir)
	}
	list = append(list, os.TempDir())
	if runtime.GOOS == "linux" {
		list = append(list, memoryDir)
	}
	return list
}

// sweep removes what killed processes left in a directory of ours.
func sweep(place string) {
	entries, err := os.ReadDir(place)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), scratchPrefix) {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > staleAfter {
			_ = os.RemoveAll(filepath.Join(place, e.Name()))
		}
	}
}

// throughDescriptor names an open directory in a way that nobody can redirect
// by renaming what lies above it. Without /proc it is the ordinary name.
func throughDescriptor(dir *os.File) string {
	path := "/proc/self/fd/" + strconv.Itoa(int(dir.Fd()))
	if runtime.GOOS == "linux" {
		want, err1 := dir.Stat()
		got, err2 := os.Stat(path)
		if err1 == nil && err2 == nil && os.SameFile(want, got) {
			return path
		}
	}
	return dir.Name()
}
