package consumer

import (
	"maps"
	"slices"

	"waymark/hub/store"
	"waymark/snapshot"
)

// Routes lists the paths and their methods, sorted.
func Routes() map[string][]string {
	list := map[string][]string{}
	for _, rt := range new(API).routes() {
		list[Root+rt.path] = slices.Sorted(maps.Keys(rt.methods))
	}
	return list
}

// RenderMarkdown renders a snapshot as ?format=markdown does.
func RenderMarkdown(agentID string, s snapshot.Snapshot) string {
	return string(renderMarkdown(agentID, &store.StoredSnapshot{Snapshot: s}))
}
