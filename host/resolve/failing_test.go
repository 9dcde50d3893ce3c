package resolve_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waymark/host/resolve"
	"waymark/host/sandbox"
	"waymark/host/sandbox/guesttest"
	"waymark/host/vfs"
	"waymark/snapshot"
	"waymark/test/built"
)

// flaky is an engine with a resolver that fails when a file asks it to.
type flaky struct {
	t        *testing.T
	dir      string
	now      time.Time
	engine   *resolve.Engine
	resolver resolve.Resolver
	root     resolve.Root
}

func newFlaky(t *testing.T) *flaky { return flakyWith(t, resolve.Options{}) }

func flakyWith(t *testing.T, opts resolve.Options) *flaky {
	t.Helper()
	path, err := built.Guest(t.Context(), "./testdata/flaky")
	if err != nil {
		t.Fatal(err)
	}
	wasm, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	host := sandbox.New(sandbox.Options{CacheDir: built.CodeCache()})
	module, err := host.Load(t.Context(), wasm, sandbox.Limits{Time: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	f := &flaky{t: t, dir: t.TempDir(), now: time.Unix(1_000_000, 0)}
	root, err := vfs.OpenRoot(f.dir, vfs.RootOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close(); _ = module.Close() })
	opts.Now = func() time.Time { return f.now }
	f.engine = resolve.New(opts)
	f.resolver = resolve.Resolver{Module: guesttest.Module(module), Info: module.Description().Resolvers[0]}
	f.root = resolve.Root{FS: root}
	return f
}

func (f *flaky) write(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func (f *flaky) remove(name string) {
	f.t.Helper()
	if err := os.Remove(filepath.Join(f.dir, name)); err != nil {
		f.t.Fatal(err)
	}
}

func (f *flaky) resolve() resolve.Outcome {
	f.t.Helper()
	outcomes, err := f.engine.Resolve(f.t.Context(), []resolve.Resolver{f.resolver}, []resolve.Root{f.root})
	if err != nil {
		f.t.Fatal(err)
	}
	return outcomes[0]
}

// rows shows candidates as "name status payload description", "stale" behind
// it.
func rows(o resolve.Outcome) []string {
	var list []string
	for _, c := range o.Candidates {
		row := fmt.Sprintf("%s %s %q %q", filepath.Base(c.Source), c.Status, c.Payload, c.Description)
		if c.Stale {
			row += " stale"
		}
		list = append(list, row)
	}
	return list
}

// TestLastGoodRows: a resolver that fails keeps its last good rows, and none
// of them holds a text that has been deleted or edited.
func TestLastGoodRows(t *testing.T) {
	f := newFlaky(t)
	f.write("a.md", "first a")
	f.write("b.md", "first b")
	f.write("c.md", "first c")
	f.write("inline", "")
	o := f.resolve()
	if o.Err != nil || len(o.Candidates) != 4 {
		t.Fatalf("%v, %v", o.Err, rows(o))
	}
	f.write("error", "")
	f.write("b.md", "second b")
	f.remove("c.md")
	f.write("d.md", "new")
	o = f.resolve()
	if o.Err == nil || !strings.Contains(o.Err.Error(), "error is there") {
		t.Errorf("error %v", o.Err)
	}
	want := []string{`a.md ok "first a" "first a" stale`, `b.md ok "second b" "" stale`}
	if got := rows(o); !slices.Equal(got, want) {
		t.Errorf("rows %q\nwant %q", got, want)
	}
	f.remove("error")
	o = f.resolve()
	want = []string{`a.md ok "first a" "first a"`, `b.md ok "second b" "second b"`, `d.md ok "new" "new"`, `inline ok "made up" ""`}
	if got := rows(o); o.Err != nil || !slices.Equal(got, want) {
		t.Errorf("after it: error %v, rows %q\nwant %q", o.Err, got, want)
	}
}

// TestNewVersionFails: a version that has never worked has the rows of the one before, until
// it works or the resolver is taken away.
func TestNewVersionFails(t *testing.T) {
	f := newFlaky(t)
	f.write("a.md", "a")
	if o := f.resolve(); o.Err != nil || len(o.Candidates) != 1 {
		t.Fatalf("%v, %q", o.Err, rows(o))
	}
	before := f.resolver
	f.resolver.Module.Digest = strings.Repeat("0", 64) // which is what tells versions apart
	f.write("error", "")
	f.engine.Retain([]resolve.Resolver{f.resolver}, []resolve.Root{f.root})
	want := []string{`a.md ok "a" "a" stale`}
	if o := f.resolve(); o.Err == nil || !slices.Equal(rows(o), want) {
		t.Errorf("error %v, rows %q\nwant %q", o.Err, rows(o), want)
	}
	f.remove("error")
	f.remove("a.md")
	if o := f.resolve(); o.Err != nil || len(o.Candidates) != 0 {
		t.Errorf("it works: %v, %q", o.Err, rows(o))
	}

	f.write("a.md", "a")
	f.resolve()
	f.engine.Retain(nil, []resolve.Root{f.root})
	f.resolver = before
	f.write("error", "")
	if o := f.resolve(); o.Err == nil || len(o.Candidates) != 0 {
		t.Errorf("it was taken away, and is back: %v, %q", o.Err, rows(o))
	}
}

// TestNoRowsWithoutGoodOnes: nothing stands in for a resolver that never
// worked.
func TestNoRowsWithoutGoodOnes(t *testing.T) {
	f := newFlaky(t)
	f.write("a.md", "a")
	f.write("crash", "")
	o := f.resolve()
	if o.Err == nil || len(o.Candidates) != 0 {
		t.Errorf("error %v, rows %q", o.Err, rows(o))
	}
	if text := o.Err.Error(); !strings.Contains(text, "crash is there") || !strings.HasSuffix(text, "(twice)") {
		t.Errorf("error %q doesn't mention two tries", text)
	}
}

// TestQuarantine: after three failures in a row a resolver rests, longer each
// time, and a success ends it all.
func TestQuarantine(t *testing.T) {
	f := newFlaky(t)
	f.write("error", "")
	expect := func(quarantined bool, text string) {
		t.Helper()
		o := f.resolve()
		if o.Err == nil || o.Quarantined != quarantined || !strings.Contains(o.Err.Error(), text) {
			t.Fatalf("quarantined %v, error %v; want %v and %q", o.Quarantined, o.Err, quarantined, text)
		}
	}
	for range 3 {
		expect(false, "error is there")
	}
	expect(true, "quarantined for 30s after 3 failures: flaky/flaky: resolver error: error is there")
	f.now = f.now.Add(29 * time.Second)
	expect(true, "quarantined for 30s")
	f.now = f.now.Add(time.Second)
	expect(false, "error is there")
	expect(true, "quarantined for 1m0s after 4 failures")
	f.engine.Retry()
	expect(false, "error is there")
	f.remove("error")
	if o := f.resolve(); o.Err != nil {
		t.Fatal(o.Err)
	}
	f.write("error", "")
	expect(false, "error is there")
}

// TestQuarantineOfABusyMachine: a resolver that a busy machine didn't run in time is tried
// again every half minute, however often that went wrong.
func TestQuarantineOfABusyMachine(t *testing.T) {
	f := newFlaky(t)
	f.resolver.Module.Get = func(context.Context) (*sandbox.Module, error) {
		return nil, &sandbox.RunError{Kind: sandbox.ErrDeadline, Busy: true}
	}
	for range 8 {
		o := f.resolve()
		if o.Quarantined && !strings.HasPrefix(o.Err.Error(), "quarantined for 30s ") {
			t.Errorf("%v", o.Err)
		}
		if o.Quarantined {
			f.now = f.now.Add(30 * time.Second)
		}
	}
	if o := f.resolve(); o.Quarantined {
		t.Errorf("after half a minute: %v", o.Err)
	}
}

// TestSteadyFailure: tries, quarantines and errors that differ each time tell
// nothing new, until something changes that the resolver has looked at.
func TestSteadyFailure(t *testing.T) {
	f := newFlaky(t)
	f.write("a.md", "a")
	get, tries := f.resolver.Module.Get, 0
	unloadable := func(context.Context) (*sandbox.Module, error) {
		tries++
		return nil, fmt.Errorf("not loaded after %d ms", 30_000+tries)
	}
	expect := func(when, want string) {
		t.Helper()
		quarantines := 0
		for range 20 { // one in three would be in quarantine, but for what passes
			o := f.resolve()
			if o.Err == nil || o.Failure == nil || o.Failure.Error() != want {
				t.Fatalf("%s: told %v, error %v; want %q", when, o.Failure, o.Err, want)
			}
			if o.Quarantined {
				quarantines++
				f.now = f.now.Add(time.Hour)
			}
		}
		if quarantines == 0 {
			t.Errorf("%s: it is never quarantined", when)
		}
	}
	f.resolver.Module.Get = unloadable
	expect("a module that can't be loaded", "not loaded after 30001 ms")

	f.resolver.Module.Get = get
	f.write("error", "")
	expect("a run that failed knows more", "flaky/flaky: resolver error: error is there")

	f.resolver.Module.Get = unloadable
	expect("unloadable again", "flaky/flaky: resolver error: error is there")

	f.resolver.Module.Get = get
	f.remove("error")
	f.write("crash", "")
	o := f.resolve()
	if o.Failure == nil || !strings.Contains(o.Failure.Error(), "crash is there") {
		t.Fatalf("what has changed isn't told: %v", o.Failure)
	}
	expect("another failure", o.Failure.Error())

	f.engine.Retry()
	f.remove("crash")
	if o := f.resolve(); o.Err != nil || o.Failure != nil {
		t.Errorf("it works: %v, told %v", o.Err, o.Failure)
	}
}

// TestSameCandidates: while nothing is found anew an outcome has the candidates that it
// had, and where anything is other they are others, so that whoever has the earlier ones
// has them as they were.
func TestSameCandidates(t *testing.T) {
	f := newFlaky(t)
	f.write("a.md", "first a")
	f.write("b.md", "first b")
	first := f.resolve()
	same := func(o resolve.Outcome) bool { return &o.Candidates[0] == &first.Candidates[0] }
	if again := f.resolve(); !again.Reused || !same(again) {
		t.Errorf("unchanged: reused %t, the same %t", again.Reused, same(again))
	}
	f.root.Position = 3
	moved := f.resolve()
	if same(moved) || moved.Candidates[1].Root != 3 {
		t.Errorf("at another position: the same %t, at %d", same(moved), moved.Candidates[1].Root)
	}
	f.root.Scope = snapshot.ScopeUser
	if o := f.resolve(); !o.Reused || o.Candidates[1].Scope != snapshot.ScopeUser {
		t.Errorf("of another scope: reused %t, %q", o.Reused, o.Candidates[1].Scope)
	}
	f.write("b.md", "second b")
	if o := f.resolve(); rows(o)[1] != `b.md ok "second b" "second b"` {
		t.Errorf("edited: %q", rows(o))
	}
	if got := rows(first); first.Candidates[1].Root != 0 || first.Candidates[1].Scope != snapshot.ScopeProject || got[1] != `b.md ok "first b" "first b"` {
		t.Errorf("the first ones are now %q", got)
	}

	given := []resolve.Outcome{{}, first, moved}
	if at := resolve.At(0, given[:2]); &at[0] != &given[0] {
		t.Error("outcomes that are in their place were copied")
	}
	at := resolve.At(3, given)
	if at[1].Candidates[1].Root != 3 || &at[2].Candidates[0] != &moved.Candidates[0] {
		t.Errorf("moved to 3: %d", at[1].Candidates[1].Root)
	}
	if given[1].Candidates[1].Root != 0 {
		t.Error("those given were changed")
	}
}

// TestRests: a dropped-in module that has run for longer than its share rests, for longer
// each time, and shows its last rows meanwhile; the built-in one doesn't.
func TestRests(t *testing.T) {
	f := flakyWith(t, resolve.Options{TimeShare: time.Nanosecond})
	edits := 0
	edit := func() resolve.Outcome {
		edits++
		f.write("a.md", fmt.Sprint("text ", edits))
		return f.resolve()
	}
	for range 3 {
		if o := edit(); o.Err != nil || o.Rests || o.Reused {
			t.Fatalf("built in: %+v", o)
		}
	}
	f.resolver.DropIn = true
	if o := edit(); o.Err != nil {
		t.Fatal(o.Err)
	}
	var told error
	for _, wait := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute} {
		o := edit()
		if !o.Rests || o.Quarantined || !strings.Contains(o.Err.Error(), "rests for "+wait.String()) {
			t.Fatalf("it doesn't rest for %s: %+v", wait, o)
		}
		if told != nil && o.Failure.Error() != told.Error() {
			t.Errorf("what is told changes from %q to %q", told, o.Failure)
		}
		told = o.Failure
		if got := rows(o); len(got) != 1 || !strings.Contains(got[0], " stale") {
			t.Errorf("meanwhile it shows %v", got)
		}
		f.now = f.now.Add(wait)
		if o := edit(); o.Err != nil || !strings.Contains(fmt.Sprint(rows(o)), fmt.Sprint("text ", edits)) {
			t.Fatalf("after %s: %v, %v", wait, o.Err, rows(o))
		}
	}
	if o := edit(); !o.Rests {
		t.Error("it doesn't rest any more")
	}
	f.engine.Retry()
	if o := edit(); o.Err != nil {
		t.Errorf("tried again: %v", o.Err)
	}
	f.now = f.now.Add(time.Hour)
	edit()
	if o := edit(); !strings.Contains(fmt.Sprint(o.Err), "rests for 30s") {
		t.Errorf("after a good hour: %v", o.Err)
	}
}
