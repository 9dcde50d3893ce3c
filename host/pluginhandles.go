package host

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"waymark/host/sandbox"
)

// The handles of a Host belong to who holds the plugins.

// handleFor is the handle that a version of a file is used by.
func (h *Host) handleFor(opts *Options, f *pluginFile, v *version) *handle {
	entry, _ := opts.entry(v.desc.Name)
	limits := entry.limits(opts.Limits)
	if v == f.used && v != f.newest {
		// Its bytes are gone from the file: other limits have to wait.
		for _, p := range h.plugins {
			if p.version == v && p.module != nil {
				return p.module
			}
		}
	}
	hd := h.handleOf(f.pluginPath, v.digest, limits, nil)
	hd.desc = v.desc
	return hd
}

// handleOf finds the handle of a content, or makes one. Bytes that are given
// are not read again.
func (h *Host) handleOf(file pluginPath, digest string, limits sandbox.Limits, wasm []byte) *handle {
	for hd := range h.handles {
		if hd.digest == digest && hd.limits == limits && !hd.failed() && (hd.loaded() || hd.path == file.path) {
			return hd
		}
	}
	read := func() ([]byte, error) {
		if wasm != nil {
			return wasm, nil
		}
		now, _, err := file.read()
		if err == nil && digestOf(now) != digest {
			err = errors.New("the file has changed before the module was loaded: the new content is looked at next")
		}
		return now, err
	}
	return h.keep(newHandle(h.closing, file.path, digest, limits, h.loader(file.path, read, nil, limits)))
}

func (h *Host) builtinHandle(opts *Options) *handle {
	for hd := range h.handles {
		if hd.path == BuiltinPath && hd.limits == opts.Limits && !hd.failed() {
			return hd
		}
	}
	hd := newHandle(h.closing, BuiltinPath, h.builtinDigest, opts.Limits,
		h.loader(BuiltinPath, opts.Builtin, opts.BuiltinNative, opts.Limits))
	hd.desc = h.blobs.description(h.builtinDigest)
	return h.keep(hd)
}

func (h *Host) keep(hd *handle) *handle {
	if h.handles == nil {
		h.handles = map[*handle]struct{}{}
	}
	h.handles[hd] = struct{}{}
	return hd
}

// loader returns what compiles and describes a module.
func (h *Host) loader(path string, read func() ([]byte, error), native func() io.Reader, limits sandbox.Limits) func(context.Context) (*sandbox.Module, error) {
	return func(ctx context.Context) (*sandbox.Module, error) {
		slow := time.AfterFunc(slowLoad, func() {
			line := "compiling " + path + " for the first time, this takes a few seconds …"
			if native != nil { // which mostly fits, but for a machine that is busy
				line = "loading the built-in resolvers, which can take a few seconds the first time …"
			}
			h.progress(line)
		})
		defer slow.Stop()
		wasm, err := read()
		if err != nil {
			return nil, err
		}
		var code io.Reader
		if native != nil {
			code = native()
		}
		m, err := h.sandbox.LoadNative(ctx, wasm, code, limits)
		if err != nil {
			return nil, err
		}
		if err := h.blobs.keepDescription(m.Digest(), m.Description()); err != nil {
			h.log.Debug("description not kept", slog.Any("error", err))
		}
		return m, nil
	}
}

// sweep closes the modules that the list in force doesn't use.
func (h *Host) sweep() {
	for hd := range h.handles {
		if !h.inUse(hd) {
			hd.close()
			delete(h.handles, hd)
		}
	}
}
