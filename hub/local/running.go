package local

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

func runningDir(state string) string { return filepath.Join(state, "hubs") }

// Announce tells commands of the user of a hub that no agent holds, until release, or the
// end of the process, with which its lock on the file goes.
func Announce(state string, place *Place) (release func() error, err error) {
	if err := os.MkdirAll(runningDir(state), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(runningDir(state), strconv.Itoa(place.PID)+".json"), os.O_RDWR|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	// What is there is of a process that was killed, and of the same id as this one.
	if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		err = json.NewEncoder(f).Encode(place)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error { return errors.Join(os.Remove(f.Name()), f.Close()) }, nil
}

// Running returns the user's hubs that run on this machine: those that were announced,
// and the one that an agent holds.
func Running(ctx context.Context, state string) (list []*Place, err error) {
	files, err := os.ReadDir(runningDir(state))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, file := range files {
		path := filepath.Join(runningDir(state), file.Name())
		if !locked(path) {
			continue
		}
		place, err := readPlace(path)
		if errors.Is(err, ErrNone) { // it has ended meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, place)
	}
	if place, err := Find(ctx, state); err == nil {
		list = append(list, place)
	}
	return list, nil
}

// locked reports whether a process has the lock on a file.
func locked(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil
}
