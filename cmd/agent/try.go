package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"waymark/agent"
	"waymark/cmd/internal/cli"
	"waymark/host"
	"waymark/host/config"
	"waymark/snapshot"
)

func (a *app) tryCommand(asJSON *bool) *cobra.Command {
	var once bool
	cmd := &cobra.Command{
		Use:   "try FILE|DIR [WORKSPACE]",
		Short: "Run a module of your own on a workspace, beside the agent",
		Long: `Try runs a module, or those in a directory, on a workspace (by default the current
directory). It runs them again when the module or something that it has looked at
changes, until interrupted, and prints what the module finds. This is a trial: the
module runs in this process, sandboxed as in an agent and without grants. No agent runs
the module, chats don't see its rows, nothing is pushed, and an installed module of the
same name isn't affected.

Try is for modules in a workspace. No agent loads them there, because chats could change
them. It needs no approval. To install a module, move it to a plugin directory.

With --once it runs once, and the exit code is 1 if the module can't be used.`,
		Example: `  agent plugins try build/acme.wasm
  agent plugins try ./plugins ~/project
  agent plugins try acme.wasm --once --json | jq '.trial.resources[].id'`,
		Args: cli.Named("FILE or DIR", "[WORKSPACE]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.try(cmd.Context(), append(args, ".")[:2], once, *asJSON)
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "run once and end")
	return cmd
}

// try runs modules without an agent's state, so that nothing of a trial is remembered.
func (a *app) try(ctx context.Context, args []string, once, asJSON bool) (err error) {
	info, err := os.Stat(args[0])
	if err != nil {
		return fmt.Errorf("%w: name a module or a directory of them", err)
	}
	log, err := a.logger()
	if err != nil {
		return err
	}
	paths, err := config.FindPaths(config.Environment{})
	if err != nil {
		return err
	}
	c, err := (&agent.Settings{}).Load(paths)
	if err != nil {
		return err
	}
	defer a.RecordRuns(ctx, paths, log)()
	opts := a.HostOptions(&agent.Settings{}, c, paths, log)
	opts.Builtin, opts.BuiltinDigest, opts.BuiltinNative = nil, nil, nil
	opts.PluginDirs, opts.RefusePlugins, opts.Plugins, opts.MemoDir, opts.Approvals = nil, nil, nil, "", ""
	if opts.Once = once; info.IsDir() {
		opts.PluginDirs = args[:1]
	} else {
		opts.PluginFiles = args[:1]
	}
	opts.Roots = []host.RootSpec{{Path: args[1], Children: true}}
	h, err := host.New(opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if err := h.Load(ctx); err != nil {
		return err
	}
	base, err := filepath.Abs(args[1])
	if err != nil {
		return err
	}
	if once {
		report, err := h.Refresh(ctx)
		if err != nil {
			return err
		}
		return errors.Join(a.printTrial(report.Snapshot, base, asJSON), unusable(report.Snapshot.Plugins))
	}
	return a.followTrial(ctx, h, base, asJSON)
}

// followTrial prints each version until ctx ends.
func (a *app) followTrial(ctx context.Context, h *host.Host, base string, asJSON bool) error {
	ctx, cancel := context.WithCancel(ctx)
	ran := make(chan error, 1)
	go func() { ran <- h.Run(ctx) }()
	var err error
	for version := uint64(0); err == nil; {
		var s *snapshot.Snapshot
		if s, err = h.Wait(ctx, version); err == nil {
			version = s.Version
			err = a.printTrial(s, base, asJSON)
		}
	}
	interrupted := ctx.Err() != nil
	cancel()
	if rerr := <-ran; interrupted {
		return rerr
	}
	return err
}

func (a *app) printTrial(s *snapshot.Snapshot, base string, asJSON bool) error {
	if asJSON {
		return cli.JSON(a.stdout, map[string]*snapshot.Snapshot{"trial": s})
	}
	if _, err := fmt.Fprintf(a.stdout, "trial, %s:\n", time.Now().Format(time.TimeOnly)); err != nil {
		return err
	}
	if err := printPluginTable(a.stdout, s.Plugins); err != nil {
		return err
	}
	return printSnapshot(a.stdout, s, base)
}
