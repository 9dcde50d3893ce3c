// Package installed says which plugins a user has installed for coding agents, and which of
// them are enabled, by the files in which the agents record that.
//
// # Sources
//
//   - Claude Code, https://code.claude.com/docs/en/plugins/loading (2026-11-25):
//     ~/.claude/plugins/installed_plugins.json records installations with their scope, their
//     directory and, for one that belongs to a project, the project's directory (issue
//     14185). enabledPlugins of ~/.claude/settings.json, of the project's
//     .claude/settings.json and of its .claude/settings.local.json says which are enabled:
//     for each plugin the last of these that names it. A plugin that none names isn't loaded
//     (anthropics/claude-code issue 20661)
//   - Codex, openai/codex codex-rs/core-plugins/src/store.rs @03d21135: a table
//     plugins."NAME@MARKETPLACE" of ~/.codex/config.toml, enabled unless enabled is false.
//     The plugin lies in plugins/cache/MARKETPLACE/NAME, in "local" if that exists, or else
//     in the directory of its newest version
//   - Gemini CLI, google-gemini/gemini-cli packages/cli/src/config/extensions/
//     extensionEnablement.ts @04fbf507: every directory of ~/.gemini/extensions. The last
//     rule in extension-enablement.json that matches the working directory decides; without
//     one the extension is enabled
//   - GitHub Copilot CLI, github/copilot-cli issues 2390 and 3864: installedPlugins of
//     ~/.copilot/config.json, each with enabled and cache_path; enabledPlugins of
//     ~/.copilot/settings.json (issue 3742) can disable one
//
// # Guarantees
//
// Those files hold tokens. Only names, versions and directories below the agent's own are
// kept of them. Names and versions have a restricted form, so that nothing else can leak
// through them. An unreadable file counts as empty. Find doesn't change anything and has no
// state.
//
// # Limits
//
// The project is the first directory that is looked at as one, as if its user trusted it. Not
// covered are: what an administrator's settings enforce or forbid, which lie outside every
// root, in a registry or on a server; arguments of the command line; plugins that a list in a
// local directory brings without an installation; and what a project's settings say to agents
// other than Claude Code. 64 plugins in total.
package installed

import (
	"path"
	"slices"
	"strings"

	"waymark/plugins/internal/toml"
	"waymark/sdk-guest/jsonlite"
)

// Max bounds the reported plugins.
const Max = 64

// MaxFile is how much of a file is read, in bytes.
const MaxFile = 1 << 20

// State is what is known of a plugin.
type State string

// The states.
const (
	On  State = "on"
	Off State = "off"
	// Missing: it is enabled, but nothing exists at its place, or it lies elsewhere.
	Missing State = "missing"
)

// Plugin is an installed plugin.
type Plugin struct {
	// Name is its own, ID what its agent calls it: NAME@MARKETPLACE, except for Gemini CLI.
	Name, ID string
	// Dir is its directory, relative to the home directory; empty if it is Missing.
	Dir, Version string
	// Reader is the agent that it is installed for, List the file that says so, relative to
	// the home directory.
	Reader, List string
	State        State
}

// The agents' files, relative to a home directory.
const (
	claudeList     = ".claude/plugins/installed_plugins.json"
	claudeSettings = ".claude/settings.json"
	claudeLocal    = ".claude/settings.local.json" // of a project
	codexConfig    = ".codex/config.toml"
	codexCache     = ".codex/plugins/cache"
	geminiDir      = ".gemini/extensions"
	geminiRules    = geminiDir + "/extension-enablement.json"
	copilotConfig  = ".copilot/config.json"
	copilotOn      = ".copilot/settings.json"
)

// Lists returns the files and directories that Find reads, of a home directory and of a
// project, as patterns.
func Lists() []string {
	return []string{claudeList, claudeSettings, claudeLocal, codexConfig, codexCache + "/*/*/*", geminiDir + "/*", geminiRules, copilotConfig, copilotOn}
}

// Home is a home directory. Names are relative to it.
type Home struct {
	// Paths are those that lead to it: agents write one of them before a plugin's directory.
	Paths []string
	// Moved are directories, relative to this one, that replace an agent's own, such as
	// .codex. What is read and reported is below them.
	Moved map[string]string
	// Workspace is the project, as an absolute path: the subject of rules, and what plugins
	// may be installed for.
	Workspace string
	// Project returns the text of one of the project's files, or nothing; nil if there is no
	// project.
	Project func(name string) []byte
	// Read returns a file's text, or nothing; Dirs the names of the directories in one.
	Read func(name string) []byte
	Dirs func(name string) []string
}

// Find lists the plugins, in a fixed order, those of one agent together.
func Find(h Home) (list []Plugin) {
	for _, of := range []func(*Home) []Plugin{claude, codex, gemini, copilot} {
		list = append(list, of(&h)...)
	}
	return list[:min(len(list), Max)]
}

