package vfs

import (
	"slices"
	"sync"

	"waymark/abi"
	"waymark/internal/beneath"
	"waymark/plugins/conventions"
)

// Files that configure clients hold tokens: in the environment and headers of MCP servers,
// and in the commands of hooks. These are the settings files: those of MCPFiles, the places
// of conventions of such a kind, and those that an operator adds.

// SettingsKinds returns the kinds of resources that settings files yield.
func SettingsKinds() []abi.Kind {
	return []abi.Kind{abi.KindMCPConfig, abi.KindHook, abi.KindPlugin}
}

// SeesSettings reports whether a resolver of these kinds may see settings files: whether it
// lists nothing else.
func SeesSettings(kinds []abi.Kind) bool {
	settings := SettingsKinds()
	return len(kinds) > 0 && !slices.ContainsFunc(kinds, func(k abi.Kind) bool { return !slices.Contains(settings, k) })
}

// HoldsSettings reports whether the files at the places of a convention are settings files.
// For plugins these are only JSON manifests, which may hold servers and hooks.
func HoldsSettings(c *conventions.Convention) bool {
	return c.Kind == abi.KindMCPConfig || c.Kind == abi.KindHook || c.Kind == abi.KindPlugin && c.Format == conventions.JSON
}

// settingsPatterns are those of the lists, without duplicates.
var settingsPatterns = sync.OnceValue(func() (patterns []string) {
	seen := map[string]bool{}
	add := func(pattern string) {
		if !seen[pattern] {
			seen[pattern] = true
			patterns = append(patterns, pattern)
		}
	}
	for _, m := range MCPFiles() {
		add(m.Pattern)
	}
	for i := range conventions.All {
		if c := &conventions.All[i]; HoldsSettings(c) {
			for _, place := range c.Places {
				add(place)
			}
		}
	}
	return patterns
})

// SettingsPatterns returns the patterns of settings files, which match at any depth and in
// any case.
func SettingsPatterns() []string { return slices.Clone(settingsPatterns()) }

// manifests are the names of files that say where the parts of a bundle are.
var manifests = []string{"plugin.json", "gemini-extension.json", "marketplace.json"}

// isManifest reports whether a path asked for is that of a manifest.
func isManifest(path string) bool {
	_, name := beneath.Split(path)
	return slices.Contains(manifests, name)
}

// settings reports whether a path is that of a settings file.
func (s scope) settings() bool { return (s.guard.ends|s.mcp.ends)&groupMCP != 0 }

// SawSettings reports whether the run was asked for a visible settings file, or for a file
// that may be one by another of its names.
func (r *Run) SawSettings() bool { return r.sawSettings }
