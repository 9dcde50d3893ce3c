package access

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"waymark/internal/atomicfile"
	"waymark/internal/defaults"
	"waymark/internal/httpapi/problem"
	"waymark/internal/text"
)

const (
	// maxPerMinute limits the acting calls of a token per minute. The control token has no
	// limit.
	maxPerMinute = 600
	// unfolded is how many refused or reading calls of a token get a line of their own per
	// foldFor.
	unfolded = 10
	foldFor  = time.Minute
	// maxShort limits each text in such a line, in bytes.
	maxShort = 160
	// maxLine limits a line: twice the maximum of its texts, plus the rest.
	maxLine = 2*maxNoted + 2*maxNote + 1<<10
	// reserveStep is how much disk space is reserved at a time.
	reserveStep = 256 << 10
)

// AuditFiles returns the names of an audit log's files in a state directory: actions of the
// control token and approvals; actions of other tokens; calls that were refused or only
// read.
func AuditFiles() []string {
	return []string{"audit.owner.jsonl", "audit.jsonl", "audit.refused.jsonl"}
}

// Log is an audit log: three files of JSON lines with a limited total size. Every token but
// the control token may use at most a quarter of the log. When space runs out, the oldest
// lines of the token that uses the most are removed.
type Log struct {
	log *slog.Logger

	mu                   sync.Mutex // guards the fields below
	owner, acts, refused ring
	underWay             int // admitted calls in progress
	minute               time.Time
	calls                map[string]int   // calls in the current minute, by token
	folds                map[string]*fold // by token
	closed               bool
	failed               bool // the failure has been logged
}

// fold counts the refused calls of a token in a minute.
type fold struct {
	lines int
	last  *Record // represents the calls without a line, with their number; nil for none
	timer *time.Timer
}

var _ Audit = (*Log)(nil)

// OpenLog opens the audit log in a private directory, and continues an existing one. Each
// time that writing begins to fail, it logs that. bytes is the maximum size; 0 means
// defaults.AuditBytes.
func OpenLog(dir string, bytes int64, log *slog.Logger) *Log {
	l := &Log{log: cmp.Or(log, slog.New(slog.DiscardHandler)), calls: map[string]int{}, folds: map[string]*fold{}}
	for i, r := range []*ring{&l.owner, &l.acts, &l.refused} {
		r.path = filepath.Join(dir, AuditFiles()[i])
	}
	l.Bound(bytes)
	return l
}

// Bound sets the maximum size.
func (l *Log) Bound(bytes int64) {
	if bytes <= 0 {
		bytes = defaults.AuditBytes
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.owner.max, l.acts.max, l.refused.max = bytes/4, bytes*5/8, bytes/8
	l.owner.share, l.acts.share, l.refused.share = bytes/16, bytes*5/32, bytes/32 // a quarter in total
}

// Admit implements Audit.
func (l *Log) Admit(token string) (done func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.minute) >= time.Minute {
		l.minute = now
		clear(l.calls)
	}
	if token != ControlID && l.calls[token] >= maxPerMinute {
		wait := (time.Until(l.minute.Add(time.Minute)) + time.Second - 1).Truncate(time.Second)
		return nil, &problem.Error{Code: http.StatusTooManyRequests, Message: "this token has done enough for a minute", RetryAfter: wait,
			Detail: fmt.Sprintf("a token acts %d times a minute at most, so that the audit log has all of it: go on in %s", maxPerMinute, wait)}
	}
	for _, r := range []*ring{&l.owner, &l.acts} {
		if err := r.reserve(int64(l.underWay+1) * maxLine); err != nil {
			l.tell(err)
			return nil, &problem.Error{Code: http.StatusServiceUnavailable, Message: "the audit log can't be written, and nothing is done without it",
				RetryAfter: time.Minute, Detail: "in the agent's state directory: " + plain(err)}
		}
	}
	l.calls[token]++
	l.underWay++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.underWay--
	}, nil
}

// plain returns the system's error for a file, without its path.
func plain(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return "it isn't what it should be"
}

