package shared

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"github.com/gofrs/flock"

	"waymark/internal/httpapi"
)

func runningDir(state string) string { return filepath.Join(state, "hubs") }

// Announce announces a hub that no agent holds to the user's commands, until release or the
// end of the process, which releases the lock on its file.
func Announce(state string, place *Place) (release func() error, err error) {
	if err := os.MkdirAll(runningDir(state), 0o700); err != nil {
		return nil, err
	}
	// An existing file is from a killed process with the same pid.
	lock := flock.New(filepath.Join(runningDir(state), strconv.Itoa(place.PID)+".json"), flock.SetPermissions(0o600))
	held, err := lock.TryLock()
	if err != nil || !held { // for example, if containers share a directory
		return nil, cmp.Or(err, httpapi.ErrInUse)
	}
	data, err := json.Marshal(place)
	if err == nil {
		err = os.WriteFile(lock.Path(), data, 0o600)
	}
	return func() error { return errors.Join(os.Remove(lock.Path()), lock.Close()) }, err
}

// Running returns the user's hubs that run on this machine: the announced ones, and the one
// that an agent holds.
func Running(ctx context.Context, state string) (list []*Place, err error) {
	files, err := os.ReadDir(runningDir(state))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, file := range files {
		lock := flock.New(filepath.Join(runningDir(state), file.Name()), flock.SetFlag(os.O_RDONLY))
		free, err := lock.TryRLock()
		_ = lock.Close()
		if free || err != nil { // its hub was killed, or has ended meanwhile
			continue
		}
		place, err := readPlace(lock.Path())
		if err == nil {
			list = append(list, place)
		} else if !errors.Is(err, ErrNone) {
			return nil, err
		}
	}
	if place, err := Find(ctx, state); err == nil {
		list = append(list, place)
	}
	return list, nil
}
