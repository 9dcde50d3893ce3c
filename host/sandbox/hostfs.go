package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"syscall"

	extism "github.com/extism/go-sdk"
	"golang.org/x/sys/unix"

	"waymark/host/vfs"
)

// The fs_* host functions: the same file system as the mount, for languages
// without WASI. Their text forms are in abi/ABI.md, "Files".

type fsEntry struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

type fsInfo struct {
	Type string `json:"type"`
	Size int64  `json:"size"`
}

type fsFailure struct {
	Errno   string `json:"errno"`
	Message string `json:"message"`
}

func fsFunctions() []extism.HostFunction {
	ptr := extism.ValueTypePTR
	i64 := extism.ValueTypeI64
	return []extism.HostFunction{
		extism.NewHostFunctionWithStack("fs_read", fsRead, []extism.ValueType{ptr, i64, i64}, []extism.ValueType{ptr}),
		extism.NewHostFunctionWithStack("fs_list", fsJSON(fsList), []extism.ValueType{ptr}, []extism.ValueType{ptr}),
		extism.NewHostFunctionWithStack("fs_stat", fsJSON(fsStat), []extism.ValueType{ptr}, []extism.ValueType{ptr}),
	}
}

// fsRead puts up to length bytes from offset into a new block and returns it.
// On failure it returns 0 and sets the Extism error; at the end of the file it
// returns 0 as well, since the kernel has no empty blocks, and clears it.
func fsRead(ctx context.Context, _ *extism.CurrentPlugin, stack []uint64) {
	data, err := readRange(ctx, argument(ctx, stack[0]), int64(stack[1]), int64(stack[2])) //nolint:gosec // negative is refused there
	if err != nil {
		setError(ctx, result(ctx, failure(err)))
		stack[0] = 0
		return
	}
	setError(ctx, 0)
	stack[0] = result(ctx, data)
}

// setError sets the Extism error to a block, or clears it with 0.
func setError(ctx context.Context, handle uint64) {
	k := kernelOf(ctx)
	k.call(ctx, &k.errorSet, "error_set", handle)
}

func readRange(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	if offset < 0 || length < 0 {
		return nil, syscall.EINVAL
	}
	run, err := boundRun(ctx)
	if err != nil {
		return nil, err
	}
	in := running(ctx)
	in.gov.charge(fuelPerOpen)
	f, err := run.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if f.IsDir() {
		return nil, syscall.EISDIR
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	buf := make([]byte, min(length, max(info.Size-offset, 0), maxFSRead))
	n, err := f.ReadAt(buf, offset)
	in.gov.charge(int64(n) * fuelPerByte)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return buf[:n], nil
}

// maxFSRead bounds one fs_read, so that a sparse terabyte isn't allocated for;
// a guest reads on from where it got to.
const maxFSRead = 4 << 20

func fsList(ctx context.Context, name string) (any, error) {
	run, err := boundRun(ctx)
	if err != nil {
		return nil, err
	}
	in := running(ctx)
	in.gov.charge(fuelPerOpen)
	f, err := run.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	list, err := f.ReadDir()
	if err != nil {
		return nil, err
	}
	in.gov.charge(int64(len(list)) * fuelPerEntry)
	entries := make([]fsEntry, len(list))
	for i, e := range list {
		entries[i] = fsEntry{e.Name, typeName(e.Type)}
	}
	return entries, nil
}

func fsStat(ctx context.Context, name string) (any, error) {
	run, err := boundRun(ctx)
	if err != nil {
		return nil, err
	}
	running(ctx).gov.charge(fuelPerLook)
	info, err := run.Stat(name)
	if err != nil {
		return nil, err
	}
	return fsInfo{typeName(info.Type), info.Size}, nil
}

func typeName(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "dir"
	case mode&fs.ModeSymlink != 0:
		return "link"
	case mode.IsRegular():
		return "file"
	}
	return "other"
}

// fsJSON wraps a function whose result, or failure, is JSON in a new block.
func fsJSON(f func(ctx context.Context, name string) (any, error)) extism.HostFunctionStackCallback {
	return func(ctx context.Context, _ *extism.CurrentPlugin, stack []uint64) {
		v, err := f(ctx, argument(ctx, stack[0]))
		if err != nil {
			stack[0] = result(ctx, failure(err))
			return
		}
		data, err := json.Marshal(v)
		if err != nil {
			panic(err) // strings and numbers always encode
		}
		stack[0] = result(ctx, data)
	}
}

func boundRun(ctx context.Context) (*vfs.Run, error) {
	if run := running(ctx).fs.run.Load(); run != nil {
		return run, nil
	}
	return nil, syscall.ENOENT // describe has no root
}

// failure is the text form of an error. It has no more to say than the errno:
// a path outside the root must not come back to the guest.
func failure(err error) []byte {
	if errors.Is(err, vfs.ErrLimit) {
		panic(&limitPanic{err})
	}
	no := syscall.EIO
	errors.As(err, &no)
	name := unix.ErrnoName(no)
	if name == "" {
		name = "EIO"
	}
	data, err := json.Marshal(fsFailure{name, no.Error()})
	if err != nil {
		panic(err)
	}
	return data
}

// argument reads a block that the guest passed.
func argument(ctx context.Context, handle uint64) string {
	return string(kernelOf(ctx).bytes(ctx, handle))
}

// result puts data into a new block.
func result(ctx context.Context, data []byte) uint64 { return kernelOf(ctx).put(ctx, data) }
