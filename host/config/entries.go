package config

import (
	"fmt"
	"slices"
)

// entriesKey is the name of the list of [[plugin]] entries.
const entriesKey = "plugin"

// applyEntries merges the [[plugin]] entries by their names.
func (d *document) applyEntries(c *Config) {
	value, ok := d.raw[entriesKey]
	if !ok {
		return
	}
	entries, ok := asTables(value)
	if !ok {
		d.add(problem{
			path: []string{entriesKey}, message: fmt.Sprintf("plugin: %v", wrongType("a list of tables", value)),
			hint: "write [[plugin]] above each entry",
		})
		return
	}
	c.Entries = slices.Clone(c.Entries)
	seen := make(map[string]bool)
	for i, have := range entries {
		name, _ := have["name"].(string)
		if wrong := nameProblem(name, seen); wrong != "" {
			path := []string{entriesKey}
			if _, ok := have["name"]; ok {
				path = append(path, "name")
			}
			d.add(problem{path: path, entry: i, message: wrong})
			continue
		}
		seen[name] = true
		at := slices.IndexFunc(c.Entries, func(p Plugin) bool { return p.Name == name })
		if at < 0 {
			c.Entries = append(c.Entries, Plugin{Rank: DefaultRank})
			at = len(c.Entries) - 1
		}
		d.apply(c.Entries[at].schema(), have, []string{entriesKey}, i)
	}
}

func nameProblem(name string, seen map[string]bool) string {
	switch {
	case name == "":
		return `plugin.name: every [[plugin]] entry needs the plugin's name, as "agent status" shows it`
	case seen[name]:
		return fmt.Sprintf("plugin.name: there is an entry for %.80q already: put its keys into one entry", name)
	}
	return ""
}

// asTables takes both forms in which TOML writes a list of tables.
func asTables(value any) ([]map[string]any, bool) {
	switch v := value.(type) {
	case []map[string]any:
		return v, true
	case []any:
		tables := make([]map[string]any, len(v))
		for i := range v {
			var ok bool
			if tables[i], ok = v[i].(map[string]any); !ok {
				return nil, false
			}
		}
		return tables, true
	}
	return nil, false
}
