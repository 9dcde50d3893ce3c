package files

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"waymark/agentapi"
	"waymark/internal/beneath"
	"waymark/internal/httpapi"
)

// maxEntries limits a listing.
const maxEntries = 100_000

// listDirectory answers POST /api/v0/list-directory. An absolute path in the query takes
// precedence over the body, as in Coder's agent.
func (s *Service) listDirectory(c *httpapi.Call) error {
	if err := onlyParameters(c, "path"); err != nil {
		return err
	}
	path, err := c.Text("path")
	if err != nil {
		return err
	}
	var body agentapi.ListDirectory
	if err := c.Decode(&body); err != nil {
		return err
	}
	if path == "" {
		if path, err = s.directory(body); err != nil {
			return answer(c, err)
		}
	}
	a, err := s.asker(c.Context())
	if err != nil {
		return err
	}
	for range beneath.MaxSwaps {
		var dir *agentapi.Directory
		if dir, err = a.list(path); err == nil {
			return c.JSON(http.StatusOK, dir)
		}
		if !errors.Is(err, errSwapped) {
			return answer(c, err)
		}
	}
	return answer(c, keptChanging(path, err))
}

// directory returns the path in a body.
func (s *Service) directory(body agentapi.ListDirectory) (string, error) {
	for _, name := range body.Path {
		if strings.IndexByte(name, 0) >= 0 {
			return "", refuse(http.StatusBadRequest, "a path is UTF-8 without NUL: %q", name)
		}
	}
	names := filepath.Join(body.Path...)
	switch body.Relativity {
	case "root":
		return filepath.Join("/", names), nil
	case "home":
		if s.opts.Home == "" {
			return "", refuse(http.StatusBadRequest, "the home directory isn't known: set HOME, or ask relative to root")
		}
		return filepath.Join(s.opts.Home, names), nil
	}
	return "", refuse(http.StatusBadRequest, "relativity is %q: write root or home", body.Relativity)
}

func (a *asker) list(asked string) (*agentapi.Directory, error) {
	found, _, err := a.find(asked, reading)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	fd, errno := found.OpenDir(found.Path())
	if errno != 0 {
		return nil, notListed(found, asked, errno)
	}
	defer unix.Close(fd)
	if err := (&place{asked: asked}).onFileSystem(fd); err != nil {
		return nil, err
	}
	path := filepath.Clean(asked)
	dir := &agentapi.Directory{AbsolutePathString: path, AbsolutePath: strings.FieldsFunc(path, func(r rune) bool { return r == '/' })}
	if dir.Contents, err = entries(fd, path); err != nil {
		return nil, refuseFor(asked, err)
	}
	return dir, nil
}

// notListed returns why a directory can't be opened.
func notListed(found *beneath.Resolution, asked string, errno error) error {
	var st unix.Stat_t
	if found.Stat(found.Path(), &st) != 0 || beneath.TypeOf(&st) == fs.ModeSymlink {
		return errSwapped
	}
	if beneath.TypeOf(&st) != fs.ModeDir {
		return &refusal{code: http.StatusBadRequest, text: fmt.Sprintf("%q is not a directory", asked), notDirectory: true}
	}
	return refuseFor(asked, errno)
}

// entries lists a directory: directories first, then by name.
func entries(fd int, path string) ([]agentapi.DirectoryEntry, error) {
	list := []agentapi.DirectoryEntry{}
	full := false
	w := beneath.Walker{Root: fd}
	var before, after unix.Stat_t
	_, errno := w.List(".", &before, &after, func(name []byte, typ fs.FileMode) bool {
		if full = len(list) == maxEntries; full {
			return false
		}
		if utf8.Valid(name) {
			n := string(name)
			list = append(list, agentapi.DirectoryEntry{Name: n, AbsolutePathString: filepath.Join(path, n), IsDir: typ == fs.ModeDir})
		}
		return true
	})
	switch {
	case errno != 0:
		return nil, errno
	case full:
		return nil, refuse(http.StatusBadRequest, "%q holds more than %d names: list it with a command", path, maxEntries)
	}
	slices.SortFunc(list, func(a, b agentapi.DirectoryEntry) int {
		if a.IsDir != b.IsDir {
			if a.IsDir {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return list, nil
}
