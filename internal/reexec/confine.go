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

// Limits are what a child may use. Fields that are 0 are limits of 0 and not
// replaced by defaults.
type Limits struct {
	// Time is processor time, that of all its threads together. The system enforces
	// a little more.
	Time time.Duration
	// Memory is in bytes, of what WatchMemory counts. The system enforces a
	// little more.
	Memory int64
	// Output is the size of the largest file that may be written, in bytes.
	Output int64
}

// watchEvery is how often a child looks at its own memory and time. It allocates at
// some GB/s at most.
const watchEvery = 5 * time.Millisecond

// Confine sets the limits that the system enforces on this process, as a second
// line behind WatchMemory and WatchTime. It is for children that do what
// can't be trusted to end; there is no way back.
func Confine(l Limits) error {
	debug.SetMemoryLimit(l.Memory / 8 * 7)
	// What it does yields to everything else, and is the first to go when memory
	// is short. Neither matters enough to fail for.
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
		// Writable private memory, which is what Go's heap takes in steps of
		// 64 MiB. (RLIMIT_AS would count what Go only reserves.)
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

// WatchMemory calls exceeded when the process has more memory than limit, in
// bytes. It doesn't return.
func WatchMemory(limit int64, exceeded func()) {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for range time.Tick(watchEvery) {
		metrics.Read(samples)
		if samples[0].Value.Uint64()-samples[1].Value.Uint64() > uint64(limit) { //nolint:gosec // positive
			exceeded()
		}
	}
}

// WatchTime calls exceeded when the process has used more processor time than limit.
// It doesn't return.
func WatchTime(limit time.Duration, exceeded func()) {
	for range time.Tick(watchEvery) {
		if ProcessorTime() > limit {
			exceeded()
		}
	}
}

// ProcessorTime is what all threads of this process have used. Where a machine has
// other things to do, or stands still, it stands still, too.
func ProcessorTime() time.Duration {
	var used unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &used) // fails for none of these arguments
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
