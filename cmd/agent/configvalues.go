package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"waymark/host/config"
)

// setting is one value of the configuration under its full name.
type setting struct {
	key   string
	value any // string, int, []string or json.RawMessage
}

// text writes the value as JSON, which reads like TOML.
func (s setting) text() string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s.value); err != nil {
		return err.Error() // there is no value that can't be written
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// differences lists what isn't as by default.
func differences(c *config.Config) []setting {
	defaults := map[string]string{}
	for _, s := range values(config.Default()) {
		defaults[s.key] = s.text()
	}
	var list []setting
	for _, s := range values(c) {
		if def, known := defaults[s.key]; !known || def != s.text() {
			list = append(list, s)
		}
	}
	return list
}

// values lists everything that a configuration says, in the order of
// plugin.toml.
func values(c *config.Config) []setting {
	list := []setting{
		{"exclude", texts(c.Exclude)},
		{"plugins.dirs", texts(c.Plugins.Dirs)},
		{"builtin.disable", texts(c.Builtin.Disable)},
	}
	list = append(list, tables("builtin.config.", c.Builtin.Config)...)
	list = append(list, limitValues("limits.", c.Limits)...)
	list = append(list, []setting{
		{"snapshot.max_resource_bytes", c.Snapshot.MaxResourceBytes.String()},
		{"snapshot.max_bytes", c.Snapshot.MaxBytes.String()},
		{"snapshot.max_resources", c.Snapshot.MaxResources},
		{"watch.quiet", duration(c.Watch.Quiet)},
		{"watch.max_wait", duration(c.Watch.MaxWait)},
		{"watch.recheck", duration(c.Watch.Recheck)},
		{"push.url", c.Push.URL},
		{"push.token_file", c.Push.TokenFile},
	}...)
	for _, p := range c.Entries {
		list = append(list, entryValues(p)...)
	}
	return list
}

// entryValues lists what an entry changes; rank is always there, so that an
// entry without anything else shows.
func entryValues(p config.Plugin) []setting {
	name := "plugin." + p.Name + "."
	list := []setting{{name + "rank", p.Rank}}
	if p.SHA256 != "" {
		list = append(list, setting{name + "sha256", p.SHA256})
	}
	if len(p.Reads) > 0 {
		list = append(list, setting{name + "reads", texts(p.Reads)})
	}
	if len(p.GrantSecrets) > 0 {
		list = append(list, setting{name + "grant_secrets", texts(p.GrantSecrets)})
	}
	list = append(list, tables(name+"config.", p.Config)...)
	none := limitValues("", config.Limits{})
	for i, s := range limitValues("", p.Limits) {
		if s.value != none[i].value {
			list = append(list, setting{name + "limits." + s.key, s.value})
		}
	}
	return list
}

func limitValues(under string, l config.Limits) []setting {
	return []setting{
		{under + "time", duration(l.Time)},
		{under + "fuel", l.Fuel},
		{under + "memory", l.Memory.String()},
		{under + "response", l.Response.String()},
		{under + "logs", l.Logs.String()},
		{under + "opens", l.Opens},
		{under + "read_bytes", l.ReadBytes.String()},
		{under + "entries", l.Entries},
	}
}

func tables(under string, objects map[string]json.RawMessage) []setting {
	var list []setting
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		list = append(list, setting{under + name, objects[name]})
	}
	return list
}

// texts is the list, never nil: [] and not null.
func texts(list []string) []string { return append([]string{}, list...) }

// duration writes a duration as a person would: 1m, not 1m0s.
func duration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
