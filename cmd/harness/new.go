package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"waymark/cmd/harness/internal/scaffold"
	"waymark/cmd/harness/internal/toolchain"
	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/term"
)

// made is what new says with --json.
type made struct {
	Name string         `json:"name"`
	Lang toolchain.Lang `json:"lang"`
	Dir  string         `json:"dir"`
}

func (a *app) newCommand() *cobra.Command {
	var lang, dir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Make the start of a new resolver",
		Long: `New makes a directory with a resolver that builds and passes its test at once: source,
a fixture, the kit of the language and a README with the next steps. Nothing is
downloaded; the Go SDK and the C header come with this program.

NAME is what the module and its resolver are called: lower-case words joined by hyphens.`,
		Example: `  harness new acme-rules
  harness new acme-rules --lang c
  harness new acme-rules --lang assemblyscript --dir resolvers/acme`,
		Args: cli.Named("NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			l, err := toolchain.ParseLang(lang)
			if err != nil {
				return usage("--lang: %w", err)
			}
			if dir == "" {
				dir = args[0]
			}
			if err := scaffold.Write(dir, args[0], l); err != nil {
				if errors.Is(err, scaffold.ErrName) {
					return usage("%w", err)
				}
				return err
			}
			if asJSON {
				return term.JSON(a.stdout, made{args[0], l, dir})
			}
			return a.nextSteps(args[0], dir, l)
		},
	}
	cmd.Flags().StringVar(&lang, "lang", string(toolchain.Go), "the language: go, c or assemblyscript")
	cmd.Flags().StringVar(&dir, "dir", "", "where to make it (default NAME)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// nextSteps says what to type next.
func (a *app) nextSteps(name, dir string, lang toolchain.Lang) error {
	wasm := filepath.Base(dir) + ".wasm"
	if abs, err := filepath.Abs(dir); err == nil {
		wasm = filepath.Base(abs) + ".wasm"
	}
	steps := []string{"cd " + quote(dir), "harness build", "harness test " + wasm}
	if lang == toolchain.AssemblyScript {
		steps = append(steps[:1], append([]string{"npm install"}, steps[1:]...)...)
	}
	_, err := fmt.Fprintf(a.stdout, "made %s in %s; next:\n  %s\n", name, term.Visible(dir), strings.Join(steps, "\n  "))
	return err
}

// quote makes one word of a path for a shell.
func quote(path string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./~", r)
	}
	if path != "" && strings.TrimLeftFunc(path, plain) == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