// Record implements Audit.
func (l *Log) Record(r Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
	case !r.acted():
		l.fold(&r)
	case r.Owner || r.Token == ControlID:
		l.write(&l.owner, &r)
	default:
		l.write(&l.acts, &r)
	}
}

// fold writes the first refused calls of a minute, and counts the rest.
func (l *Log) fold(r *Record) {
	r.Action = text.Truncate(r.Action, maxShort)
	if len(r.On) > 0 {
		r.On = []string{text.Truncate(r.On[0], maxShort)}
	}
	f := l.folds[r.Token]
	if f == nil {
		f = &fold{}
		l.folds[r.Token] = f
		f.timer = time.AfterFunc(foldFor, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.unfold(r.Token)
		})
	}
	switch {
	case f.lines < unfolded:
		f.lines++
		l.write(&l.refused, r)
	case f.last == nil:
		f.last = r
	default:
		r.Repeated = f.last.Repeated + 1
		f.last = r
	}
}

// unfold writes the counted calls.
func (l *Log) unfold(token string) {
	f := l.folds[token]
	if f == nil || l.closed {
		return
	}
	delete(l.folds, token)
	f.timer.Stop()
	if f.last != nil {
		l.write(&l.refused, f.last)
	}
}

// write adds a line to a file.
func (l *Log) write(to *ring, r *Record) {
	line, err := json.Marshal(r)
	for len(line) >= maxLine && len(r.On) > 0 { // if JSON escapes make it much longer
		r.On = r.On[:len(r.On)/2]
		line, err = json.Marshal(r)
	}
	if err == nil {
		err = to.append(r.Token, append(line, '\n'))
	}
	l.tell(err)
}

func (l *Log) tell(err error) {
	if err != nil && !l.failed {
		l.log.Error("the audit log can't be written", slog.Any("error", err))
	}
	l.failed = err != nil
}

// Close closes the log. It may be called twice; later records are lost.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for token := range l.folds {
		l.unfold(token)
	}
	l.closed = true
	return errors.Join(l.owner.close(), l.acts.close(), l.refused.close())
}

// ring is a file of lines with a limited size. The Log's lock guards it.
type ring struct {
	path       string
	max, share int64 // limits of the file, and of one token

	file           *os.File // nil while it isn't open
	size, reserved int64
	used           map[string]int64 // by token
}

// open opens the file. It reopens a file that was removed, replaced or truncated meanwhile.
func (r *ring) open() error {
	if r.file != nil {
		is, err := os.Lstat(r.path)
		if was, werr := r.file.Stat(); err == nil && werr == nil && os.SameFile(is, was) && is.Size() == r.size {
			return nil
		}
		_ = r.close()
	}
	f, err := os.OpenFile(r.path, os.O_RDWR|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file: remove it", r.path)
	}
	var data []byte
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(f, 4*r.max))
	}
	if n := len(data); err == nil && n > 0 && data[n-1] != '\n' {
		// Terminate a line that was cut off by a crash, so that it doesn't corrupt the next
		// one.
		_, err = f.Write([]byte{'\n'})
		data = append(data, '\n')
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	r.file, r.size, r.reserved, r.used = f, int64(len(data)), 0, map[string]int64{}
	for line := range bytes.Lines(data) {
		r.used[tokenOf(line)] += int64(len(line))
	}
	return nil
}

func tokenOf(line []byte) string {
	var of struct {
		Token string `json:"token"`
	}
	_ = json.Unmarshal(line, &of) // an invalid line belongs to nobody
	return of.Token
}

// reserve reserves disk space for more bytes, if the file system supports that.
func (r *ring) reserve(bytes int64) error {
	if err := r.open(); err != nil {
		return err
	}
	if r.size+bytes <= r.reserved {
		return nil
	}
	reserved := r.size + bytes + reserveStep
	err := allocate(r.file, reserved)
	if errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	if err == nil {
		r.reserved = reserved
	}
	return err
}

func (r *ring) shareOf(token string) int64 {
	if token == ControlID {
		return r.max
	}
	return r.share
}

