package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waymark/agent"
	"waymark/cmd/internal/cli"
	"waymark/host"
	"waymark/host/config"
	"waymark/host/plugin"
	"waymark/host/push"
	"waymark/host/vfs"
	"waymark/snapshot"
)

func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check the configuration, add to it, or print the default one or its schema",
		Example: `  agent config check
  agent config defaults > ~/.config/waymark/plugin.toml
  agent config schema > plugin.schema.json`,
	}
	cli.Group(cmd)
	var asJSON bool
	check := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Check the configuration, and show what it changes",
		Long: `Check reads FILE instead of the user's own files, or by default the files that the agent
reads. It reports all errors in them. If there are none, it shows which values differ
from the defaults, which file sets them, and which of a user's values have no effect
because the machine's file narrows them. The exit code is 1 if the agent would refuse
the files.

It also checks the modules, and warns of entries without effect: a plugin or resolver
that doesn't exist, an unknown name of a secret, a file that is refused or waits for an
approval.`,
		Example: `  agent config check
  agent config check ./plugin.toml`,
		Args: cli.Named("[FILE]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.checkConfig(cmd.Context(), strings.Join(args, ""), asJSON)
		},
	}
	check.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(check, a.configApproveCommand(), a.configConventionCommand(), &cobra.Command{
		Use:   "defaults",
		Short: "Print the annotated default configuration",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(a.stdout, config.Annotated())
			return err
		},
	}, &cobra.Command{
		Use:   "schema",
		Short: "Print a JSON Schema of the configuration, for editors",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return cli.JSON(a.stdout, config.JSONSchema()) },
	})
	return cmd
}

// checked is the output of config check --json.
type checked struct {
	OK bool `json:"ok"`
	// LookedFor lists the files that would be read, Files those that were.
	LookedFor []string `json:"looked_for"`
	Files     []string `json:"files"`
	// Problems are in the order of the files, and of the lines in each.
	Problems []configProblem `json:"problems"`
	Warnings []string        `json:"warnings"`
	// Settings holds the values that differ from the defaults, and Origins the files that
	// set them.
	Settings map[string]any      `json:"settings"`
	Origins  map[string][]string `json:"origins"`
	// Ignored are users' values that the machine's file overrides by narrowing.
	Ignored []config.Ignored `json:"ignored"`
}

type configProblem struct {
	File    string `json:"file"`
	Line    int    `json:"line"` // 0 if unknown
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
	s := agent.Settings{ConfigFile: file}
	result := checked{LookedFor: paths.ConfigFiles, Files: []string{}, Problems: []configProblem{}, Warnings: []string{}, Settings: map[string]any{}, Origins: map[string][]string{}, Ignored: []config.Ignored{}}
	if file != "" {
		result.LookedFor = s.Files(paths)
	}
	if places, err := paths.Workspace("."); err == nil {
		paths.ConfigFiles = append(paths.ConfigFiles, places.ConfigFile())
	}
	c, err := s.Load(paths)
	if err == nil && c.Push.URL != "" {
		_, err = push.ParseURL(c.Push.URL)
		if err != nil {
			err = c.Locate(err, "push", "url")
		}
	}
	if err != nil {
		result.Problems = problemsOf(err)
		if asJSON {
			return errors.Join(err, cli.JSON(a.stdout, result))
		}
		return err
	}
	result.OK, result.Ignored = true, append(result.Ignored, c.Ignored...)
	result.Files = append(result.Files, c.Files...)
	result.Warnings = append(result.Warnings, configWarnings(c, paths)...)
	result.Warnings = append(result.Warnings, a.moduleWarnings(ctx, c, paths)...)
	for _, s := range c.Settings() {
		result.Settings[s.Key] = s.Value
		result.Origins[s.Key] = append([]string{}, s.Files...)
	}
	if asJSON {
		return cli.JSON(a.stdout, result)
	}
	return printChecked(a.stdout, &result, c.Settings())
}

func problemsOf(err error) []configProblem {
	var bad *config.Error
	if !errors.As(err, &bad) {
		return []configProblem{{Message: err.Error()}}
	}
	list := []configProblem{{bad.File, bad.Line, bad.Col, bad.Key, bad.Message, bad.Hint}}
	for _, more := range bad.Unwrap() {
		list = append(list, problemsOf(more)...)
	}
	return list
}

// configWarnings lists settings that are valid but may surprise.
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
	if _, err := agent.TokenIn(paths, c.Push.TokenFile); err != nil {
		return []string{"push.token_file: " + err.Error()}
	}
	return nil
}

