package access

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"waymark/internal/httpapi"
	"waymark/internal/text"
	"waymark/internal/turn"
	"waymark/workspace"
)

// Record is a line of the audit log: one call that acted, or was refused to a
// token that is known.
type Record struct {
	Time time.Time `json:"time"` // when the call began
	// Token is the id of the token, Chat the chat that the call was made for, if it
	// said so, which anybody can.
	Token string `json:"token"`
	Chat  string `json:"chat,omitempty"`
	// Action is the method and the path, in which the ids of processes are.
	Action string `json:"action"`
	// On is what it was done to: paths, or the id of what was started.
	On []string `json:"on,omitempty"`
	// Digest is the SHA-256 of the body, in hexadecimal, and Bytes its length.
	// Without a Digest the body wasn't read to its end.
	Digest string `json:"digest,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"`
	// Code is the HTTP status; 0 means that there was no answer.
	Code int `json:"code"`
}

// Audit takes the records of what was done. Record is called when a call is over,
// from any goroutine.
type Audit interface{ Record(r Record) }

type auditKey struct{}

// Audited returns a context whose acting calls are recorded.
func Audited(ctx context.Context, audit Audit) context.Context {
	return context.WithValue(ctx, auditKey{}, audit)
}

type notesKey struct{}

// A line is bounded: what a call notes by what one edit may name, a path by what
// the system takes.
const (
	maxNotes = 64
	maxNote  = 4 << 10
)

type notes struct{ on []string }

// Note adds to the audit log's record of a call what is acted on: a path, the id of
// what was started, and never a content. It is for handlers behind [Guard], in
// their own goroutine; elsewhere it does nothing.
func Note(ctx context.Context, on ...string) {
	n, _ := ctx.Value(notesKey{}).(*notes)
	if n == nil {
		return
	}
	for _, one := range on {
		if len(n.on) < maxNotes {
			n.on = append(n.on, text.Truncate(one, maxNote))
		}
	}
}

// record has a call recorded when it is over.
func record(c *httpapi.Call, g *Grant) {
	audit, _ := c.Context().Value(auditKey{}).(Audit)
	if audit == nil {
		return
	}
	r := Record{Time: time.Now().UTC(), Token: g.ID, Action: c.Method + " " + text.Truncate(c.URL.Path, maxNote)}
	if caller, err := workspace.CallerOf(c.Header); err == nil && caller.Scoped() {
		r.Chat = caller.Chat.String()
	}
	n := &notes{}
	Note(context.WithValue(c.Context(), notesKey{}, n), c.URL.Query()["path"]...)
	body := &digested{ReadCloser: c.Body, sum: sha256.New()}
	c.Request = c.WithContext(context.WithValue(c.Context(), notesKey{}, n))
	c.Body = body
	c.Done(func(status int) {
		r.On, r.Bytes, r.Code = n.on, body.n, status
		if body.whole && body.n > 0 {
			r.Digest = hex.EncodeToString(body.sum.Sum(nil))
		}
		audit.Record(r)
	})
}

// digested is a body of which a digest is taken as it is read.
type digested struct {
	io.ReadCloser
	sum   hash.Hash
	n     int64
	whole bool // it was read to its end
}

// Read implements io.Reader.
func (d *digested) Read(p []byte) (int, error) {
	n, err := d.ReadCloser.Read(p)
	_, _ = d.sum.Write(p[:n])
	d.n += int64(n)
	d.whole = d.whole || errors.Is(err, io.EOF)
	return n, err
}

// Log is the audit log: a file of JSON lines, and the one before it. Together they
// have at most the size that it was given.
type Log struct {
	dir  string
	log  *slog.Logger
	max  atomic.Int64
	turn *turn.Turn
	end  context.CancelFunc
	// These belong to whoever has the turn.
	file   *os.File // nil where it couldn't be opened
	size   int64
	failed bool // that was said already
}

// DefaultAuditBytes is how large an audit log becomes.
const DefaultAuditBytes = 8 << 20

// AuditFile is the name of the log's newest file in a state directory.
const AuditFile = "audit.jsonl"

// auditFile returns where the log in a directory is, and the part before it.
func auditFile(dir string) (now, before string) {
	now = filepath.Join(dir, AuditFile)
	return now, now + ".1"
}

// OpenLog opens the audit log in a directory that is the user's alone, and goes on
// with what is there. A log that can't be written is told to the logger, once for
// each time that it begins to fail, and costs no call. bytes is about how large it
// becomes; 0 means DefaultAuditBytes.
func OpenLog(dir string, bytes int64, log *slog.Logger) *Log {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	life, end := context.WithCancel(context.Background())
	l := &Log{dir: dir, log: log, turn: turn.New(life), end: end}
	l.Bound(bytes)
	return l
}

