package sandbox

import (
	"context"
	"errors"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	"github.com/tetratelabs/wazero/sys"

	"waymark/abi"
	"waymark/host/vfs"
)

// instance is one instantiation of a module, used for one run. It is prepared
// by calling describe, which also runs the guest's initialisation, with an
// empty file system in place of the root.
type instance struct {
	plugin *extism.Plugin
	fs     *mount
	stderr *head
	logs   logKeeper
}

func (m *Module) newInstance(ctx context.Context) (*instance, []byte, error) {
	in := &instance{fs: &mount{}, stderr: &head{max: stderrMax}}
	fsConfig, ok := wazero.NewFSConfig().(sysfs.FSConfig)
	if !ok {
		return nil, nil, errors.New("this wazero has no sysfs mounts")
	}
	// A new ModuleConfig has no arguments, no environment, an empty standard
	// input and a fixed random source.
	clock := &virtualClock{}
	config := wazero.NewModuleConfig().
		WithFSConfig(fsConfig.WithSysFSMount(in.fs, "/")).
		WithStderr(in.stderr).
		WithWalltime(clock.walltime, 1).WithNanotime(clock.nanotime, 1).WithNanosleep(clock.sleep)
	plugin, err := m.compiled.Instance(ctx, extism.PluginInstanceConfig{ModuleConfig: config})
	if err != nil {
		return nil, nil, err
	}
	in.plugin = plugin
	in.logs.max = m.limits.Logs
	plugin.SetLogger(in.logs.add)
	out, err := in.call(ctx, m.limits, abi.ExportDescribe, nil)
	if err != nil {
		in.close()
		return nil, nil, err
	}
	return in, out, nil
}

// bind gives the instance the root that its one run may see.
func (in *instance) bind(run *vfs.Run) { in.fs.bind(run) }

func (in *instance) close() {
	in.fs.unbind()
	// The context of the run may be over; closing must happen all the same.
	_ = in.plugin.CloseWithContext(context.Background())
}

// call runs one export under the deadline and returns its output. Errors are
// a *RunError without the module's name.
func (in *instance) call(ctx context.Context, limits Limits, export string, input []byte) (_ []byte, err error) {
	callCtx, cancel := context.WithTimeout(ctx, limits.Time)
	defer cancel()
	callCtx = withRun(callCtx, in.fs)
	rc, out, err := in.plugin.CallWithContext(callCtx, export, input)
	if rc == 0 && len(out) > 0 && err != nil && !isTrap(err) {
		err = nil // an Extism error that fs_read set and the guest got over
	}
	switch {
	case err != nil || rc != 0:
		return nil, in.explain(ctx, callCtx, limits, rc, err)
	case len(out) == 0:
		return nil, &RunError{Kind: ErrAnswer, Detail: "no output"}
	case len(out) > limits.Response:
		return nil, &RunError{Kind: ErrAnswer, Detail: tooLarge(len(out), limits.Response)}
	}
	return out, nil
}

// explain finds out why a call failed. The order matters: a guest that was
// stopped also shows a trap and an exit code.
func (in *instance) explain(parent, callCtx context.Context, limits Limits, rc uint32, err error) error {
	var limit *limitPanic
	var exit *sys.ExitError
	switch {
	case errors.As(err, &limit):
		return &RunError{Kind: ErrLimit, Detail: limit.Error()}
	case parent.Err() != nil:
		return &RunError{Kind: ErrCanceled, Detail: parent.Err().Error()}
	case callCtx.Err() != nil:
		return &RunError{Kind: ErrDeadline, Detail: "stopped after " + limits.Time.String()}
	case errors.As(err, &exit):
		return &RunError{Kind: ErrCrashed, Detail: exitDetail(exit.ExitCode()), GuestText: panicText(in.stderr.buf.Bytes())}
	case rc != 0 && err == nil:
		return &RunError{Kind: ErrGuest, Detail: "it gave no reason"}
	case isTrap(err):
		return &RunError{Kind: ErrCrashed, Detail: trapDetail(err), GuestText: panicText(in.stderr.buf.Bytes())}
	}
	return &RunError{Kind: ErrGuest, GuestText: oneLine(err.Error(), guestTextMax)}
}
