package fake

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
	"syscall"
	"testing/fstest"
	"unicode/utf8"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/workspace/files/edit"
	"waymark/workspace/files/search"
)

// Files is a tree of files in memory. Paths are absolute, and errors are those of package
// os. It may be used by any number of goroutines.
type Files struct {
	mu   sync.Mutex
	tree fstest.MapFS // guarded by mu
}

// of reads from the tree. It fails for a path below a file.
func of[T any](f *Files, name string, read func(tree fs.FS, at string) (T, error)) (found T, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := cmp.Or(path.Clean("/" + name)[1:], ".")
	for dir := path.Dir(at); dir != "."; dir = path.Dir(dir) {
		if n := f.tree[dir]; n != nil && !n.Mode.IsDir() {
			return found, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
		}
	}
	return read(f.tree, at)
}

// Read returns a file's content.
func (f *Files) Read(name string) (string, error) {
	data, err := of(f, name, fs.ReadFile)
	return string(data), err
}

// List returns the entries of a directory, ordered by name.
func (f *Files) List(name string) ([]fs.DirEntry, error) { return of(f, name, fs.ReadDir) }

// Write creates or replaces a file, and creates missing directories on the way.
func (f *Files) Write(name, content string) error {
	return f.put(name, &fstest.MapFile{Data: []byte(content)})
}

// Mkdir creates a directory and missing directories on the way.
func (f *Files) Mkdir(name string) error {
	return f.put(name, &fstest.MapFile{Mode: fs.ModeDir})
}

func (f *Files) put(name string, file *fstest.MapFile) error {
	_, err := of(f, name, func(tree fs.FS, at string) (none struct{}, err error) {
		if info, err := fs.Stat(tree, at); err == nil && info.IsDir() != file.Mode.IsDir() {
			return none, &fs.PathError{Op: "write", Path: name, Err: syscall.EISDIR}
		}
		f.tree[at] = file
		return none, nil
	})
	return err
}

// coded converts an error of Files, a *fs.PathError, into the error that a client gets.
func coded(name string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return refuse(http.StatusNotFound, "%q: %v", name, errors.Unwrap(err))
	}
	return refuse(http.StatusBadRequest, "%q is a directory, or is none: %v", name, errors.Unwrap(err))
}

// reach refuses invalid paths, and paths that the caller may not write.
func (a *Agent) reach(name string, write bool) error {
	switch {
	case !path.IsAbs(name) || strings.ContainsRune(name, 0) || !utf8.ValidString(name):
		return refuse(http.StatusBadRequest, "the path must be absolute, and UTF-8 without NUL: %q", name)
	case write && a.token.Plan != "" && path.Clean(name) != path.Clean(a.token.Plan):
		return refuse(http.StatusForbidden, "%q: this token writes one file only, %q", name, a.token.Plan)
	}
	return nil
}

// read reads a file for the caller.
func (a *Agent) read(name string) (string, error) {
	if err := a.reach(name, false); err != nil {
		return "", err
	}
	content, err := a.Files().Read(name)
	return content, coded(name, err)
}

// ReadFile implements client.Client.
func (a *Agent) ReadFile(ctx context.Context, name string, part client.FileRange) (io.ReadCloser, error) {
	return call(ctx, a, "", func(context.Context) (io.ReadCloser, error) {
		if part.Offset < 0 || part.Limit < 0 {
			return nil, refuse(http.StatusBadRequest, "offset and limit are whole numbers from 0")
		}
		content, err := a.read(name)
		return io.NopCloser(io.NewSectionReader(strings.NewReader(content), part.Offset, cmp.Or(part.Limit, int64(len(content))))), err
	})
}

// ReadFileLines implements client.Client.
func (a *Agent) ReadFileLines(ctx context.Context, name string, want agentapi.LineRange) (*agentapi.FileLines, error) {
	return call(ctx, a, "", func(ctx context.Context) (*agentapi.FileLines, error) {
		content, err := a.read(name)
		if err != nil {
			return &agentapi.FileLines{Error: err.Error()}, nil //nolint:nilerr // as the agent answers
		}
		answer, err := edit.Number(ctx, strings.NewReader(content), int64(len(content)), want)
		return &answer, err
	})
}

// WriteFile implements client.Client.
func (a *Agent) WriteFile(ctx context.Context, name string, content io.Reader) error {
	return a.do(ctx, scopeFiles, func(context.Context) error {
		data, err := io.ReadAll(content)
		if err = cmp.Or(err, a.reach(name, true)); err == nil {
			err = coded(name, a.Files().Write(name, string(data)))
		}
		return err
	})
}

