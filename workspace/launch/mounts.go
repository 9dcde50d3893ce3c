package launch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// mount is a line of /proc/self/mountinfo.
type mount struct {
	device, root, point string
	kernel              bool // its files belong to the kernel, or are devices
}

// kernelTypes are file systems with files of the kernel.
var kernelTypes = []string{
	"binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devtmpfs", "efivarfs", "proc", "pstore", "securityfs", "sysfs", "tracefs",
}

// readMounts returns the mounts. Only Linux has this file.
func readMounts() ([]mount, error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return parseMounts(string(data)), err
}

func parseMounts(text string) []mount {
	var list []mount
	for line := range strings.Lines(text) {
		where, what, _ := strings.Cut(line, " - ")
		fields := strings.Fields(where)
		const device, root, point = 2, 3, 4
		if len(fields) <= point || !strings.HasPrefix(fields[root], "/") {
			continue // a file system without regular files, such as nsfs
		}
		kind, _, _ := strings.Cut(what, " ")
		list = append(list, mount{fields[device], unoctal(fields[root]), unoctal(fields[point]), slices.Contains(kernelTypes, kind)})
	}
	return list
}

// unoctal decodes the octal escapes of blanks and backslashes.
func unoctal(field string) string {
	var b strings.Builder
	for i := 0; i < len(field); i++ {
		if field[i] == '\\' && i+3 < len(field) {
			if c, err := strconv.ParseUint(field[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(field[i])
	}
	return b.String()
}

// everywhere returns a path and all other paths of the same file or directory through other
// mounts. In a container the home directory is often mounted twice.
func (w *walk) everywhere(path string) []string {
	list := []string{path}
	var own *mount
	for i := range w.mounts { // a later mount hides an earlier one at the same place
		if m := &w.mounts[i]; within(path, m.point) && (own == nil || len(m.point) >= len(own.point)) {
			own = m
		}
	}
	if own == nil {
		return list
	}
	inside := filepath.Join(own.root, strings.TrimPrefix(path, own.point))
	for _, m := range w.mounts {
		if m.device != own.device || !within(inside, m.root) {
			continue
		}
		if at := filepath.Join(m.point, strings.TrimPrefix(inside, m.root)); !slices.Contains(list, at) {
			list = append(list, at)
		}
	}
	return list
}
