package host

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"waymark/host/sandbox"
)

// moduleFiles lists the modules of a directory, in order of names. A directory
// that isn't there holds none.
func moduleFiles(dir string) ([]string, error) {
	if err := checkLinks(dir); err != nil {
		return nil, err
	}
	info, err := os.Stat(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, untrustedError("not a directory: name the directory that holds the .wasm files")
	}
	if err := checkDir(dir, info); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*.wasm"))
	slices.Sort(files)
	return files, err
}

// pluginPath is a module file.
type pluginPath struct {
	path string
	// named files were named one by one: who may write to them isn't looked at.
	named bool
}

// errChanging says that a file was written to while it was read.
var errChanging = errors.New("it is still being written: it is used as soon as it is whole")

// read reads a module file after checking who could have written it, and
// returns what the file was like then.
func (p pluginPath) read() (wasm []byte, was stamp, err error) {
	f, err := os.OpenFile(p.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, stamp{}, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, stamp{}, err
	}
	if err := p.acceptable(f, info); err != nil {
		return nil, stamp{}, err
	}
	if was, err = stampOfOpen(f); err != nil {
		return nil, stamp{}, err
	}
	if wasm, err = io.ReadAll(io.LimitReader(f, sandbox.MaxModule)); err != nil {
		return nil, stamp{}, err
	}
	after, err := stampOfOpen(f)
	if err != nil {
		return nil, stamp{}, err
	}
	if after != was {
		return nil, after, errChanging
	}
	return wasm, was, whole(wasm)
}

// acceptable refuses what isn't a module file, or not a trusted one.
func (p pluginPath) acceptable(f *os.File, info os.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errors.New("not a regular file: copy the module here")
	}
	if !p.named {
		if err := checkFile(f); err != nil {
			return err
		}
	}
	if info.Size() > sandbox.MaxModule {
		return fmt.Errorf("the file has %d bytes, a module at most %d: strip it (-ldflags=-s -w, wasm-strip)", info.Size(), sandbox.MaxModule)
	}
	return nil
}

// whole refuses a module that ends in the middle of a section, as every copy
// does that isn't complete, or nearly every one: what ends between sections
// lacks what the later ones define, and is refused for that.
func whole(wasm []byte) error {
	const header = 8
	if len(wasm) < header || !bytes.HasPrefix(wasm, []byte("\x00asm")) {
		return nil // the sandbox says what it is
	}
	for rest := wasm[header:]; len(rest) > 0; {
		size, n := binary.Uvarint(rest[1:])
		if n < 0 || size > sandbox.MaxModule {
			return nil // it isn't the length that is wrong
		}
		if n == 0 || int(size) > len(rest)-1-n {
			return fmt.Errorf("the file ends in the middle of a section, after %d bytes: it is still being written, or was copied in part; "+
				"it is used as soon as it is whole, so copy it again if nothing is writing it", len(wasm))
		}
		rest = rest[1+n+int(size):]
	}
	return nil
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}
