package supervisor

import (
	"os"
	"runtime/debug"
	"sync"
)

// maxLog limits the log, in bytes. One older file is kept.
const maxLog = 256 << 10

// rotating is a log file of limited size.
type rotating struct {
	path string

	mu   sync.Mutex // guards the fields below
	file *os.File
	size int64
}

func openLog(path string) (*rotating, error) {
	r := &rotating{path: path}
	return r, r.open()
}

// open opens the file. The Go runtime writes crash reports there, too.
func (r *rotating) open() error {
	f, err := os.OpenFile(r.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return err
	}
	r.file, r.size = f, info.Size()
	_ = debug.SetCrashOutput(f, debug.CrashOptions{})
	return nil
}

// Write implements io.Writer.
func (r *rotating) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.size > maxLog {
		if err := os.Rename(r.path, r.path+".1"); err == nil {
			old := r.file
			if err := r.open(); err == nil {
				_ = old.Close()
			}
		}
	}
	n, err := r.file.Write(b)
	r.size += int64(n)
	return n, err
}

// Close implements io.Closer.
func (r *rotating) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.file.Close()
}
