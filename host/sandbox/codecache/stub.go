package codecache

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Section ids, core specification 2.0, section 5.5.2.
const (
	secCustom    = 0
	secMemory    = 5
	secGlobal    = 6
	secExport    = 7
	secStart     = 8
	secCode      = 10
	secData      = 11
	secDataCount = 12
)

const wasmPreamble = "\x00asm\x01\x00\x00\x00"

// section is one section of a module.
type section struct {
	id    byte
	whole []byte // with its id and length
	body  []byte
}

var errNotWasm = errors.New("not a WebAssembly module")

// sections takes a module apart. What is in the sections isn't looked at:
// wazero has done that, or will.
func sections(wasm []byte) ([]section, error) {
	rest, ok := bytes.CutPrefix(wasm, []byte(wasmPreamble))
	if !ok {
		return nil, errNotWasm
	}
	var list []section
	for len(rest) > 0 {
		size, n := binary.Uvarint(rest[1:])
		if n <= 0 || size > uint64(len(rest)-1-n) { //nolint:gosec // not negative
			return nil, fmt.Errorf("%w: a section is cut off", errNotWasm)
		}
		end := 1 + n + int(size) //nolint:gosec // at most len(rest)
		list = append(list, section{rest[0], rest[:end], rest[1+n : end]})
		rest = rest[end:]
	}
	return list, nil
}

// stubBody is a function that does nothing but trap: its length, no locals,
// unreachable, end.
var stubBody = []byte{3, 0, 0x00, 0x0b}

// stubOf returns the module with bodies that trap: all that wazero looks at where
// it has the native code, and what the rewriter has put into custom sections. It
// is decoded and validated in a fraction of the time, and its own bodies are
// never run.
func stubOf(wasm []byte) ([]byte, error) {
	list, err := sections(wasm)
	if err != nil {
		return nil, err
	}
	stub := []byte(wasmPreamble)
	for _, s := range list {
		switch s.id {
		case secCode:
			count, n := binary.Uvarint(s.body)
			if n <= 0 || count > uint64(len(s.body)) {
				return nil, fmt.Errorf("%w: it has %d functions", errNotWasm, count)
			}
			body := append(binary.AppendUvarint(nil, count), bytes.Repeat(stubBody, int(count))...) //nolint:gosec // bounded above
			stub = append(binary.AppendUvarint(append(stub, secCode), uint64(len(body))), body...)
		default:
			stub = append(stub, s.whole...)
		}
	}
	return stub, nil
}

// bareStub returns a stub without what the rewriter has put into custom sections, and the
// name of its native code; name is that of the stub's.
func bareStub(stub []byte, name string) (_ []byte, bareName string, err error) {
	list, err := sections(stub)
	if err != nil {
		return nil, "", err
	}
	bare := []byte(wasmPreamble)
	for _, s := range list {
		if s.id != secCustom {
			bare = append(bare, s.whole...)
		}
	}
	return bare, nativeName(bare, name == nativeName(stub, true)), nil
}

// functionsOf returns how many functions a module defines.
func functionsOf(wasm []byte) (count uint64, err error) {
	list, err := sections(wasm)
	if err != nil {
		return 0, err
	}
	for _, s := range list {
		if s.id == secCode {
			count, _ = binary.Uvarint(s.body)
		}
	}
	return count, nil
}