// Bound sets how large it becomes from now on.
func (l *Log) Bound(bytes int64) {
	if bytes <= 0 {
		bytes = DefaultAuditBytes
	}
	l.max.Store(bytes)
}

// Record implements Audit.
func (l *Log) Record(r Record) {
	line, err := json.Marshal(&r)
	if err != nil {
		return // texts and numbers can be encoded
	}
	line = append(line, '\n')
	_, leave, err := l.turn.Take(context.Background())
	if err != nil {
		return // closed
	}
	defer leave()
	err = l.append(line)
	if err != nil && !l.failed {
		l.log.Error("the audit log can't be written", slog.Any("error", err))
	}
	l.failed = err != nil
}

func (l *Log) append(line []byte) error {
	if l.file == nil {
		if err := l.open(); err != nil {
			return err
		}
	}
	if l.size > 0 && l.size+int64(len(line)) > l.max.Load()/2 {
		if err := l.rotate(); err != nil {
			return err
		}
	}
	n, err := l.file.Write(line)
	l.size += int64(n)
	return err
}

func (l *Log) open() error {
	path, _ := auditFile(l.dir)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file: remove it", path)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	l.file, l.size = f, info.Size()
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, l.size-1); err == nil && last[0] != '\n' {
		// A crash has cut a line off: it must not spoil the next one.
		n, err := f.Write([]byte{'\n'})
		l.size += int64(n)
		return err
	}
	return nil
}

// rotate begins a new file. The one before the last goes.
func (l *Log) rotate() error {
	now, before := auditFile(l.dir)
	err := l.file.Close()
	l.file, l.size = nil, 0
	if err := errors.Join(err, os.Rename(now, before)); err != nil {
		return err
	}
	return l.open()
}

// Close ends it. It may come twice; what is recorded later is lost.
func (l *Log) Close() error {
	_, leave, err := l.turn.Take(context.Background())
	if err != nil {
		return nil // it was closed before
	}
	defer leave()
	l.end()
	if l.file == nil {
		return nil
	}
	err = l.file.Close()
	l.file = nil
	return err
}

// maxLine bounds what is read of one line, in bytes: more than is ever written.
const maxLine = (maxNotes + 2) * maxNote * 6

// ReadLog returns the records of the audit log in a directory, the oldest first,
// and where it ends: what to give ReadLogFrom. There may be none. A line that is
// no record, as a crash can leave it, is skipped.
func ReadLog(dir string) (list []Record, end LogPosition, err error) {
	now, before := auditFile(dir)
	older, _, err := readLog(before, 0)
	if err != nil {
		return nil, LogPosition{}, err
	}
	newer, end, err := readLog(now, 0)
	return append(older, newer...), end, err
}

// LogPosition is a place in an audit log.
type LogPosition struct {
	file   fs.FileInfo // nil is no file
	offset int64
}

// ReadLogFrom returns what was recorded after a place.
func ReadLogFrom(dir string, from LogPosition) (list []Record, end LogPosition, err error) {
	now, before := auditFile(dir)
	info, err := os.Lstat(now)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, from, nil
	case err != nil:
		return nil, from, err
	case from.file != nil && os.SameFile(info, from.file):
		return readLog(now, from.offset)
	}
	// Another file since then: the rest of the one before is there still, unless it
	// was replaced more than once.
	if old, err := os.Lstat(before); err == nil && from.file != nil && os.SameFile(old, from.file) {
		if list, _, err = readLog(before, from.offset); err != nil {
			return nil, from, err
		}
	}
	newer, end, err := readLog(now, 0)
	return append(list, newer...), end, err
}

// readLog reads one file from an offset on, to the end of its last whole line.
func readLog(path string, offset int64) (list []Record, end LogPosition, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, LogPosition{}, nil
	}
	if err != nil {
		return nil, LogPosition{}, err
	}
	defer func() { _ = f.Close() }()
	end.offset = offset
	if end.file, err = f.Stat(); err != nil {
		return nil, end, err
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, end, err
	}
	lines := bufio.NewReaderSize(f, maxLine)
	for {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			return list, end, nil // a line that isn't whole is read the next time
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return list, end, err
		}
		end.offset += int64(len(line))
		var r Record
		if json.Unmarshal(line, &r) == nil {
			list = append(list, r)
		}
	}
}
