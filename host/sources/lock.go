package sources

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// defaultLockFor is for Options.LockFor.
	defaultLockFor = 2 * time.Second
	// lockEvery is how often it tries: flock itself can't be given up.
	lockEvery = 5 * time.Millisecond
)

// locked runs f while no other agent is in its own. The lock is on a file of
// its own, because the one that it protects is replaced; the kernel releases
// it when the process ends.
func (l *List) locked(f func() error) (err error) {
	if err := os.MkdirAll(filepath.Dir(l.opts.File), 0o700); err != nil {
		return fmt.Errorf("%w: %w", ErrPersist, err)
	}
	lock, err := os.OpenFile(l.opts.File+".lock", os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPersist, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := waitFor(lock, l.opts.LockFor); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrPersist, lock.Name(), err)
	}
	return f()
}

func waitFor(lock *os.File, patience time.Duration) error {
	tick := time.NewTicker(lockEvery)
	defer tick.Stop()
	for end := time.Now().Add(patience); ; <-tick.C {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EINTR):
			continue
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return err
		case time.Now().After(end):
			return errors.New("another agent holds it and doesn't let go: is one stopped?")
		}
	}
}
