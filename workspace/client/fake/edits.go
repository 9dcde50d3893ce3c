package fake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"waymark/internal/beneath"
	"waymark/workspace"
	"waymark/workspace/client"
	"waymark/workspace/files/edit"
	"waymark/workspace/output"
)

// Defaults of a LineRange.
const (
	defaultFileSize  = 1 << 20
	defaultLineBytes = 1024
	defaultLines     = 2000
	defaultBytes     = 32 << 10
	lineCut          = "... [truncated]"
)

// no is a refusal without its message: the code and why.
type no struct {
	code int
	text string
}

func (n *no) Error() string { return n.text }

func noBecause(code int, format string, args ...any) error {
	return &no{code, fmt.Sprintf(format, args...)}
}

// refused makes of err what a client gets.
func refused(message string, err error) error {
	var n *no
	if errors.As(err, &n) {
		return refuse(n.code, message, n.text)
	}
	return err
}

// noFor is the refusal for what the tree says of a path.
func noFor(name string, err error) error {
	var n *no
	code := http.StatusBadRequest // it is no directory, or it is one
	switch {
	case err == nil || errors.As(err, &n):
		return err
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ELOOP):
	case errors.Is(err, fs.ErrNotExist):
		code = http.StatusNotFound
	case errors.Is(err, fs.ErrPermission):
		code = http.StatusForbidden
	}
	var outer *fs.PathError
	if errors.As(err, &outer) {
		err = outer.Err
	}
	return noBecause(code, "%q: %v", name, err)
}

// find returns where a path leads, without links, and refuses what the caller may
// not reach.
func (a *Agent) find(asked string, write bool) (string, error) {
	switch {
	case asked == "":
		return "", noBecause(http.StatusBadRequest, "a path is needed")
	case !path.IsAbs(asked):
		return "", noBecause(http.StatusBadRequest, "the path must be absolute: %q", asked)
	case strings.ContainsRune(asked, 0) || !utf8.ValidString(asked):
		return "", noBecause(http.StatusBadRequest, "a path is UTF-8 without NUL: %q", asked)
	}
	name := path.Clean(asked)
	if err := a.maySee(asked, name); err != nil {
		return "", err
	}
	at, err := a.state.files.Resolve(name)
	if errors.Is(err, fs.ErrNotExist) && write {
		at, err = a.state.files.future(name)
	}
	if err != nil {
		return "", noFor(asked, err)
	}
	if err := a.maySee(asked, at); err != nil {
		return "", err
	}
	switch root := a.state.opts.Root; {
	case below(name, root) && !below(at, root):
		return "", noBecause(http.StatusForbidden, "%q: a link leads out of the workspace", asked)
	case write && a.grant != nil && a.grant.plan != "" && at != a.grant.plan:
		return "", noBecause(http.StatusForbidden, "%q: this token writes one file only, %q", asked, a.grant.plan)
	}
	return at, nil
}

// future is the path of what isn't there, with directories that aren't either.
func (f *Files) future(name string) (string, error) {
	dir, base := path.Split(name)
	at, err := f.Resolve(path.Clean(dir))
	if errors.Is(err, fs.ErrNotExist) {
		at, err = f.future(path.Clean(dir))
	}
	return path.Join(at, base), err
}

