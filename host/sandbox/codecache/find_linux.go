package codecache

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// find returns where wazero's memory for so much code begins: so far before a mark.
// Adjacent mappings of a kind are shown as one, so it looks at each page of
// those that are large enough, and at the last of them first: new ones are put before
// older ones, and Go's heap, of thousands of pages, is before all of these. Others may go
// away meanwhile, which is an error to the kernel, and would be a crash here.
func (f *feed) find(kind string, markAt, length int64) (unsafe.Pointer, error) {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	defer func() { _ = maps.Close() }()
	needed := uintptr(length) + uintptr(len(f.mark)) //nolint:gosec // not negative
	type mapping struct{ start, end uintptr }
	var list []mapping
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		var m mapping
		fields := strings.Fields(lines.Text())
		if len(fields) != 5 || fields[1] != kind || fields[4] != "0" { // with a name there are six
			continue
		}
		if n, err := fmt.Sscanf(fields[0], "%x-%x", &m.start, &m.end); n == 2 && err == nil {
			list = append(list, m)
		}
	}
	for _, m := range slices.Backward(list) {
		if m.end-m.start < needed {
			continue
		}
		if at := f.firstMark(m.start+uintptr(markAt), int((m.end-m.start-needed)/uintptr(pageSize))+1); at != 0 { //nolint:gosec // not negative
			return unsafe.Add(nil, at-uintptr(markAt)), nil //nolint:gosec // mapped by wazero, not by Go
		}
	}
	return nil, errNotFound
}

// firstMark returns the first of so many addresses, a page apart, at which there is a
// mark, or 0. One call of the system looks at as many as it takes; at what it can't
// read it stops, and the next call goes on behind that.
//
// What no page is there for isn't looked at, since that would make one: Go's runtime
// has a table of 32 MiB of which it uses one page, and which is otherwise read, and
// stays in memory, in each process.
func (f *feed) firstMark(address uintptr, pages int) uintptr {
	const most = 1024 // IOV_MAX
	var (
		there  = inMemory(address, pages)
		found  = make([]byte, min(pages, most)*len(f.mark))
		remote = make([]unix.RemoteIovec, 0, min(pages, most))
	)
	for next := 0; next < pages; {
		remote = remote[:0]
		at := next
		for ; at < pages && len(remote) < most; at++ {
			if there == nil || there[at] {
				remote = append(remote, unix.RemoteIovec{Base: address + uintptr(at)*uintptr(pageSize), Len: len(f.mark)}) //nolint:gosec // not negative
			}
		}
		next = at
		if len(remote) == 0 {
			break
		}
		local := []unix.Iovec{{Base: &found[0], Len: uint64(len(remote) * len(f.mark))}}
		n, err := unix.ProcessVMReadv(os.Getpid(), local, remote, 0)
		if err != nil {
			n = 0
		}
		read := n / len(f.mark)
		for i := range read {
			if bytes.Equal(found[i*len(f.mark):(i+1)*len(f.mark)], f.mark) {
				return remote[i].Base
			}
		}
		if read < len(remote) { // that one can't be read
			next = int((remote[read].Base-address)/uintptr(pageSize)) + 1 //nolint:gosec // fewer than pages
		}
	}
	return 0
}

// inMemory reports which of so many pages are there, from that of an address on. nil
// means that the system doesn't say.
func inMemory(address uintptr, pages int) []bool {
	const (
		entry = 8                // bytes in /proc/self/pagemap
		there = 0b11 << (63 - 1) // in memory, or swapped out
	)
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	entries := make([]byte, pages*entry)
	if _, err := f.ReadAt(entries, int64(address)/pageSize*entry); err != nil { //nolint:gosec // an address of user space
		return nil
	}
	list := make([]bool, pages)
	for i := range list {
		list[i] = binary.NativeEndian.Uint64(entries[i*entry:])&there != 0
	}
	return list
}

var errNotFound = errors.New("wazero's memory isn't found")

// marks reports whether there is a mark at an address.
func (f *feed) marks(address uintptr) bool { return f.firstMark(address, 1) == address }
