package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"waymark/host"
	"waymark/host/config"
	"waymark/host/plugin"
	"waymark/host/vfs"
	"waymark/snapshot"
)

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
	opts, err := a.hostOptions(&settings{}, c, paths, variables{}, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
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
