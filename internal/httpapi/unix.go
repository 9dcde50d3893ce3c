package httpapi

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

var (
	// ErrInUse says that another process serves the socket.
	ErrInUse = errors.New("the socket is in use")
	// ErrNotSocket says that there is another kind of file at the socket's path.
	ErrNotSocket = errors.New("there is a file that is not a socket")
)

// ListenUnix makes a socket that only this user can connect to, and its directory. It
// replaces a socket that nobody serves any more.
//
// A lock file, PATH.lock, decides between processes that start at the same time, because
// checking that nobody serves a socket and replacing it isn't atomic. The listener's Close
// removes the lock file; one left by a killed process isn't locked.
//
// # Errors
//
// ErrInUse, ErrNotSocket, and those of the system.
func ListenUnix(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	lock, err := lockFile(path + ".lock")
	if err != nil {
		return nil, err
	}
	l, err := listenLocked(path)
	if err != nil {
		return nil, errors.Join(err, lock.release())
	}
	return &lockedListener{Listener: l, lock: lock}, nil
}

// listenLocked makes the socket. The caller holds the lock.
func listenLocked(path string) (net.Listener, error) {
	if err := removeStale(path); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// removeStale removes a socket that nobody serves. It keeps one that another program serves
// without the lock.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return ErrNotSocket
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	switch {
	case err == nil:
		_ = conn.Close()
		return ErrInUse
	case errors.Is(err, syscall.EAGAIN): // its queue is full
		return ErrInUse
	case !errors.Is(err, syscall.ECONNREFUSED):
		return err
	}
	return os.Remove(path)
}

// lock is a lock file that this process has locked.
type lock struct{ file *os.File }

// lockFile makes and locks a file. It returns ErrInUse if another process has locked it.
func lockFile(path string) (*lock, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, err
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			_ = f.Close()
			if errors.Is(err, syscall.EWOULDBLOCK) {
				return nil, ErrInUse
			}
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		// The previous holder may have removed the file in between: others then lock a new
		// file of that name.
		ours, err := f.Stat()
		if err == nil {
			named, statErr := os.Lstat(path)
			if statErr == nil && os.SameFile(ours, named) {
				return &lock{f}, nil
			}
			if !errors.Is(statErr, fs.ErrNotExist) {
				err = statErr
			}
		}
		_ = f.Close()
		if err != nil {
			return nil, err
		}
	}
}

// release removes the file while it is still locked, and with it the lock.
func (l *lock) release() error {
	return errors.Join(os.Remove(l.file.Name()), l.file.Close())
}

// lockedListener releases the lock after the socket is gone.
type lockedListener struct {
	net.Listener
	lock *lock
}

// Close implements net.Listener.
func (l *lockedListener) Close() error {
	if err := l.Listener.Close(); err != nil { // a second Close
		return err
	}
	return l.lock.release()
}
