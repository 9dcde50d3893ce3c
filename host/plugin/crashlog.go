package plugin

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The file: a header, followed by the slots. Numbers are in native byte order.
const (
	magic      = "waymark running 1\n"
	bootAt     = 32 // of the boot's id, which has bootLen bytes
	bootLen    = 36
	wordsAt    = 128 // of Words
	slotsAt    = 256
	slots      = 64
	fileLen    = slotsAt + slots*int(unsafe.Sizeof(slot{}))
	suffix     = ".run"
	digestLen  = 64
	overdueFor = time.Second
)

// The states of a slot.
const (
	slotFree uint32 = iota
	slotFilling
	slotRunning
)

// slot is one call.
type slot struct {
	state uint32
	// overdue is 1 if the call had exceeded its limit at a beat.
	overdue uint32
	began   int64 // nanoseconds after the record
	limit   int64
	digest  [digestLen]byte
}

// Crashes is what a process leaves behind.
type Crashes struct {
	dir     string
	started time.Time
	file    *os.File
	data    []byte
	// judged are the modules that earlier processes died of, or may have.
	judged map[string]verdict // guarded by mu
	// survived are those of judged of which a call has ended.
	survived map[string]bool // guarded by mu
	mu       sync.Mutex

	closeOnce sync.Once
	closeErr  error
}

// OpenCrashes judges what earlier processes have left in a directory, which it creates if needed,
// and begins a record. Close it at the end. With an empty directory nothing is recorded: the
// Crashes is nil.
func OpenCrashes(dir string) (*Crashes, error) {
	if dir == "" {
		return nil, nil //nolint:nilnil // nil Crashes records nothing
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	r := &Crashes{dir: dir, started: time.Now(), survived: map[string]bool{}}
	var err error
	if r.judged, err = judge(dir); err != nil {
		return nil, fmt.Errorf("what earlier processes left can't be read: %w", err)
	}
	if err := r.begin(); err != nil {
		return nil, fmt.Errorf("it can't be recorded which modules run: %w", err)
	}
	return r, nil
}

// begin makes the file. It gets its name once it is complete and locked.
func (r *Crashes) begin() (err error) {
	f, err := os.CreateTemp(r.dir, fmt.Sprintf("%d-*.tmp", os.Getpid()))
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return err
	}
	// Written, not only extended: writing to a mapped file on a full disk is fatal.
	head := make([]byte, fileLen)
	copy(head, magic)
	copy(head[bootAt:], bootID())
	if _, err := f.Write(head); err != nil {
		return err
	}
	if r.data, err = unix.Mmap(int(f.Fd()), 0, fileLen, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return err
	}
	path := f.Name() + suffix
	if err := os.Rename(f.Name(), path); err != nil {
		return errors.Join(err, unix.Munmap(r.data))
	}
	r.file = f
	return nil
}

// bootID identifies a boot of the machine; it is empty if the system doesn't provide one.
func bootID() []byte {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return id[:min(len(id), bootLen)]
}

// Words is the memory in which the code that ends this process by force records that; see
// stop.Words of the commands, whose layout it has. It is nil for nil Crashes.
func (r *Crashes) Words() *[5]uint64 {
	if r == nil {
		return nil
	}
	return (*[5]uint64)(unsafe.Pointer(&r.data[wordsAt])) //nolint:gosec // aligned, and as long as the file
}

func (r *Crashes) slot(i int) *slot {
	return (*slot)(unsafe.Pointer(&r.data[slotsAt+i*int(unsafe.Sizeof(slot{}))])) //nolint:gosec // aligned, and as long as the file
}

// Begin records a call of a module. The limit is the time that the call may take. The caller
// calls end when it is over.
func (r *Crashes) Begin(digest string, limit time.Duration) (end func()) {
	if r == nil {
		return func() {}
	}
	for i := range slots {
		s := r.slot(i)
		if !atomic.CompareAndSwapUint32(&s.state, slotFree, slotFilling) {
			continue
		}
		atomic.StoreUint32(&s.overdue, 0)
		s.began, s.limit = r.now(), int64(limit)
		copy(s.digest[:], digest)
		atomic.StoreUint32(&s.state, slotRunning)
		return func() {
			atomic.StoreUint32(&s.state, slotFree)
			r.survives(digest)
		}
	}
	return func() {}
}

// now is the time since the record was begun.
func (r *Crashes) now() int64 { return int64(time.Since(r.started)) }

// Beat checks whether a call exceeds its limit, which no call does that can be stopped. Call
// it about once per second while the process is active.
//
// It then runs a garbage collection, once for each such call. If the call is in native code
// that doesn't return, the collection doesn't return either, and the watchdog ends the
// process now rather than in some minutes. If the call waits for a disk, this does no harm.
func (r *Crashes) Beat() {
	if r == nil {
		return
	}
	found := false
	for i := range slots {
		s := r.slot(i)
		if atomic.LoadUint32(&s.state) != slotRunning || atomic.LoadUint32(&s.overdue) != 0 {
			continue
		}
		began, limit := atomic.LoadInt64(&s.began), atomic.LoadInt64(&s.limit)
		if r.now()-began > limit+int64(overdueFor) {
			atomic.StoreUint32(&s.overdue, 1)
			found = true
		}
	}
	if found {
		runtime.GC()
	}
}

// Close ends the record in good order: nothing that runs now is to blame. It may be called
// twice.
func (r *Crashes) Close() error {
	if r == nil {
		return nil
	}
	r.closeOnce.Do(func() {
		r.closeErr = errors.Join(r.forgive(), os.Remove(r.file.Name()+suffix), r.file.Close())
		// The memory stays mapped: an active call ends there, and so may the process.
	})
	return r.closeErr
}
