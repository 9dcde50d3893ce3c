package agent

import "testing"

// TestServersOfPluginsAreNotStarted: what a plugin of the workspace brings is passed over
// by what starts servers, and the workspace's own isn't.
func TestServersOfPluginsAreNotStarted(t *testing.T) {
	for convention, want := range map[string]bool{
		"plugin-mcp-json": true, "plugin-dot-mcp-json": true, "mcp-json": false, "goose-plugin-mcp": false, "": false, "unknown": false,
	} {
		if ofPlugin(convention) != want {
			t.Errorf("%q: %v", convention, !want)
		}
	}
}