func claude(h *Home) (list []Plugin) {
	plugins := h.json(claudeList, "plugins")
	if plugins.Kind() != jsonlite.Object {
		return nil
	}
	on := h.switches()
	for id, v := range plugins.Members() {
		name, market, ok := strings.Cut(id, "@")
		if !ok || !plain(name) || !plain(market) {
			continue
		}
		record, ok := h.record(v)
		if !ok {
			continue
		}
		p := Plugin{Name: name, ID: id, Version: version(record), Reader: "claude-code", List: h.at(claudeList), State: Off}
		if on(id) {
			p.State = On
		}
		p.Dir = h.below(text(record, "installPath"), ".claude/plugins/")
		list = appendPlugin(list, p)
	}
	return list
}

// switches returns a function that reports whether a plugin of Claude Code's is enabled: by
// the settings closest to the project that name it.
func (h *Home) switches() func(id string) bool {
	settings := []jsonlite.Value{h.json(claudeSettings, enabled)}
	if h.Project != nil {
		settings = append(settings, parsed(h.Project(claudeSettings), enabled), parsed(h.Project(claudeLocal), enabled))
	}
	return func(id string) (on bool) {
		for _, s := range settings {
			switch v := last(s, id); v.Kind() {
			case jsonlite.Array, jsonlite.Object: // versions, in place of true
				on = true
			case jsonlite.Bool:
				on, _ = v.Bool()
			}
		}
		return on
	}
}

// enabled is the field of settings that enables and disables plugins.
const enabled = "enabledPlugins"

// record returns that of the installation that counts: one for the project before the user's
// own. The first version of the file has one record where the second has a list of them, for
// scopes.
func (h *Home) record(v jsonlite.Value) (record jsonlite.Value, ok bool) {
	if v.Kind() == jsonlite.Object {
		return v, true
	}
	rank := 0
	for e := range v.Elements() {
		now := 0
		switch text(e, "scope") {
		case "", "user", "managed":
			now = 1
		case "project", "local":
			if h.Project != nil && h.Workspace != "" && strings.TrimSuffix(text(e, "projectPath"), "/") == h.Workspace {
				now = 2
			}
		}
		if now > rank {
			record, rank = e, now
		}
	}
	return record, rank > 0
}

func codex(h *Home) (list []Plugin) {
	data := h.Read(h.at(codexConfig))
	if len(data) == 0 {
		return nil
	}
	doc, err := toml.Parse(data)
	if err != nil {
		return nil
	}
	plugins, _ := doc.Get("plugins")
	for id, v := range plugins.Members() {
		name, market, ok := strings.Cut(id, "@")
		if !ok || !plain(name) || !plain(market) {
			continue
		}
		p := Plugin{Name: name, ID: id, Reader: "codex", List: h.at(codexConfig), State: On}
		if own := last(v, "enabled"); string(own.Raw()) == "false" {
			p.State = Off
		}
		dir := h.at(path.Join(codexCache, market, name))
		if p.Version = newest(h.Dirs(dir)); p.Version != "" {
			p.Dir = path.Join(dir, p.Version)
		}
		list = appendPlugin(list, p)
	}
	return list
}

// newest returns the version that Codex takes.
func newest(versions []string) (best string) {
	for _, v := range versions {
		switch {
		case !plain(v):
		case v == "local":
			return v
		case best == "" || olderThan(best, v):
			best = v
		}
	}
	return best
}

// olderThan compares versions of dotted numbers by these, and others as texts.
func olderThan(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(x), len(y)) {
		if x[i] == y[i] {
			continue
		}
		if digits(x[i]) && digits(y[i]) {
			if len(x[i]) != len(y[i]) {
				return len(x[i]) < len(y[i])
			}
			return x[i] < y[i]
		}
		return x[i] < y[i]
	}
	return len(x) < len(y)
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func gemini(h *Home) (list []Plugin) {
	names := h.Dirs(h.at(geminiDir))
	if len(names) == 0 {
		return nil
	}
	rules := h.json(geminiRules, "")
	for _, name := range names {
		if !plain(name) {
			continue
		}
		p := Plugin{Name: name, ID: name, Dir: h.at(path.Join(geminiDir, name)), Reader: "gemini", List: h.at(path.Join(geminiDir, name, "gemini-extension.json")), State: On}
		overrides, _ := last(rules, name).Get("overrides")
		for rule := range overrides.Elements() {
			s, _ := rule.Text()
			base, off := strings.CutPrefix(s, "!")
			if !ruleMatches(base, h.Workspace) {
				continue
			}
			if p.State = On; off {
				p.State = Off
			}
		}
		list = append(list, p)
	}
	return list
}

