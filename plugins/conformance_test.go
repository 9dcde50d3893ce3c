package plugins_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"waymark/abi"
	"waymark/plugins/mcpconfig/servers"
)

// conformance are the cases of agentplugins/agent-plugins-conformance @0990cb5,
// plugins/agent-plugins-conformance/src/cases.mjs (looked up 2026-11-25), by their ids, all
// of them. The suite runs a client; what it asks of a file is asked here, of an entry that
// is made as the case needs it, and what only a client that starts servers could show isn't:
// the servers of plugins are listed here and never started.
var conformance = map[string]struct {
	entry   string // one of mcp.json
	problem string // a part of what is wrong with it; empty where it is right
	client  bool   // nothing of it shows in files
}{
	"mcp.stdio.tool-availability.cwd-omitted":           {entry: `{"type":"stdio","command":"node"}`},
	"mcp.stdio.cwd.omitted":                             {entry: `{"type":"stdio","command":"node"}`},
	"mcp.stdio.tool-availability.cwd-plugin-relative":   {entry: `{"type":"stdio","command":"node","cwd":"./work"}`},
	"mcp.stdio.cwd.plugin-relative":                     {entry: `{"type":"stdio","command":"node","cwd":"./work"}`},
	"mcp.stdio.tool-availability.cwd-plugin-root":       {entry: `{"type":"stdio","command":"node","cwd":"${PLUGIN_ROOT}"}`},
	"mcp.stdio.cwd.plugin-root":                         {entry: `{"type":"stdio","command":"node","cwd":"${PLUGIN_ROOT}/work"}`},
	"mcp.stdio.tool-availability.cwd-plugin-data":       {entry: `{"type":"stdio","command":"node","cwd":"${PLUGIN_DATA}"}`},
	"mcp.stdio.cwd.plugin-data":                         {entry: `{"type":"stdio","command":"node","cwd":"${PLUGIN_DATA}/x"}`},
	"mcp.stdio.cwd.plugin-relative-escape":              {entry: `{"type":"stdio","command":"node","cwd":"./.."}`, problem: "cwd"},
	"mcp.stdio.cwd.plugin-data-escape":                  {entry: `{"type":"stdio","command":"node","cwd":"${PLUGIN_DATA}/.."}`, problem: "cwd"},
	"filesystem.containment.cwd-symlink-escape":         {client: true}, // nothing is entered that isn't started
	"mcp.stdio.config.unknown-field":                    {entry: `{"type":"stdio","command":"node","more":true}`, problem: `"more"`},
	"mcp.stdio.env.reserved-plugin-root":                {entry: `{"type":"stdio","command":"node","env":{"PLUGIN_ROOT":"x"}}`, problem: "PLUGIN_ROOT"},
	"mcp.stdio.env.reserved-plugin-data":                {entry: `{"type":"stdio","command":"node","env":{"PLUGIN_DATA":"x"}}`, problem: "PLUGIN_DATA"},
	"mcp.stdio.env.plugin-root":                         {client: true},
	"mcp.stdio.env.plugin-data-absolute":                {client: true},
	"filesystem.data.writable":                          {client: true},
	"filesystem.data.distinct-across-plugins":           {client: true},
	"filesystem.data.consistent-within-plugin":          {client: true},
	"mcp.stdio.env.configured-value":                    {entry: `{"type":"stdio","command":"node","env":{"A":"with blanks"}}`},
	"mcp.stdio.args.preservation-and-expansion":         {entry: `{"type":"stdio","command":"node","args":["${PLUGIN_ROOT}/x","a b","","$A","${OTHER}"]}`},
	"mcp.stdio.env.expansion":                           {entry: `{"type":"stdio","command":"node","env":{"A":"${PLUGIN_ROOT}|${PLUGIN_DATA}"}}`},
	"mcp.streamable-http.tool-availability":             {entry: `{"type":"streamable-http","url":"http://127.0.0.1:4000/mcp"}`},
	"mcp.streamable-http.url.fragment":                  {entry: `{"type":"streamable-http","url":"http://127.0.0.1:4000/mcp#x"}`, problem: "url"},
	"mcp.streamable-http.headers.duplicate-names":       {entry: `{"type":"streamable-http","url":"http://127.0.0.1:4000/","headers":{"X-A":"1","x-a":"2"}}`, problem: "which are one"},
	"mcp.streamable-http.url.literal-route-and-query":   {entry: `{"type":"streamable-http","url":"http://127.0.0.1:4000/a/b?value=$X"}`},
	"mcp.streamable-http.headers.cross-origin-redirect": {client: true},
	"mcp.streamable-http.headers.literal-value":         {entry: `{"type":"streamable-http","url":"https://h/","headers":{"x-a":"${PLUGIN_ROOT} as it is"}}`},
	// Four are trees; see below.
	"skills.discovery.immediate-children":        {},
	"skills.recovery.valid-skill-available":      {},
	"mcp.stdio.recovery.valid-server-available":  {},
	"skills.recovery.invalid-mcp-document":       {},
	"waymark.command.path-with-blanks":           {entry: `{"type":"stdio","command":"./bin/a tool.sh"}`},
	"waymark.command.two-words":                  {entry: `{"type":"stdio","command":"npx tool"}`, problem: "command"},
	"waymark.command.absolute":                   {entry: `{"type":"stdio","command":"/bin/sh"}`, problem: "command"},
	"waymark.command.escape":                     {entry: `{"type":"stdio","command":"./../x"}`, problem: "command"},
	"waymark.cwd.windows-separators":             {entry: `{"type":"stdio","command":"node","cwd":".\\..\\x"}`, problem: "cwd"},
	"waymark.cwd.bare":                           {entry: `{"type":"stdio","command":"node","cwd":"work"}`, problem: "cwd"},
	"waymark.type.missing":                       {entry: `{"command":"node"}`, problem: "type"},
	"waymark.type.http":                          {entry: `{"type":"http","url":"https://h/"}`, problem: "type"},
	"waymark.variant.field-of-another":           {entry: `{"type":"stdio","command":"node","url":"https://h/"}`, problem: `"url"`},
	"waymark.url.user-info":                      {entry: `{"type":"sse","url":"https://u:p@h/"}`, problem: "url"},
	"waymark.url.http-elsewhere":                 {entry: `{"type":"sse","url":"http://192.168.0.1/"}`, problem: "url"},
	"waymark.url.relative":                       {entry: `{"type":"sse","url":"/x"}`, problem: "url"},
	"waymark.url.ipv6-loopback":                  {entry: `{"type":"sse","url":"http://[::1]:80/"}`},
	"waymark.headers.name-not-a-token":           {entry: `{"type":"sse","url":"https://h/","headers":{"a b":"c"}}`, problem: "can't be a header"},
	"waymark.headers.control-character-in-value": {entry: `{"type":"sse","url":"https://h/","headers":{"a":"b\r\nc: d"}}`, problem: "line break"},
	"waymark.stdio.without-command":              {entry: `{"type":"stdio"}`, problem: "command"},
	"waymark.env.value-is-a-number":              {entry: `{"type":"stdio","command":"node","env":{"A":1}}`, problem: "env"},
	"waymark.args.one-is-a-number":               {entry: `{"type":"stdio","command":"node","args":[1]}`, problem: "args"},
}

