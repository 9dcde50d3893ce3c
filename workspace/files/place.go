package files

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"waymark/internal/beneath"
)

// place is where a path leads: a name in an open directory.
type place struct {
	a     *asker
	asked string
	path  string // absolute, without links
	dir   int    // the directory's descriptor
	name  string
	// parents are the missing directories between dir and name. While they are being
	// created, dir moves down.
	parents []string
	made    []madeDir
}

// madeDir is a directory that was created for a place, and may have to be removed.
type madeDir struct {
	dir  int // descriptor of its parent
	name string
}

// place looks up a path.
func (a *asker) place(asked string, want intent) (*place, error) {
	found, path, err := a.find(asked, want)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	if path == "/" {
		return nil, refuse(http.StatusBadRequest, "%q is a directory", asked)
	}
	p := &place{a: a, asked: asked, path: path}
	dir := found.Path()
	if missing := found.Missing(); missing != nil {
		p.parents, p.name = missing[:len(missing)-1], missing[len(missing)-1]
	} else {
		dir, p.name = beneath.Split(dir)
	}
	var errno syscall.Errno
	if p.dir, errno = found.OpenDir(dir); errno != 0 {
		if beneath.MaybeLink(errno) {
			return nil, errSwapped
		}
		return nil, refuseFor(asked, errno)
	}
	if err := p.onFileSystem(p.dir); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// close closes all descriptors.
func (p *place) close() {
	for _, d := range p.made {
		_ = unix.Close(d.dir)
	}
	_ = unix.Close(p.dir)
}

// onFileSystem refuses special file systems: reading there may reveal data of other
// processes, and writing is a command to the kernel.
func (p *place) onFileSystem(fd int) error {
	strange, err := noFiles(fd)
	if err != nil {
		return refuseFor(p.asked, err)
	}
	if strange {
		return refuse(http.StatusForbidden, "%q: what is there aren't files, but the kernel's own", p.asked)
	}
	return nil
}

// file is a regular file, open for reading.
type file struct {
	fd int
	st unix.Stat_t
}

func (f *file) close() { _ = unix.Close(f.fd) }

// ReadAt implements io.ReaderAt.
func (f *file) ReadAt(b []byte, off int64) (n int, err error) {
	for n < len(b) {
		got, err := beneath.Retry(func() (int, error) { return unix.Pread(f.fd, b[n:], off+int64(n)) })
		if err != nil {
			return n, err
		}
		if got <= 0 {
			return n, io.EOF
		}
		n += got
	}
	return n, nil
}

// stat describes the file without following links, and refuses everything but regular
// files.
func (p *place) stat(st *unix.Stat_t) error {
	if errno := beneath.StatAt(p.dir, p.name, st); errno != 0 {
		return refuseFor(p.asked, errno)
	}
	switch beneath.TypeOf(st) {
	case 0:
		return nil
	case fs.ModeSymlink:
		return errSwapped
	case fs.ModeDir:
		return refuse(http.StatusBadRequest, "%q is a directory", p.asked)
	}
	return refuse(http.StatusBadRequest, "%q is not a regular file", p.asked)
}

// open opens the file for reading.
func (p *place) open() (*file, error) {
	if len(p.parents) > 0 {
		return nil, refuseFor(p.asked, unix.ENOENT)
	}
	var f file
	if err := p.stat(&f.st); err != nil {
		return nil, err
	}
	w := beneath.Walker{Root: p.dir}
	fd, _, errno := w.Open(p.name)
	switch {
	case beneath.MaybeLink(errno):
		return nil, errSwapped
	case errno != 0:
		return nil, refuseFor(p.asked, errno)
	}
	f.fd = fd
	if err := p.opened(&f); err != nil {
		f.close()
		return nil, err
	}
	return &f, nil
}

// opened checks what was actually opened.
func (p *place) opened(f *file) error {
	if err := unix.Fstat(f.fd, &f.st); err != nil {
		return refuseFor(p.asked, err)
	}
	if beneath.TypeOf(&f.st) != 0 {
		return errSwapped
	}
	if err := p.onFileSystem(f.fd); err != nil {
		return err
	}
	return p.a.otherNames(p.asked, &f.st)
}

// open opens the file at a path.
func (a *asker) open(asked string) (*file, error) {
	for range beneath.MaxSwaps {
		f, err := a.openOnce(asked)
		if !errors.Is(err, errSwapped) {
			return f, err
		}
	}
	return nil, keptChanging(asked, errSwapped)
}

func (a *asker) openOnce(asked string) (*file, error) {
	p, err := a.place(asked, reading)
	if err != nil {
		return nil, err
	}
	defer p.close()
	return p.open()
}

// withParents creates the missing directories, with mode 0755 minus the umask, and returns
// the place in the last one. The caller closes it, even after an error. p stays unchanged,
// so that another attempt is possible.
func (p *place) withParents() (*place, error) {
	dir, errno := duplicate(p.dir)
	if errno != 0 {
		return nil, refuseFor(p.asked, errno)
	}
	in := &place{a: p.a, asked: p.asked, path: p.path, dir: dir, name: p.name}
	for _, name := range p.parents {
		if err := in.enter(name); err != nil {
			in.takeBack()
			in.close()
			return nil, err
		}
	}
	return in, nil
}

// enter opens a subdirectory, and creates it if it is missing.
func (p *place) enter(name string) error {
	err := unix.Mkdirat(p.dir, name, 0o755)
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return p.refuseGone(err)
	}
	w := beneath.Walker{Root: p.dir}
	fd, _, errno := w.Dir(name)
	if errno == 0 {
		fd, errno = duplicate(fd)
	}
	w.Forget()
	switch {
	case beneath.MaybeLink(errno):
		return errSwapped
	case errno != 0:
		return p.refuseGone(errno)
	}
	if err == nil {
		p.made = append(p.made, madeDir{dir: p.dir, name: name})
	} else {
		_ = unix.Close(p.dir)
	}
	p.dir = fd
	return nil
}

// refuseGone is refuseFor for creating a name in a directory. ENOENT means that the
// directory was just removed, perhaps by a call that undid its own work.
func (p *place) refuseGone(err error) error {
	if errors.Is(err, unix.ENOENT) {
		return errSwapped
	}
	return refuseFor(p.asked, err)
}

func duplicate(fd int) (int, syscall.Errno) {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	return own, beneath.ErrnoOf(err)
}

// takeBack removes the created directories unless somebody uses them.
func (p *place) takeBack() {
	for i := len(p.made) - 1; i >= 0; i-- {
		if unix.Unlinkat(p.made[i].dir, p.made[i].name, unix.AT_REMOVEDIR) != nil {
			return
		}
	}
}

// key returns the key to lock for replacing the file: its directory, and its name with case
// folded as some file systems do.
func (p *place) key() (lockKey, error) {
	var st unix.Stat_t
	if err := unix.Fstat(p.dir, &st); err != nil {
		return lockKey{}, refuseFor(p.asked, err)
	}
	return lockKey{dir: identityOf(&st), name: strings.ToLower(p.name)}, nil
}

// mayWrite refuses a file that this user may not write, even if its directory allows
// replacing it.
func (p *place) mayWrite() error {
	for {
		err := unix.Faccessat(p.dir, p.name, unix.W_OK, unix.AT_EACCESS|unix.AT_SYMLINK_NOFOLLOW)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return refuseFor(p.asked, err)
		}
		return nil
	}
}
