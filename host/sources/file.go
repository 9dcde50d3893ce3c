package sources

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"waymark/internal/atomicfile"
)

const (
	// defaultLockFor is the default of Options.LockFor.
	defaultLockFor = 2 * time.Second
	// lockEvery is the interval of attempts, because a blocking flock can't be interrupted.
	lockEvery = 5 * time.Millisecond
)

// Load appends the persisted sources to the list. Call it once, before or after adding the
// operator's own.
//
// # Errors
//
// ErrBroken, ErrPersist or ErrTooMany. The list works nevertheless, with what could be read;
// tell the user, because nobody else does.
func (l *List) Load() error {
	if l.opts.File == "" {
		return nil
	}
	if _, err := os.Lstat(l.opts.File); missing(err) {
		return nil // nothing was ever persisted: leave no lock file either
	}
	l.change.Lock()
	defer l.change.Unlock()
	var list []persisted
	err := l.locked(func() (err error) {
		list, err = l.readOrMove()
		return err
	})
	return errors.Join(err, l.take(list))
}

// take adds persisted sources.
func (l *List) take(list []persisted) error {
	now := l.state.Load()
	for i, p := range list {
		e := entry{path: p.Path, named: cmp.Or(p.Named, p.Path), within: p.Within, origin: OriginPersisted, trusted: p.Trusted, persisted: true, kept: p.Trusted}
		locate(&e, now.workDir)
		if old := now.find(p.Path); old != nil {
			e = *old
			e.within = cmp.Or(e.within, p.Within)
			e.persisted, e.kept, e.trusted = true, p.Trusted, e.trusted || p.Trusted
		} else if len(now.entries) >= l.opts.Max {
			l.state.Store(now)
			return fmt.Errorf("%w: %d are possible, %d persisted ones are left out", ErrTooMany, l.opts.Max, len(list)-i)
		}
		now = now.with(e)
	}
	l.state.Store(now)
	return nil
}

// inFile returns the form of an entry in the file.
func (e *entry) inFile() persisted {
	p := persisted{Path: e.path, Within: e.within, Trusted: e.kept}
	if e.named != e.path {
		p.Named = e.named
	}
	return p
}

// persist writes one source to the file.
func (l *List) persist(add persisted) error {
	return l.edit(func(list []persisted) []persisted {
		i := slices.IndexFunc(list, func(p persisted) bool { return p.Path == add.Path })
		if i < 0 {
			return append(list, add)
		}
		list[i].Trusted = list[i].Trusted || add.Trusted
		return list
	})
}

// forget removes one source from the file.
func (l *List) forget(path string) error {
	return l.edit(func(list []persisted) []persisted {
		return slices.DeleteFunc(list, func(p persisted) bool { return p.Path == path })
	})
}

// edit changes the current file, which another agent may have written since it was read.
func (l *List) edit(change func([]persisted) []persisted) error {
	if l.opts.File == "" {
		return fmt.Errorf("%w: there is no state directory", ErrPersist)
	}
	return l.locked(func() error {
		list, err := l.readOrMove()
		if err != nil {
			return fmt.Errorf("nothing was changed: %w", err)
		}
		return l.write(change(list))
	})
}

// readOrMove reads the file. It moves a broken one aside and writes a new one with what could
// be read and what this list knows.
func (l *List) readOrMove() ([]persisted, error) {
	list, err := read(l.opts.File)
	if !errors.Is(err, ErrBroken) {
		return list, err
	}
	aside, rerr := l.moveAside()
	if rerr != nil {
		return list, fmt.Errorf("%w: %w: move it away: %w", ErrPersist, err, rerr)
	}
	list = l.known(list)
	if len(list) > 0 {
		if werr := l.write(list); werr != nil {
			return list, fmt.Errorf("%w: it is kept as %s: %w", err, aside, werr)
		}
	}
	return list, fmt.Errorf("%w: it is kept as %s, and %d sources of it are still known", err, aside, len(list))
}

// moveAside renames the file to an unused name.
func (l *List) moveAside() (aside string, err error) {
	for n := 1; ; n++ {
		aside = fmt.Sprintf("%s.broken-%d", l.opts.File, n)
		if _, err := os.Lstat(aside); missing(err) {
			return aside, os.Rename(l.opts.File, aside)
		} else if err != nil {
			return aside, err
		}
	}
}

// known adds to what was read what this list persisted earlier.
func (l *List) known(list []persisted) []persisted {
	for _, e := range l.state.Load().entries {
		if e.persisted && !slices.ContainsFunc(list, func(p persisted) bool { return p.Path == e.path }) {
			list = append(list, e.inFile())
		}
	}
	return list
}

// write replaces the file. The caller holds the lock.
func (l *List) write(list []persisted) error {
	data, err := json.MarshalIndent(file{Version: fileVersion, Sources: append([]persisted{}, list...)}, "", "  ")
	if err == nil && len(data) >= maxFile {
		err = fmt.Errorf("%s would have more than %d bytes: remove sources", l.opts.File, maxFile)
	}
	if err == nil {
		err = atomicfile.WriteFile(l.opts.File, append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPersist, err)
	}
	return nil
}

// locked runs f while no other agent is in its own. The lock is on a separate file, because
// the protected file is replaced. The kernel releases it when the process ends.
func (l *List) locked(f func() error) (err error) {
	if err := os.MkdirAll(filepath.Dir(l.opts.File), 0o700); err != nil {
		return fmt.Errorf("%w: %w", ErrPersist, err)
	}
	lock := flock.New(l.opts.File+".lock", flock.SetPermissions(0o600),
		flock.SetFlag(os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK))
	ctx, cancel := context.WithTimeout(context.Background(), l.opts.LockFor)
	defer cancel()
	_, err = lock.TryLockContext(ctx, lockEvery)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%s: another agent holds it and doesn't let go: is one stopped?", lock.Path())
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPersist, err)
	}
	return f()
}

func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// fileVersion is the version of the file's format. A new field doesn't need a new version,
// because unknown fields are ignored.
const fileVersion = 1

// maxFile bounds the file, in bytes: DefaultMax paths take a tenth of it.
const maxFile = 1 << 20

type file struct {
	Version int         `json:"version"`
	Sources []persisted `json:"sources"`
}

type persisted struct {
	Path string `json:"path"`
	// Named is the path as given, if that differs, and Within the working directory on its
	// way.
	Named  string `json:"named,omitempty"`
	Within string `json:"within,omitempty"`
	// Trusted sources were added by the operator; the others are checked against the allowed
	// places whenever they are opened.
	Trusted bool `json:"trusted,omitempty"`
}

// read returns what the file holds. With ErrBroken it returns the usable part.
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

// isClean checks that a path read from the file is clean.
func isClean(path string) error {
	clean, err := absolute(path, "")
	if err == nil && clean != path {
		err = fmt.Errorf("%w: %q is not clean", ErrInvalid, path)
	}
	return err
}

// readPrivate reads a regular file of this user's own that nobody else can write to. Anybody
// else could add what a request may not.
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
