package supervisor

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"waymark/internal/text"
)

func sameUser(uid int) error {
	if uid != os.Geteuid() {
		return fmt.Errorf("the other end of the supervisor's socket is user %d: %w", uid, fs.ErrPermission)
	}
	return nil
}

// proc is a process of the system.
type proc struct {
	pid, parent, session int
	start                uint64 // identifies the process together with the pid
	zombie               bool
}

// descendants returns the living processes below root. If root is a subreaper, they include
// detached ones.
func descendants(root int) []proc {
	below := map[int][]proc{}
	for _, p := range procs() {
		below[p.parent] = append(below[p.parent], p)
	}
	var found []proc
	for next := []int{root}; len(next) > 0; {
		children := below[next[0]]
		delete(below, next[0])
		next = next[1:]
		for _, p := range children {
			next = append(next, p.pid)
			if !p.zombie {
				found = append(found, p)
			}
		}
	}
	return found
}

// inSession returns the living processes of a session, including its leader.
func inSession(leader proc) []proc {
	return slices.DeleteFunc(procs(), func(p proc) bool { return p.session != leader.pid || p.start < leader.start || p.zombie })
}

// commandOf returns the command line of a process, for people; "" if it isn't known.
func commandOf(pid int) string {
	line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return text.Line(strings.ReplaceAll(string(line), "\x00", " "), 200)
}

// openAs names what a file is, as /proc does for all that have it open; "" if that isn't known.
func openAs(f *os.File) (name string) {
	raw, err := f.SyscallConn()
	if err == nil {
		_ = raw.Control(func(fd uintptr) { name, _ = os.Readlink("/proc/self/fd/" + strconv.Itoa(int(fd))) })
	}
	if !strings.HasPrefix(name, "pipe:") { // the other end of a terminal has another name
		return ""
	}
	return name
}

// writesTo reports whether standard output or error of a process is what openAs named.
func writesTo(pid int, name string) bool {
	for _, fd := range []string{"1", "2"} {
		if to, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/fd/" + fd); err == nil && to == name {
			return true
		}
	}
	return false
}
