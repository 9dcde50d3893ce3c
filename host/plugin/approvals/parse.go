package approvals

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// read reads the file, which only the user may be able to write to.
func read(path string) (_ *file, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return &file{Version: fileVersion}, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.Mode().IsRegular() || !ok || int(st.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("%s is not a file that only you can write to", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	parsed, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s can't be believed: %w", path, err)
	}
	return parsed, nil
}

// parse is strict: it doesn't accept a part of what another version wrote.
func parse(data []byte) (*file, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("it has more than %d bytes", maxFile)
	}
	var f file
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return nil, fmt.Errorf("it is not what an agent wrote: %w", err)
	}
	if dec.More() || f.Version != fileVersion {
		return nil, fmt.Errorf("it is of version %d, or has text behind its end; version %d is known", f.Version, fileVersion)
	}
	byName := func(a, b record) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(f.Modules, byName)
	if n := len(f.Modules); n != len(slices.CompactFunc(slices.Clone(f.Modules), func(a, b record) bool { return a.Name == b.Name })) {
		return nil, errors.New("it holds a module twice")
	}
	return &f, nil
}
