package vfs

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"syscall"
)

// Dep and Error have a binary form, for storing traces between processes. Encoders refuse an
// errno because it is a uintptr, which could be an address.

// errForm says that data isn't output of MarshalBinary.
var errForm = errors.New("not the binary form of this type")

// MarshalBinary returns a compact form. It never fails.
func (d Dep) MarshalBinary() ([]byte, error) {
	var f form
	f.text(string(d.Kind))
	f.text(d.Path)
	f.text(d.As)
	f.text(d.Target)
	f.text(string(d.Hash))
	f.numbers(uint64(d.Errno), uint64(d.Type), uint64(d.Size), //nolint:gosec // bits as they are
		d.ID.Dev, d.ID.Ino, uint64(d.ID.Size), uint64(d.ID.Mtime), uint64(d.ID.Ctime), uint64(d.Unshown)) //nolint:gosec // bits as they are
	f.flags(d.Hash != nil, d.Young, d.Unstable)
	return f, nil
}

// UnmarshalBinary reads the output of MarshalBinary.
func (d *Dep) UnmarshalBinary(data []byte) error {
	r := formReader{rest: data}
	*d = Dep{
		Kind: DepKind(r.text()), Path: r.text(), As: r.text(), Target: r.text(), Hash: []byte(r.text()),
		//nolint:gosec // bits as they are
		Errno: syscall.Errno(r.number()), Type: fs.FileMode(r.number()), Size: int64(r.number()),
		//nolint:gosec // bits as they are
		ID:      Identity{Dev: r.number(), Ino: r.number(), Size: int64(r.number()), Mtime: int64(r.number()), Ctime: int64(r.number())},
		Unshown: int(r.number()), //nolint:gosec // bits as they are
	}
	if !r.flag() {
		d.Hash = nil
	}
	d.Young, d.Unstable = r.flag(), r.flag()
	return r.end()
}

// MarshalBinary returns a compact form. It never fails.
func (e *Error) MarshalBinary() ([]byte, error) {
	var f form
	f.text(e.Op)
	f.text(e.Path)
	f.text(e.Detail)
	f.text(string(e.Reason))
	f.numbers(uint64(e.Errno))
	return f, nil
}

// UnmarshalBinary reads the output of MarshalBinary.
func (e *Error) UnmarshalBinary(data []byte) error {
	r := formReader{rest: data}
	*e = Error{Op: r.text(), Path: r.text(), Detail: r.text(), Reason: Reason(r.text()), Errno: syscall.Errno(r.number())}
	return r.end()
}

// form is a binary form: texts with their lengths, numbers as varints, flags as bytes.
type form []byte

func (f *form) text(s string) {
	*f = binary.AppendUvarint(*f, uint64(len(s)))
	*f = append(*f, s...)
}

func (f *form) numbers(list ...uint64) {
	for _, n := range list {
		*f = binary.AppendUvarint(*f, n)
	}
}

func (f *form) flags(list ...bool) {
	for _, b := range list {
		var v byte
		if b {
			v = 1
		}
		*f = append(*f, v)
	}
}

// formReader reads a form. After an error it returns only zero values.
type formReader struct {
	rest []byte
	bad  bool
}

func (r *formReader) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *formReader) text() string {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.bad, r.rest = true, nil
		return ""
	}
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}

func (r *formReader) flag() bool { return r.number() == 1 }

func (r *formReader) end() error {
	if r.bad || len(r.rest) > 0 {
		return errForm
	}
	return nil
}
