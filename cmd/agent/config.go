package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"waymark"
	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/term"
	"waymark/host/config"
	"waymark/host/push"
)

func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check the configuration, or print the default one",
		Example: `  agent config check
  agent config defaults > ~/.config/waymark/plugin.toml`,
	}
	cli.Group(cmd)
	var asJSON bool
	check := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Say what is wrong with the configuration, and what it changes",
		Long: `Check reads FILE, or else the files that the agent reads, and says what is wrong with
them, or which values differ from the defaults. The exit code is 1 when the agent
wouldn't take them.

It also looks at the modules, and warns of entries that none of them answers to: a
plugin or a resolver that isn't there, an unknown name of a secret, a file that is
refused or waits for an approval.`,
		Example: `  agent config check
  agent config check ./plugin.toml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.checkConfig(cmd.Context(), strings.Join(args, ""), asJSON)
		},
	}
	check.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(check, &cobra.Command{
		Use:   "defaults",
		Short: "Print the annotated default configuration",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(a.stdout, waymark.DefaultConfig)
			return err
		},
	})
	return cmd
}

// checked is the answer of config check --json.
type checked struct {
	OK bool `json:"ok"`
	// LookedFor lists the files that are looked for, Files those that were
	// read.
	LookedFor []string       `json:"looked_for"`
	Files     []string       `json:"files"`
	Problem   *configProblem `json:"problem"` // null when there is none
	Warnings  []string       `json:"warnings"`
	// Settings holds what differs from the defaults.
	Settings map[string]any `json:"settings"`
}

type configProblem struct {
	File    string `json:"file"`
	Line    int    `json:"line"` // 0 when the place is unknown
	Column  int    `json:"column"`
	Key     string `json:"key"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

func (a *app) checkConfig(ctx context.Context, file string, asJSON bool) error {
	paths, err := config.FindPaths(config.Environment{})
	if err != nil {
		return err
	}
	s := settings{configFile: file}
	result := checked{LookedFor: paths.ConfigFiles, Files: []string{}, Warnings: []string{}, Settings: map[string]any{}}
	if file != "" {
		result.LookedFor = []string{file}
	}
	c, err := s.load(paths)
	if err == nil && c.Push.URL != "" {
		_, err = push.ParseURL(c.Push.URL)
		if err != nil {
			err = fmt.Errorf("push.url: %w", err)
		}
	}
	if err != nil {
		result.Problem = problemOf(err)
		if asJSON {
			return errors.Join(err, term.JSON(a.stdout, result))
		}
		return err
	}
	differing := differences(c)
	result.OK = true
	result.Files = append(result.Files, c.Files...)
	result.Warnings = append(result.Warnings, configWarnings(c, paths)...)
	result.Warnings = append(result.Warnings, a.moduleWarnings(ctx, c, paths)...)
	for _, s := range differing {
		result.Settings[s.key] = s.value
	}
	if asJSON {
		return term.JSON(a.stdout, result)
	}
	return printChecked(a.stdout, &result, differing)
}

func problemOf(err error) *configProblem {
	var bad *config.Error
	if errors.As(err, &bad) {
		return &configProblem{bad.File, bad.Line, bad.Col, bad.Key, bad.Message, bad.Hint}
	}
	return &configProblem{Message: err.Error()}
}

// configWarnings lists what is allowed and may be a surprise.
func configWarnings(c *config.Config, paths *config.Paths) []string {
	if c.Push.URL == "" {
		if c.Push.TokenFile != "" {
			return []string{"push.token_file is not used without push.url"}
		}
		return nil
	}
	if c.Push.TokenFile == "" {
		return []string{"push.url has no push.token_file beside it: 'agent run' needs --token-file then"}
	}
	path, err := paths.Expand(c.Push.TokenFile)
	if err == nil {
		_, err = readToken(path)
	}
	if err != nil {
		return []string{"push.token_file: " + err.Error()}
	}
	return nil
}

func printChecked(w io.Writer, result *checked, differing []setting) error {
	out := &strings.Builder{}
	if len(result.Files) == 0 {
		fmt.Fprintf(out, "no configuration file: looked for %s\n", term.Visible(strings.Join(result.LookedFor, ", ")))
	}
	for _, file := range result.Files {
		fmt.Fprintf(out, "read %s: ok\n", term.Visible(file))
	}
	for _, line := range result.Warnings {
		fmt.Fprintf(out, "warning: %s\n", term.Visible(line))
	}
	if len(differing) == 0 {
		fmt.Fprintln(out, "the defaults are in force, see 'agent config defaults'")
	} else {
		fmt.Fprintln(out, "in force, where it differs from the defaults:")
	}
	for _, s := range differing {
		fmt.Fprintf(out, "  %s = %s\n", term.Visible(s.key), term.Visible(s.text()))
	}
	_, err := io.WriteString(w, out.String())
	return err
}
