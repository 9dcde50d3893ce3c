package trust

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"waymark/internal/beneath"
)

// Limits of what is digested.
const (
	// MaxFile is the maximum size of a covered file, in bytes. Programs have some hundred
	// MB.
	MaxFile = 1 << 30
	// MaxFiles limits the files of the workspace that an entry may name.
	MaxFiles = 256

	// maxTries is how often to read a file that changes meanwhile.
	maxTries = 3
	// young is the age below which a file's times can't prove that it is unchanged.
	young = 2 * time.Second
	// maxKnown limits the number of remembered hashes, maxKnownFile the size of their file.
	maxKnown     = 256
	maxKnownFile = 1 << 20
)

var (
	// ErrNoProgram says that the program doesn't exist.
	ErrNoProgram = errors.New("its program isn't there")
	// ErrFile says that a file can't be digested.
	ErrFile = errors.New("a file that it names can't be compared")
)

// contents hashes files. It remembers hashes of programs, also across restarts, because
// hashing 100 MB takes longer than an agent may take to list its servers.
type contents struct {
	path string

	mu    sync.Mutex // guards known; not held during file I/O
	known map[identity]string
}

// identity identifies the state of a file, unless the file is young.
type identity struct {
	Dev      uint64 `json:"dev"`
	Ino      uint64 `json:"ino"`
	Size     int64  `json:"size"`
	Modified int64  `json:"modified"` // in nanoseconds, like the next one
	Changed  int64  `json:"changed"`
}

// remembered is an entry of the file with hashes.
type remembered struct {
	identity
	SHA256 string `json:"sha256"`
}

func identityOf(st *unix.Stat_t) identity {
	return identity{Dev: uint64(st.Dev), Ino: st.Ino, Size: st.Size, Modified: st.Mtim.Nano(), Changed: st.Ctim.Nano()} //nolint:unconvert // the types differ between platforms
}

// special says why a file must not be opened; empty for a regular file.
func special(path string, st *unix.Stat_t) string {
	for _, dir := range []string{"/proc/", "/sys/", "/dev/"} {
		if strings.HasPrefix(path, dir) {
			return "a file of the system"
		}
	}
	switch beneath.TypeOf(st) {
	case 0:
		return ""
	case fs.ModeDir:
		return "a directory"
	case fs.ModeNamedPipe:
		return "a FIFO"
	case fs.ModeSocket:
		return "a socket"
	}
	return "a device"
}

// content is the result of reading a file.
type content struct {
	sum  string // SHA-256 in hexadecimal
	head []byte // first bytes
	id   identity
}

// sum returns the content of the regular file at the end of a path. With remember, a
// remembered sum is sufficient.
func (c *contents) sum(ctx context.Context, r *beneath.Resolution, remember bool) (got content, err error) {
	path := beneath.Absolute(r.Path())
	for range maxTries {
		got, err = c.try(ctx, r, remember)
		if !errors.Is(err, errChanged) {
			break
		}
	}
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: %s: %w", ErrFile, path, err)
	}
	return got, err
}

var errChanged = errors.New("it changed while it was read")

func (c *contents) try(ctx context.Context, r *beneath.Resolution, remember bool) (got content, err error) {
	var before, after unix.Stat_t
	if errno := r.Stat(r.Path(), &before); errno != 0 {
		return got, errno
	}
	if what := special(beneath.Absolute(r.Path()), &before); what != "" {
		return got, errors.New("it is " + what)
	}
	fd, errno := r.Open(r.Path())
	if errno != 0 {
		return got, errno
	}
	f := os.NewFile(uintptr(fd), r.Path())
	defer func() { _ = f.Close() }()
	if err := unix.Fstat(fd, &before); err != nil {
		return got, err
	}
	switch {
	case beneath.TypeOf(&before) != 0:
		return got, errChanged
	case before.Size > MaxFile:
		return got, fmt.Errorf("it has more than %d MiB", MaxFile>>20)
	}
	got.head, got.id = make([]byte, 256), identityOf(&before)
	n, err := f.ReadAt(got.head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return got, err
	}
	got.head = got.head[:n]
	now := time.Now()
	if sum, ok := c.recall(&before); ok && remember {
		got.sum = sum
		return got, nil
	}
	h := sha256.New()
	length, err := io.Copy(h, &reader{ctx: ctx, from: io.LimitReader(f, MaxFile+1)})
	if err != nil {
		return got, err
	}
	if err := unix.Fstat(fd, &after); err != nil {
		return got, err
	}
	if length != before.Size || got.id != identityOf(&after) {
		return got, errChanged
	}
	got.sum = hex.EncodeToString(h.Sum(nil))
	if changed := time.Unix(before.Ctim.Unix()); remember && now.Sub(changed) > young {
		c.remember(&before, got.sum)
	}
	return got, nil
}

// reader is a Reader that ends with a context.
type reader struct {
	ctx  context.Context //nolint:containedctx // of one call
	from io.Reader
}

func (r *reader) Read(p []byte) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	return r.from.Read(p)
}

func (c *contents) recall(st *unix.Stat_t) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum, ok := c.known[identityOf(st)]
	return sum, ok
}

func (c *contents) remember(st *unix.Stat_t, sum string) {
	c.mu.Lock()
	if c.known == nil || len(c.known) >= maxKnown {
		c.known = map[identity]string{}
	}
	c.known[identityOf(st)] = sum
	var list []remembered
	for id, sum := range c.known {
		list = append(list, remembered{id, sum})
	}
	c.mu.Unlock()
	// If writing fails, the next start hashes again.
	_ = writeJSON(c.path, maxKnownFile, list)
}

// load reads the remembered hashes. It ignores an invalid file.
func (c *contents) load() {
	var list []remembered
	if readJSON(c.path, maxKnownFile, &list) != nil || len(list) > maxKnown {
		return
	}
	c.known = map[identity]string{}
	for _, r := range list {
		c.known[r.identity] = r.SHA256
	}
}
