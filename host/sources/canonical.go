package sources

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"
)

// maxLinks is what Linux follows in one path.
const maxLinks = 40

// Canonical returns the path by which a source is known. home may be empty.
//
// # Errors
//
// ErrInvalid or ErrRelative; otherwise the system's, if an existing part of the path can't be
// looked at. A missing part is no error.
func Canonical(path, home string) (string, error) {
	clean, err := absolute(path, home)
	if err != nil {
		return "", err
	}
	return canonical(clean, nil)
}

// canonical resolves the links of a clean absolute path, except those in one of the bounds,
// which are link-free.
func canonical(clean string, bounds []string) (string, error) {
	target, err := resolve(clean, bounds)
	if err != nil {
		return "", fmt.Errorf("source %q: %w", clean, err)
	}
	if err := check(target); err != nil {
		return "", fmt.Errorf("%w (links resolved)", err)
	}
	return target, nil
}

// absolute makes a clean absolute path, without looking at the file system.
func absolute(path, home string) (string, error) {
	if err := check(path); err != nil {
		return "", err
	}
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		if !filepath.IsAbs(home) {
			return "", fmt.Errorf("%w: %q: there is no home directory: write the whole path", ErrInvalid, path)
		}
		path = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%w: %q: write one that begins with \"/\" or \"~/\"", ErrRelative, path)
	}
	path = filepath.Clean(path)
	return path, check(path)
}

// check refuses what can't be a path, or can't be shown and pushed as one.
func check(path string) error {
	switch {
	case path == "":
		return fmt.Errorf("%w: it is empty", ErrInvalid)
	case len(path) > MaxPath:
		return fmt.Errorf("%w: it has %d bytes, %d are possible", ErrInvalid, len(path), MaxPath)
	case !utf8.ValidString(path):
		return fmt.Errorf("%w: %q is not UTF-8", ErrInvalid, path)
	case strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("%w: %q holds a control character", ErrInvalid, path)
	}
	return nil
}

// resolve follows all links in a clean absolute path, as the system does, and continues
// without looking once the path no longer exists. filepath.EvalSymlinks fails there, but a
// dangling link still leads somewhere. It follows no link in a bound: the code that opens the
// path does, and checks their targets.
func resolve(path string, bounds []string) (string, error) {
	cur, rest := "/", path[1:]
	exists := true
	for links := 0; rest != ""; {
		if slices.Contains(bounds, cur) {
			path := filepath.Join(cur, rest)
			if within(cur, path) {
				return path, nil
			}
			cur, rest, exists = "/", path[1:], true // ".." in a link, which leads elsewhere
			continue
		}
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		switch name {
		case "", ".":
			continue
		case "..": // only in links; cur has none
			cur = filepath.Dir(cur)
			exists = true // perhaps; looking is cheap
			continue
		}
		cur = filepath.Join(cur, name)
		if !exists {
			continue
		}
		target, found, err := readLink(cur)
		if err != nil {
			return "", err
		}
		exists = found
		if target == "" {
			continue
		}
		if links++; links > maxLinks {
			return "", &fs.PathError{Op: "resolve", Path: path, Err: syscall.ELOOP}
		}
		cur = filepath.Dir(cur)
		if filepath.IsAbs(target) {
			cur = "/"
		}
		rest = target + "/" + rest
		if len(rest) > 4*MaxPath { // links that grow, before ELOOP
			return "", &fs.PathError{Op: "resolve", Path: path, Err: syscall.ENAMETOOLONG}
		}
	}
	return cur, nil
}

// within reports whether a clean path is a directory or lies below it.
func within(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// readLink returns where a link leads, and "" for anything else. An obstacle, such as a file
// in the place of a directory, may still make room.
func readLink(path string) (target string, found bool, err error) {
	target, err = os.Readlink(path)
	switch {
	case err == nil:
		return target, true, nil
	case errors.Is(err, syscall.EINVAL):
		return "", true, nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return "", false, nil
	}
	return "", false, err
}
