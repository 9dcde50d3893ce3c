package main

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"path/filepath"

	"github.com/spf13/cobra"

	"waymark/host"
	"waymark/host/config"
	"waymark/host/sandbox"
	"waymark/host/snapshot"
	"waymark/host/vfs"
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
func (a *app) hostOptions(s *settings, c *config.Config, places *config.Places, log *slog.Logger) (host.Options, error) {
	wasm, err := a.builtin()
	if err != nil {
		return host.Options{}, err
	}
	opts := host.Options{
		Builtin: wasm, DisableBuiltin: c.Builtin.Disable, BuiltinConfig: objects(c.Builtin.Config),
		Exclude:       c.Exclude,
		BuiltinNative: a.native, Compiler: a.compiler,
		CacheDir: filepath.Join(places.Cache, "code"), KeyDir: filepath.Join(places.State, "key"),
		Limits: sandboxLimits(c.Limits), FileLimits: fileLimits(c.Limits),
		Caps: snapshot.Caps{
			MaxResourceBytes: int64(c.Snapshot.MaxResourceBytes), MaxBytes: int64(c.Snapshot.MaxBytes),
			MaxResources: c.Snapshot.MaxResources,
		},
		Logger: log,
	}
	for _, dir := range c.Plugins.Dirs {
		// Without a home directory there are no plugins in it either.
		if dir, err := places.Expand(dir); err == nil {
			opts.PluginDirs = append(opts.PluginDirs, dir)
		}
	}
	opts.PluginDirs = append(opts.PluginDirs, s.plugins...)
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

// defaultRoots is where an agent looks besides what it is told: the user's
// sources first, the working directory last.
func defaultRoots(home, root string, sources []string) []host.RootSpec {
	var specs []host.RootSpec
	for _, s := range sources {
		specs = append(specs, host.RootSpec{Path: s, Source: true, Optional: true})
	}
	if home != "" {
		for _, dir := range []string{".waymark", ".coder", filepath.Join(".coder", "skills")} {
			specs = append(specs, host.RootSpec{Path: filepath.Join(home, dir), Optional: true})
		}
	}
	return append(specs, host.RootSpec{Path: cmp.Or(root, ".")})
}
