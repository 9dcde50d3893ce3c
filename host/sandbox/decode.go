package sandbox

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// wasmModule is the little that admission needs to know of a module.
type wasmModule struct {
	imports     []wasmImport
	funcExports []string
	hasStart    bool
}

type wasmImport struct {
	module, name string
	kind         byte
}

// Import and export kinds, section ids: WebAssembly core specification 2.0,
// sections 5.5.2 to 5.5.10.
const (
	importFunc   = 0
	importTable  = 1
	importMemory = 2
	importGlobal = 3

	sectionImport = 2
	sectionExport = 7
	sectionStart  = 8
)

var errCut = errors.New("it ends too early")

// decodeModule reads the import, export and start sections. Everything else
// is left to wazero's own validation.
func decodeModule(wasm []byte) (*wasmModule, error) {
	r := &reader{buf: wasm[8:]}
	m := &wasmModule{}
	for len(r.buf) > 0 {
		id, err := r.byte()
		if err != nil {
			return nil, err
		}
		body, err := r.bytes()
		if err != nil {
			return nil, fmt.Errorf("section %d: %w", id, err)
		}
		if err := m.section(id, &reader{buf: body}); err != nil {
			return nil, fmt.Errorf("section %d: %w", id, err)
		}
	}
	return m, nil
}

func (m *wasmModule) section(id byte, r *reader) error {
	switch id {
	case sectionImport:
		return r.vector(func() error {
			imp, err := r.importEntry()
			m.imports = append(m.imports, imp)
			return err
		})
	case sectionExport:
		return r.vector(func() error {
			name, err := r.name()
			if err != nil {
				return err
			}
			kind, err := r.byte()
			if err != nil {
				return err
			}
			if kind == importFunc {
				m.funcExports = append(m.funcExports, name)
			}
			_, err = r.uint32()
			return err
		})
	case sectionStart:
		m.hasStart = true
	}
	return nil
}

// reader decodes the binary format from a buffer.
type reader struct{ buf []byte }

func (r *reader) byte() (byte, error) {
	if len(r.buf) == 0 {
		return 0, errCut
	}
	b := r.buf[0]
	r.buf = r.buf[1:]
	return b, nil
}

// uint32 reads an unsigned LEB128 of at most 32 bits.
func (r *reader) uint32() (uint32, error) {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		b, err := r.byte()
		if err != nil {
			return 0, err
		}
		v |= uint64(b&0x7f) << shift
		if b&0x80 == 0 {
			if v > 1<<32-1 {
				break
			}
			return uint32(v), nil
		}
	}
	return 0, errors.New("a number is too large")
}

func (r *reader) bytes() ([]byte, error) {
	n, err := r.uint32()
	if err != nil {
		return nil, err
	}
	if uint64(n) > uint64(len(r.buf)) {
		return nil, errCut
	}
	b := r.buf[:n]
	r.buf = r.buf[n:]
	return b, nil
}

func (r *reader) name() (string, error) {
	b, err := r.bytes()
	if err != nil {
		return "", err
	}
	if !utf8.Valid(b) {
		return "", errors.New("a name is not valid UTF-8")
	}
	return string(b), nil
}

func (r *reader) vector(each func() error) error {
	n, err := r.uint32()
	if err != nil {
		return err
	}
	for range n { // each entry takes at least a byte, so this ends with the buffer
		if err := each(); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) importEntry() (imp wasmImport, err error) {
	if imp.module, err = r.name(); err != nil {
		return imp, err
	}
	if imp.name, err = r.name(); err != nil {
		return imp, err
	}
	if imp.kind, err = r.byte(); err != nil {
		return imp, err
	}
	switch imp.kind {
	case importFunc:
		_, err = r.uint32()
	case importTable:
		if _, err = r.byte(); err == nil {
			err = r.limits()
		}
	case importMemory:
		err = r.limits()
	case importGlobal:
		if _, err = r.byte(); err == nil {
			_, err = r.byte()
		}
	default:
		err = fmt.Errorf("unknown import kind %d", imp.kind)
	}
	return imp, err
}

func (r *reader) limits() error {
	flags, err := r.byte()
	if err != nil {
		return err
	}
	if _, err = r.uint32(); err == nil && flags&1 != 0 {
		_, err = r.uint32()
	}
	return err
}