// ListDirectory implements client.Client.
func (a *Agent) ListDirectory(ctx context.Context, directory agentapi.ListDirectory) (*agentapi.Directory, error) {
	return call(ctx, a, "", func(context.Context) (*agentapi.Directory, error) {
		base, known := map[string]string{"root": "/", "home": Home}[directory.Relativity]
		if !known {
			return nil, refuse(http.StatusBadRequest, "relativity is %q: write root or home", directory.Relativity)
		}
		name := path.Join(base, path.Join(directory.Path...))
		entries, err := a.Files().List(name)
		answer := &agentapi.Directory{AbsolutePathString: name, AbsolutePath: strings.Split(name[1:], "/"), Contents: []agentapi.DirectoryEntry{}}
		for _, dirs := range []bool{true, false} {
			for _, e := range entries {
				if e.IsDir() == dirs {
					answer.Contents = append(answer.Contents, agentapi.DirectoryEntry{Name: e.Name(), AbsolutePathString: path.Join(name, e.Name()), IsDir: dirs})
				}
			}
		}
		return answer, coded(name, err)
	})
}

// FindFiles implements client.Client. Nothing is ignored.
func (a *Agent) FindFiles(ctx context.Context, ask agentapi.FindFiles) (*agentapi.FoundFiles, error) {
	return call(ctx, a, "", func(context.Context) (*agentapi.FoundFiles, error) {
		names, err := search.NewNames(&ask)
		if err != nil {
			return nil, refuse(http.StatusBadRequest, "%v", err)
		}
		answer := &agentapi.FoundFiles{Path: cmp.Or(ask.Path, Root)}
		err = a.walk(answer.Path, func(rel string) { names.Add(rel) })
		names.Answer(answer)
		return answer, err
	})
}

// SearchFiles implements client.Client. Nothing is ignored.
func (a *Agent) SearchFiles(ctx context.Context, ask agentapi.SearchFiles) (*agentapi.SearchedFiles, error) {
	return call(ctx, a, "", func(context.Context) (*agentapi.SearchedFiles, error) {
		pattern, err := search.NewPattern(&ask)
		glob, bad := search.NewGlob(ask.Glob)
		if err = cmp.Or(err, bad); err != nil {
			return nil, refuse(http.StatusBadRequest, "%v", err)
		}
		dir, lines := cmp.Or(ask.Path, Root), pattern.Lines()
		err = a.walk(dir, func(rel string) {
			if content, err := a.read(path.Join(dir, rel)); err == nil && glob.Match(rel) {
				found := pattern.Search(rel, []byte(content), !lines.Full())
				lines.Add(&found)
			}
		})
		answer := lines.Answer()
		answer.Path = dir
		return answer, err
	})
}

// walk calls visit with the relative paths of the files below a directory.
func (a *Agent) walk(dir string, visit func(rel string)) error {
	if err := a.reach(dir, false); err != nil {
		return err
	}
	entries, err := a.Files().List(dir)
	if err != nil {
		return coded(dir, err)
	}
	below := func(e fs.DirEntry) error {
		return a.walk(path.Join(dir, e.Name()), func(rel string) { visit(path.Join(e.Name(), rel)) })
	}
	for _, e := range entries {
		if !e.IsDir() {
			visit(e.Name())
		} else if err := below(e); err != nil {
			return err
		}
	}
	return nil
}

// EditFiles implements client.Client.
func (a *Agent) EditFiles(ctx context.Context, edits agentapi.EditFiles) (*agentapi.EditedFiles, error) {
	return call(ctx, a, scopeFiles, func(context.Context) (*agentapi.EditedFiles, error) {
		a.state.mu.Lock()
		defer a.state.mu.Unlock()
		answer, after, wrong := &agentapi.EditedFiles{}, map[string]string{}, &client.Error{Message: "the files were not edited"}
		for _, f := range edits.Files {
			_, twice := after[path.Clean(f.Path)]
			before, edited, err := a.edit(f, twice)
			if err != nil {
				wrong.Code, wrong.Message = max(wrong.Code, client.CodeOf(err)), wrong.Message+"\n"+err.Error()
			}
			after[path.Clean(f.Path)] = edited
			if edits.IncludeDiff {
				answer.Files = append(answer.Files, agentapi.EditedFile{Path: f.Path, Diff: edit.Diff(f.Path, before, edited)})
			}
		}
		if wrong.Code != 0 || len(after) == 0 {
			wrong.Code = cmp.Or(wrong.Code, http.StatusBadRequest)
			return nil, wrong
		}
		for name, content := range after {
			_ = a.Files().Write(name, content) // can't fail: the files exist
		}
		return answer, nil
	})
}

// edit computes the edits of one file.
func (a *Agent) edit(f agentapi.FileEdits, twice bool) (before, after string, err error) {
	if err = a.reach(f.Path, true); err == nil {
		before, err = a.read(f.Path)
	}
	if err != nil {
		return "", "", err
	}
	switch after, _, err = edit.Apply(before, f.Edits); {
	case twice:
		err = refuse(http.StatusBadRequest, "%q is there twice: put all edits of a file together", f.Path)
	case err != nil || len(f.Edits) == 0:
		err = refuse(http.StatusBadRequest, "%q: %d edits can't be made: %v", f.Path, len(f.Edits), err)
	}
	return before, after, err
}