// ruleMatches reports whether a rule covers a directory. A rule is a directory with slashes
// at both ends, and a star if it also covers everything below.
func ruleMatches(rule, dir string) bool {
	if dir == "" {
		return false
	}
	dir = strings.TrimSuffix(dir, "/") + "/"
	if base, deep := strings.CutSuffix(rule, "*"); deep {
		return strings.HasPrefix(dir, base) || dir == strings.TrimSuffix(base, "/")+"/"
	}
	return dir == rule
}

func copilot(h *Home) (list []Plugin) {
	plugins := h.json(copilotConfig, "installedPlugins")
	if plugins.Kind() != jsonlite.Array {
		return nil
	}
	on := h.json(copilotOn, enabled)
	for v := range plugins.Elements() {
		name, market := text(v, "name"), text(v, "marketplace")
		if !plain(name) || market != "" && !plain(market) {
			continue
		}
		p := Plugin{Name: name, ID: name, Version: version(v), Reader: "copilot", List: h.at(copilotConfig), State: On}
		if market != "" {
			p.ID += "@" + market
		}
		if own := last(v, "enabled"); string(own.Raw()) == "false" || string(last(on, p.ID).Raw()) == "false" {
			p.State = Off
		}
		p.Dir = h.below(text(v, "cache_path"), ".copilot/")
		list = appendPlugin(list, p)
	}
	return list
}

// appendPlugin adds a plugin, unless its agent already has its directory.
func appendPlugin(list []Plugin, p Plugin) []Plugin {
	if len(list) == Max || slices.ContainsFunc(list, func(other Plugin) bool { return other.ID == p.ID }) {
		return list
	}
	if p.Dir == "" && p.State == On {
		p.State = Missing
	}
	return append(list, p)
}

// below returns an absolute path relative to the home directory, if it lies in one of the
// agent's own directories there.
func (h *Home) below(written, own string) string {
	for _, home := range append([]string{"~"}, h.Paths...) {
		rel, ok := strings.CutPrefix(written, strings.TrimSuffix(home, "/")+"/")
		if !ok || home == "" || len(rel) > 1024 || strings.ContainsAny(rel, "\\\x00") || path.Clean(rel) != rel || strings.HasPrefix(rel, "../") {
			continue
		}
		if strings.HasPrefix(rel, h.at(strings.TrimSuffix(own, "/"))+"/") {
			return rel
		}
	}
	return ""
}

func (h *Home) json(name, key string) (v jsonlite.Value) { return parsed(h.Read(h.at(name)), key) }

// at returns where one of the agents' files is.
func (h *Home) at(name string) string { return At(h.Moved, name) }

// At returns the location of an agent's file, given by its usual name, if some of the agents'
// directories are moved as in Home.
func At(moved map[string]string, name string) string {
	first, rest, _ := strings.Cut(name, "/")
	if to := moved[first]; to != "" {
		return path.Join(to, rest)
	}
	return name
}

func parsed(data []byte, key string) (v jsonlite.Value) {
	if len(data) == 0 {
		return v
	}
	v, err := jsonlite.Parse(data, jsonlite.Options{AllowComments: true, AllowDuplicates: true, AllowInvalidUTF8: true, MaxDepth: 64})
	if err != nil || v.Kind() != jsonlite.Object {
		return jsonlite.Value{}
	}
	if key == "" {
		return v
	}
	return last(v, key)
}

// last returns the value of a key: of several the last counts.
func last(v jsonlite.Value, key string) (found jsonlite.Value) {
	for k, e := range v.Members() {
		if k == key {
			found = e
		}
	}
	return found
}

func text(v jsonlite.Value, key string) string {
	s, _ := last(v, key).Text()
	return s
}

func version(v jsonlite.Value) string {
	if s := text(v, "version"); plain(s) {
		return s
	}
	return ""
}

// plain reports whether a text is a name or a version: 1 to 64 ASCII letters, digits, dots,
// hyphens, plus signs and underscores, of which the first is a letter or a digit.
func plain(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case i > 0 && strings.IndexByte(".-+_", c) >= 0:
		default:
			return false
		}
	}
	return true
}

// Keeper returns the agent that keeps its plugins in the directory of the home directory that
// contains a path.
func Keeper(rel string) (agent string, ok bool) {
	for _, k := range [...]struct{ dir, agent string }{
		{".claude/plugins/cache/", "Claude Code"}, {".claude/plugins/marketplaces/", "Claude Code"}, {codexCache + "/", "Codex"},
		{geminiDir + "/", "Gemini CLI"}, {".copilot/installed-plugins/", "GitHub Copilot CLI"},
	} {
		if strings.HasPrefix(rel, k.dir) {
			return k.agent, true
		}
	}
	return "", false
}
