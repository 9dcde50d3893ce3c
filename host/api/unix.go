package api

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// ErrRunning says that another agent serves the socket.
var ErrRunning = errors.New("an agent is already running")

// Listen makes the socket. One that nobody serves any more is replaced, one
// that somebody serves is ErrRunning.
//
// A lock file beside the socket decides between agents that start at the same
// time: probing and replacing a socket can't be done in one step. It is
// released when the listener is closed, or by the kernel when the process
// ends.
func Listen(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w on %s: see 'agent status', or give this one another socket with --listen", ErrRunning, path)
		}
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	l, err := listenLocked(path)
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	return &lockedListener{Listener: l, lock: lock}, nil
}

func listenLocked(path string) (net.Listener, error) {
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.Mode()&fs.ModeSocket == 0:
		return nil, fmt.Errorf("socket %s: something that isn't a socket is there: remove it", path)
	case err == nil:
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("socket %s: %w", path, err)
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	return l, nil
}

// lockedListener releases the lock after the socket is gone.
type lockedListener struct {
	net.Listener
	lock *os.File
}

func (l *lockedListener) Close() error {
	return errors.Join(l.Listener.Close(), l.lock.Close())
}
