package host_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/host"
	"waymark/host/codingagents"
	"waymark/host/why"
	"waymark/snapshot"
	"waymark/test/testenv"
)

// installedHome has plugins of four agents, of each one that is on and one that is off, in
// files with tokens.
func installedHome(dir string) []string {
	home := filepath.Join(dir, "home")
	plugin := func(at, name string) []string {
		return []string{
			"home/" + at + "/skills/s-" + name + "/SKILL.md = ---\nname: s-" + name + "\ndescription: d\n---\n",
			"home/" + at + "/agents/a-" + name + ".md = ---\nname: a-" + name + "\ndescription: d\n---\n",
			"home/" + at + "/commands/c-" + name + ".md = Do it",
			"home/" + at + `/hooks/hooks.json = {"hooks":{"Stop":[{"hooks":[{"type":"command","command":"echo ` + secret + `"}]}]}}`,
			"home/" + at + `/.mcp.json = {"mcpServers":{"m":{"command":"x","env":{"TOKEN":"` + secret + `"}}}}`,
		}
	}
	cache := ".claude/plugins/cache/m/"
	tree := slices.Concat(
		plugin(cache+"on/1", "on"), plugin(cache+"on/0", "old"), plugin(cache+"off/1", "off"), plugin(cache+"unnamed/1", "unnamed"),
		plugin(cache+"project/1", "project"), plugin(".claude/plugins/marketplaces/m/plugins/never", "never"), plugin("elsewhere", "elsewhere"),
		plugin(".codex/plugins/cache/m/con/1.9.0", "con-old"), plugin(".codex/plugins/cache/m/con/1.10.0", "con"), plugin(".codex/plugins/cache/m/coff/1", "coff"),
		plugin(".gemini/extensions/gon", "gon"), plugin(".gemini/extensions/goff", "goff"),
		plugin(".copilot/installed-plugins/m/pon", "pon"), plugin(".copilot/installed-plugins/m/poff", "poff"),
	)
	record := func(name string) string {
		return `"` + name + `@m":[{"scope":"user","version":"1","installPath":"` + home + "/" + cache + name + `/1","token":"` + secret + `"}]`
	}
	return append(tree,
		`home/`+cache+`on/1/.claude-plugin/plugin.json = {"name":"on","version":"1","skills":"./more"}`,
		"home/"+cache+"on/1/more/extra/SKILL.md = ---\nname: extra\ndescription: d\n---\n",
		`home/.claude/plugins/installed_plugins.json = {"version":2,"plugins":{`+record("on")+","+record("off")+","+record("unnamed")+`,
			"gone@m":[{"scope":"user","installPath":"`+home+`/elsewhere"}],
			"project@m":[{"scope":"project","projectPath":"/x","installPath":"`+home+"/"+cache+`project/1"}]}}`,
		`home/.claude/settings.json = {"env":{"TOKEN":"`+secret+`"},"enabledPlugins":{"on@m":true,"off@m":false,"gone@m":true,"project@m":true,"`+secret+`":true}}`,
		"home/.codex/config.toml = token = \""+secret+"\"\n[plugins.\"con@m\"]\nenabled = true\n[plugins.\"coff@m\"]\nenabled = false\n",
		`home/.codex/plugins/cache/m/con/1.10.0/.codex-plugin/plugin.json = {"name":"con"}`,
		`home/.gemini/extensions/gon/gemini-extension.json = {"name":"gon"}`, `home/.gemini/extensions/goff/gemini-extension.json = {"name":"goff"}`,
		`home/.gemini/extensions/extension-enablement.json = {"goff":{"overrides":["!`+dir+`/*"]},"gon":{"overrides":["!`+home+`/*","!/other/*"]}}`,
		`home/.copilot/config.json = {"token":"`+secret+`", // by hand
			"installedPlugins":[{"name":"pon","marketplace":"m","enabled":true,"cache_path":"`+home+`/.copilot/installed-plugins/m/pon"},
			{"name":"poff","marketplace":"m","enabled":false,"cache_path":"`+home+`/.copilot/installed-plugins/m/poff"}]}`,
		"work/AGENTS.md = work",
	)
}

// buildInstalled makes that home, beside a workspace.
func buildInstalled(t *testing.T) (dir string, roots []host.RootSpec) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range installedHome(dir) {
		name, text, _ := strings.Cut(line, " = ")
		put(t, filepath.Join(dir, name), text)
	}
	return dir, []host.RootSpec{{Path: filepath.Join(dir, "home"), Scope: snapshot.ScopeUser}, {Path: filepath.Join(dir, "work")}}
}

