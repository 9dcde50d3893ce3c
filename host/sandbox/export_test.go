package sandbox

import (
	"bytes"
	"context"
	"fmt"

	"github.com/tetratelabs/wazero/experimental"

	"waymark/host/vfs"
)

// ImageVersion is that of images that are packed with native code.
const ImageVersion = imageVersion

// State is what an instance is made of, as far as it is seen from outside of
// wazero, for comparing instances.
type State struct {
	Memory  []byte
	Globals []string
	Blocks  []byte
	Figures string
	Random  []byte // what comes next
}

func (in *instance) state() *State {
	s := &State{Blocks: bytes.Clone(in.blocks.data)}
	if mem := in.module.Memory(); mem.Definition() != nil {
		data, _ := mem.Read(0, mem.Size())
		s.Memory = bytes.Clone(data)
	}
	if m, ok := in.module.(experimental.InternalModule); ok {
		for i := range m.NumGlobal() {
			s.Globals = append(s.Globals, fmt.Sprint(m.Global(i).Get()))
		}
	}
	s.Figures = fmt.Sprint(in.gov.left, in.clock, in.fs.early, in.logs, in.stderr, in.output,
		in.memory.Current(), in.memory.Peak(), in.blocks.used, in.blocks.live, in.remembered)
	s.Random = make([]byte, 100)
	random := in.random.source
	_, _ = random.Read(s.Random)
	return s
}

// States are those of a new instance, and of the same when a run of it has
// ended.
func (m *Module) States(ctx context.Context, input []byte, run *vfs.Run) (before, after *State, err error) {
	in, err := m.newInstance(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer m.discard(in)
	in.blocks.reset() // as the call does
	before = in.state()
	before.Figures += fmt.Sprint(len(in.initializers))
	in.bind(run)
	defer in.fs.unbind()
	_, err = in.call(ctx, "resolve", input)
	after = in.state()
	after.Figures += fmt.Sprint(in.gov.granted, in.gov.charged)
	if err != nil {
		after.Figures += err.Error()
	}
	return before, after, nil
}

// Rearmed is the state of an instance that is ready for another run after one of it has ended,
// that of a new instance, and the error of the run. The first two are nil if the instance can't
// have another run.
func (m *Module) Rearmed(ctx context.Context, input []byte, run *vfs.Run) (again, fresh *State, err error) {
	in, err := m.newInstance(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() { in.close() }()
	in.bind(run)
	_, err = in.call(ctx, "resolve", input)
	in.fs.unbind()
	if !m.rearm(in) {
		return nil, nil, err
	}
	again = in.ready()
	in.close()
	if in, err = m.newInstance(ctx); err != nil {
		return nil, nil, err
	}
	return again, in.ready(), nil
}

// ready is state with what the next run finds beside it.
func (in *instance) ready() *State {
	s := in.state()
	root := dir{}
	if in.fs.root != nil {
		root = *in.fs.root
		root.mount = nil
	}
	// The preopen is there before the first run only if wazero has been asked for it.
	opens := in.fs.imaged || in.fs.root != nil
	s.Figures += fmt.Sprint(len(in.initializers), in.fs.preopened, in.fs.kept, in.fs.open, opens, fmt.Sprint(root.open, root.entries, root.listed, root.pos),
		in.blocks.list, in.blocks.free, in.blocks.input, in.blocks.errorText, in.blocks.outputAt, in.blocks.outputBytes)
	return s
}
