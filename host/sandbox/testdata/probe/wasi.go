package main

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strconv"
	"syscall"
	"unsafe"
)

// preopen is the descriptor of the root.
const preopen = 3

//go:wasmimport wasi_snapshot_preview1 path_open
//go:noescape
func pathOpen(fd int32, dirflags uint32, path unsafe.Pointer, length uint32, oflags uint32, rights, inheriting uint64, fdflags uint32, opened unsafe.Pointer) uint32

//go:wasmimport wasi_snapshot_preview1 fd_pread
//go:noescape
func fdPread(fd int32, iovs unsafe.Pointer, n uint32, offset uint64, read unsafe.Pointer) uint32

//go:wasmimport wasi_snapshot_preview1 fd_readdir
//go:noescape
func fdReaddir(fd int32, buf unsafe.Pointer, length uint32, cookie uint64, used unsafe.Pointer) uint32

//go:wasmimport wasi_snapshot_preview1 fd_close
func fdClose(fd int32) uint32

//go:wasmimport wasi_snapshot_preview1 path_filestat_get
//go:noescape
func pathFilestatGet(fd int32, flags uint32, path unsafe.Pointer, length uint32, buf unsafe.Pointer) uint32

//go:wasmimport wasi_snapshot_preview1 path_readlink
//go:noescape
func pathReadlink(fd int32, path unsafe.Pointer, length uint32, buf unsafe.Pointer, size uint32, used unsafe.Pointer) uint32

//go:wasmimport wasi_snapshot_preview1 random_get
//go:noescape
func randomGet(buf unsafe.Pointer, length uint32) uint32

func random() []byte {
	buf := make([]byte, 8)
	randomGet(unsafe.Pointer(&buf[0]), 8)
	return buf
}

const (
	followLinks = 1 // lookupflags
	directory   = 2 // oflags

	// readRights are all rights but fd_write: with that one, an open is one
	// for writing.
	readRights = ^uint64(1 << 6)
)

func viaWASI(a ask) answer {
	name, _ := hex.DecodeString(a.Path)
	path := append(name, 0) // so that there is a first byte to point to
	p, n := unsafe.Pointer(&path[0]), uint32(len(name))
	switch a.Op {
	case "read":
		return wasiRead(p, n, a)
	case "list":
		return wasiList(p, n)
	case "stat":
		return wasiStat(p, n, followLinks)
	case "lstat":
		return wasiStat(p, n, 0)
	case "readlink":
		buf := make([]byte, 8192)
		var used uint32
		if no := pathReadlink(preopen, p, n, unsafe.Pointer(&buf[0]), uint32(len(buf)), unsafe.Pointer(&used)); no != 0 {
			return answer{Errno: wasiName(no)}
		}
		return answer{Data: hex.EncodeToString(buf[:used])}
	}
	return answer{Errno: "unknown op"}
}

func wasiRead(p unsafe.Pointer, n uint32, a ask) answer {
	var fd int32
	if no := pathOpen(preopen, followLinks, p, n, 0, readRights, readRights, 0, unsafe.Pointer(&fd)); no != 0 {
		return answer{Errno: wasiName(no)}
	}
	defer fdClose(fd)
	buf := make([]byte, a.N+1)
	done := 0
	for done < int(a.N) {
		iov := [2]uint32{uint32(uintptr(unsafe.Pointer(&buf[done]))), uint32(int(a.N) - done)}
		var got uint32
		if no := fdPread(fd, unsafe.Pointer(&iov), 1, uint64(a.Off)+uint64(done), unsafe.Pointer(&got)); no != 0 {
			return answer{Errno: wasiName(no)}
		}
		if got == 0 {
			break
		}
		done += int(got)
	}
	return answer{Data: hex.EncodeToString(buf[:done])}
}

func wasiList(p unsafe.Pointer, n uint32) answer {
	var fd int32
	if no := pathOpen(preopen, followLinks, p, n, directory, readRights, readRights, 0, unsafe.Pointer(&fd)); no != 0 {
		return answer{Errno: wasiName(no)}
	}
	defer fdClose(fd)
	buf := make([]byte, 512) // small, so that a listing takes several calls
	list := []string{}
	cookie := uint64(0)
	for {
		var used uint32
		if no := fdReaddir(fd, unsafe.Pointer(&buf[0]), uint32(len(buf)), cookie, unsafe.Pointer(&used)); no != 0 {
			return answer{Errno: wasiName(no)}
		}
		data := buf[:used]
		for len(data) >= 24 {
			length := binary.LittleEndian.Uint32(data[16:])
			if len(data) < 24+int(length) {
				break // cut off: it comes again from the last cookie
			}
			name := string(data[24 : 24+length])
			if name != "." && name != ".." {
				list = append(list, hex.EncodeToString([]byte(name))+" "+wasiType(data[20]))
			}
			cookie = binary.LittleEndian.Uint64(data)
			data = data[24+length:]
		}
		if int(used) < len(buf) {
			return answer{List: list}
		}
	}
}

func wasiStat(p unsafe.Pointer, n uint32, flags uint32) answer {
	var st [64]byte
	if no := pathFilestatGet(preopen, flags, p, n, unsafe.Pointer(&st)); no != 0 {
		return answer{Errno: wasiName(no)}
	}
	return answer{Type: wasiType(st[16]), Size: int64(binary.LittleEndian.Uint64(st[32:]))}
}

func wasiType(t byte) string {
	switch t {
	case 3:
		return "dir"
	case 4:
		return "file"
	case 7:
		return "link"
	}
	return "other"
}

// wasiNames: errno of WASI preview 1.
var wasiNames = map[uint32]string{
	2: "EACCES", 8: "EBADF", 28: "EINVAL", 29: "EIO", 31: "EISDIR", 32: "ELOOP", 37: "ENAMETOOLONG",
	44: "ENOENT", 52: "ENOSYS", 54: "ENOTDIR", 58: "ENOTSUP", 63: "EPERM", 69: "EROFS",
}

func wasiName(no uint32) string {
	if name, ok := wasiNames[no]; ok {
		return name
	}
	return "errno " + strconv.Itoa(int(no))
}

// errnoName names the errno in an error of package os; on this platform its
// numbers are WASI's.
func errnoName(err error) string {
	var no syscall.Errno
	if !errors.As(err, &no) {
		return "no errno"
	}
	return wasiName(uint32(no))
}