// broughtBy lists what plugins bring: plugin, kind, and the last name of where it lies.
func broughtBy(s *snapshot.Snapshot) (list []string) {
	for i := range s.Resources {
		r := &s.Resources[i]
		if p := r.Attributes["plugin"].Text; p != "" && r.Kind != abi.KindPlugin {
			list = append(list, p+" "+string(r.Kind)+" "+filepath.Base(r.Source)+" "+strings.Join(r.Readers, ","))
		}
	}
	slices.Sort(list)
	return list
}

var wantInstalled = []string{
	"con command c-con.md codex", "con hook hooks.json codex", "con mcp_config .mcp.json codex", "con skill s-con codex",
	"gon hook hooks.json gemini", "gon skill s-gon gemini", "gon subagent a-gon.md gemini",
	"on command c-on.md claude-code", "on hook hooks.json claude-code", "on mcp_config .mcp.json claude-code",
	"on skill extra claude-code", "on skill s-on claude-code", "on subagent a-on.md claude-code",
	"pon command c-pon.md copilot", "pon hook hooks.json copilot", "pon mcp_config .mcp.json copilot", "pon skill s-pon copilot", "pon subagent a-pon.md copilot",
}

// TestInstalledPlugins: of what a user has installed, what is switched on is listed with
// its plugin and who loads it, and nothing else; and no token gets out.
func TestInstalledPlugins(t *testing.T) {
	t.Parallel()
	dir, roots := buildInstalled(t)
	var logs logBuffer
	h := newHost(t, host.Options{Builtin: module(builtin(t)), Home: filepath.Join(dir, "home"), Roots: roots, Logger: debugLogger(&logs)})
	report := refresh(t, h)
	compare(t, "brought", broughtBy(report.Snapshot), wantInstalled)
	states := map[string]string{}
	for i := range report.Snapshot.Resources {
		r := &report.Snapshot.Resources[i]
		if r.Kind != abi.KindPlugin || r.Key == "" {
			continue
		}
		for _, f := range r.Findings {
			states[r.Key] = f.Code
		}
		if r.Scope != snapshot.ScopeUser {
			t.Errorf("%s has scope %s", r.ID(), r.Scope)
		}
		if r.Key == "on@m" && (r.Attributes["skills"].Text != "2" || r.Attributes["version"].Text != "1") {
			t.Errorf("%+v", r.Attributes)
		}
	}
	want := map[string]string{"off@m": "switched-off", "unnamed@m": "switched-off", "coff@m": "switched-off", "goff": "switched-off", "poff@m": "switched-off", "gone@m": "not-here"}
	for id, code := range want {
		if states[id] != code {
			t.Errorf("%s: %q, want %q", id, states[id], code)
		}
	}
	if len(states) != len(want) {
		t.Errorf("findings %v", states)
	}
	shown, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(allText(t, report, &logs)+string(shown), secret) {
		t.Error("a secret got out")
	}
	cache := filepath.Join(dir, "home/.claude/plugins/cache/m")
	for path, want := range map[string]why.Reason{"on/1/skills/s-on": why.ReasonFound, "off/1/skills/s-off": why.ReasonNotAKnownPlace, "on/0/skills/s-old": why.ReasonNotAKnownPlace} {
		answer, err := h.Why(t.Context(), filepath.Join(cache, path))
		if err != nil || answer.Reason != want {
			t.Errorf("%s: %+v, %v", path, answer, err)
		}
		t.Logf("%s: %s", path, answer.Detail)
	}
}

