package sources

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
)

// fileVersion is the version of the file's format. A new field doesn't need a
// new one: fields that aren't known are ignored.
const fileVersion = 1

// maxFile bounds the file, in bytes: DefaultMax paths take a tenth of it.
const maxFile = 1 << 20

type file struct {
	Version int         `json:"version"`
	Sources []persisted `json:"sources"`
}

type persisted struct {
	Path string `json:"path"`
	// Named is the path that was asked for where that is another, Within the
	// working directory that it led through.
	Named  string `json:"named,omitempty"`
	Within string `json:"within,omitempty"`
	// Trusted sources were added by the operator; the others are checked
	// against the allowed places whenever they are opened.
	Trusted bool `json:"trusted,omitempty"`
}

// read returns what the file holds. With ErrBroken it is what of it can be
// used.
func read(path string) ([]persisted, error) {
	data, err := readPrivate(path)
	if missing(err) {
		return nil, nil
	}
	if errors.Is(err, ErrBroken) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPersist, err)
	}
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrBroken, path, err)
	}
	switch {
	case f.Version > fileVersion:
		return nil, fmt.Errorf("%w: %s was written by a newer agent (format %d, this one knows %d): update this one, or move the file away",
			ErrPersist, path, f.Version, fileVersion)
	case f.Version < 1:
		return nil, fmt.Errorf("%w: %s: it has no version", ErrBroken, path)
	}
	var bad error
	good := slices.DeleteFunc(f.Sources, func(p persisted) bool {
		err := errors.Join(isClean(p.Path), isClean(cmp.Or(p.Named, p.Path)), isClean(cmp.Or(p.Within, p.Path)))
		if err != nil {
			bad = fmt.Errorf("%w: %s: %w", ErrBroken, path, err)
		}
		return err != nil
	})
	return good, bad
}

// isClean holds a path of the file to what was written there.
func isClean(path string) error {
	clean, err := absolute(path, "")
	if err == nil && clean != path {
		err = fmt.Errorf("%w: %q is not clean", ErrInvalid, path)
	}
	return err
}

// readPrivate reads a regular file of this user's own that nobody else can
// write to: who can, could add what a request may not.
func readPrivate(path string) (_ []byte, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%w: %s is a link", ErrBroken, path)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	own, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: %s is not a regular file", ErrBroken, path)
	case ok && int(own.Uid) != os.Geteuid():
		return nil, fmt.Errorf("%w: %s belongs to user %d", ErrBroken, path, own.Uid)
	case info.Mode().Perm()&0o022 != 0:
		return nil, fmt.Errorf("%w: %s can be written by others (mode %#o)", ErrBroken, path, info.Mode().Perm())
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%w: %s has more than %d bytes", ErrBroken, path, maxFile)
	}
	return data, err
}
