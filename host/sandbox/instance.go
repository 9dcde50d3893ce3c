package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	"github.com/tetratelabs/wazero/sys"

	"waymark/abi"
	"waymark/host/sandbox/memory"
	"waymark/host/vfs"
	"waymark/internal/text"
)

// instance is one instantiation of a module, used for one run at a time. Calling describe, with an
// empty file system in place of the root, prepares it and also runs the guest's
// initialization.
type instance struct {
	module       api.Module
	initializers []string // exports still to be called before any other
	memory       *memory.Allocator
	limits       Limits
	waits        int // see governor.again
	// running reports the start of a call and returns the function that reports its end; see
	// Options.Running.
	running func() (end func())
	fs      *mount
	stderr  *output // for the text of a crash
	output  *output // both streams; nil if not wanted
	logs    logKeeper
	clock   virtualClock
	random  *fixedRandom
	blocks  *blocks
	gov     *governor // of the current or last call
	// remembered is the total length of all values of units, recalled and stored.
	remembered int
	globals    []api.MutableGlobal // in the order of meter.GlobalExport, if it started from an image
	answered   bool                // the last call returned an answer
}

// initialize instantiates the module and prepares it; the second result is the answer to
// describe.
func (m *Module) initialize(ctx context.Context) (*instance, []byte, error) {
	in := m.blankInstance(ctx)
	if err := in.instantiate(ctx, m.program); err != nil {
		_ = in.memory.Close()
		return nil, nil, err
	}
	out, err := in.call(ctx, abi.ExportDescribe, nil)
	if err != nil {
		in.close()
		return nil, nil, err
	}
	return in, out, nil
}

// blankInstance returns an instance that isn't instantiated yet.
func (m *Module) blankInstance(ctx context.Context) *instance {
	in := &instance{
		initializers: m.meta.Initializers, limits: m.limits, waits: m.waits,
		memory: new(memory.Allocator), stderr: &output{max: stderrMax},
		running: func() func() { return m.host.opts.Running(m.digest, m.limits.Time) },
	}
	in.gov = newGovernor(ctx, m.limits, 0)
	in.random = newFixedRandom(func(fuel int64) { in.gov.charge(fuel) })
	in.fs = &mount{in: in}
	in.logs.max = m.limits.Logs
	if m.host.opts.Output {
		in.output = &output{max: outputMax}
	}
	return in
}

func (in *instance) instantiate(ctx context.Context, p *program) (err error) {
	defer func() { // the allocator can refuse only by a panic
		if r := recover(); r != nil {
			refused, ok := r.(*memory.Error)
			if !ok {
				panic(r)
			}
			err = refused
		}
	}()
	in.blocks = newBlocks(in.memory, in.limits.Memory)
	fsConfig, ok := wazero.NewFSConfig().(sysfs.FSConfig)
	if !ok {
		return errors.New("this wazero has no sysfs mounts")
	}
	// A new ModuleConfig has no arguments, no environment and an empty standard input. The
	// module has no name, so that there can be many, and nothing of it runs before call.
	stdout, stderr := in.streams()
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions().
		WithFSConfig(fsConfig.WithSysFSMount(in.fs, "/")).
		WithStdout(stdout).WithStderr(stderr).
		WithRandSource(in.random).
		WithWalltime(in.clock.walltime, 1).WithNanotime(in.clock.nanotime, 1).WithNanosleep(in.clock.sleep)
	if in.module, err = p.InstantiateModule(in.memory.Context(ctx), p.module, config); err != nil {
		return err
	}
	for _, s := range p.data {
		in.module.Memory().Write(s.Offset, s.Bytes) // it fits: the meter has checked
	}
	return nil
}

// bind gives the instance the root that its one run may see.
func (in *instance) bind(run *vfs.Run) { in.fs.bind(run) }

func (in *instance) close() {
	in.fs.unbind()
	// Close in any case, even if the context of the run has ended.
	_ = in.module.Close(context.Background())
	_ = in.memory.Close() // last: nothing may touch the memories any more
}

