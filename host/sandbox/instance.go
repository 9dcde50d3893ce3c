package sandbox

import (
	"context"
	"errors"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	"github.com/tetratelabs/wazero/sys"

	"waymark/abi"
	"waymark/host/sandbox/memory"
	"waymark/host/sandbox/meter"
	"waymark/host/vfs"
)

// instance is one instantiation of a module, used for one run. It is prepared
// by calling describe, which also runs the guest's initialization, with an
// empty file system in place of the root.
type instance struct {
	plugin *extism.Plugin
	memory *memory.Allocator
	limits Limits
	fs     *mount
	stderr *head
	logs   logKeeper
	kernel *kernel             // nil until a host function needs it
	blocks map[uint64]struct{} // live blocks of the kernel
	gov    *governor           // of the call that is going on, or was last
	// remembered is the length of all values of units, given and taken.
	remembered int
	// returns is how many metered functions return in the next call, when all
	// goes well: extism runs _initialize with the first one.
	returns int
}

// runKey is the context key under which host functions find the instance that
// calls them: extism shows them neither the module nor its file system.
type runKey struct{}

// running returns the instance that calls a host function.
func running(ctx context.Context) *instance {
	in, ok := ctx.Value(runKey{}).(*instance)
	if !ok {
		panic("a host function was called outside of a run")
	}
	return in
}

// newInstance instantiates the module and prepares it; the second result is
// what describe answered.
func (m *Module) newInstance(ctx context.Context) (*instance, []byte, error) {
	in := m.blankInstance(ctx)
	if err := in.instantiate(ctx, m.compiled); err != nil {
		_ = in.memory.Close()
		return nil, nil, err
	}
	if m.meta.HasStart {
		if _, err := in.call(ctx, meter.StartExport, nil); err != nil {
			in.close()
			return nil, nil, err
		}
	}
	if m.meta.HasInitialize {
		in.returns = 2
	}
	out, err := in.call(ctx, abi.ExportDescribe, nil)
	if err == nil {
		err = in.checkOutput(out)
	}
	if err != nil {
		in.close()
		return nil, nil, err
	}
	return in, out, nil
}

// blankInstance is an instance before it is instantiated.
func (m *Module) blankInstance(ctx context.Context) *instance {
	in := &instance{limits: m.limits, memory: memory.New(memory.Options{}), stderr: &head{max: stderrMax}, blocks: map[uint64]struct{}{}}
	in.gov = newGovernor(ctx, m.limits, 0)
	in.fs = &mount{in: in}
	in.logs.max = m.limits.Logs
	return in
}

func (in *instance) instantiate(ctx context.Context, compiled *extism.CompiledPlugin) (err error) {
	defer func() { // the allocator has no other way to refuse
		if r := recover(); r != nil {
			refused, ok := r.(*memory.Error)
			if !ok {
				panic(r)
			}
			err = refused
		}
	}()
	fsConfig, ok := wazero.NewFSConfig().(sysfs.FSConfig)
	if !ok {
		return errors.New("this wazero has no sysfs mounts")
	}
	// A new ModuleConfig has no arguments, no environment and an empty standard
	// input.
	clock := &virtualClock{}
	random := newFixedRandom(func(fuel int64) { in.gov.charge(fuel) })
	config := wazero.NewModuleConfig().
		WithFSConfig(fsConfig.WithSysFSMount(in.fs, "/")).
		WithStderr(in.stderr).
		WithRandSource(random).
		WithWalltime(clock.walltime, 1).WithNanotime(clock.nanotime, 1).WithNanosleep(clock.sleep)
	plugin, err := compiled.Instance(in.memory.Context(ctx), extism.PluginInstanceConfig{ModuleConfig: config})
	if err != nil {
		return err
	}
	plugin.SetLogger(in.logs.add)
	in.plugin = plugin
	return nil
}

// bind gives the instance the root that its one run may see.
func (in *instance) bind(run *vfs.Run) { in.fs.bind(run) }

func (in *instance) close() {
	in.fs.unbind()
	// The context of the run may be over; closing must happen all the same.
	_ = in.plugin.CloseWithContext(context.Background())
	_ = in.memory.Close() // last: nothing may touch the memories any more
}

// call runs one export under its limits and returns the output. Errors are a
// *RunError without the module's name.
func (in *instance) call(ctx context.Context, export string, input []byte) ([]byte, error) {
	in.gov = newGovernor(ctx, in.limits, in.gov.left)
	returns := max(in.returns, 1)
	in.returns = 1
	// wazero and extism need not watch the caller's context: the governor does.
	callCtx := context.WithValue(context.WithoutCancel(ctx), runKey{}, in)
	rc, out, err := in.plugin.CallWithContext(callCtx, export, input)
	if rc == 0 && len(out) > 0 && err != nil && !isTrap(err) {
		err = nil // an Extism error that fs_read set and the guest got over
	}
	if err != nil || rc != 0 {
		return nil, in.explain(rc, err)
	}
	if in.gov.returned != returns { // proc_exit(0) looks like a return
		return nil, &RunError{Kind: ErrCrashed, Detail: exitDetail(0)}
	}
	return out, nil
}

// checkOutput holds an answer to its limit.
func (in *instance) checkOutput(out []byte) error {
	switch {
	case len(out) == 0:
		return &RunError{Kind: ErrAnswer, Detail: "no output"}
	case len(out) > in.limits.Response:
		return &RunError{Kind: ErrAnswer, Detail: tooLarge(len(out), in.limits.Response)}
	}
	return nil
}

// explain finds out why a call failed. A guest that was stopped also shows a
// trap, so the governor's verdict comes first.
func (in *instance) explain(rc uint32, err error) error {
	var limit *limitPanic
	var exit *sys.ExitError
	switch {
	case in.gov.verdict != nil:
		return in.gov.verdict
	case errors.As(err, &limit):
		return &RunError{Kind: ErrLimit, Detail: limit.Error()}
	case errors.As(err, &exit):
		return &RunError{Kind: ErrCrashed, Detail: exitDetail(exit.ExitCode()), GuestText: panicText(in.stderr.buf.Bytes())}
	case rc != 0 && err == nil:
		return &RunError{Kind: ErrGuest, Detail: "it gave no reason"}
	case isTrap(err):
		return &RunError{Kind: ErrCrashed, Detail: trapDetail(err), GuestText: panicText(in.stderr.buf.Bytes())}
	}
	return &RunError{Kind: ErrGuest, GuestText: oneLine(err.Error(), guestTextMax)}
}
