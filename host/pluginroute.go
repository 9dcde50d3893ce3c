package host

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"waymark/host/vfs"
)

// stamp is what a file looks like from outside: another content has another
// stamp, but for one written within the same tick of the clock.
type stamp struct {
	id        vfs.Identity
	problem   string // why it can't be used, whatever is in it
	untrusted bool   // because of who could have written it
}

func stampOf(st *unix.Stat_t) stamp {
	return stamp{id: vfs.Identity{
		//nolint:unconvert // the types differ between platforms
		Dev: uint64(st.Dev), Ino: uint64(st.Ino), Size: st.Size,
		Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(),
	}}
}

func stampOfOpen(f *os.File) (stamp, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return stamp{}, &os.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	return stampOf(&st), nil
}

// changed is when anything of the file was last changed, its mode and its name
// too.
func (s *stamp) changed() time.Time { return time.Unix(0, max(s.id.Mtime, s.id.Ctime)) }

// look tells what a module file is like now.
func (p pluginPath) look() stamp {
	if err := p.checkPlace(); err != nil {
		return stamp{problem: err.Error(), untrusted: true}
	}
	var st unix.Stat_t
	if err := unix.Stat(p.path, &st); err != nil {
		problem := (&os.PathError{Op: "stat", Path: p.path, Err: err}).Error()
		if p.named {
			return stamp{problem: problem + ": copy the module there"}
		}
		return stamp{problem: problem + ": mend or remove the link"} // other files were listed
	}
	return stampOf(&st)
}

// maxLinks is how many links a path may lead over, as in the kernel.
const maxLinks = 40

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&os.ModeSymlink != 0
}

// route follows a path and returns the links that it leads over, and the
// link-free path at its end, which needn't exist.
func route(path string) (links []string, target string) {
	rest := strings.Split(absolute(path), "/")
	at := "/"
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		text, err := os.Readlink(next)
		if err != nil || len(links) == maxLinks {
			at = next // no link, or there is nothing
			continue
		}
		links = append(links, next)
		if filepath.IsAbs(text) {
			at = "/"
		}
		rest = append(strings.Split(text, "/"), rest...)
	}
	return links, at
}
