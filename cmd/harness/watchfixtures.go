package main

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"

	"waymark/cmd/harness/internal/toolchain"
	"waymark/host"
	"waymark/host/watch"
	"waymark/internal/await"
	"waymark/snapshot"
)

// tester runs the fixtures of the module that is watched: when another version
// of it is in use, and when one of them is saved. It has an engine of its own,
// since each fixture brings a root and a configuration.
type tester struct {
	app      *app
	file     string
	fixtures *toolchain.Watcher
	digest   string      // of the version in use; only use looks at it
	used     atomic.Bool // there is one
	again    await.Wake  // holds a token while they are to be run
	results  chan change
}

func newTester(a *app) *tester {
	return &tester{app: a, again: await.NewWake(), results: make(chan change)}
}

// watch sets whose fixtures are meant.
func (t *tester) watch(file string) (err error) {
	t.file = file
	t.fixtures, err = toolchain.Fixtures(fixtureDir(file), watch.Options{})
	return err
}

func (t *tester) close() error {
	if t.fixtures == nil {
		return nil
	}
	return t.fixtures.Close()
}

// use says which version of the module is in use.
func (t *tester) use(modules []snapshot.Plugin) {
	for i := range modules {
		if d := modules[i].Digest; d != "" && d != t.digest && modules[i].State != snapshot.PluginRejected {
			t.digest = d
			t.used.Store(true)
			t.wanted()
		}
	}
}

func (t *tester) wanted() {
	t.again.Set()
}

// follow waits for changes of the fixtures until ctx ends.
func (t *tester) follow(ctx context.Context) error {
	for {
		if err := t.fixtures.Next(ctx); err != nil {
			return ended(ctx, err)
		}
		if t.used.Load() {
			t.wanted()
		}
	}
}

// run runs the fixtures whenever that is wanted, until ctx ends.
func (t *tester) run(ctx context.Context) error {
	for {
		select {
		case <-t.again:
		case <-ctx.Done():
			return nil
		}
		c := change{Event: eventTested}
		report, err := t.all(ctx)
		switch {
		case ctx.Err() != nil:
			return ended(ctx, err)
		case err != nil:
			c.Error = err.Error()
		case report == nil:
			continue
		}
		c.Tests = report
		select {
		case t.results <- c:
		case <-ctx.Done():
			return nil
		}
	}
}

// all runs all fixtures; the report is nil when there are none.
func (t *tester) all(ctx context.Context) (_ *testReport, err error) {
	files, err := filepath.Glob(filepath.Join(fixtureDir(t.file), "*.txtar"))
	if err != nil || len(files) == 0 {
		return nil, err
	}
	e, err := t.app.open(ctx, &settings{}, t.file, func(*host.Options) {})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	return e.testAll(ctx, &testSettings{}, files, func(*fixtureResult) error { return nil })
}
