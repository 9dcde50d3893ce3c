package extism

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"time"

	sdk "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental/sysfs"

	"waymark/abi"
	"waymark/host/vfs"
	"waymark/internal/defaults"
)

// Limits bounds what a module may use. Zero fields mean the default.
type Limits struct {
	// Memory is its linear memory, and once more that of Extism's kernel, in
	// bytes, rounded down to pages of 64 KiB. Default defaults.RunMemory.
	Memory int64
	// Time is the wall-clock time of one call. Default 20 s: a host that
	// meters nothing may well be slower than ours.
	Time time.Duration
}

func (l Limits) withDefaults() Limits {
	return defaults.Or(l, Limits{Memory: defaults.RunMemory, Time: 20 * time.Second})
}

const (
	wasmPage = 64 << 10
	maxPages = 65536
)

// Answer is what a call gave.
type Answer struct {
	// Output is the answer of a call that succeeded. It isn't looked at.
	Output []byte `json:"output,omitempty"`
	// Failed says that the call failed. Error is then what the module itself
	// set as its error, Crash what else ended it: a trap, an exit, a limit.
	Failed bool   `json:"failed,omitempty"`
	Error  []byte `json:"error,omitempty"`
	Crash  string `json:"crash,omitempty"`
	// Logs are the lines logged at the levels that Extism keeps here, info and
	// above, as far as they have 64 KiB together.
	Logs []LogLine `json:"logs,omitempty"`

	late bool // it took longer than its limit
}

// LogLine is one line that a module logged, as it is.
type LogLine struct {
	Level string `json:"level"` // info, warn, error
	Text  []byte `json:"text"`
}

// Module is a compiled module.
type Module struct {
	limits Limits
	plugin *sdk.CompiledPlugin
}

// openLogs opens Extism's log gate, which is one for the whole process: without
// it no line of a module reaches anybody.
var openLogs = sync.OnceFunc(func() { sdk.SetLogLevel(sdk.LogLevelInfo) })

// Load compiles a module. The error says in one line what the SDK has against
// it.
func Load(ctx context.Context, wasm []byte, limits Limits) (_ *Module, err error) {
	defer func() { // wazero's compiler panics on some shapes it can't handle
		if r := recover(); r != nil {
			err = fmt.Errorf("the compiler panicked: %v", r)
		}
	}()
	openLogs()
	m := &Module{limits: limits.withDefaults()}
	manifest := sdk.Manifest{
		Wasm:    []sdk.Wasm{sdk.WasmData{Data: wasm}},
		Memory:  &sdk.ManifestMemory{MaxPages: uint32(min(max(m.limits.Memory/wasmPage, 1), maxPages))},
		Timeout: uint64(m.limits.Time.Milliseconds()), //nolint:gosec // not negative
	}
	m.plugin, err = sdk.NewCompiledPlugin(ctx, manifest, sdk.PluginConfig{EnableWasi: true, RuntimeConfig: engine()}, functions())
	if err != nil {
		return nil, errors.New(firstLine(err))
	}
	return m, nil
}

// engine is what runs modules as they are. On arm64 that is wazero's interpreter: 1.12.0's
// compiler gets remainders wrong there, which host/sandbox has rewritten (see package
// meter), and the Extism SDK doesn't.
func engine() wazero.RuntimeConfig {
	if runtime.GOARCH == "arm64" {
		return wazero.NewRuntimeConfigInterpreter()
	}
	return wazero.NewRuntimeConfig()
}

// Close frees the compiled code.
func (m *Module) Close() error { return m.plugin.Close(context.Background()) }

// Describe calls describe on a fresh instance.
func (m *Module) Describe(ctx context.Context) Answer {
	start := time.Now()
	in, err := m.instance(ctx)
	if err != nil {
		return m.crashed(err, start)
	}
	defer in.close()
	return in.call(ctx, abi.ExportDescribe, nil)
}

// Resolve calls resolve on a fresh instance. The caller begins and closes the
// run.
func (m *Module) Resolve(ctx context.Context, input []byte, run *vfs.Run) Answer {
	start := time.Now()
	in, err := m.instance(ctx)
	if err != nil {
		return m.crashed(err, start)
	}
	defer in.close()
	// Extism initializes a module with the first call, and that is to happen
	// before there is a root.
	if a := in.call(ctx, abi.ExportDescribe, nil); a.Failed {
		return a
	}
	in.run, in.logs = run, nil
	a := in.call(ctx, abi.ExportResolve, input)
	run.DropUnit()
	return a
}

