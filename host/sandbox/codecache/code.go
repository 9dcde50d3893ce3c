package codecache

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"
	"golang.org/x/sys/unix"
)

// Source says where code came from.
type Source string

// The sources of code.
const (
	Embedded Source = "embedded"
	Kept     Source = "kept"
	Compiled Source = "compiled"
)

// Code is a module with its native code, ready to be loaded by one runtime.
type Code struct {
	Key Key
	// Wasm is the module to load: a stub of what the rewriter made of it, which is
	// to be run with this code alone. Loaded lets go of it.
	Wasm []byte
	// Meta is what the rewriter said about it.
	Meta   []byte
	Source Source

	from      *Cache
	functions uint64
	name      string // of the file in which wazero looks for native code
	native    *native
	scratch   *scratch
	feed      *feed       // nil when native code lies in the scratch directory
	offered   os.FileInfo // what wazero is to open
	loaded    bool
	plain     bool // no file is to be mapped
	extra     extra
}

// newCode is code of which wazero will look for a file of that name.
func (c *Cache) newCode(key Key, wasm, meta []byte, name string) (*Code, error) {
	code := &Code{Key: key, Wasm: wasm, Meta: meta, from: c, name: name}
	var err error
	if code.functions, err = functionsOf(wasm); err != nil {
		return nil, err
	}
	for _, closeOnDone := range []bool{false, true} {
		if nativeName(wasm, closeOnDone) == name {
			return code, nil
		}
	}
	return nil, errors.New("the native code isn't that of the module, or is for another CPU")
}

// hold takes native code over, which then belongs to c, and puts it where wazero
// looks for it: into a pipe, if there is a file that nobody changes, which will be
// mapped; or into a file.
func (c *Code) hold(n *native) (err error) {
	c.native = n
	if c.plain {
		n.constant = false
	} else if !n.constant {
		sealed, err := c.from.seal(n)
		if err != nil {
			c.from.private(err)
		} else {
			_ = n.close()
			c.native = sealed
		}
	}
	if c.scratch == nil {
		if c.scratch, err = newScratch(c.from.scratchDirs(), c.native.room()); err != nil {
			return err
		}
	}
	if err := c.native.check(c.functions, c.scratch.native); err != nil {
		return err
	}
	if err = c.offer(); err == nil {
		c.offered, err = os.Lstat(c.path())
	}
	return err
}

// path is where wazero looks for native code.
func (c *Code) path() string { return filepath.Join(c.scratch.path, c.scratch.native, c.name) }

func (c *Code) offer() (err error) {
	if c.native.laid {
		return nil
	}
	_ = os.Remove(c.path()) // the compiler's
	if c.native.constant {
		if c.feed, err = newFeed(c.path(), c.native); err == nil {
			return nil
		}
		c.from.private(err)
	}
	return c.lay(c.path())
}

// unsharedError says that code couldn't be mapped from a file.
type unsharedError struct{ error }

// errUntaken is when somebody has removed what was offered: wazero has compiled
// the stub instead.
var errUntaken = errors.New("the native code wasn't loaded")

func (c *Code) taken() error {
	now, err := os.Lstat(c.path())
	was := c.offered // a number may be that of another file by now
	if err != nil || !os.SameFile(now, was) || now.Mode() != was.Mode() || now.Size() != was.Size() || !now.ModTime().Equal(was.ModTime()) {
		return errUntaken
	}
	return nil
}

// lay puts the code into a file for wazero, which stays if there is no other.
func (c *Code) lay(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, c.native.reader())
	if n := c.native; n.file == nil {
		n.ReaderAt, n.file, n.at = f, f, 0
		return err
	}
	return errors.Join(err, f.Close())
}

// Cache makes a runtime find the native code:
//
//	config.WithCompilationCache(code.Cache())
//
// It is for this one module and the one runtime that runs it: a cache shared
// between runtimes is where wazero 1.12.0 has a bug (#2511). What else is
// compiled with it after Loaded fails.
func (c *Code) Cache() wazero.CompilationCache { return c.scratch.cache }

// Loaded says that the runtime has compiled, which here means loaded, the
// module: the code in memory is replaced by that in the file where there is one,
// the directory is removed, and the text of the module, which can be megabytes,
// is let go of. Call it before the module is called, while its runtime is there.
// Safe to call twice. With an error the runtime has something else: close it, and call
// nothing of it.
func (c *Code) Loaded() error {
	if c.loaded {
		return nil
	}
	c.loaded = true
	err := c.taken()
	if err == nil && c.feed != nil {
		if failed := c.feed.share(c.native); failed != nil {
			err = unsharedError{failed}
		}
	}
	c.release()
	return err
}

// release gives back what is needed until a module is loaded.
func (c *Code) release() {
	c.Wasm = nil
	if c.feed != nil {
		c.feed.close()
		c.feed = nil
	}
	if c.scratch != nil {
		c.scratch.discard()
	}
}

// Close frees wazero's cache. Close the runtime first. Safe to call twice.
func (c *Code) Close() error {
	c.release()
	var err error
	if c.native != nil {
		err = c.native.close()
	}
	if c.scratch != nil {
		err = errors.Join(err, c.scratch.cache.Close(context.Background()))
	}
	return err
}
