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

// pluginsLists are what installed plugins have to be listed by name.
func (v *viewer) pluginsLists() (list []*Find) {
	if plugins := v.in.Client.plugins(); plugins != nil {
		for i := range v.in.Plugins {
			for _, convention := range plugins.Lists {
				list = append(list, v.brought(&v.in.Plugins[i], convention)...)
			}
		}
	}
	return list
}