// call runs one export under its limits and returns its answer. The first call of an instance
// also runs the guest's initialization, under the same limits. Errors are a *RunError without
// the module's name.
func (in *instance) call(ctx context.Context, export string, input []byte) ([]byte, error) {
	in.gov = newGovernor(ctx, in.limits, in.gov.left)
	in.gov.again = in.waits
	if export == abi.ExportResolve {
		in.gov.resolves()
	}
	in.blocks.reset()
	in.answered = false
	var err error
	if in.blocks.input, err = in.blocks.put(input); err != nil {
		return nil, &RunError{Kind: ErrLimit, Detail: err.Error()}
	}
	// wazero need not watch the caller's context, because the governor does.
	callCtx := &runContext{context.WithoutCancel(ctx), in}
	defer in.running()()
	for _, name := range in.initializers {
		if _, err := in.invoke(callCtx, name); err != nil {
			return nil, err
		}
	}
	in.initializers = nil
	rc, err := in.invoke(callCtx, export)
	if err != nil {
		return nil, err
	}
	reason := in.blocks.bytes(in.blocks.errorText)
	switch {
	case rc == 0 && (len(reason) == 0 || in.blocks.outputBytes > 0):
		in.answered = true
		return in.answer() // with both, fs_read set the error and the guest recovered
	case len(reason) == 0:
		return nil, &RunError{Kind: ErrGuest, Detail: "it gave no reason"}
	}
	return nil, &RunError{Kind: ErrGuest, GuestText: text.Line(string(reason[:min(len(reason), cleanedMax)]), guestTextMax)}
}

// invoke calls an exported function that the rewriter has wrapped, and returns its result, or
// 0 if it has none. Parameters are 0.
func (in *instance) invoke(ctx context.Context, name string) (uint32, error) {
	f := in.module.ExportedFunction(name)
	returned := in.gov.returned
	results, err := f.Call(ctx, make([]uint64, len(f.Definition().ParamTypes()))...)
	switch {
	case err != nil:
		return 0, in.explain(err)
	case in.gov.returned == returned: // proc_exit(0) looks like a return
		return 0, &RunError{Kind: ErrCrashed, Detail: exitDetail(0)}
	case len(results) == 0:
		return 0, nil
	}
	return api.DecodeU32(results[0]), nil
}

// answer returns a copy of the output. It checks the limit first, so that a too large answer
// costs the host no memory.
func (in *instance) answer() ([]byte, error) {
	switch n := int(in.blocks.outputBytes); {
	case n == 0:
		return nil, &RunError{Kind: ErrAnswer, Detail: "no output"}
	case n > in.limits.Response:
		return nil, &RunError{Kind: ErrAnswer, Detail: tooLarge(n, in.limits.Response)}
	}
	return in.blocks.output(), nil
}

// explain finds out why a call failed, and where.
func (in *instance) explain(err error) error {
	run := in.failure(err)
	run.Stack = wasmStack(err)
	switch {
	case errors.Is(run, ErrCrashed):
		run.Where = cmp.Or(goLocation(in.stderr.String()), stackLocation(run.Stack))
	case errors.Is(run, ErrLimit):
		run.Where = stackLocation(run.Stack)
	}
	return run
}

// failure finds out why a call failed. A guest that was stopped also shows a trap, so the
// governor's verdict comes first.
func (in *instance) failure(err error) *RunError {
	var limit *limitPanic
	var exit *sys.ExitError
	switch {
	case in.gov.verdict != nil:
		return in.gov.verdict
	case errors.As(err, &limit):
		return &RunError{Kind: ErrLimit, Detail: limit.Error()}
	}
	run := &RunError{Kind: ErrCrashed, Detail: trapDetail(err), GuestText: panicText(in.stderr.String())}
	if errors.As(err, &exit) {
		run.Detail = exitDetail(exit.ExitCode())
	}
	if strings.Contains(run.GuestText, "out of memory") {
		run.Detail = fmt.Sprintf("it needs more memory than the %d MiB that a run may have", in.limits.Memory>>20)
	}
	return run
}

// newInstance returns a new instance that is prepared for one run.
func (m *Module) newInstance(ctx context.Context) (*instance, error) {
	if m.image != nil {
		return m.fromImage(ctx)
	}
	in, _, err := m.initialize(ctx)
	return in, err
}
