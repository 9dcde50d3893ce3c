package git

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"waymark/internal/text"
)

// findTop returns the directory of the innermost repository that contains a path, which
// needn't exist, without links; "" if there is none.
func findTop(path string) string {
	if !filepath.IsAbs(path) {
		return ""
	}
	dir := filepath.Clean(path)
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			break
		}
		if dir == "/" {
			return ""
		}
		dir = filepath.Dir(dir)
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	for {
		if isRepository(filepath.Join(dir, ".git")) {
			return dir
		}
		if dir == "/" {
			return ""
		}
		dir = filepath.Dir(dir)
	}
}

// isRepository reports whether a .git is a repository, even a broken one. Other tools
// create empty directories of that name.
func isRepository(git string) bool {
	info, err := os.Stat(git)
	if err != nil {
		return false
	}
	if info.Mode().IsRegular() {
		_, err := readGitFile(git)
		return err == nil
	}
	for _, name := range []string{"HEAD", "objects", "commondir"} {
		if _, err := os.Lstat(filepath.Join(git, name)); err == nil && info.IsDir() {
			return true
		}
	}
	return false
}

// errGone says that the repository doesn't exist any more.
var errGone = errors.New("the repository is gone")

// place has the absolute paths, without links, of a repository's parts.
type place struct {
	top string // the work tree
	// git is the repository's own directory, common the one that it shares with other work
	// trees.
	git, common string
	objects     string
	// alternates are further object directories.
	alternates []string
	// unproven is set if git is elsewhere and hasn't confirmed yet that top is its work
	// tree; then its configuration must.
	unproven bool
}

// locate finds the parts of the repository at top. What a repository's files refer to
// counts only if it is in that repository or in the workspace's root, or confirms that it
// belongs here. Otherwise anybody could write a .git that refers to somebody else's
// repository, and the diff would show its content.
//
// # Errors
//
// errGone, or what is wrong with the repository.
func locate(top, root string) (*place, error) {
	p := &place{top: top}
	ours := func(path string) bool { return within(path, top) || root != "" && within(path, root) }
	git := filepath.Join(top, ".git")
	info, err := os.Stat(git)
	if err != nil {
		return nil, goneOr(err)
	}
	if info.Mode().IsRegular() {
		if git, err = readGitFile(git); err != nil {
			return nil, err
		}
		if !filepath.IsAbs(git) {
			git = filepath.Join(top, git)
		}
	} else if !isRepository(git) {
		return nil, errGone
	}
	if p.git, err = filepath.EvalSymlinks(git); err != nil {
		return nil, goneOr(err)
	}
	if err := p.findCommon(); err != nil {
		return nil, err
	}
	switch linked := p.git != p.common; {
	case linked && !within(p.git, filepath.Join(p.common, "worktrees")) && !ours(p.common):
		return nil, fmt.Errorf("its commondir leads to another repository, %s", text.Printable(p.common))
	case linked && !ours(p.git) && !p.namesBack():
		return nil, fmt.Errorf("its .git leads to %s, which doesn't name it as one of its work trees: 'git worktree repair' there mends that", text.Printable(p.git))
	case !linked && !ours(p.git):
		p.unproven = true
	}
	in := func(path string) bool { return ours(path) || within(path, p.common) }
	if p.objects, err = filepath.EvalSymlinks(filepath.Join(p.common, "objects")); err != nil {
		return nil, fmt.Errorf("it has no objects: %s", reason(err))
	}
	if !in(p.objects) {
		return nil, fmt.Errorf("its objects lie in another place, %s, outside the workspace", text.Printable(p.objects))
	}
	return p, p.addAlternates(p.objects, in, 0)
}

// findCommon finds the directory that a work tree shares with others.
func (p *place) findCommon() error {
	data, err := readSmall(filepath.Join(p.git, "commondir"))
	if errors.Is(err, fs.ErrNotExist) {
		p.common = p.git
		return nil
	}
	if err != nil {
		return fmt.Errorf("its commondir can't be read: %s", reason(err))
	}
	common := strings.TrimRight(string(data), "\r\n")
	if !filepath.IsAbs(common) {
		common = filepath.Join(p.git, common)
	}
	if p.common, err = filepath.EvalSymlinks(common); err != nil {
		return goneOr(err)
	}
	return nil
}

// namesBack reports whether the directory of a linked work tree refers to top.
func (p *place) namesBack() bool {
	data, err := readSmall(filepath.Join(p.git, "gitdir"))
	if err != nil {
		return false
	}
	back := strings.TrimRight(string(data), "\r\n")
	if !filepath.IsAbs(back) {
		back = filepath.Join(p.git, back)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(back))
	return err == nil && filepath.Base(back) == ".git" && dir == p.top
}

// maxAlternates limits the nesting of object directories, as in git.
const maxAlternates = 5

// addAlternates adds the object directories that an object directory refers to.
func (p *place) addAlternates(objects string, in func(string) bool, depth int) error {
	data, err := readSmall(filepath.Join(objects, "info", "alternates"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil || depth == maxAlternates {
		return fmt.Errorf("objects/info/alternates in %s can't be followed", text.Printable(filepath.Dir(objects)))
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		line := lines.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '"' {
			if line, _, err = unquote(line); err != nil {
				return errors.New("objects/info/alternates has a line that can't be understood")
			}
		}
		if !filepath.IsAbs(line) {
			line = filepath.Join(objects, line)
		}
		store, err := filepath.EvalSymlinks(line)
		if err != nil {
			continue // git ignores it, too
		}
		if !in(store) {
			return fmt.Errorf("some of its objects lie in another repository, %s, outside the workspace: 'git repack -ad' there, without the alternate, makes it whole", text.Printable(store))
		}
		p.alternates = append(p.alternates, store)
		if err := p.addAlternates(store, in, depth+1); err != nil {
			return err
		}
	}
	return lines.Err()
}

// within reports whether a path is dir or below it. Both must be clean.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// goneOr returns errGone if something doesn't exist.
func goneOr(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return errGone
	}
	return fmt.Errorf("it can't be looked at: %s", reason(err))
}

// reason returns the system's error without the path.
func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return text.Printable(err.Error())
}

// readGitFile reads a .git file, and returns the path in it.
func readGitFile(path string) (string, error) {
	data, err := readSmall(path)
	if err != nil {
		return "", goneOr(err)
	}
	target, ok := strings.CutPrefix(string(data), "gitdir: ")
	if target = strings.TrimRight(target, "\r\n"); !ok || target == "" {
		return "", errors.New("its .git is a file that names no repository")
	}
	return target, nil
}

// maxSmall limits the small files that this package reads, in bytes.
const maxSmall = 1 << 20

// readSmall reads a regular file that isn't a link.
func readSmall(path string) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxSmall+1))
	if err == nil && len(data) > maxSmall {
		err = fmt.Errorf("it is larger than %d bytes", maxSmall)
	}
	return data, err
}

// errNotRegular says that a file isn't regular and must not be read.
var errNotRegular = errors.New("it is not a regular file")

// openRegular opens a regular file that isn't a link. It doesn't block on a FIFO.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