const agentServersSchema = `"$schema":"https://agent-plugins.org/schemas/1.0.0/mcp.schema.json"`

// TestConformance: an entry that is wrong is that alone, says so, and repeats no value.
func TestConformance(t *testing.T) {
	suite := 0
	for id, tt := range conformance {
		if !strings.HasPrefix(id, "waymark.") {
			suite++
		}
		if tt.entry == "" {
			continue
		}
		t.Run(id, func(t *testing.T) {
			list, err := servers.Parse(servers.AgentPlugin, []byte(`{`+agentServersSchema+`,"mcpServers":{"it":`+tt.entry+`,"right":{"type":"stdio","command":"node"}}}`))
			if err != nil || len(list) != 2 || list[1].Problem != "" {
				t.Fatalf("%+v, %v", list, err)
			}
			if got := list[0].Problem; (got == "") != (tt.problem == "") || !strings.Contains(got, tt.problem) {
				t.Errorf("%q, want %q in it", got, tt.problem)
			}
		})
	}
	if suite != 32 {
		t.Errorf("%d cases of the suite", suite)
	}
}

// TestConformanceOfTrees: skills are immediate children, and what is wrong with one part of
// a plugin leaves the others as they are.
func TestConformanceOfTrees(t *testing.T) {
	skill := func(name string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("---\nname: " + name + "\ndescription: d\n---\n")}
	}
	tree := func(mcp string) fstest.MapFS {
		return fstest.MapFS{
			"plugin.json":                        {Data: []byte(`{` + agentPluginSchema + `,"name":"p","unknown":1,"extensions":[]}`)},
			"mcp.json":                           {Data: []byte(mcp)},
			"skills/alpha/SKILL.md":              skill("alpha"),
			"skills/alpha/references/n/SKILL.md": skill("n"),
			"skills/without/README.md":           {Data: []byte("x")},
			"skills/invalid/SKILL.md":            {Data: []byte("---\nname: [\n---\n")},
		}
	}
	for id, tt := range map[string]struct {
		mcp     string
		invalid bool
	}{
		"skills.discovery.immediate-children":       {`{` + agentServersSchema + `,"mcpServers":{}}`, false},
		"skills.recovery.valid-skill-available":     {`{` + agentServersSchema + `,"mcpServers":{"bad":{"type":"stdio"}}}`, false},
		"mcp.stdio.recovery.valid-server-available": {`{` + agentServersSchema + `,"mcpServers":{"bad":{"type":"stdio"},"good":{"type":"stdio","command":"node"}}}`, false},
		"skills.recovery.invalid-mcp-document":      {`{` + agentServersSchema + `,`, true},
		"waymark.mcp.without-schema":                {`{"mcpServers":{}}`, true},
		"waymark.mcp.another-version":               {`{"$schema":"https://agent-plugins.org/schemas/2.0.0/mcp.schema.json","mcpServers":{}}`, true},
		"waymark.mcp.another-field":                 {`{` + agentServersSchema + `,"mcpServers":{},"servers":{}}`, true},
	} {
		t.Run(id, func(t *testing.T) {
			var got []string
			for _, r := range ask(t, "context", tree(tt.mcp)) {
				if r.Status != abi.StatusInvalid && r.Attributes["plugin"].Text == "p" {
					got = append(got, r.Path)
				}
			}
			if !slices.Equal(got, []string{"skills/alpha"}) {
				t.Errorf("skills %q", got)
			}
			files := ask(t, "mcp-config", tree(tt.mcp))
			if len(files) != 1 || (files[0].Status == abi.StatusInvalid) != tt.invalid || files[0].Attributes["plugin"].Text != "p" {
				t.Errorf("servers %+v", files)
			}
		})
	}
}

