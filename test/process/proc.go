package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tick is the unit of times in /proc/PID/stat: USER_HZ is 100 wherever Linux
// runs Go. The kernel counts finer and rounds what it shows.
const tick = 10 * time.Millisecond

// CPU is the processor time that the process has used so far.
func (p *Process) CPU() (time.Duration, error) {
	data, err := os.ReadFile(p.proc("stat"))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(afterName(data))
	const user, system = 11, 12 // proc(5) counts them as 14 and 15
	if len(fields) <= system {
		return 0, fmt.Errorf("%s: %q can't be read", p.proc("stat"), data)
	}
	var sum int64
	for _, field := range fields[user : system+1] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return time.Duration(sum) * tick, nil
}

// afterName is what follows the name in a stat file. The name is in parentheses
// and may hold anything.
func afterName(stat []byte) string {
	return string(stat[bytes.LastIndexByte(stat, ')')+1:])
}

// frozen reports whether every thread is stopped.
func (p *Process) frozen() (bool, error) {
	threads, err := os.ReadDir(p.proc("task"))
	if err != nil {
		return false, err
	}
	for _, thread := range threads {
		data, err := os.ReadFile(p.proc("task/" + thread.Name() + "/stat"))
		switch {
		case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ESRCH):
			continue // it has ended meanwhile
		case err != nil:
			return false, err
		}
		if !strings.HasPrefix(afterName(data), " T") {
			return false, nil
		}
	}
	return true, nil
}

// Wakeups counts how often the process's threads have waited for something and gone
// on: each is a switch of tasks, which costs the system as well. Threads that have
// ended aren't counted; Go's rarely do.
func (p *Process) Wakeups() (n int64, err error) {
	threads, err := os.ReadDir(p.proc("task"))
	if err != nil {
		return 0, err
	}
	for _, thread := range threads {
		data, err := os.ReadFile(p.proc("task/" + thread.Name() + "/status"))
		switch {
		case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ESRCH):
			continue // it has ended meanwhile
		case err != nil:
			return 0, err
		}
		_, rest, _ := strings.Cut(string(data), "\nvoluntary_ctxt_switches:")
		line, _, _ := strings.Cut(rest, "\n")
		switches, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if err != nil {
			return 0, err
		}
		n += switches
	}
	return n, nil
}

// Memory is what a process holds in memory, in bytes.
type Memory struct {
	// Resident is all of it: Anonymous, and File, pages of the program and of
	// mapped files, which the system can drop and share.
	Resident, Anonymous, File int64
	// High is the highest that Resident ever was.
	High int64
}

// Memory reads what the process holds.
func (p *Process) Memory() (Memory, error) {
	sizes, err := p.sizes("status", "VmRSS")
	return Memory{Resident: sizes["VmRSS"], Anonymous: sizes["RssAnon"], File: sizes["RssFile"], High: sizes["VmHWM"]}, err
}

// Share is what the process holds in memory, in bytes, where of a page that several
// processes hold each has its part.
func (p *Process) Share() (int64, error) {
	sizes, err := p.sizes("smaps_rollup", "Pss")
	return sizes["Pss"], err
}

// sizes reads what a file in /proc says in kB, in bytes; one line must be there.
func (p *Process) sizes(name, needed string) (map[string]int64, error) {
	data, err := os.ReadFile(p.proc(name))
	if err != nil {
		return nil, err
	}
	sizes := map[string]int64{}
	for line := range strings.Lines(string(data)) {
		if key, rest, ok := strings.Cut(line, ":"); ok && strings.HasSuffix(rest, " kB\n") {
			kib, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			sizes[key] = kib << 10
		}
	}
	if sizes[needed] == 0 {
		return nil, fmt.Errorf("%s doesn't tell %s", p.proc(name), needed)
	}
	return sizes, nil
}

// Descriptors counts the descriptors that the process has open.
func (p *Process) Descriptors() (int, error) {
	entries, err := os.ReadDir(p.proc("fd"))
	return len(entries), err
}

func (p *Process) proc(name string) string { return fmt.Sprintf("/proc/%d/%s", p.PID(), name) }
