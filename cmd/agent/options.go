package main

import (
	"encoding/json"
	"log/slog"
	"path/filepath"

	"github.com/spf13/cobra"

	"waymark/host"
	"waymark/host/config"
	"waymark/host/sandbox"
	"waymark/host/snapshot"
	"waymark/host/vfs"
	"waymark/host/watch"
)

// settings are the flags that run and resolve share.
type settings struct {
	plugins    []string
	configFile string
}

func (s *settings) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&s.plugins, "plugins", nil, "a directory of resolver modules (*.wasm), besides the configured ones; may be repeated")
	cmd.Flags().StringVar(&s.configFile, "config", "", "the configuration file, in place of those that are looked for")
}

// load reads the configuration.
func (s *settings) load(places *config.Places) (*config.Config, error) {
	if s.configFile != "" {
		return config.LoadFile(s.configFile)
	}
	return config.Load(places.ConfigFiles...)
}

// hostOptions turns a configuration into what the engine takes, all but roots
// and push.
func (a *app) hostOptions(s *settings, c *config.Config, places *config.Places, env variables, log *slog.Logger) (host.Options, error) {
	opts := host.Options{
		Builtin: a.builtin, DisableBuiltin: c.Builtin.Disable, BuiltinConfig: objects(c.Builtin.Config),
		Exclude:       c.Exclude,
		BuiltinNative: a.native, Compiler: a.compiler,
		CacheDir: filepath.Join(places.Cache, "code"), KeyDir: filepath.Join(places.State, "key"),
		MemoDir:   filepath.Join(places.Cache, "memo"),
		Approvals: filepath.Join(places.State, "approvals.json"),
		Watch:     watch.Options{Quiet: c.Watch.Quiet, MaxWait: c.Watch.MaxWait, Recheck: c.Watch.Recheck},
		Limits:    sandboxLimits(c.Limits), FileLimits: fileLimits(c.Limits),
		Caps: snapshot.Caps{
			MaxResourceBytes: int64(c.Snapshot.MaxResourceBytes), MaxBytes: int64(c.Snapshot.MaxBytes),
			MaxResources: c.Snapshot.MaxResources,
		},
		Progress: a.progress, Logger: log,
	}
	env.configure(&opts)
	for _, dir := range c.Plugins.Dirs {
		// Without a home directory there are no plugins in it either.
		if dir, err := places.Expand(dir); err == nil {
			opts.PluginDirs = append(opts.PluginDirs, dir)
		}
	}
	for _, dir := range s.plugins {
		if abs, err := filepath.Abs(dir); err == nil { // what is shown later has no working directory
			dir = abs
		}
		opts.PluginDirs = append(opts.PluginDirs, dir)
	}
	for _, p := range c.Entries {
		opts.Plugins = append(opts.Plugins, host.PluginOptions{
			Name: p.Name, SHA256: p.SHA256, Reads: p.Reads, GrantSecrets: p.GrantSecrets, Rank: p.Rank,
			Config: objects(p.Config), Limits: sandboxLimits(p.Limits), FileLimits: fileLimits(p.Limits),
		})
	}
	return opts, nil
}

func objects(in map[string]json.RawMessage) map[string][]byte {
	out := make(map[string][]byte, len(in))
	for name, object := range in {
		out[name] = object
	}
	return out
}

func sandboxLimits(l config.Limits) sandbox.Limits {
	return sandbox.Limits{Time: l.Time, Fuel: int64(l.Fuel), Memory: int64(l.Memory), Response: int(l.Response), Logs: int(l.Logs)}
}

func fileLimits(l config.Limits) vfs.Limits {
	return vfs.Limits{Opens: l.Opens, ReadBytes: int64(l.ReadBytes), Entries: l.Entries}
}
