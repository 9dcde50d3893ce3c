package plugin

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"waymark/abi"
	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/internal/await"
	"waymark/internal/errtext"
)

// version is one content of a module file.
type version struct {
	digest string
	wasm   []byte           // until it has been described
	desc   *abi.Description // nil before that
	// remembered says that an earlier process described it, and that it may not have been
	// loaded yet.
	remembered bool
	ok         bool  // it may enter the list: it is loaded, checked or trusted so far
	err        error // why it can't be used
	was        error // err before the retry
	told       error // the first err, as long as later ones are no news
	passing    bool  // temporary: the file needn't change
}

// said returns the reported reason why a version can't be used. For automatic retries it is
// the first reason, because another text for the same failure is no news.
func (v *version) said() error {
	if v.told != nil && v.passing {
		return v.told
	}
	return v.err
}

// pending reports whether a version hasn't been judged yet.
func (v *version) pending() bool { return v.desc == nil && v.err == nil }

// file is what is known of one module file.
type file struct {
	modulePath
	seen  stamp     // at the last look
	since time.Time // when this stamp was first seen

	took   bool      // whether the file was read
	taken  stamp     // its stamp at that time
	moving time.Time // since when it has been changing without being read; or zero
	verify time.Time // when to reread it because it was young; or zero
	retry  time.Time // when to try newest again; or zero
	wait   time.Duration
	gone   time.Time // when it was first missed; zero while it exists

	newest *version // of the content that was read last; nil before
	used   *version // what runs; nil if nothing does
}

// take reads a file, whose content becomes its newest version.
func (f *file) take(now time.Time, atOnce bool) {
	wasm, err := f.content(atOnce)
	if errors.Is(err, errChanging) {
		f.since, f.took = now, false
		if f.newest == nil {
			f.newest = &version{err: err}
		}
		return
	}
	f.took, f.taken = true, f.seen
	f.moving, f.verify = time.Time{}, time.Time{}
	// A time in the future proves nothing, however long one waits. Compare with the current
	// time, not with that of the survey.
	if changed := f.seen.changed(); f.seen.problem == "" && now.Sub(changed) < youngFor && time.Since(changed) > -youngFor {
		f.verify = now.Add(youngFor)
	}
	next := &version{err: err, wasm: wasm}
	if wasm != nil {
		next.digest = digestOf(wasm)
	}
	old := f.newest
	retrying := old != nil && old.passing && (atOnce || !f.retry.IsZero() && !now.Before(f.retry))
	if old != nil && old.same(next) && !retrying {
		return
	}
	if old == nil || old.digest != next.digest {
		f.wait = 0
	}
	if retrying && old.digest == next.digest {
		next.was, next.desc = old.said(), old.desc
		if !atOnce && next.digest != "" {
			next.told = old.said()
		}
	}
	f.retry, f.newest = time.Time{}, next
	if err != nil && f.seen.problem == "" {
		var system *os.PathError
		f.newest.fail(f, now, err, errors.As(err, &system))
	}
}

// content reads the file as it was seen. With atOnce it accepts any content that was complete
// while it was read.
func (f *file) content(atOnce bool) ([]byte, error) {
	if f.seen.untrusted {
		return nil, untrustedError(f.seen.problem)
	}
	if f.seen.problem != "" {
		return nil, errors.New(f.seen.problem)
	}
	wasm, was, err := f.read()
	if was != (stamp{}) && was != f.seen {
		if !atOnce {
			return nil, errChanging
		}
		f.seen = was
	}
	if err != nil {
		return nil, err
	}
	return wasm, nil
}

// same reports whether two versions have the same content, or can't be used for the same
// reason.
func (v *version) same(other *version) bool {
	if v.digest != "" || other.digest != "" {
		return v.digest == other.digest
	}
	return v.err != nil && other.err != nil && v.err.Error() == other.err.Error()
}