func (r *ring) append(token string, line []byte) error {
	if err := r.open(); err != nil {
		return err
	}
	n := int64(len(line))
	if r.size+n > r.max || r.used[token]+n > r.shareOf(token) {
		// On a full disk trimming fails, but a line that fits the reservation can be
		// written anyway.
		if err := r.trim(token, n); err != nil && r.size+n > r.reserved {
			return err
		}
	}
	if _, err := r.file.Write(line); err != nil {
		_ = r.close() // the file may have a partial line, which open will terminate
		return err
	}
	r.size += n
	r.used[token] += n
	return nil
}

// trim makes room for a line of a token: by removing the token's oldest lines if it exceeds
// its share, otherwise those of the token that uses the most. It removes half of them, so
// that it is rarely necessary.
func (r *ring) trim(token string, n int64) error {
	data, err := os.ReadFile(r.path)
	if err != nil {
		return err
	}
	lines := slices.Collect(bytes.Lines(data))
	total, used := int64(len(data)), map[string]int64{}
	for _, line := range lines {
		used[tokenOf(line)] += int64(len(line))
	}
	// halve removes the oldest lines of a token until at most least bytes remain.
	halve := func(token string, least int64) {
		lines = slices.DeleteFunc(lines, func(line []byte) bool {
			if used[token] <= least || tokenOf(line) != token {
				return false
			}
			used[token] -= int64(len(line))
			total -= int64(len(line))
			return true
		})
	}
	if used[token]+n > r.shareOf(token) {
		halve(token, r.shareOf(token)/2)
	}
	for total+n > r.max && len(lines) > 0 { // the token that uses the most makes room
		most := token
		for other := range used {
			if used[other] > used[most] {
				most = other
			}
		}
		halve(most, used[most]/2)
	}
	kept := bytes.Join(lines, nil)
	if err := atomicfile.WriteFile(r.path, kept, 0o600); err != nil {
		return err
	}
	room := r.reserved - r.size
	_ = r.close() // it is replaced
	if err := r.open(); err != nil || room <= 0 {
		return err
	}
	return r.reserve(room) // calls in progress rely on it
}

func (r *ring) close() error {
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}

// LogPosition is a position in an audit log.
type LogPosition struct{ files [3]filePosition }

// filePosition is a position in a file: its end so far, and the last line before it.
type filePosition struct {
	is     fs.FileInfo // nil means no file
	offset int64
	line   string
}

// ReadLog returns the records of the audit log in a directory, oldest first, and the end
// position for ReadLogFrom. A missing log has no records. Invalid lines, which a crash may
// leave, are skipped.
func ReadLog(dir string) (list []Record, end LogPosition, err error) {
	return ReadLogFrom(dir, LogPosition{})
}

// ReadLogFrom returns the records after a position.
func ReadLogFrom(dir string, from LogPosition) (list []Record, end LogPosition, err error) {
	end = from
	for i, name := range AuditFiles() {
		found, err := end.files[i].read(filepath.Join(dir, name))
		if err != nil {
			return nil, from, err
		}
		list = append(list, found...)
	}
	slices.SortStableFunc(list, func(a, b Record) int { return a.Time.Compare(b.Time) })
	return list, end, nil
}

// read reads to the end of the last complete line. If the file was replaced because lines
// were removed, it continues after the last line that was read.
func (p *filePosition) read(path string) (list []Record, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	is, err := f.Stat()
	if err != nil {
		return nil, err
	}
	known := p.line
	if p.is != nil && os.SameFile(is, p.is) && is.Size() >= p.offset { // otherwise it was truncated
		known = ""
	} else {
		p.offset = 0
	}
	p.is = is
	if _, err := f.Seek(p.offset, io.SeekStart); err != nil {
		return nil, err
	}
	lines := bufio.NewReaderSize(f, 2*maxLine)
	for {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			return list, nil // an incomplete line is read the next time
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return list, err
		}
		p.offset += int64(len(line))
		p.line = string(line)
		var r Record
		switch {
		case p.line == known:
			list = nil
		case json.Unmarshal(line, &r) == nil:
			list = append(list, r)
		}
	}
}
