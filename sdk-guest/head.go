package guest

import (
	"errors"
	"io"
	"io/fs"
)

// HeadFS is a file system that reads the start of a file in one step. The one that a wasm
// build passes to resolvers is one.
type HeadFS interface {
	fs.FS
	// ReadHead returns the first n bytes of a file, or all of a shorter one.
	ReadHead(name string, n int) ([]byte, error)
}

// ReadHead returns the first n bytes of a file. A result shorter than n is the whole file. It
// only opens, reads and closes. The first lines of most files suffice for a description.
func ReadHead(fsys fs.FS, name string, n int) ([]byte, error) {
	if h, ok := fsys.(HeadFS); ok {
		return h.ReadHead(name, n)
	}
	return readHeadInto(fsys, name, make([]byte, n))
}

// ReadHeadInto is ReadHead with a buffer of the caller's, whose length bounds what is read.
// It avoids an allocation per file when many are read in sequence. The result is the
// beginning of the buffer.
func ReadHeadInto(fsys fs.FS, name string, buf []byte) ([]byte, error) {
	if isRoot(fsys) {
		return rootHead(name, buf)
	}
	if h, ok := fsys.(HeadFS); ok {
		head, err := h.ReadHead(name, len(buf))
		return buf[:copy(buf, head)], err
	}
	return readHeadInto(fsys, name, buf)
}

func readHeadInto(fsys fs.FS, name string, buf []byte) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	got, err := io.ReadFull(f, buf)
	closeErr := f.Close()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
	case err != nil:
		return nil, err
	case closeErr != nil:
		return nil, closeErr
	}
	return buf[:got], nil
}
