package builtin

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Release drops pages of the program's file that only a start needs: embedded files after
// they were read, and code, including that of the resolvers, which is executed from there.
// Pages that are needed again are mapped again, from where all agents have them. It is a
// hint, and failures don't matter.
func Release() {
	self, err := os.Executable()
	if err != nil {
		return
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	var m mapping
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if next, ok := parseMapping(lines.Text()); ok {
			m = next
			continue
		}
		// Pages that were ever written would be lost, so a mapping with such a page is left
		// alone.
		if size, ok := strings.CutPrefix(lines.Text(), "Anonymous:"); ok && m.path == self && (m.perms == "r--p" || m.perms == "r-xp") &&
			strings.TrimSpace(size) == "0 kB" {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_DONTNEED)
		}
	}
}

// mapping is a header line of /proc/self/smaps.
type mapping struct {
	start, end  uintptr
	perms, path string
}

func parseMapping(line string) (m mapping, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 5 || strings.HasSuffix(fields[0], ":") {
		return m, false
	}
	if n, err := fmt.Sscanf(fields[0], "%x-%x", &m.start, &m.end); n != 2 || err != nil {
		return m, false
	}
	m.perms = fields[1]
	if len(fields) > 5 {
		m.path = fields[5]
	}
	return m, true
}
