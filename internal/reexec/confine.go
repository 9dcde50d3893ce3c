package reexec

import (
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Limits are what a child may use. A zero field is a limit of 0 and not replaced by a
// default.
type Limits struct {
	// Time is the processor time of all its threads together. The system enforces a little
	// more.
	Time time.Duration
	// Memory is in bytes, as WatchMemory counts it. The system enforces a little more.
	Memory int64
	// Output is the size of the largest file that may be written, in bytes.
	Output int64
}

// watchEvery is how often a child checks its own memory and time. It allocates at some GB/s
// at most.
const watchEvery = 5 * time.Millisecond

// Confine sets the limits that the system enforces on this process, in addition to
// WatchMemory and WatchTime. It is for children whose work may not terminate, and can't be
// undone.
func Confine(l Limits) error {
	debug.SetMemoryLimit(l.Memory / 8 * 7)
	// The child yields to everything else, and is the first to be killed when memory is
	// short. Neither is worth an error.
	_ = unix.Setpriority(unix.PRIO_PGRP, 0, 10)
	if runtime.GOOS == "linux" {
		_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	}
	signal.Ignore(syscall.SIGXFSZ) // so that a write fails instead
	seconds := int64(l.Time/time.Second) + 2
	for _, limit := range []struct {
		resource int
		value    int64
	}{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_CPU, seconds},
		{unix.RLIMIT_FSIZE, l.Output},
		{unix.RLIMIT_NOFILE, 64},
		// Writable private memory, which Go's heap takes in steps of 64 MiB. (RLIMIT_AS would
		// count what Go only reserves.)
		{unix.RLIMIT_DATA, l.Memory + 192<<20},
	} {
		var rl unix.Rlimit
		if err := unix.Getrlimit(limit.resource, &rl); err != nil {
			return err
		}
		rl.Max = min(rl.Max, uint64(limit.value)) //nolint:gosec // limits have defaults above 0
		rl.Cur = rl.Max
		if err := unix.Setrlimit(limit.resource, &rl); err != nil {
			return err
		}
	}
	return nil
}

// WatchMemory calls exceeded when the process has more memory than limit, in bytes. It
// doesn't return.
func WatchMemory(limit int64, exceeded func()) {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for range time.Tick(watchEvery) {
		metrics.Read(samples)
		if samples[0].Value.Uint64()-samples[1].Value.Uint64() > uint64(limit) { //nolint:gosec // positive
			exceeded()
		}
	}
}

// WatchTime calls exceeded when the process has used more processor time than limit. It
// doesn't return.
func WatchTime(limit time.Duration, exceeded func()) {
	for range time.Tick(watchEvery) {
		if ProcessorTime() > limit {
			exceeded()
		}
	}
}

// ProcessorTime returns what all threads of this process have used. It doesn't advance while
// the machine is suspended or busy with other work.
func ProcessorTime() time.Duration {
	var used unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &used) // can't fail with these arguments
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
