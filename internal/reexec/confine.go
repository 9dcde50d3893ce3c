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
// replaced by defaults, but for Workers.
type Limits struct {
	// Time is how long the parent waits for it. The processor's time is limited
	// to that times the threads that can be at work.
	Time time.Duration
	// Memory is in bytes, of what WatchMemory counts. The system enforces a
	// little more.
	Memory int64
	// Output is the size of the largest file that may be written, in bytes.
	Output int64
	// Workers is how many goroutines are at work at a time; 0 is 1.
	Workers int
}

// watchEvery is how often a child looks at its own memory. It allocates at some
// GB/s at most.
const watchEvery = 5 * time.Millisecond

// Confine sets the limits that the system enforces on this process, as a second
// line behind a parent's clock and WatchMemory. It is for children that do what
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
	seconds := int64(l.Time/time.Second+1) * int64(max(l.Workers, 1)+2)
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
