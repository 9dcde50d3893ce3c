package main

import (
	"maps"
	"slices"
	"strings"

	"waymark/cmd/internal/term"
	"waymark/snapshot"
)

// attributes shows a resource's attributes in one cell of a table.
func attributes(r *snapshot.Resource) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
		value := r.Attributes[name]
		text := value.Text
		if value.List != nil {
			text = "[" + strings.Join(value.List, ", ") + "]"
		}
		list = append(list, term.Visible(name+"="+text))
	}
	return term.Dash(strings.Join(list, " "))
}
