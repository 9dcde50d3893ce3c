package api

import "maps"

// Routes lists the paths and their methods.
func Routes() map[string][]string {
	list := map[string][]string{}
	for _, rt := range new(handler).routes() {
		for method := range maps.Keys(rt.methods) {
			list[rt.path] = append(list[rt.path], method)
		}
	}
	return list
}
