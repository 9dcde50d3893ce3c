package codecache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"slices"
)

// Extra is what somebody wants to have at hand with native code that was compiled
// ahead of time: a text, and pages that can be mapped from the program's file as the
// code is. It is nothing to this package.
type Extra struct {
	Text []byte
	// Pages has the pages, which are read and never changed. File, unless nil, is the
	// program's file, in which they begin at the byte At and at a page; it is open as long as
	// the code is.
	Pages *io.SectionReader
	File  *os.File
	At    int64
}

// extra is where an Extra lies.
type extra struct {
	*packed
	file *os.File
}

// ErrNoExtra says that nothing was packed with the code.
var ErrNoExtra = errors.New("nothing is packed with the code")

var errExtra = errors.New("what is packed with the code is damaged")

// Extra reads what was packed with embedded code, and compares it with its checksums.
// Once the code is loaded it may be called by one goroutine at a time.
//
// # Errors
//
// ErrNoExtra, or something else when it is damaged, which says nothing of the code.
func (c *Code) Extra() (*Extra, error) {
	p := c.extra.packed
	if p == nil || p.Text == 0 {
		return nil, ErrNoExtra
	}
	if p.Text > metaMax || p.Pages > partMax || p.PagesAt > 2*partMax {
		return nil, errExtra
	}
	text, err := p.part(int64(packHeadSize)+int64(p.Meta)+int64(p.Stub), int64(p.Text))
	if err != nil {
		return nil, err
	}
	e := &Extra{
		Text: text, File: c.extra.file, At: p.base + int64(p.Native) + int64(p.PagesAt), //nolint:gosec // bounded
	}
	e.Pages = io.NewSectionReader(p, e.At, int64(p.Pages))
	sum := crc32.New(castagnoli)
	n, err := io.CopyBuffer(sum, onlyReader{e.Pages}, make([]byte, 256<<10)) // mapping it would make all of it resident
	switch {
	case err != nil:
		return nil, err
	case sha256.Sum256(text) != p.TextSum, n != e.Pages.Size(), sum.Sum32() != p.PagesSum:
		return nil, errExtra
	}
	_, err = e.Pages.Seek(0, io.SeekStart)
	return e, err
}

// onlyReader hides whatever else a reader can do.
type onlyReader struct{ io.Reader }

// WithExtra returns packed code, as Ahead has written it, with something packed with it
// that wasn't there before, and without what the rewriter has put into custom sections: who
// asks for that, where the Extra can't be used, has to rewrite the module again.
//
// # Errors
//
// The pack is none, or has such a thing; or the parts are too large.
func WithExtra(pack, text, pages []byte) ([]byte, error) {
	if len(pack) < packHeadSize {
		return nil, errors.New("no packed code")
	}
	var key Key
	copy(key[:], pack[len(packMagic):])
	p, err := readHead(bytes.NewReader(pack), key)
	if err != nil {
		return nil, err
	}
	least := p.least()
	switch end := least + int(p.Size) + packAlign; { //nolint:gosec // bounded
	case p.Text > 0 || end != len(pack) || int(p.Native) != least: //nolint:gosec // bounded
		return nil, errors.New("this isn't packed code as it was written")
	case len(text) == 0 || len(text) > metaMax || len(pages) > partMax:
		return nil, fmt.Errorf("%d and %d bytes can't be packed with code", len(text), len(pages))
	}
	l, err := readLayout(io.NewSectionReader(p, int64(p.Native), int64(p.Size)), int64(p.Size)) //nolint:gosec // bounded
	if err != nil {
		return nil, err
	}
	native := pack[least:][:p.Size]
	stub, name, err := bareStub(pack[least-int(p.Stub):least], hex.EncodeToString(p.Name[:]))
	if err != nil {
		return nil, err
	}
	p.Stub = uint32(len(stub)) //nolint:gosec // less than it was
	if _, err := hex.Decode(p.Name[:], []byte(name)); err != nil {
		return nil, err
	}
	p.TextSum, p.Text = sha256.Sum256(text), uint32(len(text)) //nolint:gosec // bounded
	p.PagesSum, p.Pages = crc32.Checksum(pages, castagnoli), uint64(len(pages))
	p.PagesAt = uint64(l.code) + (p.Size-uint64(l.code)+packAlign-1)&^(uint64(packAlign)-1) //nolint:gosec // not negative
	beforeStub := packHeadSize + int(p.Meta)
	p.Native = uint64(beforeStub + len(stub) + len(text)) //nolint:gosec // not negative
	if p.Native+p.PagesAt+p.Pages > math.MaxInt32 {
		return nil, errors.New("it becomes too large")
	}
	out := make([]byte, p.Native+p.behind()+packAlign)
	if _, err := binary.Encode(out, binary.LittleEndian, p.packHead); err != nil {
		return nil, err
	}
	copy(out[packHeadSize:], pack[packHeadSize:beforeStub])
	copy(out[beforeStub:], slices.Concat(stub, text))
	copy(out[p.Native:], native)
	copy(out[p.Native+p.PagesAt:], pages)
	return out, nil
}
