package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"waymark/host"
	"waymark/host/codingagents"
	"waymark/host/config"
	"waymark/host/places"
	"waymark/host/plugin"
	"waymark/host/sandbox"
	"waymark/internal/reexec"
	"waymark/workspace/launch"
	"waymark/workspace/supervisor"
)

// Program is what the running program provides.
type Program struct {
	// Builtin returns the built-in resolver module.
	Builtin func() ([]byte, error)
	// Digest returns the SHA-256 of Builtin, in hexadecimal, if it is part of the program.
	// It may be nil.
	Digest func() (string, error)
	// Native returns the module's native code, compiled ahead of time. It may be nil.
	Native func() io.ReaderAt
	// Release frees the memory that reading these took. It may be nil.
	Release func()
	// Compiler compiles other modules, and starts programs under a profile. If it is nil,
	// this process compiles, and only a helper program can start them.
	Compiler *reexec.Program
	// Self runs this program in another role: to hold processes, and to start them if the
	// small helper program isn't installed.
	Self *reexec.Program
	// Version is the program's version, for hubs, metrics and clients.
	Version string
	// Timeout replaces time limits that suit people but are too short on a machine that
	// stalls for seconds, as in tests. 0 leaves them unchanged.
	Timeout time.Duration
	// Progress shows a line about a long operation. It may be nil.
	Progress func(line string)
	// Attach lets the watchdog, which ends the program by force, write its reason into
	// words of the crash record. The watchdog calls beat regularly until ctx ends. Attach
	// may be nil.
	Attach func(ctx context.Context, words *[5]uint64, beat func())
	// WrapRecord, if set, replaces the record that the engine uses.
	WrapRecord func(*plugin.Crashes) plugin.Running

	record *plugin.Crashes // records the running modules; nil before RecordRuns
}

// Roles are the roles in which a program with agents runs itself as a child or a detached
// process. The program passes them to [reexec.Main] first.
func Roles() []reexec.Role {
	return append(supervisor.Roles(), sandbox.CompileRole(), launch.Role())
}

// Settings decide which modules there are and how they are configured.
type Settings struct {
	// Plugins are directories of modules, in addition to the configured ones.
	Plugins []string
	// ConfigFile is read instead of the user's own files; "" means those.
	ConfigFile string
	// Environment has the variables and the home directory; the zero value is the process's
	// own.
	Environment config.Environment

	exposed []*ExposedConfig // replaced by their approved copies
}

// Load reads the configuration. It fails if Plugins has a directory that the machine's
// configuration doesn't allow.
func (s *Settings) Load(paths *config.Paths) (c *config.Config, err error) {
	if s.ConfigFile != "" {
		c, err = config.LoadFile(s.ConfigFile, config.MachineFile)
	} else {
		c, err = config.Load(paths.ConfigFiles...)
	}
	if err != nil || len(s.Plugins) == 0 {
		return c, err
	}
	only, bound := c.MachinePluginDirs()
	for _, dir := range s.Plugins {
		dir = absolute(dir)
		if bound && !slices.ContainsFunc(only, func(is string) bool { is, err := paths.Expand(is); return err == nil && filepath.Clean(is) == dir }) {
			return nil, fmt.Errorf("--plugins %s: %s lets modules be only in %s: put it there, or leave the flag out", dir, config.MachineFile, strings.Join(only, ", "))
		}
	}
	return c, nil
}

// absolute makes a path absolute, because it may be shown in another working directory.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// RecordRuns records which modules run until stopRecording is called, so that a later agent
// knows which module ended this one. A failure is only logged.
func (p *Program) RecordRuns(ctx context.Context, paths *config.Paths, log *slog.Logger) (stopRecording func()) {
	dir := paths.State.In("running").Path()
	err := config.MakePrivate(dir)
	if err == nil {
		p.record, err = plugin.OpenCrashes(dir)
	}
	if err != nil {
		log.Warn("a module that ends the agent will be run again", slog.Any("error", err))
		return func() {}
	}
	if p.Attach != nil {
		p.Attach(ctx, p.record.Words(), p.record.Beat)
	}
	return func() {
		if err := p.record.Close(); err != nil {
			log.Warn("it can't be noted that the agent has ended well", slog.Any("error", err))
		}
	}
}

// HostOptions converts a configuration into the engine's options, without roots and push.
func (p *Program) HostOptions(s *Settings, c *config.Config, paths *config.Paths, log *slog.Logger) host.Options {
	opts := host.Options{
		Builtin: p.Builtin, BuiltinDigest: p.Digest, BuiltinNative: p.Native, Compiler: p.Compiler,
		CacheDir: paths.Cache.In("code").Path(), KeyDir: paths.State.In("key").Path(),
		MemoDir:   paths.Cache.In("memo").Path(),
		Approvals: paths.State.In("approvals.json").Path(),
		Progress:  p.Progress, Logger: log, Home: paths.Home, ClientVariables: map[string]string{},
	}
	for _, name := range codingagents.Variables() {
		if value := s.Environment.Get(name); value != "" {
			opts.ClientVariables[name] = value
		}
	}
	if opts.Running = p.record; p.WrapRecord != nil {
		opts.Running = p.WrapRecord(p.record)
	}
	opts.Configure(c)
	opts.Limits.Time, opts.ReloadWithin = max(opts.Limits.Time, p.Timeout), p.Timeout
	for _, dir := range append(ExpandDirs(paths, c.Plugins.Dirs), s.Plugins...) {
		own, err := paths.Own.Add(places.Plugins, dir)
		if err == nil || errors.Is(err, places.ErrExposed) {
			opts.PluginDirs = append(opts.PluginDirs, own.Path())
		}
	}
	opts.RefusePlugins = func(path string) error { // checked when a plugin is found
		_, err := paths.Own.Add(places.Plugins, path)
		if errors.Is(err, places.ErrExposed) {
			return fmt.Errorf("%w, who could put modules there: move it to %s, or see what it finds with 'agent plugins try'", err, filepath.Join(paths.Config, "plugins"))
		}
		return err
	}
	opts.Own = paths.Own.Paths()
	return opts
}

// ExpandDirs expands the configuration's directories. Those that need a home directory are
// left out if there is none.
func ExpandDirs(paths *config.Paths, dirs []string) (list []string) {
	for _, dir := range dirs {
		if dir, err := paths.Expand(dir); err == nil {
			list = append(list, dir)
		}
	}
	return list
}

// usageError reports a wrong flag or variable.
type usageError struct{ error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Unwrap returns the cause.
func (e usageError) Unwrap() error { return e.error }

// ExitCode is the exit status for wrong usage.
func (usageError) ExitCode() int { return 2 }
