package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"waymark/cmd/harness/internal/source"
	"waymark/cmd/internal/cli"
	"waymark/host"
	"waymark/snapshot"
)

// watchSettings are the flags of watch.
type watchSettings struct {
	settings
	role    string
	json    bool
	offline bool
}

func (a *app) watchCommand() *cobra.Command {
	var s watchSettings
	cmd := &cobra.Command{
		Use:   "watch FILE.wasm|DIR TREE",
		Short: "Build and run a module again whenever something is saved",
		Long: `Watch runs a module on a tree, and again when a file changes that it has looked at: as
an agent does, with what it remembers. A new version of the module is taken over when it
has been written, and the one before stays in use when the new one can't be.

With a source directory in place of the module, that is built first, and again whenever
its source is saved. Watch ends when it is interrupted.`,
		Example: `  harness watch . ~/project
  harness watch acme.wasm ~/project --resolver cursor-rules
  harness watch . ~/project --json | jq 'select(.event == "run") | {resolver, fuel}'`,
		Args: cli.Named("FILE.wasm or DIR", "TREE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.watch(cmd.Context(), &s, args[0], args[1])
		},
	}
	s.addFlags(cmd)
	cmd.Flags().StringVar(&s.role, "role", "", "why the tree is looked at: instructions, skills or mcp (default: no reason of its own)")
	cmd.Flags().BoolVar(&s.offline, "offline", false, "let the toolchain download nothing")
	cmd.Flags().BoolVar(&s.json, "json", false, "print JSON, an object per line")
	return cmd
}

func (a *app) watch(ctx context.Context, s *watchSettings, what, tree string) (err error) {
	role, err := parseRole(s.role)
	if err != nil {
		return err
	}
	opts, err := a.hostOptions(&s.settings)
	if err != nil {
		return err
	}
	w := &watching{
		app: a, settings: s, printer: changePrinter{w: a.stdout, asJSON: s.json}, reports: newMailbox(),
		builds: make(chan buildEvent), snapshots: make(chan *snapshot.Snapshot),
	}
	defer w.close(&err)
	file, err := w.module(ctx, what)
	if err != nil {
		return err
	}
	opts.PluginFiles, opts.Roots = []string{file}, []host.RootSpec{{Path: tree, Role: role}}
	opts.NoMemo, opts.Observe = false, w.reports.put
	if w.dir != "" {
		opts.PluginSettle = time.Millisecond // a build puts the file there at once
	}
	if w.host, err = host.New(opts); err != nil {
		return err
	}
	return ended(ctx, w.run(ctx))
}

// close ends what was begun.
func (w *watching) close(err *error) {
	if w.src != nil {
		*err = errors.Join(*err, w.src.Close())
	}
	if w.host != nil {
		*err = errors.Join(*err, w.host.Close())
	}
}

// watching is one `harness watch`.
type watching struct {
	app      *app
	settings *watchSettings
	dir      string          // of the source; empty when a module is watched
	src      *source.Watcher // nil likewise
	host     *host.Host
	reports  *mailbox
	printer  changePrinter
	builds   chan buildEvent

	snapshots chan *snapshot.Snapshot
}

// run goes on until ctx ends.
func (w *watching) run(ctx context.Context) error {
	if err := w.host.Load(ctx); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return w.host.Run(ctx) })
	g.Go(func() error { return w.follow(ctx) })
	g.Go(func() error { return w.show(ctx) })
	if w.dir != "" {
		g.Go(func() error { return w.src.Run(ctx) })
		g.Go(func() error { return w.rebuild(ctx) })
	}
	return g.Wait()
}

// show prints what happens, in the order in which it does.
func (w *watching) show(ctx context.Context) error {
	for {
		select {
		case <-w.reports.more:
			for _, r := range w.reports.take() {
				if err := w.printer.report(r); err != nil {
					return err
				}
			}
		case s := <-w.snapshots:
			if err := w.printer.put(w.printer.seen.nextSnapshot(s)...); err != nil {
				return err
			}
		case b := <-w.builds:
			if err := w.printer.build(&b); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// follow takes the snapshots, some of which come without a report: those in
// which only the state of the module is new.
func (w *watching) follow(ctx context.Context) error {
	for version := uint64(0); ; {
		s, err := w.host.Wait(ctx, version)
		if err != nil {
			return ended(ctx, err)
		}
		version = s.Version
		select {
		case w.snapshots <- s:
		case <-ctx.Done():
			return nil
		}
	}
}

// ended drops an error that only says that the context has ended.
func ended(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}
