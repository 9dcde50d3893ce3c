package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/host"
	"waymark/host/plugin"
	"waymark/snapshot"
)

const reason = "it reads more than before: docs/**: check it, then run 'agent plugins approve a'"

// TestApprovalLive: a module whose reads have grown waits, the version before
// it serves, and approving it puts it in its place.
func TestApprovalLive(t *testing.T) {
	noLeaks(t)
	b := hotplug(t, host.Options{})
	more := tiny{name: "a", version: "2", reads: []string{"docs/**"}}.build()
	b.drop(t, "a.wasm", tiny{name: "a", version: "1"}.build())
	b.is(t, "the first drop", "a.wasm ready; a=1")
	b.drop(t, "a.wasm", more)
	b.is(t, "more reads", "a.wasm needs_approval the new version of a.wasm waits: "+reason+"; version 1 serves until then; a=1")
	waits := b.WaitingPlugins()
	if len(waits) != 1 || waits[0].Version != "2" || waits[0].Digest != digest(more) || strings.Join(waits[0].NewReads, " ") != "docs/**" ||
		waits[0].ServingVersion != "1" || waits[0].Path != filepath.Join(b.dir, "a.wasm") {
		t.Errorf("waiting: %+v", waits)
	}
	for _, no := range []struct{ name, digest string }{{"b", ""}, {"a", digest(nil)}} {
		if _, err := b.Approve(t.Context(), no.name, no.digest); !errors.Is(err, plugin.ErrNotWaiting) {
			t.Errorf("approved %q %q: %v", no.name, no.digest, err)
		}
	}
	if _, err := b.Approve(t.Context(), "a", digest(more)); err != nil {
		t.Fatal(err)
	}
	if got, want := state(b.Current()), "a.wasm ready; a=2"; got != want { // at once
		t.Errorf("after the approval: %s, want %s", got, want)
	}
	if waits := b.WaitingPlugins(); len(waits) != 0 {
		t.Errorf("still waiting: %+v", waits)
	}
	// Back, and forth again, without asking; but not on to what nobody has seen.
	b.drop(t, "a.wasm", tiny{name: "a", version: "1"}.build())
	b.is(t, "back", "a.wasm ready; a=1")
	b.drop(t, "a.wasm", more)
	b.is(t, "forth", "a.wasm ready; a=2")
	b.drop(t, "a.wasm", tiny{name: "a", version: "3", reads: []string{"docs/**", "src/**"}}.build())
	b.reaches(t, "on", "it reads more than before: src/**")
	// Whether it waits or not, a file that is mended is used.
	b.drop(t, "a.wasm", tiny{name: "a", version: "4"}.build())
	b.is(t, "mended", "a.wasm ready; a=4")
	// Another name is no way around.
	b.drop(t, "a.wasm", tiny{name: "other", version: "5", reads: []string{"src/**"}}.build())
	b.reaches(t, "renamed module", "check it, then run 'agent plugins approve other'; version 4 serves until then; a=4")
}

// TestApprovalRestart: what was let run last, and what was approved, outlives
// the process; what nobody has approved doesn't run after a restart either.
func TestApprovalRestart(t *testing.T) {
	noLeaks(t)
	dir, file := pluginDir(t, nil), filepath.Join(t.TempDir(), "state", "approvals.json")
	life := func(t *testing.T, what string, do func(b *bench)) {
		t.Run(what, func(t *testing.T) { do(hotplug(t, host.Options{PluginDirs: []string{dir}, Approvals: file})) })
	}
	more := tiny{name: "a", version: "2", reads: []string{"docs/**"}}.build()
	put := func(t *testing.T, name string, wasm []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), wasm, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(t, "a.wasm", tiny{name: "a", version: "1"}.build())
	life(t, "first", func(b *bench) {
		b.is(t, "first", "a.wasm ready; a=1")
		b.drop(t, "b.wasm", tiny{name: "b", version: "1"}.build()) // for its being kept there is another look
		b.is(t, "another", "a.wasm ready; b.wasm ready; a=1; b=1")
	})
	put(t, "a.wasm", more)
	for _, what := range []string{"changed meanwhile", "and again"} {
		life(t, what, func(b *bench) {
			b.is(t, what, "a.wasm needs_approval "+reason+"; b.wasm ready; b=1")
		})
	}
	life(t, "approved", func(b *bench) {
		if _, err := b.Approve(t.Context(), "a", ""); err != nil {
			t.Fatal(err)
		}
		b.is(t, "approved", "a.wasm ready; b.wasm ready; a=2; b=1")
	})
	life(t, "approved before", func(b *bench) {
		b.is(t, "approved before", "a.wasm ready; b.wasm ready; a=2; b=1")
	})
	if err := os.WriteFile(file, []byte("spoilt"), 0o600); err != nil {
		t.Fatal(err)
	}
	life(t, "spoilt", func(b *bench) {
		b.reaches(t, "spoilt", "a.wasm needs_approval what was approved before is not known")
		b.reaches(t, "spoilt", "b.wasm needs_approval what was approved before is not known")
		if !strings.Contains(b.logs.String(), "approvals of plugins are lost") {
			t.Error("nothing was logged")
		}
		for _, name := range []string{"a", "b"} {
			if _, err := b.Approve(t.Context(), name, ""); err != nil {
				t.Fatal(err)
			}
		}
		b.is(t, "approved anew", "a.wasm ready; b.wasm ready; a=2; b=1")
	})
	life(t, "mended", func(b *bench) { b.is(t, "mended", "a.wasm ready; b.wasm ready; a=2; b=1") })
}

