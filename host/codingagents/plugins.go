package codingagents

import (
	"waymark/abi"
)

// plugins returns what the client takes of installed plugins; nil if nothing.
func (c *Client) plugins() *Plugins {
	if c.User == nil {
		return nil
	}
	return c.User.Plugins
}

// brought returns an installed plugin's finds of a convention. They count as the user's.
func (v *viewer) brought(p *Plugin, convention string) (list []*Find) {
	for _, f := range v.finds[p.Dir][convention] {
		own := *f
		own.user, own.plugin = true, p.Name
		list = append(list, &own)
	}
	return list
}

// prefix returns what precedes the name of something from an installed plugin, for a client
// that uses the plugin's name.
func (v *viewer) prefix(f *Find) string {
	if plugins := v.in.Client.plugins(); plugins == nil || !plugins.Prefix && (!plugins.PrefixSubagents || f.Kind != abi.KindSubagent) {
		return ""
	}
	return f.plugin
}

// pluginLists adds what installed plugins have to be listed by name.
func (v *viewer) pluginLists() {
	plugins := v.in.Client.plugins()
	if plugins == nil {
		return
	}
	taken := map[string]bool{} // a name of a kind is listed once
	for i := range v.view.Items {
		it := &v.view.Items[i]
		taken[string(it.Kind)+" "+it.Name] = taken[string(it.Kind)+" "+it.Name] || it.Included
	}
	for i := range v.in.Plugins {
		for _, convention := range plugins.Lists {
			for _, f := range v.brought(&v.in.Plugins[i], convention) {
				name := f.Name
				if prefix := v.prefix(f); prefix != "" {
					name = prefix + ":" + name
				}
				key := string(f.Kind) + " " + name
				switch {
				case f.isBroken():
					v.leave(f, Invalid, f.Error)
				case taken[key]:
					v.leave(f, Duplicate, "another one has its name")
				default:
					taken[key] = true
					v.add(f, Item{Name: name, Included: true, Bytes: int64(len(name) + len(f.Description)), Description: f.Description})
				}
			}
		}
	}
}