func printChecked(w io.Writer, result *checked, differing []config.Setting) error {
	out := &strings.Builder{}
	if len(result.Files) == 0 {
		fmt.Fprintf(out, "no configuration file: looked for %s\n", cli.Visible(strings.Join(result.LookedFor, ", ")))
	}
	for _, file := range result.Files {
		fmt.Fprintf(out, "read %s: ok\n", cli.Visible(file))
	}
	for _, line := range result.Warnings {
		fmt.Fprintf(out, "warning: %s\n", cli.Visible(line))
	}
	for _, i := range result.Ignored {
		fmt.Fprintf(out, "not in force: %s = %s of %s: %s narrows it to %s\n", cli.Visible(i.Key), cli.Visible(jsonText(i.Value)), cli.Visible(i.File), config.MachineFile, cli.Visible(jsonText(i.InForce)))
	}
	if len(differing) == 0 {
		fmt.Fprintln(out, "the defaults are in force, see 'agent config defaults'")
	} else {
		fmt.Fprintln(out, "in force, where it differs from the defaults:")
	}
	for _, s := range differing {
		fmt.Fprintf(out, "  %s = %s", cli.Visible(s.Key), cli.Visible(jsonText(s.Value)))
		if len(result.Files) > 1 && len(s.Files) > 0 {
			fmt.Fprintf(out, "   # %s", cli.Visible(strings.Join(s.Files, " and ")))
		}
		fmt.Fprintln(out)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// jsonText formats a value as JSON, which reads like TOML.
func jsonText(value any) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return err.Error() // can't happen: all values can be encoded
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// moduleWarnings lists settings that no module uses, and modules that can't be used with
// the configuration.
func (a *app) moduleWarnings(ctx context.Context, c *config.Config, paths *config.Paths) []string {
	plugins, err := a.modules(ctx, c, paths)
	if err != nil {
		return []string{"modules can't be looked at: " + err.Error()}
	}
	var warnings []string
	for _, p := range plugins {
		if p.State != snapshot.PluginReady {
			warnings = append(warnings, fmt.Sprintf("%s is %s: %s", p.Path, p.State, p.Error))
		}
	}
	warnings = append(warnings, builtinWarnings(c, plugins)...)
	for i := range c.Entries {
		warnings = append(warnings, entryWarnings(c, &c.Entries[i], plugins)...)
	}
	return warnings
}

// modules loads the configured modules, as 'agent run' would.
func (a *app) modules(ctx context.Context, c *config.Config, paths *config.Paths) (_ []snapshot.Plugin, err error) {
	defer a.RecordRuns(ctx, paths, slog.New(slog.DiscardHandler))()
	opts := a.HostOptions(&agent.Settings{}, c, paths, slog.New(slog.DiscardHandler))
	h, err := host.New(opts)
	if err != nil {
		return nil, err
	}
	defer func() {
		if cerr := h.Close(); err == nil {
			err = cerr
		}
	}()
	if err := h.Load(ctx); err != nil {
		return nil, err
	}
	return h.Status().Plugins, nil
}

// builtinWarnings lists resolvers in [builtin] that aren't built in.
func builtinWarnings(c *config.Config, plugins []snapshot.Plugin) []string {
	i := slices.IndexFunc(plugins, func(p snapshot.Plugin) bool { return p.Path == plugin.BuiltinPath })
	if i < 0 || plugins[i].Name == "" {
		return nil
	}
	var warnings []string
	for _, name := range c.Builtin.Disable {
		if !slices.Contains(plugins[i].Resolvers, name) {
			warnings = append(warnings, fmt.Sprintf("builtin.disable: no resolver named %q is built in: %s", name, among(plugins[i].Resolvers)))
		}
	}
	return append(warnings, configTables("builtin.config", slices.Sorted(maps.Keys(c.Builtin.Config)), plugins[i].Resolvers, "no resolver of that name is built in")...)
}

// entryWarnings checks one [[plugin]] entry.
func entryWarnings(c *config.Config, e *config.Plugin, plugins []snapshot.Plugin) []string {
	key := "plugin." + e.Name
	var warnings []string
	for _, name := range e.GrantSecrets {
		if !slices.ContainsFunc(vfs.SecretPatterns(), func(s vfs.Secret) bool { return s.Pattern == name }) {
			warnings = append(warnings, fmt.Sprintf("%s.grant_secrets: %q is not an entry of the secret list: such as %q, spelled as they are there", key, name, vfs.SecretPatterns()[0].Pattern))
		}
	}
	var names []string
	for _, p := range plugins {
		switch {
		case p.Path != plugin.BuiltinPath && p.Name == e.Name:
			return append(warnings, configTables(key+".config", slices.Sorted(maps.Keys(e.Config)), p.Resolvers, "the module has no resolver of that name")...)
		case p.Name == e.Name:
			return append(warnings, key+": that is the built-in module: its resolvers are configured below [builtin]")
		case p.Path != plugin.BuiltinPath && p.Name != "":
			names = append(names, p.Name)
		}
	}
	text := "no module of that name is in " + strings.Join(c.Plugins.Dirs, " or ") + ": drop it there, or mend the name"
	if len(names) > 0 {
		text += "; " + among(names)
	}
	return append(warnings, key+": "+text)
}

// configTables lists tables of resolvers that don't exist.
func configTables(key string, tables, resolvers []string, text string) []string {
	var warnings []string
	for _, name := range tables {
		if !slices.Contains(resolvers, name) {
			warnings = append(warnings, fmt.Sprintf("%s.%s: %s: %s", key, name, text, among(resolvers)))
		}
	}
	return warnings
}

func among(names []string) string {
	if len(names) == 1 {
		return "there is " + names[0]
	}
	return "there are " + strings.Join(names, ", ")
}
