package server

import (
	"slices"
	"strings"

	"waymark/hub/store"
	"waymark/snapshot"
)

// Routes lists the paths, in the words of OpenAPI, and their methods, sorted.
func Routes() map[string][]string {
	list := map[string][]string{}
	for _, route := range new(API).routes() {
		path := strings.ReplaceAll(route.Pattern, "...}", "}")
		list[path] = append(list[path], route.Method)
		slices.Sort(list[path])
	}
	return list
}

// RenderMarkdown renders a snapshot as ?format=markdown does.
func RenderMarkdown(agentID string, s snapshot.Snapshot) string {
	return renderMarkdown(agentID, &store.StoredSnapshot{Snapshot: s}, false, &prompt{}).buf.String()
}
