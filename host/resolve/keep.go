package resolve

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/fxamacker/cbor/v2"
)

// Store keeps bytes between processes, by names made of letters, digits and dashes. It must
// return only what this user's agents have stored: a memo is trusted as far as its trace
// holds.
type Store interface {
	// Get returns what was stored under a name; ok is false if there is nothing trustworthy.
	Get(name string) (data []byte, ok bool)
	Put(name string, data []byte) error
}

// keptFormat is changed whenever the meaning of the stored data changes.
const keptFormat = "waymark memos 2"

// keptRoot is what the Store holds for one root.
type keptRoot struct {
	load  sync.Once
	memos map[string]*keptMemo // by key id; set by load, read-only afterwards
	dirty bool                 // guarded by Engine.mu: something in memory is newer
}

// keptFile is the form in the Store, as CBOR: JSON loses names that aren't UTF-8, and gob turns
// empty values into nil. Traces are in a byte form of their own, because no encoder takes an
// errno. The file has all memos of a key, or none.
type keptFile struct {
	Format, Salt, Root string
	Memos              map[string]*keptMemo
}

// decoder accepts names and link texts that aren't UTF-8.
var decoder = func() cbor.DecMode {
	mode, err := cbor.DecOptions{UTF8: cbor.UTF8DecodeInvalid}.DecMode()
	if err != nil {
		panic(err) // the options are constant
	}
	return mode
}()

func (e *Engine) keptName(signature string) string {
	sum := sha256.Sum256([]byte(keptFormat + "\x00" + e.opts.Salt + "\x00" + signature))
	return "memo-" + hex.EncodeToString(sum[:16])
}

// recallKept looks for a memo of an earlier process.
func (e *Engine) recallKept(k key) *memo {
	if e.opts.Store == nil {
		return nil
	}
	e.mu.Lock()
	kept := e.kept[k.root]
	if kept == nil {
		kept = &keptRoot{}
		e.kept[k.root] = kept
	}
	e.mu.Unlock()
	kept.load.Do(func() { kept.memos = e.loadKept(k.root) })
	m := kept.memos[k.id()]
	if m == nil {
		return nil
	}
	return m.unpack()
}

func (e *Engine) loadKept(signature string) map[string]*keptMemo {
	data, ok := e.opts.Store.Get(e.keptName(signature))
	if !ok {
		return nil
	}
	var f keptFile
	if decoder.Unmarshal(data, &f) != nil || f.Format != keptFormat || f.Salt != e.opts.Salt || f.Root != signature {
		return nil // written by another version, so useless
	}
	return f.Memos
}

// Save stores the memos of all roots that have unsaved ones. Call it when nothing else is
// urgent, and before the process ends; unsaved results are computed again.
func (e *Engine) Save() error {
	if e.opts.Store == nil {
		return nil
	}
	var errs []error
	for signature, memos := range e.unsaved() {
		data, err := cbor.Marshal(keptFile{Format: keptFormat, Salt: e.opts.Salt, Root: signature, Memos: memos})
		if err == nil {
			err = e.opts.Store.Put(e.keptName(signature), data)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("memos not kept: %w", err))
		}
	}
	return errors.Join(errs...)
}

// unsaved returns the memos of every root that has unsaved ones, and marks them as saved.
func (e *Engine) unsaved() map[string]map[string]*keptMemo {
	e.mu.Lock()
	defer e.mu.Unlock()
	found := map[string]map[string]*keptMemo{}
	for signature, kept := range e.kept {
		if kept.dirty {
			kept.dirty = false
			found[signature] = map[string]*keptMemo{}
		}
	}
	for k, at := range e.entries {
		if memos := found[k.root]; memos != nil && at.memo != nil {
			memos[k.id()] = at.memo.pack()
		}
	}
	return found
}
