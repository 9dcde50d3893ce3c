package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/stop"
	"waymark/host"
	"waymark/host/codingagents"
	"waymark/host/config"
	"waymark/host/crashlog"
	"waymark/host/places"
)

// settings are the flags that run and resolve share.
type settings struct {
	plugins    []string
	configFile string
	exposed    []*exposedConfig // in whose place copies are read
}

func (s *settings) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&s.plugins, "plugins", nil, "`directory` of resolver modules (*.wasm), besides the configured ones; may be repeated")
	cmd.Flags().StringVar(&s.configFile, "config", "", "configuration `file`, in place of the user's own ones")
}

// load reads the configuration, to which --plugins adds no directory beside the machine's.
func (s *settings) load(paths *config.Paths) (c *config.Config, err error) {
	if s.configFile != "" {
		c, err = config.LoadFile(s.configFile, config.MachineFile)
	} else {
		c, err = config.Load(paths.ConfigFiles...)
	}
	if err != nil || len(s.plugins) == 0 {
		return c, err
	}
	only, bound := c.MachinePluginDirs()
	for _, dir := range s.plugins {
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

// recordRuns records which modules run, so that a later agent knows by which one
// this one was ended, until stopRecording is called. A failure is a warning.
func (a *app) recordRuns(ctx context.Context, paths *config.Paths, log *slog.Logger) (stopRecording func()) {
	dir := paths.State.In("running").Path()
	err := config.MakePrivate(dir)
	if err == nil {
		a.record, err = crashlog.Open(dir)
	}
	if err != nil {
		log.Warn("a module that ends the agent will be run again", slog.Any("error", err))
		return func() {}
	}
	stop.Attach(ctx, (*stop.Words)(a.record.Words()), a.record.Beat)
	return func() {
		if err := a.record.Close(); err != nil {
			log.Warn("it can't be noted that the agent has ended well", slog.Any("error", err))
		}
	}
}

// hostOptions turns a configuration into what the engine takes, all but roots
// and push.
func (a *app) hostOptions(s *settings, c *config.Config, paths *config.Paths, env variables, log *slog.Logger) host.Options {
	opts := host.Options{
		Builtin: a.builtin, BuiltinDigest: a.digest, BuiltinNative: a.native, Compiler: a.compiler,
		CacheDir: paths.Cache.In("code").Path(), KeyDir: paths.State.In("key").Path(),
		MemoDir:   paths.Cache.In("memo").Path(),
		Approvals: paths.State.In("approvals.json").Path(),
		Progress:  a.progress, Logger: log, Home: paths.Home, ClientVariables: map[string]string{},
	}
	for _, name := range codingagents.Variables() {
		if value := os.Getenv(name); value != "" {
			opts.ClientVariables[name] = value
		}
	}
	if opts.Running = a.record; a.wrapRecord != nil {
		opts.Running = a.wrapRecord(a.record)
	}
	opts.Configure(c)
	opts.Limits.Time, opts.ReloadWithin = max(opts.Limits.Time, a.timeout), a.timeout
	env.configure(&opts)
	for _, dir := range append(expandDirs(paths, c.Plugins.Dirs), s.plugins...) {
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

// expandDirs are directories of the configuration. Without a home directory there are none
// in it.
func expandDirs(paths *config.Paths, dirs []string) (list []string) {
	for _, dir := range dirs {
		if dir, err := paths.Expand(dir); err == nil {
			list = append(list, dir)
		}
	}
	return list
}
