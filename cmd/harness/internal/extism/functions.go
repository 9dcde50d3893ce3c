package extism

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"syscall"

	sdk "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero/api"
	"golang.org/x/sys/unix"

	"waymark/host/vfs"
	"waymark/sdk-guest/frontmatter"
)

// functions are those of extism:host/user: abi/ABI.md, "Files" and "Units".
func functions() []sdk.HostFunction {
	i64 := sdk.ValueTypeI64
	function := func(name string, params int, result bool, f func(ctx context.Context, p *sdk.CurrentPlugin, args []uint64) uint64) sdk.HostFunction {
		var takes, gives []sdk.ValueType
		for range params {
			takes = append(takes, i64)
		}
		if result {
			gives = append(gives, i64)
		}
		return sdk.NewHostFunctionWithStack(name, func(ctx context.Context, p *sdk.CurrentPlugin, stack []uint64) {
			if v := f(ctx, p, stack); result {
				stack[0] = v
			}
		}, takes, gives)
	}
	return []sdk.HostFunction{
		function("fs_read", 3, true, fsRead),
		function("fs_list", 1, true, asJSON(fsList)),
		function("fs_stat", 1, true, asJSON(fsStat)),
		function("front_matter", 2, true, func(_ context.Context, p *sdk.CurrentPlugin, args []uint64) uint64 {
			return put(p, frontmatter.JSON(bytesOf(p, args[0]), frontmatter.Options{Lenient: args[1] != 0}))
		}),
		function("memo_begin", 1, true, memoBegin),
		function("memo_end", 1, false, memoEnd),
		function("block_copy", 3, false, blockCopy),
	}
}

// bytesOf is the content of a block; none for what is no block.
func bytesOf(p *sdk.CurrentPlugin, handle uint64) []byte {
	data, err := p.ReadBytes(handle)
	if err != nil {
		panic(err)
	}
	return data
}

// put copies data into a new block; 0 for no data, since Extism has no empty
// blocks.
func put(p *sdk.CurrentPlugin, data []byte) uint64 {
	if len(data) == 0 {
		return 0
	}
	handle, err := p.Alloc(uint64(len(data)))
	if err == nil && (handle == 0 || !p.Memory().Write(uint32(handle), data)) { //nolint:gosec // a block lies within 32 bits
		err = fmt.Errorf("no room for a block of %d bytes", len(data))
	}
	if err != nil {
		panic(err)
	}
	return handle
}

// setError sets the Extism error to a block; 0 clears it. Only the SDK's kernel has
// a function for that.
func setError(ctx context.Context, handle uint64) {
	kernel, ok := ctx.Value(sdk.PluginCtxKey("extism")).(api.Module)
	if !ok {
		panic("extism kernel not found in the context")
	}
	if _, err := kernel.ExportedFunction("error_set").Call(ctx, handle); err != nil {
		panic(err)
	}
}

func fsRead(ctx context.Context, p *sdk.CurrentPlugin, args []uint64) uint64 {
	data, err := vfs.ReadRange(func() (*vfs.File, error) { return open(ctx, string(bytesOf(p, args[0]))) }, int64(args[1]), int64(args[2])) //nolint:gosec // negative is refused there
	if err != nil {
		setError(ctx, put(p, failure(err)))
		return 0
	}
	setError(ctx, 0)
	return put(p, data)
}

func open(ctx context.Context, name string) (*vfs.File, error) {
	run := running(ctx).run
	if run == nil {
		return nil, syscall.ENOENT // describe has no root
	}
	return run.Open(name)
}

func fsList(ctx context.Context, name string) (any, error) {
	f, err := open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	list, err := f.ReadDir()
	if err != nil {
		return nil, err
	}
	type entry struct {
		Name string `json:"name"`
		Type string `json:"type"`
	}
	entries := make([]entry, len(list))
	for i, e := range list {
		entries[i] = entry{e.Name, typeName(e.Type)}
	}
	return entries, nil
}

func fsStat(ctx context.Context, name string) (any, error) {
	run := running(ctx).run
	if run == nil {
		return nil, syscall.ENOENT
	}
	info, err := run.Stat(name)
	return struct {
		Type string `json:"type"`
		Size int64  `json:"size"`
	}{typeName(info.Type), info.Size}, err
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

// asJSON wraps a function of a path whose result, or failure, is JSON.
func asJSON(f func(ctx context.Context, name string) (any, error)) func(context.Context, *sdk.CurrentPlugin, []uint64) uint64 {
	return func(ctx context.Context, p *sdk.CurrentPlugin, args []uint64) uint64 {
		v, err := f(ctx, string(bytesOf(p, args[0])))
		if err != nil {
			return put(p, failure(err))
		}
		return put(p, encode(v))
	}
}

// failure is the text form of an error: its errno, and no path. Going over a
// limit ends the run.
func failure(err error) []byte {
	if errors.Is(err, vfs.ErrLimit) {
		panic(err)
	}
	no := syscall.EIO
	errors.As(err, &no)
	name := cmp.Or(unix.ErrnoName(no), "EIO")
	return failureText(name, no.Error())
}

func failureText(errno, message string) []byte {
	return encode(struct {
		Errno   string `json:"errno"`
		Message string `json:"message"`
	}{errno, message})
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts and numbers always encode
	}
	return data
}

// maxUnitKey bounds the key of a unit, in bytes.
const maxUnitKey = 4 << 10

// memoBegin begins a unit. It never returns a value, because nothing is
// remembered here.
func memoBegin(ctx context.Context, p *sdk.CurrentPlugin, args []uint64) uint64 {
	run := running(ctx).run
	if run == nil {
		return 0
	}
	key := bytesOf(p, args[0])
	if len(key) == 0 || len(key) > maxUnitKey {
		run.DropUnit()
		misuse(ctx, p, errors.New("the key of a unit is empty, or longer than 4096 bytes"))
		return 0
	}
	switch _, err := run.BeginUnit(string(key), 0); {
	case errors.Is(err, vfs.ErrUnitOpen):
		misuse(ctx, p, err)
	case err != nil:
		panic(err)
	}
	return 0
}

func memoEnd(ctx context.Context, p *sdk.CurrentPlugin, args []uint64) uint64 {
	run := running(ctx).run
	if run == nil {
		return 0
	}
	if err := run.EndUnit(bytesOf(p, args[0])); err != nil {
		misuse(ctx, p, err)
	}
	return 0
}

// misuse is the error of a call that the ABI forbids.
func misuse(ctx context.Context, p *sdk.CurrentPlugin, err error) {
	setError(ctx, put(p, failureText("EINVAL", err.Error())))
}

func blockCopy(_ context.Context, p *sdk.CurrentPlugin, args []uint64) uint64 {
	to, from, n := args[0], args[1], args[2]
	var data []byte
	ok := max(to, from, n) <= math.MaxUint32
	if ok {
		data, ok = p.Memory().Read(uint32(from), uint32(n)) //nolint:gosec // checked above
	}
	if !ok || !p.Memory().Write(uint32(to), data) { //nolint:gosec // checked above
		panic("block_copy: not in the kernel's memory")
	}
	return 0
}
