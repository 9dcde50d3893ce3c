package plugin

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unsafe"

	"waymark/internal/atomicfile"

	"golang.org/x/sys/unix"
)

const (
	// inARow is how many processes must have ended while a module ran until it is blamed, if
	// nothing else is known.
	inARow = 3
	// The processor time that a process has used in some seconds between being told to end
	// and being killed, on a busy machine, if a module kept it from ending. If no goroutine
	// ran, one that waits for a page uses none at all.
	spunFor, spunAlone = 500 * time.Millisecond, 100 * time.Millisecond

	verdictsName = "verdicts.json"
	lockName     = "lock"
	// maxVerdicts bounds the file.
	maxVerdicts = 1000
)

// The causes, as in stop.Words.
const (
	causeStuck  = 1
	causeLate   = 2
	causeAgain  = 3
	causeForced = 4
)

// verdict is what is known of a module that processes died with.
type verdict struct {
	// Reason is why it is quarantined; empty if it isn't.
	Reason string `json:"reason,omitempty"`
	// Ends counts the processes that ended while it ran, in a row.
	Ends int `json:"ends,omitempty"`
	// Last is when that was last noticed.
	Last time.Time `json:"last"`
}

// judge reads the records of ended processes, and saves the verdicts.
func judge(dir string) (map[string]verdict, error) {
	unlock, ok, err := lock(dir)
	if err != nil {
		return nil, err
	}
	judged, err := readVerdicts(dir)
	if err != nil || !ok { // another process is doing it
		return judged, err
	}
	defer unlock()
	left, err := leftovers(dir)
	if err != nil || len(left) == 0 {
		return judged, err
	}
	for i := range left {
		left[i].blame(judged)
	}
	if err := writeVerdicts(dir, judged); err != nil {
		return nil, err
	}
	for i := range left {
		_ = os.Remove(left[i].path)
	}
	return judged, nil
}

// leftover is the record of a process that has ended.
type leftover struct {
	path  string
	cause uint32
	// used is the processor time between the first signal and the end; 0 if unknown.
	used    time.Duration
	running []string // digests
	overdue []string
}

// leftovers returns the records that no process holds. It removes those without information.
func leftovers(dir string) ([]leftover, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	boot := bootID()
	var all []leftover
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !strings.HasSuffix(path, suffix) && !strings.HasSuffix(path, ".tmp") || !e.Type().IsRegular() {
			continue
		}
		data, gone := read(path)
		switch l, ok := parse(data, boot); {
		case !gone || strings.HasSuffix(path, ".tmp") && young(e):
		case !ok:
			_ = os.Remove(path)
		default:
			l.path = path
			all = append(all, l)
		}
	}
	return all, nil
}

// young reports whether a file may still be in the making.
func young(e fs.DirEntry) bool {
	info, err := e.Info()
	return err != nil || time.Since(info.ModTime()) < time.Minute
}

// read reads a record; gone says that its process has ended.
func read(path string) (data []byte, gone bool) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, false
	}
	defer func() { _ = f.Close() }()
	if unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil {
		return nil, false
	}
	data, err = io.ReadAll(io.LimitReader(f, int64(fileLen)+1))
	return data, err == nil
}

// parse reads a record of this boot. ok is false for anything else.
func parse(data, boot []byte) (l leftover, ok bool) {
	if len(data) != fileLen || !bytes.HasPrefix(data, []byte(magic)) || !bytes.HasPrefix(data[bootAt:bootAt+bootLen], boot) {
		return l, false
	}
	word := func(i int) uint64 { return binary.NativeEndian.Uint64(data[wordsAt+8*i:]) }
	l.cause = uint32(word(0)) //nolint:gosec // the lower half has it
	if told := clock(word(1), word(2)); told > 0 {
		l.used = clock(word(3), word(4)) - told
	}
	for i := range slots {
		at := data[slotsAt+i*int(unsafe.Sizeof(slot{})):]
		digest := string(at[unsafe.Offsetof(slot{}.digest):][:digestLen])
		if binary.NativeEndian.Uint32(at) != slotRunning || !isDigest(digest) {
			continue
		}
		l.running = append(l.running, digest)
		if binary.NativeEndian.Uint32(at[unsafe.Offsetof(slot{}.overdue):]) != 0 {
			l.overdue = append(l.overdue, digest)
		}
	}
	return l, true
}

