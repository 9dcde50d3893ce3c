package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"waymark"
	"waymark/host/config"
)

// TestConfigValues holds that every key of plugin.toml is among the values that
// are compared, with the value that it has there.
func TestConfigValues(t *testing.T) {
	var tree map[string]any
	if _, err := toml.Decode(waymark.DefaultConfig, &tree); err != nil {
		t.Fatal(err)
	}
	var want []string
	var walk func(under string, level map[string]any)
	walk = func(under string, level map[string]any) {
		for key, value := range level {
			table, ok := value.(map[string]any)
			if ok && under != "builtin.config." {
				walk(under+key+".", table)
				continue
			}
			want = append(want, under+key)
		}
	}
	walk("", tree)
	var got []string
	for _, s := range values(config.Default()) {
		got = append(got, s.key)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%q\nplugin.toml has\n%q", got, want)
	}
	if list := differences(config.Default()); len(list) > 0 {
		t.Errorf("the defaults differ from themselves: %v", list)
	}
}

// TestConfigDifferences changes everything, and sees it all.
func TestConfigDifferences(t *testing.T) {
	text := `
exclude = ["x<y"]
plugins.dirs = []
builtin.disable = ["skills"]
builtin.config.skills = {deep = true}
limits = {time = "1m", fuel = 1000001, memory = "1MiB", response = 1025, logs = "1KiB", opens = 1, read_bytes = "1KiB", entries = 1}
snapshot = {max_resource_bytes = 1, max_bytes = "1MiB", max_resources = 1}
watch = {quiet = "1s", max_wait = "1m", recheck = "1h"}
push = {url = "unix:/x", token_file = "/t", agent = "dev-1", clients = false}
services = {processes = false, files = false, git = false, tcp = true, hub = true, hide_secrets = false, files_within = "workspace", spool = "1MiB", spool_total = "2MiB", audit = "1MiB"}
[mcp]
enabled = false
trust = "workspace"
from = ["source", "user"]
confine = "none"
require_confined = true
allow = ["a*"]
deny = ["a__b"]
new_tools = "hold"
approved = ["sha256:` + strings.Repeat("b", 64) + `"]
keys = ["` + strings.Repeat("A", 43) + `="]
connect_timeout = "1s"
call_timeout = "1h"
idle = "24h"
server_tools = 1
tools = 2
server_bytes = "1KiB"
bytes = "2KiB"
result_bytes = "1KiB"
result_spool = "1MiB"
disk = "1MiB"
[mcp.servers.git-hub]
read = ["~/r"]
write = ["w"]
ports = []
unix = true
env = ["TOKEN"]
[mcp.servers.other]
off = true
ports = [80, 443]
[[plugin]]
name = "acme"
sha256 = "` + strings.Repeat("a", 64) + `"
reads = ["r"]
grant_secrets = [".env*"]
rank = 7
config.rules = {n = 1}
limits = {time = "1s", opens = 2}
[[plugin]]
name = "plain"
`
	c := config.Default()
	if err := c.Parse("test.toml", text); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range differences(c) {
		got = append(got, s.key+" = "+s.text())
	}
	want := []string{
		`exclude = ["x<y"]`, `plugins.dirs = []`, `builtin.disable = ["skills"]`, `builtin.config.skills = {"deep":true}`,
		`limits.time = "1m"`, `limits.fuel = 1000001`, `limits.memory = "1MiB"`, `limits.response = "1025B"`,
		`limits.logs = "1KiB"`, `limits.opens = 1`, `limits.read_bytes = "1KiB"`, `limits.entries = 1`,
		`snapshot.max_resource_bytes = "1B"`, `snapshot.max_bytes = "1MiB"`, `snapshot.max_resources = 1`,
		`watch.quiet = "1s"`, `watch.max_wait = "1m"`, `watch.recheck = "1h"`,
		`push.url = "unix:/x"`, `push.token_file = "/t"`, `push.agent = "dev-1"`, `push.clients = false`,
		`services.processes = false`, `services.files = false`, `services.git = false`, `services.tcp = true`, `services.hub = true`,
		`services.hide_secrets = false`, `services.files_within = "workspace"`,
		`services.spool = "1MiB"`, `services.spool_total = "2MiB"`, `services.audit = "1MiB"`,
		`mcp.enabled = false`, `mcp.trust = "workspace"`, `mcp.from = ["source","user"]`, `mcp.confine = "none"`, `mcp.require_confined = true`,
		`mcp.allow = ["a*"]`, `mcp.deny = ["a__b"]`, `mcp.new_tools = "hold"`, `mcp.approved = ["sha256:` + strings.Repeat("b", 64) + `"]`,
		`mcp.keys = ["` + strings.Repeat("A", 43) + `="]`,
		`mcp.connect_timeout = "1s"`, `mcp.call_timeout = "1h"`, `mcp.idle = "24h"`, `mcp.server_tools = 1`, `mcp.tools = 2`,
		`mcp.server_bytes = "1KiB"`, `mcp.bytes = "2KiB"`, `mcp.result_bytes = "1KiB"`, `mcp.result_spool = "1MiB"`, `mcp.disk = "1MiB"`,
		`mcp.servers.git-hub.off = false`, `mcp.servers.git-hub.read = ["~/r"]`, `mcp.servers.git-hub.write = ["w"]`,
		`mcp.servers.git-hub.ports = []`, `mcp.servers.git-hub.unix = true`, `mcp.servers.git-hub.env = ["TOKEN"]`,
		`mcp.servers.other.off = true`, `mcp.servers.other.ports = [80,443]`,
		`plugin.acme.rank = 7`, `plugin.acme.sha256 = "` + strings.Repeat("a", 64) + `"`, `plugin.acme.reads = ["r"]`,
		`plugin.acme.grant_secrets = [".env*"]`, `plugin.acme.config.rules = {"n":1}`,
		`plugin.acme.limits.time = "1s"`, `plugin.acme.limits.opens = 2`,
		`plugin.plain.rank = 100`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
