package sandbox

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"

	"waymark/host/vfs"
	"waymark/sdk-guest/frontmatter"
)

// The fs_* host functions: the same file system as the mount, for languages without WASI.
// Their text forms are in abi/ABI.md, "Files".

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

// fsRead puts up to length bytes from offset into a new block and returns it. On failure it
// returns 0 and sets the Extism error. At the end of the file it also returns 0, because
// there are no empty blocks, but clears the error.
func fsRead(in *instance, stack []uint64) {
	data, err := vfs.ReadRange(func() (*vfs.File, error) { return in.open(stack[0]) }, int64(stack[1]), int64(stack[2])) //nolint:gosec // negative is refused there
	stack[0] = 0
	if err != nil {
		in.fail(failure(err))
		return
	}
	in.blocks.errorText = 0
	stack[0] = in.put(data)
}

// fsList returns the entries of a directory as JSON.
func fsList(in *instance, stack []uint64) {
	text, err := in.listing(stack[0])
	if err != nil {
		text = failure(err)
	}
	stack[0] = in.put(text)
}

func (in *instance) listing(path uint64) ([]byte, error) {
	f, err := in.open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	list, err := f.ReadDir()
	if err != nil {
		return nil, err
	}
	text := []byte{'['}
	for i, e := range list { // one by one, because the deadline may pass in between
		in.gov.charge(fuelPerEntry)
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, encode(fsEntry{e.Name, typeName(e.Type)})...)
	}
	return append(text, ']'), nil
}

// fsStat returns type and size of a path's target, as JSON.
func fsStat(in *instance, stack []uint64) {
	stack[0] = in.put(in.status(stack[0]))
}

func (in *instance) status(path uint64) []byte {
	in.gov.charge(fuelPerLook)
	run, name, err := in.named(path)
	if err != nil {
		return failure(err)
	}
	info, err := run.Stat(name)
	if err != nil {
		return failure(err)
	}
	return encode(fsInfo{typeName(info.Type), info.Size})
}

// frontMatter returns the fields of a block of front matter as JSON, for languages without a
// parser for it.
func frontMatter(in *instance, stack []uint64) {
	block := in.blocks.bytes(stack[0])
	if len(block) > frontmatter.MaxSize {
		block = block[:frontmatter.MaxSize+1] // which is refused
	}
	in.gov.charge(int64(len(block)) * fuelPerFront)
	stack[0] = in.put(frontmatter.JSON(block, frontmatter.Options{Lenient: stack[1] != 0}))
}

// open opens the path in a block.
func (in *instance) open(path uint64) (*vfs.File, error) {
	in.gov.charge(fuelPerOpen)
	run, name, err := in.named(path)
	if err != nil {
		return nil, err
	}
	return run.Open(name)
}

// named returns the run and the path in a block. Describe has no root.
func (in *instance) named(path uint64) (*vfs.Run, string, error) {
	run := in.fs.run.Load()
	if run == nil {
		return nil, "", syscall.ENOENT
	}
	name := in.blocks.bytes(path)
	if len(name) > maxPath {
		return nil, "", syscall.ENAMETOOLONG
	}
	return run, string(name), nil
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

// failure returns the text form of an error. It tells no more than the errno, because the
// guest must not learn of a path outside the root.
func failure(err error) []byte {
	if errors.Is(err, vfs.ErrLimit) {
		panic(&limitPanic{err})
	}
	no := syscall.EIO
	errors.As(err, &no)
	name := cmp.Or(unix.ErrnoName(no), "EIO")
	return encode(fsFailure{name, no.Error()})
}

// encode writes strings and numbers as JSON, which can't fail.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}