func clock(sec, nsec uint64) time.Duration {
	return time.Duration(sec)*time.Second + time.Duration(nsec) //nolint:gosec // a process's time
}

func isDigest(s string) bool {
	return strings.Trim(s, "0123456789abcdef") == ""
}

// The texts about a quarantined module.
const (
	textStuck = "the process was ended by its watchdog while this module ran, which didn't come back"
	textLate  = "the process was told to end and couldn't, because this module ran on"
	textEnds  = "the process ended three times in a row while this module ran"
	textRetry = ": use another version, or try it again with 'agent plugins retry'"
)

// blame updates the verdicts from the record of an ended process.
func (l *leftover) blame(judged map[string]verdict) {
	guilty := l.running
	if len(l.overdue) > 0 {
		guilty = l.overdue
	}
	at := time.Now().UTC().Truncate(time.Second)
	switch {
	case l.cause == causeStuck:
		quarantine(judged, guilty, textStuck, at)
	case l.cause == causeLate && l.used >= spunAlone, l.cause == causeForced && l.used >= spunFor:
		quarantine(judged, guilty, textLate, at)
	case l.cause == causeLate || l.cause == causeForced || l.cause == causeAgain:
		// It waited for something, or got no processor time.
	default:
		l.count(judged, at)
	}
}

func quarantine(judged map[string]verdict, digests []string, text string, at time.Time) {
	for _, d := range digests {
		judged[d] = verdict{Reason: text + textRetry, Last: at}
	}
}

// count counts an end of unknown cause.
func (l *leftover) count(judged map[string]verdict, at time.Time) {
	ran := map[string]bool{}
	for _, d := range l.running {
		ran[d] = true
	}
	maps.DeleteFunc(judged, func(d string, v verdict) bool { return v.Reason == "" && !ran[d] })
	for d := range ran {
		v := judged[d]
		v.Ends, v.Last = v.Ends+1, at
		if v.Ends >= inARow && v.Reason == "" {
			v.Reason = textEnds + textRetry
		}
		judged[d] = v
	}
}

// Quarantined returns why a module must not run, or "".
func (r *Crashes) Quarantined(digest string) string {
	if r == nil {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.judged[digest].Reason
}

// Release ends all quarantines, and forgets what led to them.
func (r *Crashes) Release() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	clear(r.judged)
	r.mu.Unlock()
	return r.change(func(judged map[string]verdict) bool {
		clear(judged)
		return true
	})
}

// survives records that a call of a module has ended.
func (r *Crashes) survives(digest string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.judged[digest]; ok {
		r.survived[digest] = true
	}
}

// forgive forgets modules that ran well in a process that ends normally.
func (r *Crashes) forgive() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.survived) == 0 {
		return nil
	}
	return r.change(func(judged map[string]verdict) (changed bool) {
		for d := range r.survived {
			if v, ok := judged[d]; ok && v.Reason == "" {
				delete(judged, d)
				changed = true
			}
		}
		return changed
	})
}

// change changes the stored verdicts.
func (r *Crashes) change(f func(map[string]verdict) bool) error {
	unlock, ok, err := lock(r.dir)
	if err != nil {
		return err
	}
	if !ok {
		return errors.New("another process is reading the verdicts on modules: try again")
	}
	defer unlock()
	judged, err := readVerdicts(r.dir)
	if err != nil || !f(judged) {
		return err
	}
	return writeVerdicts(r.dir, judged)
}

// lock excludes other processes from the verdicts. It doesn't wait for one that may be
// stopped.
func lock(dir string) (unlock func(), ok bool, err error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, false, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = nil
		}
		return nil, false, err
	}
	return func() { _ = f.Close() }, true, nil
}

// readVerdicts reads the verdicts. An unreadable file counts as empty: at worst a module has
// to kill a process again.
func readVerdicts(dir string) (map[string]verdict, error) {
	judged := map[string]verdict{}
	data, err := os.ReadFile(filepath.Join(dir, verdictsName))
	if errors.Is(err, fs.ErrNotExist) {
		return judged, nil
	}
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(data, &judged) != nil || judged == nil || len(judged) > maxVerdicts {
		judged = map[string]verdict{}
	}
	return judged, nil
}

// writeVerdicts replaces the file as a whole.
func writeVerdicts(dir string, judged map[string]verdict) error {
	data, err := json.MarshalIndent(judged, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(dir, verdictsName), append(data, '\n'), 0o600)
}
