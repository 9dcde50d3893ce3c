package codecache

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strings"
)

// native is native code in the form in which wazero keeps it.
type native struct {
	layout
	io.ReaderAt          // what it is a part of
	at, size    int64    // which part
	file        *os.File // what it is a part of, or nil when that is no file
	// constant says that nobody can change the file but who could change this
	// program as well, and that the code begins at a page: it may be mapped.
	constant bool
	// laid says that wazero finds the file where it is.
	laid bool
}

// newNative looks at native code that is part of something. file is that, when
// it is one; it then belongs to the native, also when there is an error.
func newNative(in io.ReaderAt, at, size int64, file *os.File) (*native, error) {
	n := &native{ReaderAt: in, at: at, size: size, file: file}
	var err error
	if n.layout, err = readLayout(n.reader(), size); err != nil {
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}

// reader reads what wazero would have in its file.
func (n *native) reader() *io.SectionReader { return io.NewSectionReader(n, n.at, n.size) }

// room is how much space is needed for loading it, in bytes.
func (n *native) room() int64 {
	if n.constant {
		return 0
	}
	return n.size
}

// frame is the digest of some meta data and of what is around the code: where
// functions begin, and what catches.
func (n *native) frame(meta []byte) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(meta))))
	_, _ = h.Write(meta)
	if _, err = io.Copy(h, io.NewSectionReader(n.reader(), 0, n.code)); err != nil {
		return sum, err
	}
	after := n.code + n.length
	if _, err = io.Copy(h, io.NewSectionReader(n.reader(), after, n.size-after)); err != nil {
		return sum, err
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

func (n *native) close() error {
	if n.file == nil {
		return nil
	}
	err := n.file.Close()
	n.file = nil
	return err
}

// layout says where things are in a file of native code as wazero 1.12.0 keeps
// it (engine_cache.go): a header with its version, the place of each function in
// the code, the code, and a checksum of it.
type layout struct {
	version   string
	functions uint64
	code      int64 // where the code begins
	length    int64 // of the code
}

var errDamaged = errors.New("the native code is damaged")

const (
	nativeMagic  = "WAZEVO"
	checksumSize = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// readLayout reads the head of a file with so many bytes. What it says is
// compared with that size, so that nothing is allocated for a lie.
func readLayout(r io.ReaderAt, size int64) (l layout, err error) {
	at := int64(0)
	read := func(n int64) []byte {
		part := make([]byte, n)
		if err == nil {
			_, err = r.ReadAt(part, at)
		}
		at += n
		return part
	}
	head := read(int64(len(nativeMagic)) + 1)
	l.version = string(read(int64(head[len(head)-1])))
	l.functions = uint64(binary.LittleEndian.Uint32(read(4)))
	at += 8 * int64(l.functions) //nolint:gosec // 32 bits
	length := binary.LittleEndian.Uint64(read(8))
	l.code = at
	switch {
	case err != nil:
		return layout{}, fmt.Errorf("%w: %w", errDamaged, unexpected(err))
	case string(head[:len(nativeMagic)]) != nativeMagic, size-at < checksumSize, length > uint64(size-at-checksumSize): //nolint:gosec // not negative
		return layout{}, errDamaged
	}
	l.length = int64(length) //nolint:gosec // at most size
	return l, nil
}

// check makes sure that wazero will take the code: else it would compile, in
// this process and without limits, and a stub at that.
func (l *layout) check(functions uint64, wazeroDir string) error {
	switch {
	case l.functions != functions:
		return fmt.Errorf("%w: it has %d functions, the module %d", errDamaged, l.functions, functions)
	case !strings.HasPrefix(wazeroDir, "wazero-"+l.version+"-"):
		return fmt.Errorf("the native code is from wazero %q, and %s is needed", l.version, wazeroDir)
	}
	return nil
}
