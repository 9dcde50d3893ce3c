package resolve

import (
	"runtime"
	"testing"

	"waymark/host/vfs"
)

// TestFiltersAreShared: equal views have one filter while somebody uses it, and
// none afterwards.
func TestFiltersAreShared(t *testing.T) {
	var f filters
	view := func(reads string) *vfs.View { return &vfs.View{Reads: []string{reads}} }
	a, err := f.of(view("a/**"))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := f.of(view("a/**")); err != nil || again != a {
		t.Errorf("compiled again: %v", err)
	}
	wide := view("a/**")
	wide.MCPOnly = true
	for _, v := range []*vfs.View{view("b/**"), wide} {
		if other, err := f.of(v); err != nil || other == a {
			t.Errorf("%+v has the filter of another view: %v", v, err)
		}
	}
	if _, err := f.of(view("[")); err == nil {
		t.Error("a view that is wrong was compiled")
	}
	runtime.KeepAlive(a) // and nobody has it from here on
	for range 10 {
		runtime.GC()
	}
	if _, err := f.of(view("c/**")); err != nil || len(f.known) > 1 {
		t.Errorf("%d filters are kept, of which one can be used: %v", len(f.known), err)
	}
}
