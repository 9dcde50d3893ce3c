package files

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"waymark/host/vfs"
	"waymark/internal/beneath"
	"waymark/workspace/access"
)

// intent is the purpose of looking up a path.
type intent int

const (
	reading intent = iota
	writing
)

// asker looks up paths for a call, within what the caller may access.
type asker struct {
	s         *Service
	root      string // the workspace; "" while it is unknown
	rootBase  beneath.Base
	guard     *vfs.SecretGuard
	plan      string     // the only writable file; "" means no fence
	own       []string   // the agent's own places
	forbidden []identity // identities of those of them that exist
}

// identity identifies a file independently of its names.
type identity struct{ dev, ino uint64 }

func identityOf(st *unix.Stat_t) identity {
	return identity{dev: uint64(st.Dev), ino: uint64(st.Ino)} //nolint:unconvert // the types differ between platforms
}

// top is the base of absolute paths.
var top = beneath.NewBase(".", "/")

// asker returns the asker for a call.
func (s *Service) asker(ctx context.Context) (*asker, error) {
	a := &asker{s: s, root: s.opts.Root()}
	if a.root != "" {
		a.rootBase = beneath.NewBase(relative(a.root), a.root)
	}
	var granted []string
	if grant := access.From(ctx); grant != nil {
		granted, a.plan = grant.Secrets, grant.Plan
	}
	var err error
	if a.guard, err = vfs.NewSecretGuard(granted); err != nil {
		return nil, err
	}
	if s.opts.Own == nil {
		return a, nil
	}
	for _, path := range s.opts.Own() {
		a.own = append(a.own, filepath.Clean(path))
		var st unix.Stat_t
		if unix.Stat(path, &st) == nil {
			a.forbidden = append(a.forbidden, identityOf(&st))
		}
	}
	return a, nil
}

// relative makes an absolute clean path relative to "/".
func relative(path string) string {
	if path == "/" {
		return "."
	}
	return path[1:]
}

// clean checks a requested path.
func clean(path string) (string, error) {
	switch {
	case path == "":
		return "", refuse(http.StatusBadRequest, "a path is needed")
	case !filepath.IsAbs(path):
		return "", refuse(http.StatusBadRequest, "the path must be absolute: %q", path)
	case strings.IndexByte(path, 0) >= 0 || !utf8.ValidString(path):
		return "", refuse(http.StatusBadRequest, "a path is UTF-8 without NUL: %q", path)
	case len(path) >= beneath.MaxPath:
		return "", refuse(http.StatusBadRequest, "the path has %d bytes, and paths have less than %d", len(path), beneath.MaxPath)
	}
	return filepath.Clean(path), nil
}

// find looks up where a path leads, and refuses what the caller may not access. The
// returned path is absolute and without links. If it ends in names that don't exist, the
// resolution has them as Missing. Unless there is an error, the caller closes the
// resolution.
func (a *asker) find(asked string, want intent) (found *beneath.Resolution, path string, err error) {
	name, err := clean(asked)
	if err != nil {
		return nil, "", err
	}
	if err := a.mayName(asked, name); err != nil {
		return nil, "", err
	}
	within := []string{"/"} // so that every name in a link's target is checked
	if a.root != "" {
		within = append(within, a.root)
	}
	found, err = beneath.Resolve(name, beneath.Options{Within: within, Judge: a.judge})
	missing := found.Missing()
	if err == nil || missing != nil {
		path = beneath.Absolute(beneath.Join(found.Path(), join(missing)))
		err = errors.Join(a.mayReach(found, asked, path, want), err)
	}
	if err == nil || missing != nil && want == writing && onlyMissing(err) {
		return found, path, nil
	}
	found.Close()
	return nil, "", a.refusal(asked, err)
}

// join returns the relative path of names.
func join(names []string) string {
	if len(names) == 0 {
		return "."
	}
	return strings.Join(names, "/")
}

// onlyMissing reports whether a path doesn't exist, without any other error.
func onlyMissing(err error) bool {
	_, refused := errors.AsType[*refusal](err)
	return !refused && errors.Is(err, unix.ENOENT)
}

// refusal converts the error of a lookup.
func (a *asker) refusal(asked string, err error) error {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	if link, ok := errors.AsType[*beneath.LinkError](err); ok {
		if errors.Is(link.Err, beneath.ErrEscape) {
			return refuse(http.StatusForbidden, "%q: the link %q leads out of the workspace, and links in there are followed inside of it only", asked, link.Link)
		}
		return refuse(http.StatusForbidden, "%q: the link %q leads to what may not be reached: %s", asked, link.Link, link.Err)
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return refuseFor(asked, errno)
	}
	return err
}

// mayName refuses a path because of its names, before accessing it.
func (a *asker) mayName(asked, path string) error {
	if entry, secret := a.secret(path); secret {
		return refuse(http.StatusForbidden, "%q is on the secret list (%s: %s): a token can grant it", asked, entry.Pattern, entry.What)
	}
	if a.isForbidden(path) {
		return refuse(http.StatusForbidden, "%q is the agent's own, which nobody reads or writes through it", asked)
	}
	return nil
}

// secret returns the entry of the secret list for an absolute path. In the workspace only
// names below its root count, as for resolvers, because its owner has chosen its location.
func (a *asker) secret(path string) (vfs.Secret, bool) {
	if a.inWorkspace(path) {
		if path == a.root {
			return vfs.Secret{}, false
		}
		rest, _ := a.rootBase.Relative(path)
		return a.guard.Entry(a.rootBase, strings.TrimPrefix(rest, "/"))
	}
	return a.guard.Entry(top, relative(path))
}

