package installed_test

import (
	"slices"
	"testing"

	"waymark/plugins/installed"
)

// home is a directory of some files.
func home(files map[string]string, dirs map[string][]string, workspace string) installed.Home {
	return installed.Home{
		Paths: []string{"/home/u"}, Workspace: workspace,
		Read: func(name string) []byte { return []byte(files[name]) }, Dirs: func(name string) []string { return dirs[name] },
	}
}

// TestStates: what the agents' files say, in the forms that they have had.
func TestStates(t *testing.T) {
	const list, settings = ".claude/plugins/installed_plugins.json", ".claude/settings.json"
	at := func(path string) string { return `{"plugins":{"a@m":[{"scope":"user","installPath":"` + path + `"}]}}` }
	good := at("/home/u/.claude/plugins/cache/m/a/1")
	for name, tt := range map[string]struct {
		files map[string]string
		want  []string // id, state, directory
	}{
		"on":                   {map[string]string{list: good, settings: `{"enabledPlugins":{"a@m":true}}`}, []string{"a@m on .claude/plugins/cache/m/a/1"}},
		"off":                  {map[string]string{list: good, settings: `{"enabledPlugins":{"a@m":false}}`}, []string{"a@m off .claude/plugins/cache/m/a/1"}},
		"not named":            {map[string]string{list: good}, []string{"a@m off .claude/plugins/cache/m/a/1"}},
		"null":                 {map[string]string{list: good, settings: `{"enabledPlugins":{"a@m":null}}`}, []string{"a@m off .claude/plugins/cache/m/a/1"}},
		"versions":             {map[string]string{list: good, settings: `{"enabledPlugins":{"a@m":["^1"]}}`}, []string{"a@m on .claude/plugins/cache/m/a/1"}},
		"the last counts":      {map[string]string{list: good, settings: `{"enabledPlugins":{"a@m":true,"a@m":false}}`}, []string{"a@m off .claude/plugins/cache/m/a/1"}},
		"settings are cut":     {map[string]string{list: good, settings: `{"enabledPlugins":{"a@m":true}`}, []string{"a@m off .claude/plugins/cache/m/a/1"}},
		"the first form":       {map[string]string{list: `{"version":1,"plugins":{"a@m":{"installPath":"/home/u/.claude/plugins/x"}}}`, settings: `{"enabledPlugins":{"a@m":true}}`}, []string{"a@m on .claude/plugins/x"}},
		"for a project":        {map[string]string{list: `{"plugins":{"a@m":[{"scope":"local","installPath":"/home/u/.claude/plugins/x"}]}}`}, nil},
		"elsewhere":            {map[string]string{list: at("/srv/a"), settings: `{"enabledPlugins":{"a@m":true}}`}, []string{"a@m missing "}},
		"another home":         {map[string]string{list: at("/home/v/.claude/plugins/cache/m/a/1"), settings: `{"enabledPlugins":{"a@m":true}}`}, []string{"a@m missing "}},
		"out of the directory": {map[string]string{list: at("/home/u/.claude/plugins/../../.ssh"), settings: `{"enabledPlugins":{"a@m":true}}`}, []string{"a@m missing "}},
		"the keys":             {map[string]string{list: at("/home/u/.ssh"), settings: `{"enabledPlugins":{"a@m":true}}`}, []string{"a@m missing "}},
		"no name":              {map[string]string{list: `{"plugins":{"a":[{}],"@m":[{}],"a b@m":[{}],"../x@m":[{}],"a@/":[{}]}}`}, nil},
		"a list":               {map[string]string{list: `[]`}, nil},
		"Codex":                {map[string]string{".codex/config.toml": "[plugins.\"a@m\"]\n[plugins.\"b@m\"]\nenabled = false\n[plugins.c]\n"}, []string{"a@m on .codex/plugins/cache/m/a/1.10.0", "b@m missing-not"}},
		"Copilot":              {map[string]string{".copilot/config.json": `{"installedPlugins":[{"name":"a","cache_path":"/home/u/.copilot/p/a"},{"name":"b","marketplace":"m","cache_path":"~/.copilot/p/b"}]}`, ".copilot/settings.json": `{"enabledPlugins":{"b@m":false}}`}, []string{"a on .copilot/p/a", "b@m off .copilot/p/b"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range installed.Find(home(tt.files, map[string][]string{".codex/plugins/cache/m/a": {"1.10.0", "1.9.0", "..", "x y"}}, "/w")) {
				got = append(got, p.ID+" "+string(p.State)+" "+p.Dir)
			}
			if i := slices.Index(tt.want, "b@m missing-not"); i >= 0 {
				tt.want[i] = "b@m off "
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

// TestRules: of Gemini CLI's rules the last that is about the working directory decides.
func TestRules(t *testing.T) {
	for rules, want := range map[string]installed.State{
		``: installed.On, `"!/w/*"`: installed.Off, `"!/w/"`: installed.Off, `"!/w/x/*"`: installed.On, `"!/"`: installed.On, `"!/*"`: installed.Off,
		`"!/w/*","/w/"`: installed.On, `"/w/*","!/w/"`: installed.Off, `"!/ww/*"`: installed.On, `1,"!/w/*"`: installed.Off,
	} {
		list := installed.Find(home(map[string]string{".gemini/extensions/extension-enablement.json": `{"a":{"overrides":[` + rules + `]}}`},
			map[string][]string{".gemini/extensions": {"a"}}, "/w"))
		if len(list) != 1 || list[0].State != want {
			t.Errorf("%s: %+v", rules, list)
		}
	}
}

// FuzzFind: whatever the files hold, directories stay below the agents' own.
func FuzzFind(f *testing.F) {
	f.Add(`{"plugins":{"a@m":[{"installPath":"/home/u/.claude/plugins/x"}]},"enabledPlugins":{"a@m":true}}`)
	f.Add("[plugins.\"a@m\"]\nenabled = true\n")
	f.Fuzz(func(t *testing.T, text string) {
		list := installed.Find(installed.Home{
			Paths: []string{"/home/u"}, Workspace: "/w",
			Read: func(string) []byte { return []byte(text) }, Dirs: func(string) []string { return []string{text} },
		})
		if len(list) > installed.Max {
			t.Errorf("%d plugins", len(list))
		}
		for _, p := range list {
			if p.Dir == "" {
				continue
			}
			if _, ok := installed.Keeper(p.Dir + "/x"); !ok && !slices.Contains([]string{"claude-code", "copilot"}, p.Reader) {
				t.Errorf("%+v", p)
			}
			if p.Dir[0] != '.' || slices.Contains([]string{".", ".."}, p.Dir) {
				t.Errorf("%+v", p)
			}
		}
	})
}

// TestProjects: of the settings that name a plugin the project's count before the user's and
// its local ones before these; what is installed for another project isn't.
func TestProjects(t *testing.T) {
	const list, settings, local = ".claude/plugins/installed_plugins.json", ".claude/settings.json", ".claude/settings.local.json"
	record := func(scope, project, dir string) string {
		return `{"scope":"` + scope + `","projectPath":"` + project + `","installPath":"/home/u/.claude/plugins/cache/` + dir + `"}`
	}
	switched := func(value string) string { return `{"enabledPlugins":{"a@m":` + value + `}}` }
	for name, tt := range map[string]struct {
		records, user, project, local string
		want                          []string
	}{
		"the user's, switched off here":       {record("user", "", "u"), switched("true"), switched("false"), "", []string{"a@m off .claude/plugins/cache/u"}},
		"and on again by the local settings":  {record("user", "", "u"), switched("true"), switched("false"), switched("true"), []string{"a@m on .claude/plugins/cache/u"}},
		"off for the user, and on here":       {record("user", "", "u"), switched("false"), switched("true"), "", []string{"a@m on .claude/plugins/cache/u"}},
		"not named here":                      {record("user", "", "u"), switched("true"), `{}`, `{"enabledPlugins":{}}`, []string{"a@m on .claude/plugins/cache/u"}},
		"named without a value":               {record("user", "", "u"), switched("true"), switched("null"), "", []string{"a@m on .claude/plugins/cache/u"}},
		"settings that are cut":               {record("user", "", "u"), switched("true"), `{"enabledPlugins":{"a@m":false}`, "", []string{"a@m on .claude/plugins/cache/u"}},
		"for this project":                    {record("project", "/w", "p"), "", switched("true"), "", []string{"a@m on .claude/plugins/cache/p"}},
		"for this project, before the user's": {record("user", "", "u") + "," + record("local", "/w/", "p"), switched("true"), "", "", []string{"a@m on .claude/plugins/cache/p"}},
		"for another":                         {record("project", "/x", "p"), "", switched("true"), "", nil},
		"for one above":                       {record("project", "/", "p"), "", switched("true"), "", nil},
		"an administrator's":                  {record("managed", "", "g"), switched("true"), "", "", []string{"a@m on .claude/plugins/cache/g"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := home(map[string]string{list: `{"version":2,"plugins":{"a@m":[` + tt.records + `]}}`, settings: tt.user}, nil, "/w")
			h.Project = func(name string) []byte {
				return []byte(map[string]string{settings: tt.project, local: tt.local}[name])
			}
			var got []string
			for _, p := range installed.Find(h) {
				got = append(got, p.ID+" "+string(p.State)+" "+p.Dir)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}