// TestInstalledComesAndGoes: a running agent sees what is switched on and off, what is
// installed, and what changes in a plugin.
func TestInstalledComesAndGoes(t *testing.T) {
	noLeaks(t)
	dir, roots := buildInstalled(t)
	settings := filepath.Join(dir, "home/.claude/settings.json")
	h := newHost(t, host.Options{Builtin: module(builtin(t)), Watch: slow, Roots: roots})
	running(t, h)
	sees := func(what string, ok func(list []string) bool) {
		t.Helper()
		awaitSnapshot(t, h, what, func(s *snapshot.Snapshot) bool { return ok(broughtBy(s)) })
	}
	on := func(name string) func([]string) bool {
		return func(list []string) bool { return slices.Contains(list, name+" skill s-"+name+" claude-code") }
	}
	off := func(name string) func([]string) bool {
		return func(list []string) bool {
			return !slices.ContainsFunc(list, func(s string) bool { return strings.HasPrefix(s, name+" ") })
		}
	}
	sees("the first", on("on"))
	put(t, settings, `{"enabledPlugins":{"on@m":false,"off@m":true}}`)
	sees("switched", func(list []string) bool { return on("off")(list) && off("on")(list) })
	put(t, filepath.Join(dir, "home/.claude/plugins/cache/m/off/1/skills/new/SKILL.md"), "---\nname: new\ndescription: d\n---\n")
	sees("a skill more", func(list []string) bool { return slices.Contains(list, "off skill new claude-code") })
	project := filepath.Join(dir, "work/.claude/settings.json")
	put(t, project, `{"enabledPlugins":{"on@m":true,"off@m":false}}`)
	sees("switched by the project", func(list []string) bool { return on("on")(list) && off("off")(list) })
	put(t, filepath.Join(dir, "work/.claude/settings.local.json"), `{"enabledPlugins":{"on@m":false,"token":"`+secret+`"}}`)
	sees("switched for oneself", off("on"))
	if err := os.RemoveAll(filepath.Dir(project)); err != nil {
		t.Fatal(err)
	}
	sees("as it was", func(list []string) bool { return on("off")(list) && off("on")(list) })
	put(t, filepath.Join(dir, "home/.claude/plugins/installed_plugins.json"), `{"version":2,"plugins":{"off@m":[{"scope":"user","installPath":"`+dir+`/home/.claude/plugins/cache/m/off/1"}],
		"project@m":[{"scope":"project","projectPath":"`+dir+`/work","installPath":"`+dir+`/home/.claude/plugins/cache/m/project/1"}]}}`)
	put(t, project, `{"enabledPlugins":{"project@m":true}}`)
	sees("installed for the project", on("project"))
	if err := os.Remove(settings); err != nil {
		t.Fatal(err)
	}
	sees("without settings", off("off"))
	put(t, filepath.Join(dir, "home/.codex/plugins/cache/m/con/local/skills/l/SKILL.md"), "---\nname: l\ndescription: d\n---\n")
	sees("another version", func(list []string) bool { return slices.Contains(list, "con skill l codex") })
}

// TestMangledInstalled: whatever becomes of the files that say what is installed, and of
// what plugins bring, no run fails in the sandbox, and nothing of the settings gets out.
func TestMangledInstalled(t *testing.T) {
	r := testenv.Rand(t)
	dir, roots := buildInstalled(t)
	var logs logBuffer
	h := newHost(t, host.Options{Builtin: module(builtin(t)), Roots: roots, Logger: debugLogger(&logs)})
	brought := 0
	for round := range testenv.Rounds(5, 40, 2000) {
		for _, line := range installedHome(dir) {
			if name, text, _ := strings.Cut(line, " = "); r.IntN(3) == 0 {
				put(t, filepath.Join(dir, name), string(mangled(r, []byte(text))))
			} else {
				put(t, filepath.Join(dir, name), text)
			}
		}
		report := refresh(t, h)
		for i := range report.Outcomes {
			if o := &report.Outcomes[i]; o.Err != nil {
				t.Fatalf("round %d: %s: %v", round, o.Resolver, o.Err)
			}
		}
		brought += len(broughtBy(report.Snapshot))
		for i := range report.Snapshot.Resources {
			if res := &report.Snapshot.Resources[i]; res.Kind == abi.KindPlugin || res.Kind == abi.KindHook || res.Kind == abi.KindMCPConfig {
				if shown, err := json.Marshal(res); err != nil || strings.Contains(string(shown), secret) {
					t.Fatalf("round %d: %s, %v", round, shown, err)
				}
			}
		}
	}
	if brought == 0 {
		t.Error("nothing was ever found")
	}
}

// TestInstalledForClients: a client is said to begin with what those plugins bring that are
// installed for it and switched on, by the names that it has for that.
func TestInstalledForClients(t *testing.T) {
	t.Parallel()
	dir, _ := buildInstalled(t)
	brought := func(id string, noUser bool) (list []string) {
		opts := testOptions(host.Options{Builtin: module(builtin(t)), Home: filepath.Join(dir, "home"), NoUser: noUser})
		v, err := host.ClientContext(t.Context(), opts, codingagents.Lookup(id), filepath.Join(dir, "work"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range v.Items {
			if it := &v.Items[i]; it.Kind != abi.KindInstructionFile && it.Included {
				list = append(list, string(it.Kind)+" "+it.Name)
				if !it.User {
					t.Errorf("%s: %s isn't the user's", id, it.Name)
				}
			}
		}
		return list
	}
	for id, want := range map[string][]string{
		"claude":   {"skill on:extra", "skill on:s-on", "subagent on:a-on", "command on:c-on"},
		"codex":    {"skill con:s-con"},
		"opencode": nil,

		"copilot-cli": {"skill s-pon", "subagent pon:a-pon", "command c-pon"},
	} {
		if got := brought(id, false); !slices.Equal(got, want) {
			t.Errorf("%s has %q, not %q", id, got, want)
		}
		if got := brought(id, true); len(got) > 0 {
			t.Errorf("%s has %q without the user's own", id, got)
		}
	}
}
