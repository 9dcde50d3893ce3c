package sealed

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// staleAfter is how long a file that is being written may take; what is older
// was left by a process that was killed.
const staleAfter = time.Hour

// prune removes the least recently used blobs until the rest is within the
// bound, never the one that was just written, and what killed writers left.
func (s *Store) prune(dir *os.File, keep string) error {
	if _, err := dir.Seek(0, io.SeekStart); err != nil {
		return err
	}
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return err
	}
	var blobs []used
	var total int64
	for _, e := range entries {
		info, err := statAt(dir, e.Name())
		if err != nil {
			continue // removed meanwhile
		}
		switch {
		case strings.HasPrefix(e.Name(), tempPrefix):
			if time.Since(info.mtime) > staleAfter {
				_ = remove(dir, e.Name())
			}
		case strings.HasSuffix(e.Name(), suffix) && info.regular:
			blobs = append(blobs, info)
			total += info.size
		}
	}
	slices.SortFunc(blobs, func(a, b used) int { return a.mtime.Compare(b.mtime) })
	for _, b := range blobs {
		if total <= s.opts.MaxBytes {
			break
		}
		if b.name == keep {
			continue
		}
		if e := remove(dir, b.name); e != nil {
			err = errors.Join(err, e)
			continue
		}
		total -= b.size
	}
	return err
}

// used is a file and when it was last used.
type used struct {
	name    string
	size    int64
	mtime   time.Time
	regular bool
}

func statAt(dir *os.File, name string) (used, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return used{}, err
	}
	return used{name, st.Size, time.Unix(st.Mtim.Unix()), st.Mode&unix.S_IFMT == unix.S_IFREG}, nil
}
