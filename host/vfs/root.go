package vfs

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"waymark/internal/beneath"
)

// RootOptions are the operator's settings for one root. The zero value works.
type RootOptions struct {
	// Exclude are doublestar patterns relative to the root. What matches one, and everything
	// below it, doesn't exist for any view.
	Exclude []string
	// Own lists the agent's own places as absolute paths without links. Like excluded files,
	// they don't exist for any view.
	Own []string
	// MCPFiles are relative paths of MCP configuration besides those of the function
	// MCPFiles, for example the file of a root of role mcp.
	MCPFiles []string
	// Settings are patterns of settings files besides those of SettingsPatterns, and match
	// alike.
	Settings []string
	// Within lists directories, by absolute paths, whose content others write, such as the
	// working directory. A link in one of them leads the root neither out of it nor to
	// protected names; see LinkError.
	Within []string
	// Beyond has links in the root lead out of it, too: to what isn't protected, and from a
	// directory in Within not out of that. Paths outside begin with "..".
	Beyond bool
	// Top, unless nil, is used to find the root; see beneath.Options.
	Top *beneath.Walker
	// Now returns the time, for judging how young a file is; nil means time.Now.
	Now func() time.Time
}

// Root is one scan root: a directory, or one file in a directory. It may be used by many
// goroutines.
type Root struct {
	base      beneath.Base
	way       []string // see Way
	file      string
	id        Identity
	now       func() time.Time
	exclude   *trie
	mcp       *trie    // folded names
	mcpFiles  []string // the same, as given
	beyond    bool
	own       []string // the agent's own places, where beyond is set
	within    []string // directories of others, likewise
	signature string
	rules     string // the part of it that doesn't depend on where the root is

	mu     sync.Mutex // guards what follows; never held during file I/O
	fd     int
	users  int // active runs and checks, plus 1 until Close
	closed bool
}

// OpenRoot opens a directory that this user can list, or the directory of a file that this
// user can read. Errors are *Error (errors.Is matches fs.ErrNotExist, fs.ErrPermission and
// ErrNotRegular), *LinkError or *PatternError. The Root is never nil; after an error it only
// has a Way.
func OpenRoot(path string, opts RootOptions) (*Root, error) {
	r := &Root{now: opts.Now, fd: -1, users: 1}
	if r.now == nil {
		r.now = time.Now
	}
	var err error
	if r.exclude, err = newExclude(opts.Exclude); err != nil {
		return r, err
	}
	mcp := newTrieBuilder()
	for _, name := range opts.MCPFiles {
		clean, _, problem := cleanPath(name)
		if problem.errno != 0 {
			return r, &PatternError{Field: "mcp_files", Pattern: name, Problem: "must be a path relative to the root"}
		}
		r.mcpFiles = append(r.mcpFiles, clean)
		mcp.protectFile(clean, groupMCP)
	}
	if err := mcp.protectAll(opts.Settings); err != nil {
		return r, err
	}
	r.mcp = mcp.build()
	if err := r.open(path, &opts); err != nil {
		return r, err
	}
	if r.beyond = opts.Beyond; r.beyond {
		r.own = opts.Own
		for _, dir := range opts.Within {
			if to, err := filepath.EvalSymlinks(dir); err == nil {
				r.within = append(r.within, to)
			}
		}
	}
	r.sign(opts)
	return r, nil
}

