package codecache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// Packed code is a head, what the rewriter has said, the stub, the text of an Extra,
// zeros, native code as wazero keeps it, zeros, the pages of the Extra, and zeros.
const (
	packMagic = "waymark-code-" + format + "\n"

	// The files that a child leaves.
	packMeta = "meta"
	packWasm = "module.wasm"

	// metaMax bounds what a rewriter may have to say about a module.
	metaMax = 1 << 20
	// partMax bounds the parts of a pack, each: several times what the largest
	// real module makes.
	partMax = 256 << 20
	// packAlign is what the code's place in an executable is a multiple of: the
	// largest size of pages that there is.
	packAlign = 64 << 10
)

// packHead begins packed code.
type packHead struct {
	Magic [len(packMagic)]byte
	Key   Key
	Name  [sha256.Size]byte // what wazero looks for, see nativeName
	// Frame is the digest of the meta data and of all that the native code has
	// around the code itself, for which wazero has a checksum.
	Frame      [sha256.Size]byte
	Meta, Stub uint32 // sizes, in bytes
	Native     uint64 // where it begins
	Size       uint64 // of the native code, in bytes
	// At is where the pack begins in the executable that holds it, or 0.
	At uint64
	// Of the Extra: the digest of the text, the checksum of the pages, the size of the
	// text, and that of the pages with where they begin, from the native code on. Nothing of
	// it is looked at for the code, so that damage to it is no damage to that.
	TextSum        [sha256.Size]byte
	PagesSum, Text uint32
	Pages, PagesAt uint64
}

var packHeadSize = binary.Size(packHead{})

// errOther says that a pack is sound but for another module or machine.
var errOther = errors.New("packed for another module, machine or version")

// packed is packed code whose head was read.
type packed struct {
	io.ReaderAt
	base int64 // where it begins there
	packHead
	head []byte
}

func readHead(r io.ReaderAt, key Key) (*packed, error) {
	p := &packed{ReaderAt: r, head: make([]byte, packHeadSize)}
	if _, err := r.ReadAt(p.head, 0); err != nil {
		return nil, unexpected(err)
	}
	_, _ = binary.Decode(p.head, binary.LittleEndian, &p.packHead) // it is long enough
	const name = len(packMagic) - len(format) - 1
	switch {
	case string(p.Magic[:name]) != packMagic[:name]:
		return nil, errors.New("no packed code")
	case string(p.Magic[:]) != packMagic, p.Key != key:
		return nil, errOther
	case p.Meta > metaMax, p.Stub > partMax, p.Size > partMax, p.Native > 2*partMax:
		return nil, errors.New("packed code of an impossible size")
	}
	return p, nil
}

// part reads one of the parts.
func (p *packed) part(at, size int64) ([]byte, error) {
	data := make([]byte, size)
	_, err := p.ReadAt(data, p.base+at)
	return data, unexpected(err)
}

func (p *packed) meta() ([]byte, error) { return p.part(int64(packHeadSize), int64(p.Meta)) }

func (p *packed) stub() ([]byte, error) {
	return p.part(int64(packHeadSize)+int64(p.Meta), int64(p.Stub))
}

// least is where native code can begin.
func (p *packed) least() int {
	return packHeadSize + int(p.Meta) + int(p.Stub) + int(min(p.Text, metaMax))
}

// behind is how long it is from there to the end of the last part.
func (p *packed) behind() uint64 {
	if p.Pages == 0 || p.Pages > partMax || p.PagesAt > 2*partMax {
		return p.Size
	}
	return max(p.Size, p.PagesAt+p.Pages)
}

// Pack writes code that was not yet declared Loaded.
func (c *Code) Pack(w io.Writer) error { return c.pack(w, 0) }

// pack adds room, in bytes, which Place may divide between what is before the
// native code and what is behind it.
func (c *Code) pack(w io.Writer, room int) error {
	name, err := hex.DecodeString(c.name)
	if err != nil {
		return err
	}
	frame, err := c.native.frame(c.Meta)
	if err != nil {
		return err
	}
	h := packHead{
		Magic: [len(packMagic)]byte([]byte(packMagic)), Key: c.Key, Name: [sha256.Size]byte(name), Frame: frame,
		Meta: uint32(len(c.Meta)), Stub: uint32(len(c.Wasm)), //nolint:gosec // bounded by readers
		Native: uint64(packHeadSize + len(c.Meta) + len(c.Wasm)), Size: uint64(c.native.size), //nolint:gosec // not negative
	}
	if err := binary.Write(w, binary.LittleEndian, h); err != nil {
		return err
	}
	for _, part := range []io.Reader{bytes.NewReader(c.Meta), bytes.NewReader(c.Wasm), c.native.reader(), bytes.NewReader(make([]byte, room))} {
		if _, err := io.Copy(w, part); err != nil {
			return err
		}
	}
	return nil
}

// packedSize is what Pack writes.
func (c *Code) packedSize() int64 {
	return int64(packHeadSize+len(c.Meta)+len(c.Wasm)) + c.native.size
}

// Place makes packed code, as Ahead has written it, fit the place that it has in
// an executable: there its code is to begin at a page, so that it can be mapped
// from it. It returns where that is, and what is to be there, which is as long, so that
// everything else stays where it is. That may be there already.
//
// # Errors
//
// The executable doesn't hold the pack, or holds it twice.
func Place(pack, executable []byte) (at int, placed []byte, err error) {
	if len(pack) < packHeadSize {
		return 0, nil, errors.New("no packed code")
	}
	var key Key
	copy(key[:], pack[len(packMagic):])
	p, err := readHead(bytes.NewReader(pack), key)
	if err != nil {
		return 0, nil, err
	}
	// What is before the native code stays, but for the head.
	least := p.least()
	before := pack[packHeadSize:least]
	at = bytes.Index(executable, before) - packHeadSize
	if at < 0 || at+len(pack) > len(executable) || bytes.Contains(executable[at+packHeadSize+1:], before) {
		return 0, nil, errors.New("the executable must hold the packed code, once")
	}
	l, err := readLayout(io.NewSectionReader(p, int64(p.Native), int64(p.Size)), int64(p.Size)) //nolint:gosec // bounded
	if err != nil {
		return 0, nil, err
	}
	moved := int(p.behind()) //nolint:gosec // all that moves, which was written in memory
	if end := least + moved + packAlign; end != len(pack) {
		return 0, nil, fmt.Errorf("the packed code has %d bytes, not %d", len(pack), end)
	}
	placed = make([]byte, len(pack))
	native := int(p.Native) //nolint:gosec // bounded
	begin := least + (-(at + least + int(l.code)))&(packAlign-1)
	p.At, p.Native = uint64(at), uint64(begin) //nolint:gosec // not negative
	if _, err := binary.Encode(placed, binary.LittleEndian, p.packHead); err != nil {
		return 0, nil, err
	}
	copy(placed[packHeadSize:], pack[packHeadSize:least])
	copy(placed[begin:], pack[native:native+moved])
	if held := executable[at : at+len(pack)]; !bytes.Equal(held, pack) && !bytes.Equal(held, placed) {
		return 0, nil, errors.New("the executable holds other packed code")
	}
	return at, placed, nil
}

// unexpected makes an early end an error that says so.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
