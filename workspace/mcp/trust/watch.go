package trust

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// watch is what digests were taken of, as far as it can be compared without reading
// it.
type watch struct {
	files []watched
	links []link // by absolute paths
	// young says that a file may have changed since without its times showing it.
	young bool
}

// watched is a file that was read.
type watched struct {
	path string // absolute, without links
	id   identity
}

// add takes down a file that was read not long before now.
func (w *watch) add(path string, id identity, now time.Time) {
	w.files = append(w.files, watched{path, id})
	w.young = w.young || now.Sub(time.Unix(0, id.Changed)) <= young
}

// Stale reports whether what they cover may have changed: a file has other times, or is
// another one, or a link leads elsewhere. It reads no file, and is for noticing a change
// early; what may start is decided by digests that are taken anew. A file that wasn't
// there, or not in PATH before the program, isn't looked for.
func (d *Digests) Stale() bool {
	if d.watch.young {
		return true
	}
	for i := range d.watch.files {
		var st unix.Stat_t
		if unix.Lstat(d.watch.files[i].path, &st) != nil || identityOf(&st) != d.watch.files[i].id {
			return true
		}
	}
	for _, l := range d.watch.links {
		if target, err := os.Readlink(l.path); err != nil || target != l.target {
			return true
		}
	}
	return false
}