// TestApprovalPin: the configuration pins a file, and grants secrets to it.
func TestApprovalPin(t *testing.T) {
	noLeaks(t)
	one, two := tiny{name: "a", version: "1"}.build(), tiny{name: "a", version: "2"}.build()
	b := hotplug(t, host.Options{Plugins: []plugin.Entry{{Name: "a", SHA256: digest(one)}, {Name: "s", GrantSecrets: []string{".env*"}}}})
	b.drop(t, "a.wasm", two)
	const pinned = "the file is not the one that the configuration pins: check it, then run 'agent plugins approve a'"
	b.is(t, "not the pinned one", "a.wasm needs_approval "+pinned)
	b.drop(t, "a.wasm", one)
	b.is(t, "the pinned one", "a.wasm ready; a=1")
	b.drop(t, "a.wasm", two)
	b.is(t, "another one", "a.wasm needs_approval the new version of a.wasm waits: "+pinned+"; version 1 serves until then; a=1")
	if _, err := b.Approve(t.Context(), "a", ""); err != nil {
		t.Fatal(err)
	}
	b.is(t, "approved", "a.wasm ready; a=2")
	b.drop(t, "s.wasm", tiny{name: "s", version: "1"}.build())
	b.is(t, "granted", "a.wasm ready; s.wasm ready; a=2; s=1")
	b.drop(t, "s.wasm", tiny{name: "s", version: "2"}.build())
	b.reaches(t, "another one with a grant", "s.wasm needs_approval the new version of s.wasm waits: the configuration grants secrets (.env*) to the module that had this name before")
	b.reaches(t, "meanwhile", "s=1")
	// A new pin holds whatever was approved before.
	opts := testOptions(host.Options{PluginDirs: []string{b.dir}, Plugins: []plugin.Entry{{Name: "a", SHA256: digest(nil)}}})
	if err := b.Reconfigure(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	refresh(t, b.Host)
	b.is(t, "another pin", "a.wasm needs_approval "+pinned+"; s.wasm ready; s=2") // and the grant is gone
}

// TestApprovalCanceled: who asked may go away; the approval holds.
func TestApprovalCanceled(t *testing.T) {
	noLeaks(t)
	b := hotplug(t, host.Options{})
	b.drop(t, "a.wasm", tiny{name: "a", version: "1"}.build())
	b.is(t, "one", "a.wasm ready; a=1")
	b.drop(t, "a.wasm", tiny{name: "a", version: "2", reads: []string{"x"}}.build())
	b.reaches(t, "two", "needs_approval")
	ctx, cancel := context.WithCancel(t.Context())
	go cancel()
	_, err := b.Approve(ctx, "a", "")
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err != nil { // it may have been too early
		_, err := b.Approve(t.Context(), "a", "")
		if err != nil && !errors.Is(err, plugin.ErrNotWaiting) {
			t.Fatal(err)
		}
	}
	b.is(t, "approved", "a.wasm ready; a=2")
}

// TestApprovalWhich: of two files of one name, the digest says which is meant.
func TestApprovalWhich(t *testing.T) {
	noLeaks(t)
	b := hotplug(t, host.Options{})
	b.drop(t, "a.wasm", tiny{name: "a", version: "1"}.build())
	b.is(t, "one", "a.wasm ready; a=1")
	two, three := tiny{name: "a", version: "2", reads: []string{"docs/**"}}.build(), tiny{name: "a", version: "3", reads: []string{"docs/**"}}.build()
	b.drop(t, "a.wasm", two)
	b.reaches(t, "two", "a.wasm needs_approval")
	if err := os.Remove(filepath.Join(b.dir, "a.wasm")); err != nil {
		t.Fatal(err)
	}
	b.drop(t, "b.wasm", two)
	b.drop(t, "c.wasm", three)
	b.is(t, "both", "b.wasm needs_approval "+reason+"; c.wasm needs_approval "+reason)
	if _, err := b.Approve(t.Context(), "a", ""); !errors.Is(err, plugin.ErrWhichModule) {
		t.Errorf("approved one of two: %v", err)
	}
	approved, err := b.Approve(t.Context(), "a", digest(three))
	if err != nil || approved.Digest != digest(three) {
		t.Fatalf("approved %+v: %v", approved, err)
	}
	// What has been approved is what a module of this name reads. At the next
	// look, which a slow test may not come before, the first file reads no more
	// than that, and is the one that has the name.
	awaitSnapshot(t, b.Host, "the second, or the first after it", func(s *snapshot.Snapshot) bool {
		now := state(s)
		return now == "b.wasm needs_approval "+reason+"; c.wasm ready; a=3" ||
			strings.HasPrefix(now, "b.wasm ready; c.wasm rejected ") && strings.HasSuffix(now, "; a=2")
	})
}
