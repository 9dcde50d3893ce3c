package launch

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func closeRange() error {
	return unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
}

// niceness returns this thread's niceness. The raw system call returns 20 minus it.
func niceness() (int, error) {
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	return 20 - raw, err
}

// setOOMScore makes the kernel prefer the process when it runs out of memory. It ignores an
// unwritable /proc, as in containers.
func setOOMScore(score int) error {
	const file = "/proc/self/oom_score_adj"
	if score == 0 {
		return nil
	}
	data, err := os.ReadFile(file)
	if err == nil {
		if now, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil && now >= score {
			return nil
		}
		err = os.WriteFile(file, strconv.AppendInt(nil, int64(score), 10), 0)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
		return nil
	}
	return err
}

// endGroup waits until a child has ended, and kills the rest of its group. It doesn't reap
// the child, so that the group's number can't be reused before.
func endGroup(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	_ = unix.Kill(-pid, unix.SIGKILL) // usually there is nothing left
}
