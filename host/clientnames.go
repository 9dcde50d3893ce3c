package host

import (
	"path"
	"strings"

	"waymark/host/codingagents"
	"waymark/host/vfs"
	"waymark/sdk-guest/jsonlite"
)

// maxNames bounds the names of instruction files that settings give.
const maxNames = 16

// named returns a client with the names of instruction files that its settings give: those in
// the directory of the start, or else those in the home directory. Only names that a
// convention can have count.
func named(opts *Options, client *codingagents.Client, start string) *codingagents.Client {
	if client.Instructions == nil || client.Instructions.Renamed == nil {
		return client
	}
	dirs := []string{start}
	if !opts.NoUser && opts.Home != "" {
		dirs = append(dirs, opts.Home)
	}
	for _, dir := range dirs {
		if names := namesIn(opts, client.Instructions.Renamed, dir); len(names) > 0 {
			return client.WithNames(names)
		}
	}
	return client
}

// namesIn returns the names that the settings in a directory give.
func namesIn(opts *Options, rules *codingagents.Renamed, dir string) (names []string) {
	var text []byte
	lookInto(dir, vfs.RootOptions{Exclude: opts.Exclude, Own: opts.own()}, settingsVisible, vfs.Limits{}, func(_ *vfs.Root, run *vfs.Run) {
		text = textIn(run, rules.File)
	})
	v, err := jsonlite.Parse(text, jsonlite.Options{AllowComments: true, AllowDuplicates: true, AllowInvalidUTF8: true})
	if err != nil {
		return nil
	}
	add := func(v jsonlite.Value) {
		name, _ := v.Text()
		if name = path.Clean(strings.TrimSpace(name)); name != "." && vfs.LiteralPattern(name) == name && !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "..") && len(names) < maxNames {
			names = append(names, name)
		}
	}
	for _, keys := range rules.Keys {
		value := v
		for _, key := range keys {
			value, _ = value.Get(key)
		}
		if value.Kind() != jsonlite.Array {
			add(value)
		}
		for e := range value.Elements() {
			add(e)
		}
		if len(names) > 0 {
			break
		}
	}
	return names
}
