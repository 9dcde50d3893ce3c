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

// findTop returns the directory of the repository that a path lies in, or would
// lie in, without links; "" when there is none. It is the nearest one, so that a
// nested repository has its own files.
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

// isRepository reports whether something named .git is a repository, or was one
// and is broken. Other tools make empty directories of that name.
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

// errGone says that there is no repository any more.
var errGone = errors.New("the repository is gone")

// place is where the parts of a repository are, all of them absolute and without
// links.
type place struct {
	top string // the directory with its files
	// git and common are its own directory and the one that it shares with the
	// other work trees of the repository.
	git, common string
	objects     string
	// alternates are further directories with objects.
	alternates []string
	// unproven is set where git lies elsewhere and nothing in it has said yet
	// that top is its work tree: its configuration must.
	unproven bool
}

// locate finds the parts of the repository at top. What a repository's own files
// lead to counts only where it lies in that repository or in the workspace's root, or
// says itself that it belongs here: anybody can write a .git that names the
// repository of somebody else, whose content the diff would show.
//
// # Errors
//
// errGone, or what is wrong with it.
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

// findCommon finds what a work tree shares with the others of its repository.
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

// namesBack reports whether the directory of a linked work tree says that it
// belongs to top.
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

// maxAlternates bounds how deep stores of objects lead to further ones, as git
// does.
const maxAlternates = 5

// addAlternates finds the stores that a store of objects leads to.
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
			continue // git goes on without it, too
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

// within reports whether a clean path is a directory or lies below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// goneOr returns errGone for what isn't there.
func goneOr(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return errGone
	}
	return fmt.Errorf("it can't be looked at: %s", reason(err))
}

// reason is what the system says, without the path.
func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return text.Printable(err.Error())
}

// readGitFile reads a .git that is a file, and returns where it leads to.
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

// maxSmall bounds the small files that we read ourselves, in bytes.
const maxSmall = 1 << 20

// readSmall reads a regular file, which isn't a link.
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

// errNotRegular says that there is something that nobody should read.
var errNotRegular = errors.New("it is not a regular file")

// openRegular opens a regular file, which isn't a link. A FIFO doesn't hold it up.
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
