package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waymark/host"
	"waymark/host/config"
	"waymark/snapshot"
)

// settings are the flags of all commands that run a module.
type settings struct {
	configFile string
	resolver   string
}

func (s *settings) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.configFile, "config", "", "use the limits, tables and narrowed reads of `FILE`, a plugin.toml (default: as on a machine without one)")
	cmd.Flags().StringVar(&s.resolver, "resolver", "", "run only `RESOLVER` of the module")
}

// load reads the named configuration. It looks for no others: the results must not depend
// on the user's machine.
func (a *app) load(s *settings) (*config.Config, error) {
	if s.configFile != "" {
		return config.LoadFile(s.configFile)
	}
	c := config.Default()
	c.Limits.Time = cmp.Or(a.time, c.Limits.Time)
	return c, nil
}

// hostOptions returns the engine's options: the agent's, without built-in resolvers, other
// plugins and memos.
func (a *app) hostOptions(s *settings) (host.Options, error) {
	log, err := a.logger()
	if err != nil {
		return host.Options{}, err
	}
	c, err := a.load(s)
	if err != nil {
		return host.Options{}, err
	}
	opts := host.Options{Compiler: a.compiler, NoMemo: true, GuestOutput: true, Progress: a.progress, Logger: log}
	opts.Configure(c)
	if s.resolver != "" {
		opts.Only = []string{s.resolver}
	}
	// Without a home directory a module is compiled each time.
	if paths, err := config.FindPaths(config.Environment{}); err == nil {
		opts.CacheDir, opts.KeyDir = paths.Cache.In("code").Path(), paths.State.In("key").Path()
	}
	return opts, nil
}

// engine is the agent's engine with one module in it.
type engine struct {
	*host.Host
	opts   host.Options
	module snapshot.Plugin
}

// open loads a module. The options may be changed before.
func (a *app) open(ctx context.Context, s *settings, file string, change func(*host.Options)) (*engine, error) {
	if err := moduleThere(file); err != nil {
		return nil, err
	}
	opts, err := a.hostOptions(s)
	if err != nil {
		return nil, err
	}
	opts.PluginFiles = []string{file}
	change(&opts)
	h, err := host.New(opts)
	if err != nil {
		return nil, err
	}
	e := &engine{Host: h, opts: opts}
	if err = h.Load(ctx); err == nil {
		err = e.admitted(s)
	}
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return e, nil
}

// moduleThere reports what is wrong with a module's file name.
func moduleThere(file string) error {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("module %s does not exist: build it, for example with harness build", file)
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a directory: name the .wasm file in it", file)
	}
	return nil
}

// admitted checks that the module is in use, and has the requested resolver.
func (e *engine) admitted(s *settings) error {
	for _, p := range e.Status().Plugins {
		e.module = p
	}
	if e.module.State != snapshot.PluginReady {
		return fmt.Errorf("%s is not admitted: %s", e.opts.PluginFiles[0], cmp.Or(e.module.Error, string(e.module.State)))
	}
	if s.resolver != "" && !slices.Contains(e.module.Resolvers, s.resolver) {
		return usage("%s has no resolver %q: it has %s", e.module.Name, s.resolver, strings.Join(e.module.Resolvers, ", "))
	}
	return nil
}
