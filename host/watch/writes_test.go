package watch_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"waymark/host/watch"
)

// TestWrites: the notifier is asked to tell of writes only where somebody wants to
// know of them.
func TestWrites(t *testing.T) {
	t.Parallel()
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		b.mkdir("way", "on", "skills")
		want := func(dirs ...string) {
			t.Helper()
			synctest.Wait()
			if got := b.n.writes(b.dir); !slices.Equal(got, dirs) {
				t.Fatalf("watched for writes: %q, want %q", got, dirs)
			}
		}
		on, skills := b.path("way", "on"), b.path("way", "on", "skills")
		want()
		b.set("o", watch.Dir{Path: on, Names: []string{"f"}})
		want("way/on")
		b.set("p", watch.Dir{Path: b.path("way"), Names: []string{}, Through: []string{"link"}})
		want("way/on")
		b.set("p", watch.Dir{Path: skills})
		want("way/on", "way/on/skills")
		b.Set("p", []watch.Dir{{Path: b.path("way"), Names: []string{"f"}, Through: []string{"link"}}})
		// A watch for more is another watch: who relies on it looks again.
		b.want(watch.Batch{Owners: []string{"o", "p"}, Reason: watch.ReasonAdded})
		want("way", "way/on")
		// What was on the way to a name that counted only leads on now.
		b.Set("o", []watch.Dir{{Path: on, Names: []string{}, Through: []string{"f"}}})
		b.want(watch.Batch{Owners: []string{"o"}, Reason: watch.ReasonAdded})
		want("way")
		b.Set("p", nil)
		b.want(watch.Batch{Owners: []string{"o"}, Reason: watch.ReasonAdded})
		want()
	})
}