// instance is one instance of a module.
type instance struct {
	module *Module
	plugin *sdk.Plugin
	run    *vfs.Run // nil until resolve is called
	logs   []LogLine
	logged int // the length of all logs, in bytes
	stderr head
}

// runKey is the context key under which host functions find the instance that
// calls them.
type runKey struct{}

func running(ctx context.Context) *instance {
	in, ok := ctx.Value(runKey{}).(*instance)
	if !ok {
		panic("a host function was called before the module was initialized")
	}
	return in
}

func (m *Module) instance(ctx context.Context) (*instance, error) {
	in := &instance{module: m, stderr: head{max: stderrMax}}
	fsConfig, ok := wazero.NewFSConfig().(sysfs.FSConfig)
	if !ok {
		return nil, errors.New("this wazero has no sysfs mounts")
	}
	clock := &virtualClock{}
	config := wazero.NewModuleConfig().
		WithFSConfig(fsConfig.WithSysFSMount(&mount{in: in}, "/")).
		WithStderr(&in.stderr).
		WithRandSource(rand.NewChaCha8([32]byte([]byte("waymark: nothing here is random!")))).
		WithWalltime(clock.walltime, 1).WithNanotime(clock.nanotime, 1).WithNanosleep(clock.sleep)
	// A start function runs here, outside of any call that has a limit.
	limited, cancel := context.WithTimeout(ctx, m.limits.Time)
	defer cancel()
	plugin, err := m.plugin.Instance(limited, sdk.PluginInstanceConfig{ModuleConfig: config})
	if err != nil {
		return nil, err
	}
	plugin.SetLogger(func(level sdk.LogLevel, text string) {
		if in.logged += len(text) + 1; in.logged <= logsMax {
			in.logs = append(in.logs, LogLine{strings.ToLower(level.String()), []byte(text)})
		}
	})
	in.plugin = plugin
	return in, nil
}

func (in *instance) close() { _ = in.plugin.CloseWithContext(context.Background()) }

// call calls an export. A result of 0 is a success, whatever error was left
// behind on the way: fs_read sets one at every file that isn't there.
func (in *instance) call(ctx context.Context, export string, input []byte) Answer {
	start := time.Now()
	rc, out, err := in.plugin.CallWithContext(context.WithValue(ctx, runKey{}, in), export, input)
	a := Answer{Logs: in.logs}
	text := in.plugin.GetErrorWithContext(ctx)
	trapped := err != nil && err.Error() != text
	switch {
	case trapped:
		a = in.module.crashed(err, start)
		a.Logs = in.logs
		if stderr := strings.Join(strings.Fields(in.stderr.String()), " "); stderr != "" {
			a.Crash += ": " + stderr
		}
	case rc == 0 && len(out) > 0:
		a.Output = out
	case rc == 0 && err == nil:
		a.Failed, a.Crash = true, "no output"
	default:
		a.Failed, a.Error = true, []byte(text)
	}
	return a
}

// crashed is the answer of a call that a trap, an exit or the clock ended. On
// the way through the SDK an error can lose its identity, so that the clock's is
// known by the time.
func (m *Module) crashed(err error, start time.Time) Answer {
	return Answer{Failed: true, Crash: firstLine(err), late: time.Since(start) >= m.limits.Time}
}

// logsMax bounds what is kept of an instance's logs, in bytes.
const logsMax = 64 << 10

// firstLine leaves out wazero's stack trace of wasm functions.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// head keeps the beginning of what is written to it.
type head struct {
	strings.Builder
	max int
}

// stderrMax is enough for what a panic says first, in bytes.
const stderrMax = 1 << 10

func (h *head) Write(p []byte) (int, error) {
	_, _ = h.Builder.Write(p[:min(len(p), h.max-h.Len())])
	return len(p), nil
}

// virtualClock is the clock of host/sandbox, so that a module that shows the
// time shows the same.
type virtualClock struct{ ns int64 }

func (c *virtualClock) nanotime() int64 {
	c.ns += 1000
	return c.ns
}

func (c *virtualClock) walltime() (sec int64, nsec int32) {
	now := c.nanotime()
	return 1640995200 + now/1e9, int32(now % 1e9)
}

func (c *virtualClock) sleep(ns int64) {
	if ns > 0 && c.ns < 1<<62-ns {
		c.ns += ns
	}
}
