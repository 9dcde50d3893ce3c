package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/stop"
	"waymark/host"
	"waymark/host/clients"
	"waymark/host/config"
	"waymark/host/running"
)

// settings are the flags that run and resolve share.
type settings struct {
	plugins    []string
	configFile string
}

func (s *settings) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&s.plugins, "plugins", nil, "`directory` of resolver modules (*.wasm), besides the configured ones; may be repeated")
	cmd.Flags().StringVar(&s.configFile, "config", "", "configuration `file`, in place of those that are looked for")
}

// load reads the configuration.
func (s *settings) load(paths *config.Paths) (*config.Config, error) {
	if s.configFile != "" {
		return config.LoadFile(s.configFile)
	}
	return config.Load(paths.ConfigFiles...)
}

// recordRuns records which modules run, so that a later agent knows by which one
// this one was ended, until stopRecording is called. A failure is a warning.
func (a *app) recordRuns(ctx context.Context, paths *config.Paths, log *slog.Logger) (stopRecording func()) {
	dir := filepath.Join(paths.State, "running")
	err := config.MakePrivate(dir)
	if err == nil {
		a.record, err = running.Open(dir)
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
		CacheDir: filepath.Join(paths.Cache, "code"), KeyDir: filepath.Join(paths.State, "key"),
		MemoDir:   filepath.Join(paths.Cache, "memo"),
		Approvals: filepath.Join(paths.State, "approvals.json"),
		Progress:  a.progress, Logger: log, Home: paths.Home, ClientVariables: map[string]string{},
	}
	for _, name := range clients.Variables() {
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
	for _, dir := range c.Plugins.Dirs {
		// Without a home directory there are no plugins in it either.
		if dir, err := paths.Expand(dir); err == nil {
			opts.PluginDirs = append(opts.PluginDirs, dir)
		}
	}
	for _, dir := range s.plugins {
		if abs, err := filepath.Abs(dir); err == nil { // what is shown later has no working directory
			dir = abs
		}
		opts.PluginDirs = append(opts.PluginDirs, dir)
	}
	return opts
}
