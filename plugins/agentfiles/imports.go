package agentfiles

import (
	"slices"
	"strings"

	"waymark/abi"
	"waymark/plugins/agentfiles/imports"
	"waymark/plugins/internal/places"
	guest "waymark/sdk-guest"
)

const (
	// maxImports and maxImport bound what is reported of a file's imports.
	maxImports = 32
	maxImport  = 256
)

// imports reports what a file imports, as written there. A word without slash and dot is
// somebody's name.
func (f *finder) imports(r *guest.Resource) {
	text, err := guest.ReadHead(f.root, r.Path, places.ReadLimit(f.req))
	if err != nil {
		return // gone or changed since: the host will see
	}
	list := slices.DeleteFunc(imports.Of(string(text)), func(word string) bool { return len(word) > maxImport || !strings.ContainsAny(word, "./") })
	if len(list) > 0 {
		attribute(r, "imports", abi.Strings(list[:min(len(list), maxImports)]...))
	}
}