// fail records why a version can't be used and, if the reason may be temporary, when to try
// again.
func (v *version) fail(f *file, now time.Time, err error, passing bool) {
	v.err, v.passing, v.wasm = err, passing, nil
	if passing {
		f.wait = await.After(f.wait, firstRetry, longestRetry)
		f.retry = now.Add(f.wait)
	}
}

// modulePath is a module file.
type modulePath struct {
	path string
	// named files were named individually: their permissions aren't checked.
	named bool
}

// errChanging is the state of a file that is written to while it is read.
var errChanging = errors.New("it is still being written: it is used as soon as it is whole")

// read reads a module file after checking who could have written it, and returns the file's
// stamp at that time.
func (p modulePath) read() (wasm []byte, was stamp, err error) {
	f, err := os.OpenFile(p.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, stamp{}, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, stamp{}, err
	}
	if err := p.acceptable(f, info); err != nil {
		return nil, stamp{}, err
	}
	if was, err = stampOfOpen(f); err != nil {
		return nil, stamp{}, err
	}
	if wasm, err = io.ReadAll(io.LimitReader(f, sandbox.MaxModule)); err != nil {
		return nil, stamp{}, err
	}
	after, err := stampOfOpen(f)
	if err != nil {
		return nil, stamp{}, err
	}
	if after != was {
		return nil, after, errChanging
	}
	return wasm, was, whole(wasm)
}

// acceptable refuses a file that isn't a module, or isn't trusted.
func (p modulePath) acceptable(f *os.File, info os.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errors.New("not a regular file: copy the module here")
	}
	if !p.named {
		if err := checkFile(f); err != nil {
			return err
		}
	}
	if info.Size() > sandbox.MaxModule {
		return fmt.Errorf("the file has %d bytes, a module at most %d: strip it (-ldflags=-s -w, wasm-strip)", info.Size(), sandbox.MaxModule)
	}
	return nil
}

// whole refuses a module that ends in the middle of a section, as nearly every incomplete
// copy does. One that ends between sections lacks what the later ones define, and is refused
// for that.
func whole(wasm []byte) error {
	const header = 8
	if len(wasm) < header || !bytes.HasPrefix(wasm, []byte("\x00asm")) {
		return nil // the sandbox says what it is
	}
	for rest := wasm[header:]; len(rest) > 0; {
		size, n := binary.Uvarint(rest[1:])
		if n < 0 || size > sandbox.MaxModule {
			return nil // the fault isn't its length
		}
		if n == 0 || int(size) > len(rest)-1-n {
			return fmt.Errorf("the file ends in the middle of a section, after %d bytes: it is still being written, or was copied in part; "+
				"it is used as soon as it is whole, so copy it again if nothing is writing it", len(wasm))
		}
		rest = rest[1+n+int(size):]
	}
	return nil
}

// stamp is a file's identity by its metadata. Other content has another stamp, unless it was
// written within the same tick of the clock.
type stamp struct {
	id        vfs.Identity
	problem   string // why it can't be used, whatever it contains
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

// changed returns when the file was last changed, including its mode and name.
func (s *stamp) changed() time.Time { return time.Unix(0, max(s.id.Mtime, s.id.Ctime)) }

// stat returns the current stamp of a module file.
func (p modulePath) stat() stamp {
	if err := p.checkPlace(); err != nil {
		return stamp{problem: errtext.Of(err), untrusted: true}
	}
	var st unix.Stat_t
	if err := unix.Stat(p.path, &st); err != nil {
		problem := errtext.Of(&os.PathError{Op: "stat", Path: p.path, Err: err})
		if p.named {
			return stamp{problem: problem + ": copy the module there"}
		}
		return stamp{problem: problem + ": mend or remove the link"} // other files were listed
	}
	return stampOf(&st)
}

// digestOf returns the digest that identifies the content of a module file.
func digestOf(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return hex.EncodeToString(sum[:])
}
