package vfs

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"waymark/internal/beneath"
)

// Tracked are files of a repository, as found by Root.Tracked.
type Tracked struct {
	// Names lists those that were wanted, relative to the repository, in git's order.
	Names []string
	// Index is the absolute path of the index, or of the .git that isn't there yet.
	Index string
	// index is what it was: git replaces the file.
	index Identity
}

// maxIndex bounds how much of an index is read, in bytes: that of a million files.
const maxIndex = 128 << 20

// errIndex says that an index can't be read.
var errIndex = errors.New("git's index is damaged, or of an unknown format")

// Tracked finds those of the files in git's index that are wanted, for a repository whose top
// is a directory of the root without links on the way, or "." for the root. No file of the
// repository is looked at but its index, of which only names are used; a linked work tree's
// index lies elsewhere. known is the last answer: as long as the index is the same file,
// nothing is read again. What a split index keeps elsewhere, and what isn't checked out, isn't
// found.
//
// # Errors
//
// An *Error if there is an index that can't be read.
func (r *Root) Tracked(dir string, known Tracked, wanted func(name []byte) bool) (found Tracked, err error) {
	found.Index = filepath.Join(r.Path(), dir, ".git")
	f, err := r.openIndex(dir, &found.Index)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return found, nil
	}
	fail := func(err error) (Tracked, error) {
		return found, &Error{Op: "read", Path: filepath.Join(dir, ".git/index"), Errno: beneath.ErrnoOf(err), Detail: err.Error()}
	}
	if err != nil {
		return fail(err)
	}
	defer func() { _ = f.Close() }()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return fail(err)
	}
	if !beneath.TypeOf(&st).IsRegular() || st.Size > maxIndex {
		return fail(fmt.Errorf("it is no file of at most %d MiB", maxIndex>>20))
	}
	if found.index = identityOf(&st); found.index == known.index {
		return known, nil
	}
	// Whether hashes have 20 or 32 bytes is said elsewhere: read as the other, no entry is valid.
	for _, hash := range []int{20, 32} {
		in := indexReader{bufio.NewReaderSize(io.NewSectionReader(f, 0, maxIndex), 64<<10), hash, nil}
		if found.Names, err = in.names(wanted); err == nil {
			return found, nil
		}
	}
	found.Names = nil
	return fail(err)
}

// openIndex opens the index of the repository at a directory, and says where it is.
func (r *Root) openIndex(dir string, at *string) (*os.File, error) {
	fd, ok := r.acquire()
	if !ok {
		return nil, unix.EBADF
	}
	defer r.release()
	open := func(fd int, name string) (int, error) {
		return beneath.Retry(func() (int, error) {
			return unix.Openat(fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		})
	}
	for _, name := range append(strings.Split(dir, "/"), ".git") {
		next, err := open(fd, name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = unix.Close(next) }()
		fd = next
	}
	git := *at
	if elsewhere := workTreeOf(fd, *at); elsewhere != "" {
		next, err := open(unix.AT_FDCWD, elsewhere)
		if err != nil {
			return nil, err
		}
		defer func() { _ = unix.Close(next) }()
		fd, git = next, elsewhere
	}
	index, err := open(fd, "index")
	*at = filepath.Join(git, "index")
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(index), *at), nil
}

// workTreeOf returns the directory that a linked work tree's .git names, if that names it, too:
// else a workspace could have any file looked at.
func workTreeOf(fd int, git string) string {
	text := make([]byte, 4<<10)
	n, err := unix.Pread(fd, text, 0)
	if err != nil {
		return ""
	}
	to, ok := strings.CutPrefix(strings.TrimSpace(string(text[:n])), "gitdir: ")
	if !ok {
		return ""
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(git), to)
	}
	if to = filepath.Clean(to); filepath.Base(filepath.Dir(to)) != "worktrees" {
		return ""
	}
	back, err := os.ReadFile(filepath.Join(to, "gitdir"))
	if err != nil || strings.TrimSpace(string(back)) != git {
		return ""
	}
	return to
}

// indexReader reads an index, of version 2, 3 or 4.
type indexReader struct {
	*bufio.Reader
	hash int    // the length of a hash
	name []byte // the last one
}

// names returns those that are wanted.
func (in *indexReader) names(wanted func([]byte) bool) (names []string, err error) {
	var head struct {
		Magic          [4]byte
		Version, Count uint32
	}
	if err := binary.Read(in, binary.BigEndian, &head); err != nil {
		return nil, err
	}
	if string(head.Magic[:]) != "DIRC" || head.Version < 2 || head.Version > 4 {
		return nil, errIndex
	}
	for range head.Count {
		if err := in.entry(head.Version == 4); err != nil {
			return nil, err
		}
		if wanted(in.name) && (len(names) == 0 || names[len(names)-1] != string(in.name)) { // else of a conflict
			names = append(names, string(in.name))
		}
	}
	return names, nil
}

// entry reads the name of the next entry.
func (in *indexReader) entry(shared bool) error {
	const stat, extended, longest = 40, 0x4000, 0xfff
	fixed, err := in.Peek(stat + in.hash + 2)
	if err != nil {
		return err
	}
	flags, size := binary.BigEndian.Uint16(fixed[stat+in.hash:]), len(fixed)
	if flags&extended != 0 {
		size += 2
	}
	if _, err := in.Discard(size); err != nil {
		return err
	}
	keep := 0
	if shared { // with the name before
		cut, err := in.number()
		if keep = len(in.name) - cut; err != nil || keep < 0 {
			return errIndex
		}
	}
	rest, err := in.ReadSlice(0)
	if err != nil {
		return errIndex
	}
	in.name = append(in.name[:keep], rest[:len(rest)-1]...)
	if n := len(in.name); n == 0 || n != int(flags&longest) && flags&longest != longest {
		return errIndex
	}
	if shared {
		return nil
	}
	pad, err := in.Peek(7 - (size+len(in.name))%8)
	if err != nil || len(bytes.Trim(pad, "\x00")) > 0 {
		return errIndex
	}
	_, err = in.Discard(len(pad))
	return err
}

// number reads an offset as in a pack.
func (in *indexReader) number() (n int, err error) {
	for {
		b, err := in.ReadByte()
		if err != nil || n > maxIndex {
			return 0, errIndex
		}
		if n = n<<7 | int(b&0x7f); b&0x80 == 0 {
			return n, nil
		}
		n++
	}
}
