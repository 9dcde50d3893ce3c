package resolve

import (
	"slices"
	"sync"
	"weak"

	"waymark/host/vfs"
)

// filters holds compiled views, each once, however many roots use it: the patterns of one
// module may take a megabyte. Unused ones are dropped. The zero value is empty.
type filters struct {
	mu    sync.Mutex // guards known
	known []compiled
}

type compiled struct {
	view   vfs.View
	filter weak.Pointer[vfs.Filter]
}

// of returns a compiled view from the cache, or compiles it. It blocks other callers
// meanwhile: at the start all roots ask for the same few views, and each takes 0.4 ms with
// the whole table of conventions. The view is kept: don't change its lists.
func (f *filters) of(view *vfs.View) (*vfs.Filter, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.known {
		// There are few views, and most differ in their lengths. The strings of equal ones
		// share memory.
		if k := &f.known[i]; sameView(&k.view, view) {
			if filter := k.filter.Value(); filter != nil {
				return filter, nil
			}
		}
	}
	filter, err := view.Compile()
	if err != nil {
		return nil, err
	}
	f.known = slices.DeleteFunc(f.known, func(k compiled) bool { return k.filter.Value() == nil })
	f.known = append(f.known, compiled{*view, weak.Make(filter)})
	return filter, nil
}

func sameView(a, b *vfs.View) bool {
	return a.MCPOnly == b.MCPOnly && a.Manifests == b.Manifests && slices.Equal(a.Reads, b.Reads) &&
		slices.Equal(a.Narrow, b.Narrow) && slices.Equal(a.GrantSecrets, b.GrantSecrets) && slices.Equal(a.Below, b.Below)
}
