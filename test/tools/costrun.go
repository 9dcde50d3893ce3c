//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// runMeasured runs a test binary and returns its exit code.
func runMeasured(argv []string) int {
	code, err := measure(argv)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testcost:", err)
		return 1
	}
	return code
}

func measure(argv []string) (code int, err error) {
	// What loses its parent becomes this one's child, so that its cost is known, and
	// that it was left.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	// go test asks for goroutines, and then ends its child: this one's too.
	asked := make(chan os.Signal, 4)
	signal.Notify(asked, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)
	began := time.Now()
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return 0, err
	}
	go func() {
		for s := range asked {
			_ = p.Signal(s)
		}
	}()
	status, err := reap(p.Pid)
	if err != nil {
		return 0, err
	}
	took := time.Since(began)
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &use); err != nil {
		return 0, err
	}
	cpu := time.Duration(use.Utime.Nano() + use.Stime.Nano())
	if err := record(cpu, took, use.Maxrss>>10); err != nil {
		return 0, err
	}
	code = status.ExitStatus()
	if status.Signaled() {
		code = 128 + int(status.Signal())
	}
	if left := leftovers(); code == 0 && len(left) > 0 {
		return 0, fmt.Errorf("the tests have ended and left running: %s", strings.Join(left, "; "))
	}
	return code, nil
}

// reap waits for the process, and for all that has become a child meanwhile.
func reap(pid int) (status syscall.WaitStatus, err error) {
	for {
		got, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 0, err
		case got == pid:
			return status, nil
		}
	}
}

// grace is how long what was told to end may take to be gone.
const grace = 2 * time.Second

// leftovers are the command lines of children that haven't ended. They are killed.
func leftovers() (lines []string) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	for deadline, waiting := time.After(grace), true; waiting; {
		var none syscall.WaitStatus
		switch got, err := syscall.Wait4(-1, &none, syscall.WNOHANG, nil); {
		case errors.Is(err, syscall.ECHILD):
			return nil
		case got > 0: // the next one
			continue
		}
		select {
		case <-ended:
		case <-deadline:
			waiting = false
		}
	}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		text, _ := os.ReadFile(stat)
		// After the name, which may hold anything: state and parent.
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		if len(fields) < 2 || string(fields[1]) != strconv.Itoa(os.Getpid()) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(stat), "cmdline"))
		lines = append(lines, string(bytes.TrimSpace(bytes.ReplaceAll(line, []byte{0}, []byte(" ")))))
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(stat))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return lines
}

// record adds a line to the file that TESTCOST names. Several processes may at once.
func record(cpu, took time.Duration, megabytes int64) error {
	name := os.Getenv("TESTCOST")
	if name == "" {
		return nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s\t%.2f\t%.2f\t%d\n", dir, cpu.Seconds(), took.Seconds(), megabytes)
	return errors.Join(err, f.Close())
}
