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
	data, err := os.ReadFile(p.proc("status"))
	if err != nil {
		return Memory{}, err
	}
	kib := map[string]int64{}
	for line := range strings.Lines(string(data)) {
		if key, rest, ok := strings.Cut(line, ":"); ok && strings.HasSuffix(rest, " kB\n") {
			kib[key], _ = strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
		}
	}
	if kib["VmRSS"] == 0 {
		return Memory{}, fmt.Errorf("%s doesn't tell the resident size", p.proc("status"))
	}
	return Memory{
		Resident: kib["VmRSS"] << 10, Anonymous: kib["RssAnon"] << 10, File: kib["RssFile"] << 10, High: kib["VmHWM"] << 10,
	}, nil
}

// Descriptors counts the descriptors that the process has open.
func (p *Process) Descriptors() (int, error) {
	entries, err := os.ReadDir(p.proc("fd"))
	return len(entries), err
}

func (p *Process) proc(name string) string { return fmt.Sprintf("/proc/%d/%s", p.PID(), name) }
