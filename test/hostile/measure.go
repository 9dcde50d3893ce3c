package hostile

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// measuring samples what an attack costs the process around it.
type measuring struct {
	quit, done chan struct{}
	base, high int64
	exact      bool // the kernel keeps the high-water mark
	gc         time.Duration
}

// sampleEvery is a compromise: collections that follow each other without a
// break would be a load of their own. On a slow machine they would follow so with any
// fixed pause; each is followed by a pause of at least as many times its length.
const (
	sampleEvery = 5 * time.Millisecond
	samplePause = 4
)

// startMeasuring gives memory back to the system and starts to watch.
func startMeasuring() *measuring {
	debug.FreeOSMemory()
	m := &measuring{quit: make(chan struct{}), done: make(chan struct{})}
	// 5 resets the high-water mark: proc(5), clear_refs.
	m.exact = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) == nil
	m.base = resident()
	go m.sample()
	return m
}

// sample collects garbage again and again, which stops the world: a guest that
// can't be interrupted shows in how long that takes.
func (m *measuring) sample() {
	defer close(m.done)
	pause := time.NewTimer(sampleEvery)
	defer pause.Stop()
	for {
		start := time.Now()
		runtime.GC()
		took := time.Since(start)
		m.gc = max(m.gc, took)
		m.high = max(m.high, resident())
		pause.Reset(max(sampleEvery, samplePause*took))
		select {
		case <-pause.C:
		case <-m.quit:
			return
		}
	}
}

// stop returns by how many bytes the process grew at its height, and the
// longest collection.
func (m *measuring) stop() (grown int64, gc time.Duration) {
	close(m.quit)
	<-m.done
	if m.exact {
		m.high = max(m.high, status("VmHWM")<<10)
	}
	return max(m.high-m.base, 0), m.gc
}

// resident is the process's resident size in bytes, or 0 where it can't be
// told.
func resident() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(data))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// status reads a figure, in KiB, from /proc/self/status.
func status(key string) int64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n
		}
	}
	return 0
}

// usage is what a process may leave behind.
type usage struct {
	goroutines, descriptors, mappings int
	resident                          int64
}

// settledUsage looks until there are no more goroutines and descriptors than
// the bound has, or for so long: what was closed may take a moment to end, and
// spent instances are closed some time after their run.
func settledUsage(bound usage, timeout time.Duration) usage {
	deadline := time.Now().Add(timeout)
	for tick := time.NewTicker(time.Millisecond); ; <-tick.C {
		u := usage{goroutines: runtime.NumGoroutine()}
		if entries, err := os.ReadDir("/proc/self/fd"); err == nil {
			u.descriptors = len(entries)
		}
		above := u.goroutines > bound.goroutines || u.descriptors > bound.descriptors
		if above && bound.goroutines > 0 && time.Now().Before(deadline) {
			continue
		}
		tick.Stop()
		debug.FreeOSMemory()
		if maps, err := os.ReadFile("/proc/self/maps"); err == nil {
			u.mappings = bytes.Count(maps, []byte("\n"))
		}
		u.resident = resident()
		return u
	}
}

// since spells a difference.
func (u usage) since(before usage) string {
	return fmt.Sprintf("%+d goroutines, %+d descriptors, %+d mappings, %+.1f MiB",
		u.goroutines-before.goroutines, u.descriptors-before.descriptors, u.mappings-before.mappings,
		float64(u.resident-before.resident)/(1<<20))
}