func (r *Root) open(path string, opts *RootOptions) error {
	fail := func(err error) error {
		e := &Error{Op: "open root", Path: path, Errno: syscall.EIO}
		if !errors.As(err, &e.Errno) {
			e.Detail = err.Error()
		}
		return e
	}
	given, err := filepath.Abs(path)
	if err != nil {
		return fail(err)
	}
	found, err := beneath.Resolve(given, beneath.Options{Within: opts.Within, Judge: linkJudge(r.exclude, opts.Own), Top: opts.Top})
	defer found.Close() //nolint:staticcheck // it is to be closed after an error, too
	r.way = found.Passed()
	var dir string
	if err == nil {
		dir, r.file, err = findRoot(found)
	}
	if link, ok := errors.AsType[*beneath.LinkError](err); ok {
		return linkErrorOf(link)
	}
	switch {
	case errors.Is(err, ErrNotRegular):
		return &Error{Op: "open root", Path: path, Errno: syscall.EIO, Reason: ReasonNotRegular,
			Detail: "a root is a directory or a regular file"}
	case errors.Is(err, syscall.EACCES):
		return &Error{Op: "open root", Path: path, Errno: syscall.EACCES, Detail: closedWay(found)}
	case err != nil:
		return fail(err)
	}
	if r.file != "" {
		given = filepath.Dir(given)
	}
	r.base = beneath.NewBase(dir, given)
	if own := r.ownBelow(opts.Own); len(own) > 0 {
		if r.exclude, err = newExclude(append(slices.Clone(opts.Exclude), own...)); err != nil {
			return err
		}
	}
	var errno syscall.Errno
	if r.fd, errno = found.OpenDir(dir); errno != 0 {
		return fail(errno)
	}
	if err := r.readable(path, found); err != nil {
		_ = r.Close()
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(r.fd, &st); err != nil {
		_ = r.Close()
		return fail(err)
	}
	r.id = identityOf(&st)
	return nil
}

// ownBelow returns patterns of the agent's own places that lie below the root.
func (r *Root) ownBelow(own []string) (patterns []string) {
	for _, path := range own {
		if rel, ok := strings.CutPrefix(path, strings.TrimSuffix(r.base.Path(), "/")+"/"); ok {
			patterns = append(patterns, LiteralPattern(rel))
		}
	}
	return patterns
}

// closedWay says why a root that may exist can't be reached.
func closedWay(found *beneath.Resolution) string {
	if dir := found.Closed(); dir != "" {
		return fmt.Sprintf("this user may not look into %q, which takes the x permission", dir)
	}
	return "a link on the way is somebody else's, in a directory in which everybody may create files"
}

// readable checks the permission to list the directory, or to read the one file. Without it
// nothing would be found, which differs from an empty root.
func (r *Root) readable(path string, found *beneath.Resolution) error {
	detail := "this user may not list it, which takes the r and x permissions"
	open := func() (int, error) {
		return unix.Openat(r.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if r.file != "" {
		detail = "this user may not read it, which takes the r permission"
		open = func() (int, error) {
			fd, errno := found.Open(found.Path())
			if errno != 0 {
				return -1, errno
			}
			return fd, nil
		}
	}
	fd, err := beneath.Retry(open)
	if err != nil {
		e := &Error{Op: "open root", Path: path, Errno: beneath.ErrnoOf(err)}
		if errors.Is(err, syscall.EACCES) {
			e.Detail = detail
		}
		return e
	}
	_ = unix.Close(fd)
	return nil
}

// Path returns the link-resolved absolute path of the directory.
func (r *Root) Path() string { return r.base.Path() }

// File returns the base name of the file if the root is one file, else "". The file itself
// may be a link; its target is judged as for any link.
func (r *Root) File() string { return r.file }

// Name returns the base name of the directory.
func (r *Root) Name() string { return filepath.Base(r.base.Path()) }

// Way returns the absolute paths that decided where the root is, or that it doesn't exist:
// each link that was followed, and the name at which the walk ended. Only their last names
// may be links. A watch on them notices when the root appears or moves.
func (r *Root) Way() []string { return r.way }

// ID identifies the directory itself: one that replaces it at the same path has another ID.
// Only Dev and Ino are set.
func (r *Root) ID() Identity { return Identity{Dev: r.id.Dev, Ino: r.id.Ino} }

// Replaced reports whether the path by which the root was opened no longer leads to its
// directory. The root then still shows the old directory: open it again.
func (r *Root) Replaced() bool {
	var st unix.Stat_t
	err := unix.Stat(r.base.Given(), &st)
	return err != nil || !identityOf(&st).sameFile(r.id)
}

// Close releases the directory once all active runs are closed. Later runs get EBADF for
// everything.
func (r *Root) Close() error {
	r.mu.Lock()
	closed := r.closed
	r.closed = true
	r.mu.Unlock()
	if !closed {
		r.release()
	}
	return nil
}

// acquire returns the directory's descriptor, which is valid until release.
func (r *Root) acquire() (fd int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return -1, false
	}
	r.users++
	return r.fd, true
}

func (r *Root) release() {
	r.mu.Lock()
	r.users--
	last := r.users == 0
	r.mu.Unlock()
	if last {
		_ = unix.Close(r.fd)
	}
}

// visible judges a path that was asked for.
func (r *Root) visible(f *Filter, path string, s scope) visibility {
	v := f.visible(s)
	if v.reason == ReasonMCP && f.manifests && isManifest(path) {
		v = f.inReads(s)
	}
	if r.file != "" && path != "." && path != r.file {
		v = visibility{reason: ReasonNotInReads}
	}
	if path == "." {
		return visibility{dir: true}
	}
	return v
}

// sign sets the signature, which covers everything that an open root brings to a run besides
// its files.
func (r *Root) sign(opts RootOptions) {
	r.rules = fmt.Sprintf("%q %q %q %q", r.file, slices.Sorted(slices.Values(append(r.ownBelow(opts.Own), opts.Exclude...))),
		slices.Sorted(slices.Values(r.mcpFiles)), slices.Sorted(slices.Values(opts.Settings)))
	if r.beyond {
		r.rules += fmt.Sprintf(" beyond %q %q %q", r.base.Path(), r.own, r.within)
	}
	r.signature = fmt.Sprintf("%q %q %d %d %s", r.base.Path(), r.base.Given(), r.id.Dev, r.id.Ino, r.rules)
}

// Rules is equal for roots that show the same of equal files. A trace taken at one may be
// checked at the other by CheckUnits: if it holds, a run would have seen the same there.
func (r *Root) Rules() string { return r.rules }

// Signature is equal for roots that show the same: the same directory, under the same paths,
// with the same options. A trace taken at one may be checked at the other, even in another
// process.
func (r *Root) Signature() string { return r.signature }
