package supervisor_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"waymark/workspace/supervisor"
)

// eventually calls f until it is so.
func eventually[T any](t testing.TB, f func() (T, bool)) T {
	t.Helper()
	for begin := time.Now(); ; {
		v, ok := f()
		if ok {
			return v
		}
		if time.Since(begin) > patience {
			t.Fatalf("it doesn't come to that: %+v", v)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// runningPID returns the pid of the supervisor.
func runningPID(t testing.TB, o supervisor.Options) int {
	t.Helper()
	var r struct{ PID int }
	data, err := os.ReadFile(filepath.Join(o.Dir, "supervisor.json"))
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r.PID
}

func killSupervisor(t testing.TB, o supervisor.Options) {
	t.Helper()
	pid := runningPID(t, o)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	gone(t, pid)
}

// alive reports whether a process runs; a zombie doesn't.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return !os.IsNotExist(err)
	}
	state := strings.Fields(string(stat[strings.LastIndex(string(stat), ")")+1:]))[0]
	return state != "Z" && state != "X"
}

// gone waits until a process has ended.
func gone(t testing.TB, pid int) {
	t.Helper()
	eventually(t, func() (int, bool) { return pid, !alive(pid) })
}

func goneNow(t testing.TB, pid int) {
	t.Helper()
	if alive(pid) {
		t.Errorf("%d still runs", pid)
	}
}

// readPID waits for a pid in a file.
func readPID(t testing.TB, path string) int {
	t.Helper()
	return eventually(t, func() (int, bool) {
		data, _ := os.ReadFile(path)
		pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
		return pid, err == nil && strings.HasSuffix(string(data), "\n")
	})
}
