package codecache

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// Packed code is a tar archive, in this order: a file packKey with the key,
// packMeta and packWasm, then the native files below packNative.
const (
	packKey    = "waymark-code-" + format
	packMeta   = "meta"
	packWasm   = "module.wasm"
	packNative = "native/"
	blockSize  = 512

	// metaMax bounds what a rewriter may have to say about a module.
	metaMax = 1 << 20
	// partMax bounds the parts of a pack, each: several times what the largest
	// real module makes.
	partMax = 256 << 20
)

// errOther says that a pack is sound but for another module or machine.
var errOther = errors.New("packed for another module, machine or version")

// Pack writes code that was not yet declared Loaded, for Embedded to read.
func (c *Code) Pack(w io.Writer) error {
	files, err := c.scratch.natives()
	if err != nil {
		return err
	}
	t := tar.NewWriter(w)
	for _, part := range []struct {
		name string
		data []byte
	}{{packKey, []byte(c.Key.String())}, {packMeta, c.Meta}, {packWasm, c.Wasm}} {
		if err := addPart(t, part.name, int64(len(part.data)), bytes.NewReader(part.data)); err != nil {
			return err
		}
	}
	for _, file := range files {
		f, size, err := c.scratch.open(path.Join(c.scratch.native, file.name))
		if err != nil {
			return err
		}
		err = addPart(t, packNative+file.name, size, f)
		_ = f.Close()
		if err != nil {
			return err
		}
	}
	return t.Close()
}

func addPart(t *tar.Writer, name string, size int64, r io.Reader) error {
	if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size, Format: tar.FormatUSTAR}); err != nil {
		return err
	}
	_, err := io.CopyN(t, r, size)
	return err
}

// packedSize is an upper bound of what Pack writes: each part has a header
// and is filled up to whole blocks, and two blocks end it.
func (c *Code) packedSize() (int64, error) {
	files, err := c.scratch.natives()
	if err != nil {
		return 0, err
	}
	size := int64(len(packKey) + 2*len(c.Key) + len(c.Meta) + len(c.Wasm))
	for _, f := range files {
		size += f.size
	}
	return size + int64(len(files)+4)*2*blockSize, nil
}

// unpack reads packed code for a key into a scratch directory. That the code
// is what wazero looks for was checked before it was packed.
func unpack(r io.Reader, key Key, s *scratch) (*Code, error) {
	t := tar.NewReader(r)
	name, err := readPart(t, packKey, 256)
	if err == nil && string(name) != key.String() {
		err = errOther
	}
	if err != nil {
		return nil, err
	}
	c := &Code{Key: key, scratch: s}
	if c.Meta, err = readPart(t, packMeta, metaMax); err != nil {
		return nil, err
	}
	if c.Wasm, err = readPart(t, packWasm, partMax); err != nil {
		return nil, err
	}
	for n := 0; ; n++ {
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF) && n > 0:
			return c, nil
		case err != nil:
			return nil, unexpected(err)
		case n == nativeMax:
			return nil, errors.New("too many files")
		}
		if err := unpackNative(t, h, s); err != nil {
			return nil, err
		}
	}
}

func readPart(t *tar.Reader, name string, limit int64) ([]byte, error) {
	h, err := t.Next()
	if err != nil {
		return nil, unexpected(err)
	}
	if h.Name != name && strings.HasPrefix(h.Name, packKey[:len(packKey)-len(format)]) {
		return nil, errOther
	}
	if h.Name != name || h.Typeflag != tar.TypeReg || h.Size > limit {
		return nil, fmt.Errorf("%q with %d bytes where %s belongs", h.Name, h.Size, name)
	}
	data := make([]byte, h.Size)
	_, err = io.ReadFull(t, data)
	return data, unexpected(err)
}

func unpackNative(t *tar.Reader, h *tar.Header, s *scratch) error {
	name, ok := strings.CutPrefix(h.Name, packNative)
	if !ok || !nativeFile.MatchString(name) || h.Typeflag != tar.TypeReg || h.Size > partMax {
		return fmt.Errorf("%q with %d bytes where native code belongs", h.Name, h.Size)
	}
	f, err := s.createNative(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, t)
	return errors.Join(unexpected(err), f.Close())
}

// unexpected makes an early end an error that says so.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
