package resolve

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"weak"

	"waymark/host/vfs"
)

// filters are compiled views, each once, however many roots are seen through
// it: the patterns of one module may take a megabyte. One is forgotten when
// nothing uses it any more. The zero value is empty.
type filters struct {
	mu    sync.Mutex // guards known
	known map[[sha256.Size]byte]weak.Pointer[vfs.Filter]
}

// of compiles a view, or returns what it was compiled to before. Others wait meanwhile:
// at a start all roots ask for the same few, which take 0.4 ms each with the whole table
// of conventions.
func (f *filters) of(view *vfs.View) (*vfs.Filter, error) {
	key := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %v %v %q", view.Reads, view.Narrow, view.GrantSecrets, view.MCPOnly, view.Manifests, view.Below))
	f.mu.Lock()
	defer f.mu.Unlock()
	if filter := f.known[key].Value(); filter != nil {
		return filter, nil
	}
	filter, err := view.Compile()
	if err != nil {
		return nil, err
	}
	if f.known == nil {
		f.known = make(map[[sha256.Size]byte]weak.Pointer[vfs.Filter])
	}
	for key, p := range f.known {
		if p.Value() == nil {
			delete(f.known, key)
		}
	}
	f.known[key] = weak.Make(filter)
	return filter, nil
}