// TestInlineParts: hooks and servers that stand in a manifest give rows, with the plugin.
func TestInlineParts(t *testing.T) {
	const event = `{"Stop":[{"matcher":"x","hooks":[{"type":"command","command":"canary"}]}]}`
	for name, hooks := range map[string]string{"events": event, "as in a file": `{"hooks":` + event + `}`, "a list": `[{"hooks":` + event + `},"./more.json"]`} {
		t.Run(name, func(t *testing.T) {
			tree := fstest.MapFS{
				".claude-plugin/marketplace.json": {Data: []byte(`{"name":"m","plugins":[{"name":"q","source":"./q"}]}`)},
				".claude-plugin/plugin.json":      {Data: []byte(`{"name":"p","hooks":` + hooks + `,"mcpServers":{"s":{"command":"canary"}}}`)},
				"q/.claude-plugin/plugin.json":    {Data: []byte(`{"name":"q","hooks":` + hooks + `,"mcpServers":{"s":{"command":"canary"}}}`)},
			}
			rows := append(ask(t, "hooks", tree), ask(t, "mcp-config", tree)...)
			found := map[string]bool{}
			for _, r := range rows {
				if r.Kind != abi.KindPlugin {
					found[string(r.Kind)+" "+r.Attributes["plugin"].Text+" "+r.Path+" "+r.Attributes["matcher"].Text] = true
				}
			}
			for _, want := range []string{
				"hook p .claude-plugin/plugin.json x", "hook q q/.claude-plugin/plugin.json x",
				"mcp_config p .claude-plugin/plugin.json ", "mcp_config q q/.claude-plugin/plugin.json ",
			} {
				if !found[want] {
					t.Errorf("%s is missing in %v", want, found)
				}
			}
			if text, err := json.Marshal(rows); err != nil || strings.Contains(string(text), "canary") || len(found) != 4 {
				t.Errorf("%s, %v", text, err)
			}
		})
	}
}