func below(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

// maySee refuses what is on the secret list. Below the workspace only names below
// it count.
func (a *Agent) maySee(asked, name string) error {
	g := a.grant
	if g == nil {
		g = controlGrant()
	}
	base, rest := beneath.NewBase(".", "/"), strings.TrimPrefix(name, "/")
	if root := a.state.opts.Root; below(name, root) {
		base, rest = beneath.NewBase(root[1:], root), strings.TrimPrefix(name[len(root):], "/")
	}
	if entry, secret := g.guard.Entry(base, cmp.Or(rest, ".")); secret {
		return noBecause(http.StatusForbidden, "%q is on the secret list (%s)", asked, entry.Pattern)
	}
	return nil
}

// readFile returns a file that the caller may read.
func (a *Agent) readFile(asked string) (string, error) {
	at, err := a.find(asked, false)
	if err != nil {
		return "", err
	}
	content, err := a.state.files.Read(at)
	return content, noFor(asked, err)
}

// ReadFile implements client.Client.
func (a *Agent) ReadFile(ctx context.Context, asked string, part client.FileRange) (io.ReadCloser, error) {
	_, leave, err := a.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if part.Offset < 0 || part.Limit < 0 {
		return nil, refuse(http.StatusBadRequest, "the query is not what it should be", "offset and limit are whole numbers from 0")
	}
	content, err := a.readFile(asked)
	if err != nil {
		return nil, refused("the file can't be read", err)
	}
	content = content[min(part.Offset, int64(len(content))):]
	if part.Limit > 0 {
		content = content[:min(part.Limit, int64(len(content)))]
	}
	return io.NopCloser(strings.NewReader(content)), nil
}

// ReadFileLines implements client.Client.
func (a *Agent) ReadFileLines(ctx context.Context, asked string, want workspace.LineRange) (*workspace.FileLines, error) {
	_, leave, err := a.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	for _, n := range []int64{want.Offset, want.Limit, want.MaxFileSize, want.MaxLineBytes, want.MaxResponseLines, want.MaxResponseBytes} {
		if n < 0 {
			return nil, refuse(http.StatusBadRequest, "the query is not what it should be", "a number is negative")
		}
	}
	content, err := a.readFile(asked)
	if err == nil {
		var lines *workspace.FileLines
		if lines, err = numberLines(content, want); err == nil {
			return lines, nil
		}
	}
	var n *no
	if errors.As(err, &n) {
		return &workspace.FileLines{Error: n.text}, nil
	}
	return nil, err
}

// numberLines is the answer for a file's content.
func numberLines(content string, want workspace.LineRange) (*workspace.FileLines, error) {
	first := cmp.Or(want.Offset, 1)
	maxLines, maxBytes := cmp.Or(want.MaxResponseLines, defaultLines), cmp.Or(want.MaxResponseBytes, defaultBytes)
	if limit := cmp.Or(want.MaxFileSize, defaultFileSize); int64(len(content)) > limit {
		return nil, noBecause(0, "the file has %d bytes, and at most %d are read: raise max_file_size and use offset and limit", len(content), limit)
	}
	if content == "" {
		return &workspace.FileLines{Success: true}, nil
	}
	lines := strings.Split(content, "\n")
	total := int64(len(lines))
	if first > total {
		return nil, noBecause(0, "offset %d is beyond the file's end: it has %d lines", first, total)
	}
	last := total
	if want.Limit > 0 {
		last = min(total, first-1+want.Limit)
	}
	var numbered []string
	size := int64(0)
	for i := first; i <= last; i++ {
		if int64(len(numbered)) == maxLines {
			return nil, noBecause(0, "output would exceed %d lines. Read less at a time using offset and limit parameters.", maxLines)
		}
		line := fmt.Sprintf("%d\t%s", i, cutLine(lines[i-1], cmp.Or(want.MaxLineBytes, defaultLineBytes)))
		if size += int64(len(line)); size > maxBytes {
			return nil, noBecause(0, "output would exceed %d bytes. Read less at a time using offset and limit parameters.", maxBytes)
		}
		size++ // the newline before the next
		numbered = append(numbered, line)
	}
	return &workspace.FileLines{
		Success: true, FileSize: int64(len(content)), TotalLines: int(total), LinesRead: len(numbered), Content: strings.Join(numbered, "\n"),
	}, nil
}

func cutLine(line string, limit int64) string {
	if int64(len(line)) <= limit {
		return line
	}
	return line[:output.RuneEnd([]byte(line[:limit]), int(limit), false)] + lineCut
}

// WriteFile implements client.Client.
func (a *Agent) WriteFile(ctx context.Context, asked string, content io.Reader) error {
	_, leave, err := a.act(ctx, scopeFiles)
	if err != nil {
		return err
	}
	defer leave()
	data, err := io.ReadAll(content)
	if err != nil {
		return fmt.Errorf("agent at fake: %w", err)
	}
	at, err := a.find(asked, true)
	if err == nil {
		err = noFor(asked, a.state.files.Write(at, string(data)))
	}
	if err != nil {
		return refused("the file was not written", err)
	}
	a.touched(at)
	return nil
}

// touched notes what the caller has worked on.
func (a *Agent) touched(paths ...string) {
	a.state.mu.Lock()
	defer a.state.mu.Unlock()
	a.state.touch(a.caller, paths...)
}

// ListDirectory implements client.Client.
func (a *Agent) ListDirectory(ctx context.Context, directory workspace.ListDirectory) (*workspace.Directory, error) {
	const message = "the directory can't be listed"
	_, leave, err := a.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	name := path.Join(directory.Path...)
	switch directory.Relativity {
	case "root":
		name = path.Join("/", name)
	case "home":
		name = path.Join(a.state.opts.Home, name)
	default:
		return nil, refuse(http.StatusBadRequest, message, fmt.Sprintf("relativity is %q: write root or home", directory.Relativity))
	}
	at, err := a.find(name, false)
	if err != nil {
		return nil, refused(message, err)
	}
	entries, err := a.state.files.list(at)
	if err != nil {
		return nil, refused(message, noFor(name, err))
	}
	answer := &workspace.Directory{
		AbsolutePathString: name, AbsolutePath: strings.FieldsFunc(name, func(r rune) bool { return r == '/' }), Contents: []workspace.DirectoryEntry{},
	}
	for _, e := range entries {
		answer.Contents = append(answer.Contents, workspace.DirectoryEntry{
			Name: e.Name(), AbsolutePathString: path.Join(name, e.Name()), IsDir: e.IsDir(),
		})
	}
	slices.SortStableFunc(answer.Contents, func(x, y workspace.DirectoryEntry) int {
		switch {
		case x.IsDir && !y.IsDir:
			return -1
		case y.IsDir && !x.IsDir:
			return 1
		}
		return 0 // they are sorted
	})
	return answer, nil
}

// edited is a file with what becomes of it.
type edited struct {
	asked, at     string
	before, after string
}

// EditFiles implements client.Client.
func (a *Agent) EditFiles(ctx context.Context, edits workspace.EditFiles) (*workspace.EditedFiles, error) {
	const message = "the files were not edited"
	_, leave, err := a.act(ctx, scopeFiles)
	if err != nil {
		return nil, err
	}
	defer leave()
	if len(edits.Files) == 0 {
		return nil, refuse(http.StatusBadRequest, message, "name at least one file")
	}
	a.state.editing.Lock()
	defer a.state.editing.Unlock()
	var done []edited
	var worst no
	for _, f := range edits.Files {
		e, err := a.edit(f, done)
		var n *no
		if errors.As(err, &n) {
			worst = no{max(worst.code, n.code), strings.TrimPrefix(worst.text+"\n"+n.text, "\n")}
			continue
		}
		done = append(done, e)
	}
	if worst.code > 0 {
		return nil, refuse(worst.code, message, worst.text)
	}
	answer := &workspace.EditedFiles{}
	for _, e := range done {
		if err := a.state.files.Write(e.at, e.after); err != nil { // it has been removed since
			return nil, refused(message, noFor(e.asked, err))
		}
		a.touched(e.at)
		if edits.IncludeDiff {
			answer.Files = append(answer.Files, workspace.EditedFile{Path: e.asked, Diff: edit.Diff(e.asked, e.before, e.after)})
		}
	}
	return answer, nil
}

// edit computes the edits of one file.
func (a *Agent) edit(f workspace.FileEdits, before []edited) (edited, error) {
	e := edited{asked: f.Path}
	var err error
	if e.at, err = a.find(f.Path, true); err != nil {
		return e, err
	}
	switch {
	case slices.ContainsFunc(before, func(other edited) bool { return other.at == e.at }):
		return e, noBecause(http.StatusBadRequest, "%q is there twice: put all edits of a file together", f.Path)
	case len(f.Edits) == 0:
		return e, noBecause(http.StatusBadRequest, "%q: there are no edits", f.Path)
	}
	if e.before, err = a.state.files.Read(e.at); err != nil {
		return e, noFor(f.Path, err)
	}
	if info, err := a.state.files.info(e.at, true); err == nil && info.Mode()&0o200 == 0 {
		return e, noBecause(http.StatusForbidden, "%q: permission denied", f.Path)
	}
	if e.after, _, err = edit.Apply(e.before, f.Edits); err != nil {
		return e, noBecause(http.StatusBadRequest, "%q: %v", f.Path, err)
	}
	return e, nil
}
