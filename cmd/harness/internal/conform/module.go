package conform

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"waymark/abi"
	"waymark/host"
	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/snapshot"
)

// admitted loads the module, the way an agent would and once more for requests
// of our own.
func (c *checker) admitted(ctx context.Context) (bool, error) {
	if c.opts.Host.CacheDir == "" { // or it would be compiled each time
		c.opts.Host.CacheDir = filepath.Join(c.dir, "cache")
		c.opts.Host.KeyDir = c.opts.Host.CacheDir
	}
	wasm, err := os.ReadFile(c.opts.File)
	if err != nil {
		return false, err
	}
	c.checked[ruleModule] = true
	h, err := host.New(c.hostOptions())
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if err := h.Load(ctx); err != nil {
		return false, err
	}
	for _, p := range h.Status().Plugins {
		c.state = p
	}
	if c.state.State != snapshot.PluginReady {
		reason, hint := cutHint(c.state.Error)
		c.find(Finding{Rule: ruleModule, Severity: Fail, Detail: reason, Hint: hint})
		return false, nil
	}
	sb := sandbox.New(sandbox.Options{
		CacheDir: c.opts.Host.CacheDir, KeyDir: c.opts.Host.KeyDir, Compiler: c.opts.Host.Compiler, Logger: c.opts.Host.Logger,
	})
	limits, _ := c.limits()
	if c.module, err = sb.Load(ctx, wasm, limits); err != nil {
		return false, err
	}
	c.wasm = wasm
	c.desc = c.module.Description()
	return true, nil
}

// cutHint parts "reason (hint)", as sandbox.RejectError writes it.
func cutHint(text string) (reason, hint string) {
	if at := strings.LastIndex(text, " ("); at > 0 && strings.HasSuffix(text, ")") {
		return text[:at], text[at+2 : len(text)-1]
	}
	return text, "see abi/ABI.md; harness inspect shows imports and exports"
}

// reservedName is the name of the built-in module: a drop-in that has it, too,
// is refused by every agent.
const reservedName = "waymark"

// describe judges what the module says of itself. The host has accepted it.
func (c *checker) describe() {
	c.checked[ruleDescribe] = true
	warn := func(resolver, detail, hint string) {
		c.find(Finding{Rule: ruleDescribe, Severity: Warn, Resolver: resolver, Detail: detail, Hint: hint})
	}
	if c.desc.Name == reservedName {
		warn("", "its name is that of the built-in module", "give it another: an agent refuses the second module of a name")
	}
	for _, r := range c.resolvers() {
		if r.Summary == "" {
			warn(r.Name, "it has no summary", "say in one line what it finds: agent plugins shows it")
		}
		if len(r.Reads)+len(r.ReadsFromConfig) == 0 {
			warn(r.Name, "it reads nothing", "declare the files that it looks for in reads; it sees no others")
		}
		if slices.Contains(r.Reads, "**") {
			warn(r.Name, `its reads are "**", the whole workspace`, "name the places that it looks at: it is shown no others, and is not run again when those change")
		}
		if slices.Contains(r.Kinds, abi.KindMCPConfig) && !vfs.SeesSettings(r.Kinds) {
			warn(r.Name, "it declares mcp_config together with kinds other than hook and plugin", "make a resolver of its own for mcp_config: no other sees such files")
		}
		if slices.Contains(r.Kinds, abi.KindHook) && vfs.SeesSettings(r.Kinds) && slices.ContainsFunc(r.Reads, mayBeSettings) {
			warn(r.Name, "its hooks lose their words where it opens settings files, which may hold tokens: of each file and event one is kept, without name, key and matcher",
				"read files that hold nothing but hooks in a resolver of its own")
		}
		for _, p := range r.Reads {
			if hidden := protected(p, r.Kinds); hidden != "" {
				warn(r.Name, "its reads name "+p+", which "+hidden, "leave it out, or tell operators which grant it needs")
			}
		}
	}
}

// mayBeSettings reports whether a pattern names a settings file, or any file.
func mayBeSettings(pattern string) bool {
	return strings.Contains(pattern, "**") || slices.ContainsFunc(MatchingPaths(pattern), func(path string) bool {
		return slices.ContainsFunc(vfs.SettingsPatterns(), func(settings string) bool { return matchesAnywhere(settings, path) })
	})
}

// protected says why a resolver doesn't see a place that it names literally.
func protected(pattern string, kinds []abi.Kind) string {
	for _, p := range MatchingPaths(pattern) {
		if strings.ContainsAny(pattern, "*?[{") {
			return "" // it may mean others
		}
		for _, s := range vfs.SecretPatterns() {
			if matchesAnywhere(s.Pattern, p) {
				return "is on the secret list (" + s.Pattern + ") and not shown unless the operator grants it"
			}
		}
		for _, m := range vfs.SettingsPatterns() {
			if !vfs.SeesSettings(kinds) && matchesAnywhere(m, p) {
				return "holds MCP servers or hooks and is shown only to resolvers whose kinds are among mcp_config, hook and plugin"
			}
		}
	}
	return ""
}
