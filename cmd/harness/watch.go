package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"waymark/cmd/harness/internal/toolchain"
	"waymark/cmd/internal/cli"
	"waymark/host"
	"waymark/host/watch"
	"waymark/internal/await"
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
		Short: "Build and run a module again at every save",
		Long: `Watch runs a module on a tree, and again when a file changes that it has looked at,
reusing results as an agent does. It uses a new version of the module when the file is
complete. If the new version can't be used, the previous one remains in use.

Watch also runs the fixtures in testdata beside the module, when the module changes or
when you save one of them.

With a source directory instead of the module, watch builds the module first, and again
whenever you save its source. Watch ends when interrupted.`,
		Example: `  harness watch . ~/project
  harness watch acme.wasm ~/project --resolver cursor-rules
  harness watch . ~/project --json | jq 'select(.event == "run") | .fuel'`,
		Args: cli.Named("FILE.wasm or DIR", "TREE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.watch(cmd.Context(), &s, args[0], args[1])
		},
	}
	s.addFlags(cmd)
	cmd.Flags().StringVar(&s.role, "role", "", "purpose of the tree: `ROLE` is instructions, skills or mcp (default: no special purpose)")
	cmd.Flags().BoolVar(&s.offline, "offline", false, "don't let the toolchain download anything")
	cmd.Flags().BoolVar(&s.json, "json", false, "print JSON, one object on each line")
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
		tests: newTester(a),
	}
	defer w.close(&err)
	file, err := w.module(ctx, what)
	if err != nil {
		return err
	}
	if err := w.tests.watch(file); err != nil {
		return err
	}
	opts.PluginFiles, opts.Roots = []string{file}, []host.RootSpec{{Path: tree, Role: role}}
	opts.WaitForAll = true
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
	*err = errors.Join(*err, w.tests.close())
	if w.host != nil {
		*err = errors.Join(*err, w.host.Close())
	}
}

// watching is one `harness watch`.
type watching struct {
	app      *app
	settings *watchSettings
	dir      string             // of the source; empty when a module is watched
	src      *toolchain.Watcher // nil likewise
	host     *host.Host
	reports  *mailbox
	printer  changePrinter
	builds   chan buildEvent
	tests    *tester

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
	g.Go(func() error { return w.printChanges(ctx) })
	g.Go(func() error { return w.tests.run(ctx) })
	g.Go(func() error { return w.tests.fixtures.Run(ctx) })
	g.Go(func() error { return w.tests.follow(ctx) })
	if w.dir != "" {
		g.Go(func() error { return w.src.Run(ctx) })
		g.Go(func() error { return w.rebuild(ctx) })
	}
	return g.Wait()
}

// print prints what happens, in the order in which it does.
func (w *watching) printChanges(ctx context.Context) error {
	for {
		select {
		case <-w.reports.more:
			for _, r := range w.reports.take() {
				if err := w.printer.report(r); err != nil {
					return err
				}
				w.tests.use(r.Snapshot.Plugins) // after what it finds in the tree
			}
		case c := <-w.tests.results:
			if err := w.printer.put(c); err != nil {
				return err
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

// buildEvent is one build.
type buildEvent struct {
	file string
	size int64
	took time.Duration
	err  error
}

func (w *watching) build(ctx context.Context) buildEvent {
	start := time.Now()
	file, err := toolchain.Build(ctx, w.dir, toolchain.Options{Offline: w.settings.offline})
	b := buildEvent{file: file, took: time.Since(start), err: err}
	if info, err := os.Stat(file); b.err == nil && err == nil {
		b.size = info.Size()
	}
	return b
}

// module returns the module to watch. Source is checked for what building it
// again and again won't mend.
func (w *watching) module(ctx context.Context, what string) (string, error) {
	info, err := os.Stat(what)
	if err != nil || !info.IsDir() {
		return what, moduleThere(what)
	}
	w.dir = what
	if _, err := toolchain.Detect(what); err != nil {
		return "", err
	}
	if w.src, err = toolchain.Watch(what, watch.Options{}); err != nil {
		return "", err
	}
	if err := w.src.Next(ctx); err != nil { // what is built first
		return "", err
	}
	file, err := toolchain.Output(what)
	if err != nil {
		return "", err
	}
	first := w.build(ctx)
	var missing *toolchain.MissingError
	if errors.As(first.err, &missing) {
		return "", fmt.Errorf("nothing was built: %w", first.err)
	}
	return file, w.printer.build(&first)
}

// rebuild builds whenever the source has changed. The host sees the new module
// by itself.
func (w *watching) rebuild(ctx context.Context) error {
	for {
		if err := w.src.Next(ctx); err != nil {
			return ended(ctx, err)
		}
		b := w.build(ctx)
		select {
		case w.builds <- b:
		case <-ctx.Done():
			return nil
		}
	}
}

// mailbox takes reports without blocking who has them, and keeps their order.
type mailbox struct {
	more await.Wake // holds a token while there are reports

	mu   sync.Mutex // guards list
	list []*host.Report
}

func newMailbox() *mailbox { return &mailbox{more: await.NewWake()} }

func (m *mailbox) put(r *host.Report) {
	m.mu.Lock()
	m.list = append(m.list, r)
	m.mu.Unlock()
	m.more.Set()
}

func (m *mailbox) take() []*host.Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.list
	m.list = nil
	return list
}
