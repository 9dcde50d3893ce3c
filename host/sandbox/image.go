package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tetratelabs/wazero/api"

	"waymark/host/sandbox/memory"
	"waymark/host/sandbox/meter"
	"waymark/internal/text"
)

// image is the state of an instance right after it was initialized and described.
// Initializing a module is a pure function of it, so an instance that starts from its image
// can't be told from a newly initialized one, from inside or outside. The state is everything
// that such an instance can have changed: memory, globals, and what the host keeps of it. It
// is immutable.
type image struct {
	memory  *memory.Image
	globals []uint64 // in the order of meter.GlobalExport
	blocks  uint64   // bytes that blocks can take without growing
	fuel    int64    // left of the last slice
	clock   virtualClock
	random  rand.ChaCha8
	logs    logKeeper
	stderr  output
	output  *output

	early     int // of mount
	preopened bool

	warm    atomic.Int32 // number of runs that have reported which pages they write
	refused sync.Once    // of a mapping
}

// warmRuns is how many runs report which pages they write, so that the next ones have these
// pages ready. It takes 20 µs per run.
const warmRuns = 16

// keepImage makes an image of an instance that was just described, if possible. Otherwise
// m.plain says why not, and instances are initialized one by one.
func (m *Module) keepImage(in *instance) {
	switch {
	case m.host.opts.NoImages:
		m.plain = "images are switched off"
	case m.meta.Fixed != "":
		m.plain = m.meta.Fixed
	case in.fs.kept:
		m.plain = "it opens, closes or changes descriptors before it is asked for anything"
	}
	if m.plain != "" {
		return
	}
	mem, err := in.memory.NewImage()
	if err != nil {
		m.plain = "the system keeps no images: " + text.Line(err.Error(), guestTextMax)
		m.log.Warn("each instance is initialized anew, which takes longer", slog.String("module", m.desc.Name), slog.Any("error", err))
		return
	}
	i := &image{
		memory: mem, globals: make([]uint64, m.meta.Globals), blocks: uint64(len(in.blocks.data)),
		fuel: in.gov.left, clock: in.clock, random: in.random.source,
		logs: in.logs, stderr: in.stderr.clone(), early: in.fs.early, preopened: in.fs.preopened,
	}
	if in.output != nil {
		o := in.output.clone()
		i.output = &o
	}
	for n := range i.globals {
		i.globals[n] = in.module.ExportedGlobal(meter.GlobalExport(n)).Get()
	}
	m.image, m.program.data = i, nil
}

// fromImage makes an instance that starts from the module's image.
func (m *Module) fromImage(ctx context.Context) (*instance, error) {
	i := m.image
	in := m.blankInstance(ctx)
	in.memory.Image = i.memory
	in.memory.Refused = m.refused
	in.fs.imaged = i.preopened
	err := in.instantiate(ctx, m.program)
	if err == nil {
		err = in.begin(i)
	}
	if err != nil {
		if in.module != nil {
			in.close()
		}
		_ = in.memory.Close()
		return nil, err
	}
	return in, nil
}

// begin sets what is set when the module is instantiated.
func (in *instance) begin(i *image) error {
	in.initializers = nil
	if pages := uint32(i.memory.Size() / wasmPage); pages > 0 { //nolint:gosec // at most 65,536
		mem := in.module.Memory()
		if _, ok := mem.Grow(pages - mem.Size()/wasmPage); !ok {
			return &memory.Error{Size: int64(i.memory.Size()), Reason: "the memory doesn't grow to its image"} //nolint:gosec // at most 4 GiB
		}
	}
	for n, v := range i.globals {
		g, ok := in.module.ExportedGlobal(meter.GlobalExport(n)).(api.MutableGlobal)
		if !ok {
			return fmt.Errorf("%s is no mutable global", meter.GlobalExport(n))
		}
		g.Set(v)
		in.globals = append(in.globals, g)
	}
	if i.blocks > 0 && !in.blocks.grow(i.blocks) {
		return &memory.Error{Size: int64(i.blocks), Reason: "no room for what passes between module and host"} //nolint:gosec // at most 4 GiB
	}
	in.recall(i)
	return nil
}

// recall sets what the host keeps of an instance beside its memory and globals.
func (in *instance) recall(i *image) {
	in.clock, in.random.source = i.clock, i.random
	in.fs.early, in.fs.preopened = i.early, i.preopened
	in.gov.done(i.fuel)
	in.logs = i.logs
	in.logs.lines = slices.Clip(i.logs.lines) // so that appending copies the lines
	*in.stderr = i.stderr.clone()
	if in.output != nil {
		*in.output = i.output.clone()
	}
	in.remembered = 0
}

// rearm makes an instance whose run is over what fromImage returns, in less time, and
// returns false if it can't; then the instance can only be closed.
//
// A run changes an instance's memory, its globals, what recall sets, and its descriptors.
// Tables and segments it can't change, because such a module has no image. What wazero keeps
// of a call ends with it. So an instance is fit for another run if the call has returned, the
// memory hasn't grown, and the descriptors are those of a new instance; see mount.fit.
func (m *Module) rearm(in *instance) bool {
	i := m.image
	if i == nil || !in.answered || !in.fs.fit() {
		return false
	}
	m.learn(in)
	if !in.memory.Rearm(i.blocks) {
		return false
	}
	in.blocks.rearm(i.blocks)
	for n, v := range i.globals {
		in.globals[n].Set(v)
	}
	in.fs.rearm()
	in.recall(i)
	return true
}

// learn records which pages a run has written: the next will write them, too.
func (m *Module) learn(in *instance) {
	if m.image != nil && m.image.warm.Load() < warmRuns {
		m.image.warm.Add(1)
		in.memory.Warm()
	}
}

// clone returns a copy that can be written to.
func (o *output) clone() output {
	return output{max: o.max, head: bytes.Clone(o.head), tail: bytes.Clone(o.tail), written: o.written}
}

// refused logs, once for a module, that its image couldn't be mapped.
func (m *Module) refused(err error) {
	m.image.refused.Do(func() {
		m.log.Warn("the system maps no image; instances are copied, which takes longer",
			slog.String("module", m.desc.Name), slog.Any("error", err))
	})
}

// Instances says how a module's instances are made.
type Instances struct {
	// Image says that each starts from an image of an initialized one. Otherwise each is
	// initialized separately, and Reason says why.
	Image bool `json:"image"`
	// Ahead says that the image was made by Ahead, and came with the native code.
	Ahead  bool   `json:"ahead,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Bytes is the size of an instance's initial memory, Kept the part of it that is stored
	// once for all instances, and Hot the part that each instance has a copy of from the
	// start.
	Bytes uint64 `json:"bytes,omitempty"`
	Kept  uint64 `json:"kept,omitempty"`
	Hot   uint64 `json:"hot,omitempty"`
	// Fresh says why an instance's memory isn't reused after its run. That takes longer, and
	// changes nothing else. It is empty if memory is reused.
	Fresh string `json:"fresh,omitempty"`
}

// Instances says how the module's instances are made.
func (m *Module) Instances() Instances {
	if m.image == nil {
		return Instances{Reason: m.plain}
	}
	mem := m.image.memory
	how := Instances{Image: true, Ahead: m.ahead, Bytes: mem.Size(), Kept: mem.Kept(), Hot: mem.Hot()}
	if err := memory.Reusable(); err != nil {
		how.Fresh = text.Line(err.Error(), guestTextMax)
	}
	return how
}
