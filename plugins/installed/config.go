package installed

import "waymark/sdk-guest/jsonlite"

// Rows returns a list of plugins as a value of a resolver's configuration.
func Rows(list []Plugin) (rows []any) {
	for i := range list {
		p := &list[i]
		rows = append(rows, map[string]any{
			"name": p.Name, "id": p.ID, "dir": p.Dir, "version": p.Version, "reader": p.Reader, "list": p.List, "state": string(p.State),
		})
	}
	return rows
}

// FromRows reads the result of Rows.
func FromRows(rows jsonlite.Value) (list []Plugin) {
	for row := range rows.Elements() {
		list = append(list, Plugin{
			Name: text(row, "name"), ID: text(row, "id"), Dir: text(row, "dir"), Version: text(row, "version"),
			Reader: text(row, "reader"), List: text(row, "list"), State: State(text(row, "state")),
		})
	}
	return list
}
