package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"waymark/cmd/harness/internal/fixture"
	"waymark/host"
	"waymark/host/plugin"
)

// errNeedsUser says that a fixture proves nothing when run by root.
var errNeedsUser = errors.New("root may read everything: run it as another user")

// testAll runs fixtures in order, and reports each when it is done.
func (e *engine) testAll(ctx context.Context, s *testSettings, files []string, done func(*fixtureResult) error) (*testReport, error) {
	r := &testReport{Module: e.module, Fixtures: []fixtureResult{}}
	for _, file := range files {
		one, err := e.testOne(ctx, s, file)
		if err != nil {
			return nil, err
		}
		r.add(one)
		if err := done(&one); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// testOne runs one fixture. An error isn't the fixture's failure, and ends the test.
func (e *engine) testOne(ctx context.Context, s *testSettings, file string) (fixtureResult, error) {
	start := time.Now()
	r := fixtureResult{Name: fixtureName(file), Path: file, Result: resultOK, Output: []resolverOutput{}}
	got, err := e.runFixture(ctx, file)
	switch {
	case ctx.Err() != nil:
		return r, context.Cause(ctx)
	case errors.Is(err, errNeedsUser):
		r.Result, r.Summary = resultSkip, err.Error()
	case err != nil:
		r.Result, r.Summary = resultFail, err.Error()
	default:
		r.Finds, r.Fuel = len(got.Resources), got.Fuel
		if err := r.compare(got.fixture, &got.Got, s.update); err != nil {
			return r, err
		}
		if r.Result == resultFail || got.Error == "" { // omits the output of an expected crash
			r.Output = got.output
		}
	}
	r.Duration = time.Since(start)
	return r, nil
}

// compare records how a run compares, and updates the fixture on request.
func (r *fixtureResult) compare(f *fixture.Fixture, got *fixture.Got, update bool) error {
	m := f.Compare(got)
	if m != nil && m.Diff != "" && update {
		text := f.Update(got)
		if err := os.WriteFile(f.Path, text, 0o644); err != nil { //nolint:gosec // a file of the author's
			return err
		}
		r.Result = resultUpdated
		next, err := fixture.Parse(f.Path, text)
		if err != nil {
			return err
		}
		m = next.Compare(got) // fuel_max stays, and may still be too low
	}
	if m != nil {
		r.Result, r.Summary, r.Diff = resultFail, m.Summary, m.Diff
	}
	return nil
}

// fixtureRun is the result of running a fixture.
type fixtureRun struct {
	fixture.Got
	fixture *fixture.Fixture
	output  []resolverOutput
}

// runFixture creates the workspace of a fixture and runs the module on it.
func (e *engine) runFixture(ctx context.Context, file string) (_ *fixtureRun, err error) {
	f, err := fixture.Read(file)
	if err != nil {
		return nil, err
	}
	if f.NeedsUser() && os.Geteuid() == 0 {
		return nil, errNeedsUser
	}
	if name := f.Request.Resolver; name != "" && !slices.Contains(e.module.Resolvers, name) {
		return nil, fmt.Errorf("request.toml names the resolver %q: %s has %s", name, e.module.Name, strings.Join(e.module.Resolvers, ", "))
	}
	for name := range f.Request.Config {
		if !slices.Contains(e.module.Resolvers, name) {
			return nil, fmt.Errorf("request.toml configures the resolver %q: %s has %s", name, e.module.Name, strings.Join(e.module.Resolvers, ", "))
		}
	}
	tree, err := f.Make()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tree.Remove()) }()
	if err := e.Reconfigure(ctx, e.configured(&f.Request)); err != nil {
		return nil, err
	}
	if err := e.SetRoots(ctx, []host.RootSpec{{Path: tree.Root, Role: f.Request.Role}}); err != nil {
		return nil, err
	}
	report, err := e.Refresh(ctx)
	if err != nil {
		return nil, err
	}
	return &fixtureRun{Got: gotOf(report, tree), fixture: f, output: outputsOf(report.Outcomes)}, nil
}

// configured returns the options under which a fixture runs.
func (e *engine) configured(r *fixture.Request) host.Options {
	opts := e.opts
	entry := plugin.Entry{Name: e.module.Name, Reads: r.Reads, GrantSecrets: r.GrantSecrets, Config: map[string][]byte{}}
	for name, object := range r.Config {
		entry.Config[name] = object
	}
	opts.Plugins, opts.Exclude = []plugin.Entry{entry}, r.Exclude
	if r.Resolver != "" {
		opts.Only = []string{r.Resolver}
	}
	return opts
}

// gotOf gathers the results that a fixture checks.
func gotOf(report *host.Report, tree *fixture.Tree) fixture.Got {
	got := fixture.Got{Dir: tree.Dir, Resources: report.Snapshot.Resources}
	var failures []string
	for i := range report.Outcomes {
		o := &report.Outcomes[i]
		got.Fuel += o.Fuel
		got.Warnings = append(got.Warnings, o.Warnings...)
		for _, d := range o.Denied {
			if !slices.Contains(got.Denied, d.Path) {
				got.Denied = append(got.Denied, d.Path)
			}
		}
		if o.Err != nil {
			failures = append(failures, o.Err.Error())
		}
	}
	got.Error = strings.Join(failures, "\n")
	return got
}
