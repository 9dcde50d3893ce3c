package agent

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"waymark/host"
	"waymark/host/config"
	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/host/watch"
	"waymark/internal/defaults"
	"waymark/snapshot"
	"waymark/workspace/mcp"
	"waymark/workspace/supervisor"
)

// TestDefaultsAreTheComponents: what the default configuration hands to a component is
// what that has when it is handed nothing.
func TestDefaultsAreTheComponents(t *testing.T) {
	c := config.Default()
	var opts host.Options
	opts.Configure(c)
	byTheEmpty := snapshot.Caps{MaxResourceBytes: snapshot.DefaultMaxResourceBytes, MaxBytes: snapshot.DefaultMaxBytes, MaxResources: snapshot.DefaultMaxResources}
	runs := sandbox.Limits{}.WithDefaults()
	runs.Fuel = defaults.RunFuel // without a bound where nobody configures
	for name, pair := range map[string][2]any{
		"[limits], of runs":     {runs, opts.Limits.WithDefaults()},
		"[limits], of reading":  {vfs.Limits{}.WithDefaults(), opts.FileLimits.WithDefaults()},
		"[watch]":               {watch.Options{}.WithDefaults(), opts.Watch.WithDefaults()},
		"[snapshot]":            {byTheEmpty, opts.Caps},
		"[mcp]":                 {mcp.Settings{}.WithDefaults(), mcpSettings(&c.MCP, &config.Paths{}).WithDefaults()},
		"[services], of spools": {supervisor.DefaultLimits, spools(&c.Services).Or(supervisor.DefaultLimits)},
	} {
		ignored := cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(watch.Options{}, "Logger", "NewBackend")}
		if diff := cmp.Diff(pair[0], pair[1], ignored); diff != "" {
			t.Errorf("%s (-component +configuration):\n%s", name, diff)
		}
	}
	if rank := c.Entry("any").Rank; rank != defaults.Rank {
		t.Errorf("a plugin has the rank %d", rank)
	}
}
