package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"waymark/cmd/harness/internal/toolchain"
	"waymark/cmd/internal/cli"
	"waymark/internal/text"
)

// made is the output of new --json.
type made struct {
	Name string `json:"name"`
	// Lang is empty for an example that isn't a resolver.
	Lang toolchain.Lang `json:"lang"`
	Dir  string         `json:"dir"`
}

// newSettings are the flags of new.
type newSettings struct {
	lang, from, dir string
	json            bool
}

func (a *app) newCommand() *cobra.Command {
	var s newSettings
	cmd := &cobra.Command{
		Use:   "new [NAME]",
		Short: "Create a new resolver",
		Long: `New creates a directory with a resolver that builds and passes its test at once: source,
a fixture, the kit of the language and a README with the next steps. It downloads
nothing; the kits come with this program.

NAME is the name of the module and its resolver: lower-case words joined by hyphens.
Omit it with --from, which copies an example: a complete resolver (or a workspace
template) to read and change, which keeps its name.`,
		Example: `  harness new acme-rules
  harness new acme-rules --lang c
  harness new acme-rules --lang assemblyscript --dir resolvers/acme
  harness new --from cursor-rules`,
		Args: func(cmd *cobra.Command, args []string) error {
			if s.from == "" {
				return cli.Named("NAME")(cmd, args)
			}
			if len(args) > 0 {
				return fmt.Errorf("unexpected argument %q: an example keeps its name, --dir says where it goes", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if s.from != "" {
				if cmd.Flags().Changed("lang") {
					return usage("--lang is for a new resolver: an example has its language")
				}
				return a.newExample(&s)
			}
			return a.newResolver(&s, args[0])
		},
	}
	cmd.Flags().StringVar(&s.lang, "lang", string(toolchain.Go), "write it in `LANGUAGE`: go, c or assemblyscript")
	cmd.Flags().StringVar(&s.from, "from", "", "copy `EXAMPLE`: "+strings.Join(exampleNames(), ", "))
	cmd.Flags().StringVar(&s.dir, "dir", "", "create it in `DIR` (default: the name)")
	cmd.Flags().BoolVar(&s.json, "json", false, "print JSON")
	return cmd
}

// exampleNames lists the examples in this program.
func exampleNames() []string {
	list, _ := toolchain.Examples() // they are embedded in this program
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Name
	}
	return names
}

// newResolver creates a scaffold.
func (a *app) newResolver(s *newSettings, name string) error {
	lang, err := toolchain.ParseLang(s.lang)
	if err != nil {
		return usage("--lang: %w", err)
	}
	dir := cmp.Or(s.dir, name)
	err = toolchain.Write(dir, name, lang)
	if errors.Is(err, toolchain.ErrName) {
		return usage("%w", err)
	}
	if err != nil {
		return err
	}
	return a.made(s, &made{name, lang, dir})
}

// newExample creates a copy of an example.
func (a *app) newExample(s *newSettings) error {
	e, err := toolchain.FindExample(s.from)
	if err != nil {
		return usage("--from: %w", err)
	}
	dir := cmp.Or(s.dir, e.Name)
	if err := e.Write(dir); err != nil {
		return err
	}
	return a.made(s, &made{e.Name, e.Lang, dir})
}

// made prints what was created, and what to type next.
func (a *app) made(s *newSettings, m *made) error {
	if s.json {
		return cli.JSON(a.stdout, m)
	}
	_, err := fmt.Fprintf(a.stdout, "made %s in %s; next:\n  %s\n", m.Name, cli.Visible(m.Dir), cli.VisibleLines(strings.Join(m.steps(), "\n"), "  "))
	return err
}

// steps are the commands with which the README of a resolver begins.
func (m *made) steps() []string {
	base := filepath.Base(m.Dir)
	if abs, err := filepath.Abs(m.Dir); err == nil {
		base = filepath.Base(abs)
	}
	steps := []string{"cd " + text.ShellWord(m.Dir)}
	switch m.Lang {
	case "":
		return append(steps, "cat README.md")
	case toolchain.AssemblyScript:
		steps = append(steps, "npm ci")
	}
	return append(steps, "harness build", "harness test "+text.ShellWord(base+".wasm"))
}
