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

// RootOptions are the operator's wishes for one root. The zero value works.
type RootOptions struct {
	// Exclude are doublestar patterns relative to the root. What matches
	// one, and everything below it, doesn't exist for anyone.
	Exclude []string
	// Own are the agent's own places, by absolute paths without links: like what
	// Exclude matches, they don't exist for anyone.
	Own []string
	// MCPFiles are relative paths that hold MCP configuration besides those
	// of the table MCPFiles, for example the file of a root of role mcp.
	MCPFiles []string
	// Settings are patterns of settings files besides those of SettingsPatterns,
	// which match as they do.
	Settings []string
	// Within are directories, by absolute paths, whose content others write: the
	// working directory, for one. Links that lie in one of them don't lead the
	// root out of it, nor over protected names; see LinkError.
	Within []string
	// Top, unless nil, is used to find the root; see beneath.Options.
	Top *beneath.Walker
	// Now returns the time, to know how young a file is; nil means time.Now.
	Now func() time.Time
}

// Root is one scan root: a directory, or one file in a directory. It may be
// used by many goroutines.
type Root struct {
	base      beneath.Base
	way       []string // see Way
	file      string
	id        Identity
	now       func() time.Time
	exclude   *trie
	mcp       *trie    // folded names
	mcpFiles  []string // the same, as they were given
	signature string

	mu     sync.Mutex // guards what follows; never held during file I/O
	fd     int
	users  int // runs and checks that are going on, and 1 until Close
	closed bool
}

// OpenRoot opens a directory that this user can list, or the directory of a file
// that this user can read. Errors are *Error (errors.Is knows fs.ErrNotExist,
// fs.ErrPermission and ErrNotRegular), *LinkError or *PatternError. The Root is
// never nil; after an error it only has a Way.
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

// ownBelow are patterns of the agent's own places that lie below the root.
func (r *Root) ownBelow(own []string) (patterns []string) {
	for _, path := range own {
		if rel, ok := strings.CutPrefix(path, strings.TrimSuffix(r.base.Path(), "/")+"/"); ok {
			patterns = append(patterns, LiteralPattern(rel))
		}
	}
	return patterns
}

// closedWay says why no way leads to a root that may be there.
func closedWay(found *beneath.Resolution) string {
	if dir := found.Closed(); dir != "" {
		return fmt.Sprintf("this user may not look into %q, which takes the x permission", dir)
	}
	return "a link on the way is somebody else's, in a directory in which everybody may create files"
}

// readable finds out whether there is permission to list the directory, or to read
// the one file: without it there would be nothing to find, which isn't the same as
// that nothing is there.
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

// File returns the base name of the file when the root is one file, else "".
// The file itself may be a link; where it leads counts as for any link.
func (r *Root) File() string { return r.file }

// Name returns the base name of the directory.
func (r *Root) Name() string { return filepath.Base(r.base.Path()) }

// Way returns the absolute paths that decided where the root is, or that it
// isn't there: of each link that was followed, and of the name at which the way
// ended. Only their own last names may be links. Whoever watches them notices when
// the root comes to be, or is elsewhere.
func (r *Root) Way() []string { return r.way }

// ID identifies the directory itself, so that another one that has replaced it at
// the same path has another ID. Only Dev and Ino are set.
func (r *Root) ID() Identity { return Identity{Dev: r.id.Dev, Ino: r.id.Ino} }

// Replaced reports whether the path that the root was opened by no longer
// leads to its directory. The root goes on showing the old one: open it
// again.
func (r *Root) Replaced() bool {
	var st unix.Stat_t
	err := unix.Stat(r.base.Given(), &st)
	return err != nil || !identityOf(&st).sameFile(r.id)
}

// Close lets go of the directory as soon as the runs that are going on have
// been closed. Later runs get EBADF for everything.
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

// sign makes the signature; what goes into it is all that an open root brings
// to a run besides its files.
func (r *Root) sign(opts RootOptions) {
	r.signature = fmt.Sprintf("%q %q %q %d %d %q %q %q", r.base.Path(), r.base.Given(), r.file, r.id.Dev, r.id.Ino,
		slices.Sorted(slices.Values(append(r.ownBelow(opts.Own), opts.Exclude...))), slices.Sorted(slices.Values(r.mcpFiles)),
		slices.Sorted(slices.Values(opts.Settings)))
}

// Signature is equal for roots that show the same: the same directory, under
// the same paths, with the same options. A trace taken at one may be checked
// at the other, in another process too.
func (r *Root) Signature() string { return r.signature }
