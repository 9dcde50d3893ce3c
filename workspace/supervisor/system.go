package supervisor

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
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
