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

// of compiles a view, or returns what it was compiled to before.
func (f *filters) of(view *vfs.View) (*vfs.Filter, error) {
	key := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %v %v", view.Reads, view.Narrow, view.GrantSecrets, view.MCPOnly, view.Manifests))
	f.mu.Lock()
	filter := f.known[key].Value()
	f.mu.Unlock()
	if filter != nil {
		return filter, nil
	}
	filter, err := view.Compile()
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil {
		f.known = make(map[[sha256.Size]byte]weak.Pointer[vfs.Filter])
	}
	if same := f.known[key].Value(); same != nil {
		return same, nil // of another root, meanwhile
	}
	for key, p := range f.known {
		if p.Value() == nil {
			delete(f.known, key)
		}
	}
	f.known[key] = weak.Make(filter)
	return filter, nil
}
