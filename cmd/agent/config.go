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
	"time"

	"github.com/spf13/cobra"

	"waymark"
	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/term"
	"waymark/host"
	"waymark/host/config"
	"waymark/host/plugin"
	"waymark/host/push"
	"waymark/host/vfs"
	"waymark/plugins/conventions"
	"waymark/snapshot"
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
		Long: `Check reads FILE, or else the files that the agent reads, and says all that is wrong
with them, or which values differ from the defaults. The exit code is 1 when the agent
wouldn't take them.

It also looks at the modules, and warns of entries that none of them answers to: a
plugin or a resolver that isn't there, an unknown name of a secret, a file that is
refused or waits for an approval.`,
		Example: `  agent config check
  agent config check ./plugin.toml`,
		Args: cli.Named("[FILE]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.checkConfig(cmd.Context(), strings.Join(args, ""), asJSON)
		},
	}
	check.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(check, a.configApproveCommand(), &cobra.Command{
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
	LookedFor []string `json:"looked_for"`
	Files     []string `json:"files"`
	// Problems are in the order of the files, and in each of what stands there.
	Problems []configProblem `json:"problems"`
	Warnings []string        `json:"warnings"`
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
	result := checked{LookedFor: paths.ConfigFiles, Files: []string{}, Problems: []configProblem{}, Warnings: []string{}, Settings: map[string]any{}}
	if file != "" {
		result.LookedFor = []string{file}
	}
	if places, err := paths.Workspace("."); err == nil {
		paths.ConfigFiles = append(paths.ConfigFiles, places.ConfigFile())
	}
	c, err := s.load(paths)
	if err == nil && c.Push.URL != "" {
		_, err = push.ParseURL(c.Push.URL)
		if err != nil {
			err = c.Locate(err, "push", "url")
		}
	}
	if err != nil {
		result.Problems = problemsOf(err)
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
	file, err := paths.Token(c.Push.TokenFile)
	if err == nil {
		_, err = readToken(file)
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

// setting is one value of the configuration under its full name.
type setting struct {
	key   string
	value any // string, int, bool, []string, []uint16 or json.RawMessage
}

// text writes the value as JSON, which reads like TOML.
func (s setting) text() string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s.value); err != nil {
		return err.Error() // there is no value that can't be written
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// differences lists what isn't as by default.
func differences(c *config.Config) []setting {
	defaults := map[string]string{}
	for _, s := range values(config.Default()) {
		defaults[s.key] = s.text()
	}
	var list []setting
	for _, s := range values(c) {
		if def, known := defaults[s.key]; !known || def != s.text() {
			list = append(list, s)
		}
	}
	return list
}

// values lists everything that a configuration says, in the order of
// plugin.toml.
func values(c *config.Config) []setting {
	list := []setting{
		{"exclude", texts(c.Exclude)},
		{"plugins.dirs", texts(c.Plugins.Dirs)},
		{"builtin.disable", texts(c.Builtin.Disable)},
	}
	list = append(list, tables("builtin.config.", c.Builtin.Config)...)
	list = append(list, []setting{
		{"conventions.agents", texts(c.Conventions.Agents)},
		{"conventions.strict", c.Conventions.Strict},
		{"conventions.user", c.Conventions.User},
		{"conventions.children", c.Conventions.Children},
		{"conventions.grants", texts(c.Conventions.Grants)},
	}...)
	for _, o := range c.OwnConventions() {
		list = append(list, conventionValues(&o)...)
	}
	list = append(list, limitValues("limits.", c.Limits)...)
	list = append(list, []setting{
		{"snapshot.max_resource_bytes", c.Snapshot.MaxResourceBytes.String()},
		{"snapshot.max_bytes", c.Snapshot.MaxBytes.String()},
		{"snapshot.max_resources", c.Snapshot.MaxResources},
		{"watch.quiet", duration(c.Watch.Quiet)},
		{"watch.max_wait", duration(c.Watch.MaxWait)},
		{"watch.recheck", duration(c.Watch.Recheck)},
		{"push.url", c.Push.URL},
		{"push.token_file", c.Push.TokenFile},
		{"push.agent", c.Push.Agent},
		{"push.clients", c.Push.Clients},
		{"services.processes", c.Services.Processes},
		{"services.files", c.Services.Files},
		{"services.git", c.Services.Git},
		{"services.tcp", c.Services.TCP},
		{"services.hub", c.Services.Hub},
		{"services.hide_secrets", c.Services.HideSecrets},
		{"services.files_within", c.Services.FilesWithin},
		{"services.spool", c.Services.Spool.String()},
		{"services.spool_total", c.Services.SpoolTotal.String()},
		{"services.audit", c.Services.Audit.String()},
	}...)
	list = append(list, mcpValues(&c.MCP)...)
	for _, p := range c.Entries {
		list = append(list, entryValues(p)...)
	}
	return list
}

// conventionValues lists a [[convention]] table under its id.
func conventionValues(c *conventions.Convention) []setting {
	key := "convention." + c.ID + "."
	return []setting{
		{key + "readers", texts(c.Readers)},
		{key + "places", texts(c.Places)},
		{key + "scope", string(c.Scope)},
		{key + "kind", string(c.Kind)},
		{key + "format", string(c.Format)},
		{key + "name", string(c.Name)},
		{key + "description", string(c.Description)},
		{key + "mode", c.Applies.Mode},
		{key + "globs_key", c.Applies.GlobsKey},
	}
}

func mcpValues(m *config.MCP) []setting {
	list := []setting{
		{"mcp.enabled", m.Enabled},
		{"mcp.trust", m.Trust},
		{"mcp.from", texts(m.From)},
		{"mcp.confine", m.Confine},
		{"mcp.require_confined", m.RequireConfined},
		{"mcp.allow", texts(m.Allow)},
		{"mcp.deny", texts(m.Deny)},
		{"mcp.new_tools", m.NewTools},
		{"mcp.approved", texts(m.Approved)},
		{"mcp.keys", texts(m.Keys)},
		{"mcp.connect_timeout", duration(m.ConnectTimeout)},
		{"mcp.call_timeout", duration(m.CallTimeout)},
		{"mcp.idle", duration(m.Idle)},
		{"mcp.server_tools", m.ServerTools},
		{"mcp.tools", m.Tools},
		{"mcp.server_bytes", m.ServerBytes.String()},
		{"mcp.bytes", m.Bytes.String()},
		{"mcp.result_bytes", m.ResultBytes.String()},
		{"mcp.result_spool", m.ResultSpool.String()},
		{"mcp.disk", m.Disk.String()},
	}
	for _, name := range slices.Sorted(maps.Keys(m.Servers)) {
		list = append(list, mcpServerValues(name, m.Servers[name])...)
	}
	return list
}

// mcpServerValues lists what the table of a server changes; off is always there, so
// that one without anything else shows.
func mcpServerValues(name string, s *config.MCPServer) []setting {
	under := "mcp.servers." + name + "."
	list := []setting{{under + "off", s.Off}}
	if len(s.Read) > 0 {
		list = append(list, setting{under + "read", texts(s.Read)})
	}
	if len(s.Write) > 0 {
		list = append(list, setting{under + "write", texts(s.Write)})
	}
	if s.Ports != nil {
		list = append(list, setting{under + "ports", s.Ports})
	}
	if s.Unix {
		list = append(list, setting{under + "unix", s.Unix})
	}
	if len(s.Env) > 0 {
		list = append(list, setting{under + "env", texts(s.Env)})
	}
	return list
}

// entryValues lists what an entry changes; rank is always there, so that an
// entry without anything else shows.
func entryValues(p config.Plugin) []setting {
	name := "plugin." + p.Name + "."
	list := []setting{{name + "rank", p.Rank}}
	if p.SHA256 != "" {
		list = append(list, setting{name + "sha256", p.SHA256})
	}
	if len(p.Reads) > 0 {
		list = append(list, setting{name + "reads", texts(p.Reads)})
	}
	if len(p.GrantSecrets) > 0 {
		list = append(list, setting{name + "grant_secrets", texts(p.GrantSecrets)})
	}
	list = append(list, tables(name+"config.", p.Config)...)
	none := limitValues("", config.Limits{})
	for i, s := range limitValues("", p.Limits) {
		if s.value != none[i].value {
			list = append(list, setting{name + "limits." + s.key, s.value})
		}
	}
	return list
}

func limitValues(under string, l config.Limits) []setting {
	return []setting{
		{under + "time", duration(l.Time)},
		{under + "fuel", l.Fuel},
		{under + "memory", l.Memory.String()},
		{under + "response", l.Response.String()},
		{under + "logs", l.Logs.String()},
		{under + "opens", l.Opens},
		{under + "read_bytes", l.ReadBytes.String()},
		{under + "entries", l.Entries},
	}
}

func tables(under string, objects map[string]json.RawMessage) []setting {
	var list []setting
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		list = append(list, setting{under + name, objects[name]})
	}
	return list
}

// texts is the list, never nil: [] and not null.
func texts(list []string) []string { return append([]string{}, list...) }

// duration writes a duration as a person would: 1m, not 1m0s.
func duration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// moduleWarnings lists what of a configuration no module answers to, and which
// modules can't be used with it.
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

// modules loads what the configuration names, as 'agent run' would.
func (a *app) modules(ctx context.Context, c *config.Config, paths *config.Paths) (_ []snapshot.Plugin, err error) {
	defer a.recordRuns(ctx, paths, slog.New(slog.DiscardHandler))()
	opts := a.hostOptions(&settings{}, c, paths, variables{}, slog.New(slog.DiscardHandler))
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

// builtinWarnings is about resolvers that aren't built in.
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

// entryWarnings is about one [[plugin]] entry.
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

// configTables is about the tables of resolvers that don't exist.
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
