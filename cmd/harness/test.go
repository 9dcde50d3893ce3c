package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/host"
)

// testSettings are the flags of test.
type testSettings struct {
	run    string
	update bool
	junit  string
	json   bool
}

func (a *app) testCommand() *cobra.Command {
	var s testSettings
	cmd := &cobra.Command{
		Use:   "test FILE.wasm [FIXTURE…]",
		Short: "Run a module on fixtures and compare what it finds",
		Long: `A fixture is a small workspace and what a module should find in it, in one text file
(txtar). Test creates each workspace in a temporary directory, runs the module on it and
shows the differences. Without FIXTURE, it uses all testdata/*.txtar beside the module;
a directory means all *.txtar in it.

  # Two rules, one of them for Go alone.
  -- .cursor/rules/go.mdc --
  ---
  globs: **/*.go
  ---
  Use errors.Is.
  -- .cursor/rules/locked.mdc mode=0000 --
  -- .cursor/rules/away.mdc -> ../../../outside/secret --
  -- waymark/outside/secret --
  -- waymark/request.toml --
  resolver = "cursor-rules"
  -- waymark/want.json --
  { "resources": [
      { "kind": "instruction_file", "source": ".cursor/rules/go.mdc",
        "attributes": { "mode": "glob", "globs": ["**/*.go"] } } ],
    "exact": false, "fuel_max": 20000000 }

A path may be followed by mode=0600, size=100000000 (a sparse file), base64, crlf, bom,
no-eol, fifo, socket or -> target; "dir/" is an empty directory. A row of want.json has
the fields to compare: id, kind, source, key, name, description, status, error (a part
of it), attributes, size_bytes, text. Other keys are exact (default true), warnings,
denied, error (of the resolver) and fuel_max. request.toml may have resolver, role,
file, name, exclude, reads, grant_secrets and [config.RESOLVER].

--update writes the actual results into want.json, and keeps description, order, exact
and fuel_max. It is refused if CI is set. The exit code is 1 if a fixture fails, or if
there is none.`,
		Example: `  harness test acme.wasm
  harness test acme.wasm testdata/scoped.txtar --update
  harness test acme.wasm --run '^scoped' --json
  harness test acme.wasm --junit report.xml`,
		Args: cli.Named("FILE.wasm", "FIXTURE…"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.test(cmd.Context(), &s, args[0], args[1:])
		},
	}
	cmd.Flags().StringVar(&s.run, "run", "", "run only fixtures whose name matches `REGEXP`")
	cmd.Flags().BoolVar(&s.update, "update", false, "write the actual results into the fixtures")
	cmd.Flags().StringVar(&s.junit, "junit", "", "write a JUnit report to `FILE`")
	cmd.Flags().BoolVar(&s.json, "json", false, "print JSON")
	return cmd
}

func (a *app) test(ctx context.Context, s *testSettings, module string, names []string) (err error) {
	only, err := regexp.Compile(s.run)
	if err != nil {
		return usage("--run: %w", err)
	}
	if s.update && inCI() {
		return usage("--update is refused where CI is set: update the fixtures at home, look at the difference and commit it")
	}
	files, err := fixtureFiles(module, names, only)
	if err != nil {
		return err
	}
	e, err := a.open(ctx, &settings{}, module, func(*host.Options) {})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	p := testPrinter{w: a.stdout, quiet: s.json, width: longest(files)}
	r, err := e.testAll(ctx, s, files, p.fixture)
	if err != nil {
		return err
	}
	if s.junit != "" {
		if err := writeJUnit(s.junit, r); err != nil {
			return err
		}
	}
	if err := p.finish(r); err != nil {
		return err
	}
	if r.Failed > 0 {
		return printed(cli.CodeFailed)
	}
	return nil
}

// inCI reports whether no person watches this run.
func inCI() bool {
	ci := os.Getenv("CI")
	return ci != "" && ci != "0" && ci != "false"
}

// fixtureFiles finds the selected fixtures.
func fixtureFiles(module string, names []string, only *regexp.Regexp) ([]string, error) {
	if len(names) == 0 {
		dir := fixtureDir(module)
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("there is no %s beside the module: make it and write a fixture, see harness test --help, or name fixtures", dir)
		}
		names = []string{dir}
	}
	var files []string
	for _, name := range names {
		info, err := os.Stat(name)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return nil, fmt.Errorf("fixture %s does not exist: check the path", name)
		case err != nil:
			return nil, err
		case !info.IsDir():
			files = append(files, name)
			continue
		}
		entries, err := os.ReadDir(name)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if filepath.Ext(e.Name()) == ".txtar" {
				files = append(files, filepath.Join(name, e.Name()))
			}
		}
	}
	all := len(files)
	files = slices.DeleteFunc(files, func(file string) bool { return !only.MatchString(fixtureName(file)) })
	switch {
	case all == 0:
		return nil, fmt.Errorf("there are no fixtures (*.txtar) in %s: write one, see harness test --help", strings.Join(names, ", "))
	case len(files) == 0:
		return nil, fmt.Errorf("--run %s: none of %d fixtures is called so", only, all)
	}
	return files, nil
}

// fixtureDir is the default directory of a module's fixtures.
func fixtureDir(module string) string { return filepath.Join(filepath.Dir(module), "testdata") }

func fixtureName(file string) string {
	return strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
}