// inWorkspace reports whether an absolute path is the workspace or below it.
func (a *asker) inWorkspace(path string) bool { return a.root != "" && below(path, a.root) }

func below(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// isForbidden ignores case, because some file systems do, and no other directory has the
// same name as the agent's.
func (a *asker) isForbidden(path string) bool {
	folded := strings.ToLower(path)
	return slices.ContainsFunc(a.own, func(own string) bool { return below(folded, strings.ToLower(own)) })
}

// errUnreachable says why a link's target isn't accessed.
type errUnreachable string

func (e errUnreachable) Error() string { return string(e) }

// judge decides about names in the targets of links.
func (a *asker) judge(within beneath.Base, names []beneath.Name) error {
	if within.Path() != "/" {
		return nil // it is called for "/", too
	}
	texts := make([]string, len(names))
	for i, n := range names {
		texts[i] = n.Text
	}
	path := beneath.Absolute(join(texts))
	switch _, secret := a.secret(path); {
	case !utf8.ValidString(path):
		return errUnreachable("a name there isn't UTF-8")
	case secret:
		return errUnreachable("it is on the secret list")
	case a.isForbidden(path):
		return errUnreachable("it is the agent's own")
	}
	return nil
}

// mayReach refuses a path because of where it leads.
func (a *asker) mayReach(found *beneath.Resolution, asked, path string, want intent) error {
	if err := a.mayName(asked, path); err != nil {
		return err
	}
	if a.s.opts.Within && !a.inWorkspace(path) {
		return refuse(http.StatusForbidden, "%q lies outside of the workspace, and the agent is configured to stay in it", asked)
	}
	if want == writing && a.plan != "" && path != a.plan {
		return refuse(http.StatusForbidden, "%q: this token writes one file only, %q", asked, a.plan)
	}
	return a.notForbidden(found, asked)
}

// notForbidden compares the directories on a path with the agent's own by identity, because
// they may be reachable by other names: in another case or through another mount.
func (a *asker) notForbidden(found *beneath.Resolution, asked string) error {
	if len(a.forbidden) == 0 {
		return nil
	}
	path := found.Path()
	for end := range len(path) + 1 {
		if end < len(path) && path[end] != '/' {
			continue
		}
		var st unix.Stat_t
		switch errno := found.Stat(path[:end], &st); {
		case errno == unix.ENOENT, beneath.MaybeLink(errno):
			return errSwapped
		case errno != 0:
			return refuseFor(asked, errno)
		}
		for _, id := range a.forbidden {
			if id == identityOf(&st) {
				return refuse(http.StatusForbidden, "%q is the agent's own, which nobody reads or writes through it", asked)
			}
		}
	}
	return nil
}

// otherNames refuses a file that is a hard link to one on the secret list, or to one of the
// agent's own.
func (a *asker) otherNames(asked string, st *unix.Stat_t) error {
	l := links{a: a}
	defer l.close()
	return l.check(asked, st)
}

// links judges files with several names: whether one of them is on the secret list, or the
// agent's own. It searches for these once, so that many files can be judged. It belongs to
// one goroutine.
type links struct {
	a    *asker
	kept map[identity]bool // files in the places that keptElsewhere names
	// tooMany says that kept isn't complete.
	tooMany bool
	root    *vfs.Root
	search  *vfs.SecretLinks
}

func (l *links) close() {
	if l.root != nil {
		l.search.Close()
		l.root.Close()
	}
}

// check judges a file.
func (l *links) check(asked string, st *unix.Stat_t) error {
	if st.Nlink < 2 {
		return nil
	}
	if err := l.keptElsewhere(asked, st); err != nil || l.a.root == "" {
		return err
	}
	if l.root == nil {
		root, err := vfs.OpenRoot(l.a.root, vfs.RootOptions{})
		if err != nil {
			if errors.Is(err, os.ErrNotExist) {
				return nil
			}
			return refuse(http.StatusForbidden, "%q has several names, and the workspace can't be searched for the others", asked)
		}
		l.root, l.search = root, root.SecretLinks(l.a.guard)
	}
	switch err := l.search.Check(st); {
	case errors.Is(err, vfs.ErrSecretLink):
		return refuse(http.StatusForbidden, "%q %s", asked, err)
	case err != nil:
		return refuse(http.StatusForbidden, "%q %s: make it a file of its own: cp -p it, and mv the copy over it", asked, err)
	}
	return nil
}

// maxKept limits the entries to compare in the agent's own places and in those of the
// secret list in the home directory.
const maxKept = 50_000

// keptElsewhere refuses a file that has another name in one of the agent's own places, or
// in a place of the secret list in the home directory.
func (l *links) keptElsewhere(asked string, st *unix.Stat_t) error {
	if l.kept == nil {
		l.kept = make(map[identity]bool)
		left := maxKept
		for _, place := range slices.Concat(l.a.own, l.a.guard.PlacesIn(l.a.s.opts.Home)) {
			_ = filepath.WalkDir(place, func(path string, entry fs.DirEntry, err error) error {
				if left--; left < 0 {
					return fs.SkipAll
				}
				var other unix.Stat_t
				if err == nil && entry.Type().IsRegular() && unix.Lstat(path, &other) == nil {
					l.kept[identityOf(&other)] = true
				}
				return nil // other users can't create links in an unreadable directory
			})
		}
		l.tooMany = left < 0
	}
	switch {
	case l.kept[identityOf(st)]:
		return refuse(http.StatusForbidden, "%q is another name of what is kept secret elsewhere", asked)
	case l.tooMany:
		return refuse(http.StatusForbidden, "%q has several names, and there is too much to search for the others: make it a file of its own: cp -p it, and mv the copy over it", asked)
	}
	return nil
}
