package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// unfinished ends the name of a file that isn't whole yet.
const unfinished = ".new"

func runningDir(state string) string { return filepath.Join(state, "hubs") }

// Announce tells commands of the user of a hub that no agent holds, until release, or the
// end of the process, with which its lock on the file goes.
func Announce(state string, place *Place) (release func() error, err error) {
	dir := runningDir(state)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, "*"+unfinished)
	if err != nil {
		return nil, err
	}
	name := strings.TrimSuffix(f.Name(), unfinished)
	if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err == nil {
		err = json.NewEncoder(f).Encode(place)
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(f.Name()), f.Close())
	}
	return func() error { return errors.Join(os.Remove(name), f.Close()) }, nil
}

// Running returns the user's hubs that run on this machine: those that were announced,
// and the one that an agent holds.
func Running(ctx context.Context, state string) (list []*Place, err error) {
	names, err := filepath.Glob(filepath.Join(runningDir(state), "*"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		place, err := announced(name)
		if err != nil {
			return nil, err
		}
		if place != nil {
			list = append(list, place)
		}
	}
	if place, err := Find(ctx, state); err == nil {
		list = append(list, place)
	}
	return list, nil
}

// announced reads an announcement; nil where its hub has ended.
func announced(name string) (*Place, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) || strings.HasSuffix(name, unfinished) {
		return nil, nil //nolint:nilnil // of no hub
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
		_ = os.Remove(name) // of a hub that was killed
		return nil, nil     //nolint:nilnil // of no hub
	}
	place := new(Place)
	if err := json.NewDecoder(io.LimitReader(f, maxPlace)).Decode(place); err != nil {
		return nil, fmt.Errorf("%s can't be read: remove it (%w)", name, err)
	}
	return place, nil
}
