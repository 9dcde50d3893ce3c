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
	"waymark/host/crashlog"
	"waymark/host/places"
	"waymark/host/plugin"
	"waymark/host/sandbox"
	"waymark/internal/reexec"
	"waymark/workspace/launch"
	"waymark/workspace/supervisor"
)

// Program is what the program at hand brings along.
type Program struct {
	// Builtin returns the built-in resolver module.
	Builtin func() ([]byte, error)
	// Digest returns its SHA-256, in hexadecimal, if it is part of the program; it may
	// be nil.
	Digest func() (string, error)
	// Native returns its native code, compiled ahead of time; it may be nil.
	Native func() io.ReaderAt
	// Release gives back what reading these has taken; it may be nil.
	Release func()
	// Compiler compiles other modules, and starts programs under a profile; nil
	// means that this process compiles, and that only a helper program starts them.
	Compiler *reexec.Program
	// Self starts this program in another role: as what holds processes, and as what
	// starts them, where the small program for that isn't installed.
	Self *reexec.Program
	// Version is the program's, for hubs, metrics and clients.
	Version string
	// Timeout replaces the limits of time that are right for people, and too
	// short on a machine that stands still for some seconds, as in tests. 0
	// leaves them as they are.
	Timeout time.Duration
	// Progress shows a line about what takes long; it may be nil.
	Progress func(line string)
	// Attach has what ends the program by force write its reason into the words of the
	// record, and beat be called meanwhile, until ctx ends; it may be nil.
	Attach func(ctx context.Context, words *[5]uint64, beat func())
	// WrapRecord, if set, returns what the engine records in instead.
	WrapRecord func(*crashlog.Record) plugin.Running

	record *crashlog.Record // of the modules that run; nil until recordRuns
}

// Roles are what a program with agents does as a child of itself, or detached from it: it
// calls [reexec.Main] with them first.
func Roles() []reexec.Role {
	return append(supervisor.Roles(), sandbox.CompileRole(), launch.Role())
}

// Settings are what decides which modules there are and how they are configured.
type Settings struct {
	// Plugins are directories of modules beside the configured ones.
	Plugins []string
	// ConfigFile is read in place of the user's own files; "" for those.
	ConfigFile string
	// Environment has the variables and the home directory; the zero value is the
	// process's own.
	Environment config.Environment

	exposed []*ExposedConfig // in whose place copies are read
}

// Load reads the configuration, to which --plugins adds no directory beside the machine's.
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

// absolute makes a path absolute: what is shown later has no working directory.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// RecordRuns records which modules run, so that a later agent knows by which one
// this one was ended, until stopRecording is called. A failure is a warning.
func (p *Program) RecordRuns(ctx context.Context, paths *config.Paths, log *slog.Logger) (stopRecording func()) {
	dir := paths.State.In("running").Path()
	err := config.MakePrivate(dir)
	if err == nil {
		p.record, err = crashlog.Open(dir)
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

// HostOptions turns a configuration into what the engine takes, all but roots
// and push.
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
	opts.RefusePlugins = func(path string) error { // by what it is at the time
		_, err := paths.Own.Add(places.Plugins, path)
		if errors.Is(err, places.ErrExposed) {
			return fmt.Errorf("%w, who could put modules there: move it to %s, or see what it finds with 'agent plugins try'", err, filepath.Join(paths.Config, "plugins"))
		}
		return err
	}
	opts.Own = paths.Own.Paths()
	return opts
}

// ExpandDirs are directories of the configuration. Without a home directory there are none
// in it.
func ExpandDirs(paths *config.Paths, dirs []string) (list []string) {
	for _, dir := range dirs {
		if dir, err := paths.Expand(dir); err == nil {
			list = append(list, dir)
		}
	}
	return list
}
