package host

import (
	"encoding/json"

	"waymark/host/config"
	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/host/watch"
	"waymark/snapshot"
)

// Configure takes over what a configuration says of resolvers, limits, caps and
// watching. Where modules are looked for, and where to push, is for the caller.
func (o *Options) Configure(c *config.Config) {
	o.DisableBuiltin, o.BuiltinConfig = c.Builtin.Disable, objects(c.Builtin.Config)
	o.Exclude = c.Exclude
	o.Watch = watch.Options{Quiet: c.Watch.Quiet, MaxWait: c.Watch.MaxWait, Recheck: c.Watch.Recheck}
	o.Limits, o.FileLimits = runLimits(c.Limits), fileLimits(c.Limits)
	o.Caps = snapshot.Caps{
		MaxResourceBytes: int64(c.Snapshot.MaxResourceBytes), MaxBytes: int64(c.Snapshot.MaxBytes),
		MaxResources: c.Snapshot.MaxResources,
	}
	o.Plugins = nil
	for _, p := range c.Entries {
		o.Plugins = append(o.Plugins, PluginOptions{
			Name: p.Name, SHA256: p.SHA256, Reads: p.Reads, GrantSecrets: p.GrantSecrets, Rank: p.Rank,
			Config: objects(p.Config), Limits: runLimits(p.Limits), FileLimits: fileLimits(p.Limits),
		})
	}
}

func objects(in map[string]json.RawMessage) map[string][]byte {
	out := make(map[string][]byte, len(in))
	for name, object := range in {
		out[name] = object
	}
	return out
}

func runLimits(l config.Limits) sandbox.Limits {
	return sandbox.Limits{Time: l.Time, Fuel: int64(l.Fuel), Memory: int64(l.Memory), Response: int(l.Response), Logs: int(l.Logs)}
}

func fileLimits(l config.Limits) vfs.Limits {
	return vfs.Limits{Opens: l.Opens, ReadBytes: int64(l.ReadBytes), Entries: l.Entries}
}
