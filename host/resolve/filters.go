package resolve

import (
	"slices"
	"sync"
	"weak"

	"waymark/host/vfs"
)

// filters are compiled views, each once, however many roots are seen through
// it: the patterns of one module may take a megabyte. One is forgotten when
// nothing uses it any more. The zero value is empty.
type filters struct {
	mu    sync.Mutex // guards known
	known []compiled
}

type compiled struct {
	view   vfs.View
	filter weak.Pointer[vfs.Filter]
}

// of compiles a view, or returns what it was compiled to before. Others wait meanwhile:
// at a start all roots ask for the same few, which take 0.4 ms each with the whole table
// of conventions. The view is kept: don't change what its lists hold.
func (f *filters) of(view *vfs.View) (*vfs.Filter, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.known {
		// There are few, and most differ in their lengths. The texts of equal ones are
		// the same in memory.
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
