package host_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"waymark/host"
	"waymark/host/plugin"
	"waymark/host/watch"
	"waymark/snapshot"
	"waymark/test/contracts/vfstest"
)

// running starts Run and ends it with the test.
func running(t *testing.T, h *host.Host) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
}

// awaitSnapshot waits for a snapshot that fulfills a condition. Only a test that fails
// waits until its context ends.
func awaitSnapshot(t *testing.T, h *host.Host, what string, ok func(*snapshot.Snapshot) bool) *snapshot.Snapshot {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	for version := uint64(0); ; {
		s, err := h.Wait(ctx, version)
		if err != nil {
			t.Fatalf("%s: never, last was version %d: %v", what, s.Version, payloads(s))
		}
		if ok(s) {
			return s
		}
		version = s.Version
	}
}

func payloads(s *snapshot.Snapshot) string {
	var list []string
	for i := range s.Resources {
		list = append(list, filepath.Base(s.Resources[i].Source)+"="+string(s.Resources[i].Payload))
	}
	return strings.Join(list, " ")
}

// slow re-checks are out of the way: what is found is found by events.
var slow = watch.Options{Recheck: time.Hour, SilentRecheck: time.Hour}

// TestLive: an edit, a new file, a tree that is made step by step and a root
// that comes late show up by themselves.
func TestLive(t *testing.T) {
	noLeaks(t)
	dir := vfstest.Build(t, []string{"root/AGENTS.md = one", "out/CLAUDE.md = out"})
	root, late := filepath.Join(dir, "root"), filepath.Join(dir, "late/by/far")
	h := newHost(t, host.Options{Builtin: module(builtin(t)), Watch: slow, Roots: []host.RootSpec{
		{Path: late, Optional: true, Source: true}, {Path: root},
	}})
	running(t, h)
	is := func(want string) func(*snapshot.Snapshot) bool {
		return func(s *snapshot.Snapshot) bool { return payloads(s) == want }
	}
	awaitSnapshot(t, h, "first", is("AGENTS.md=one"))
	steps := []struct {
		name string
		do   func() error
		want string
	}{
		{"an edit in place", func() error { return os.WriteFile(filepath.Join(root, "AGENTS.md"), []byte("two"), 0o600) }, "AGENTS.md=two"},
		{"an edit by rename", func() error {
			temp := filepath.Join(root, ".AGENTS.md.swp")
			return errors.Join(os.WriteFile(temp, []byte("three"), 0o600), os.Rename(temp, filepath.Join(root, "AGENTS.md")))
		}, "AGENTS.md=three"},
		{"a container", func() error { return os.Mkdir(filepath.Join(root, ".agents"), 0o700) }, "AGENTS.md=three"},
		{"another", func() error { return os.Mkdir(filepath.Join(root, ".agents/skills"), 0o700) }, "AGENTS.md=three"},
		{"a skill", func() error { return os.Mkdir(filepath.Join(root, ".agents/skills/a"), 0o700) }, "AGENTS.md=three"},
		{"its text", func() error {
			return os.WriteFile(filepath.Join(root, ".agents/skills/a/SKILL.md"), []byte("---\nname: a\n---\n"), 0o600)
		}, "AGENTS.md=three a=---\nname: a\n---\n"},
		{"the container moved away", func() error { return os.Rename(filepath.Join(root, ".agents"), filepath.Join(dir, "x")) }, "AGENTS.md=three"},
		{"and back", func() error { return os.Rename(filepath.Join(dir, "x"), filepath.Join(root, ".agents")) }, "AGENTS.md=three a=---\nname: a\n---\n"},
		{"removed", func() error { return os.RemoveAll(filepath.Join(root, ".agents")) }, "AGENTS.md=three"},
		{"the root that is waited for", func() error { return os.MkdirAll(late, 0o700) }, "AGENTS.md=three"},
		{"its file", func() error { return os.WriteFile(filepath.Join(late, "CLAUDE.md"), []byte("late"), 0o600) }, "CLAUDE.md=late AGENTS.md=three"},
		{"the root replaced", func() error {
			return errors.Join(os.RemoveAll(late), os.Rename(filepath.Join(dir, "out"), late))
		}, "CLAUDE.md=out AGENTS.md=three"},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		awaitSnapshot(t, h, step.name, is(step.want))
	}
	if s := h.Status().Watch; s.Mode != watch.ModeNotify || s.Dirs == 0 || s.Error != "" {
		t.Errorf("watch state %+v", s)
	}
}

// TestOnlyWhatChanged: an event makes only the roots look again that it is
// for, and noise none.
func TestOnlyWhatChanged(t *testing.T) {
	noLeaks(t)
	dir := vfstest.Build(t, []string{"a/AGENTS.md = one", "b/AGENTS.md = one", "c/AGENTS.md = one"})
	var mu sync.Mutex
	var once sync.Once
	var checked []string           // roots, of refreshes for events
	added := map[string]bool{}     // roots that were looked at since they are watched
	watched := make(chan struct{}) // closed when all of them were
	edited := make(chan struct{})  // closed when the refresh with the edit is over: Observe is called after it is published
	h := newHost(t, host.Options{
		Builtin: module(builtin(t)), Watch: slow,
		Roots: []host.RootSpec{{Path: filepath.Join(dir, "a")}, {Path: filepath.Join(dir, "b")}, {Path: filepath.Join(dir, "c")}},
		Observe: func(r *host.Report) {
			mu.Lock()
			defer mu.Unlock()
			if strings.Contains(payloads(r.Snapshot), "two") {
				defer once.Do(func() { close(edited) })
			}
			for _, o := range r.Checked {
				switch root := filepath.Base(o.Root); {
				case r.Reason == watch.ReasonEvents:
					checked = append(checked, root)
				case r.Reason == watch.ReasonAdded && !added[root]:
					if added[root] = true; len(added) == 3 {
						close(watched)
					}
				}
			}
		},
	})
	running(t, h)
	awaitSnapshot(t, h, "first", func(s *snapshot.Snapshot) bool { return len(s.Resources) == 3 })
	<-watched // what comes sooner would share a batch with the news that all three are watched
	for range 500 {
		f, err := os.CreateTemp(filepath.Join(dir, "a"), "noise-*")
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
	}
	put(t, filepath.Join(dir, "b/AGENTS.md"), "two")
	awaitSnapshot(t, h, "the edit", func(s *snapshot.Snapshot) bool { return strings.Contains(payloads(s), "two") })
	<-edited
	mu.Lock()
	defer mu.Unlock()
	if len(checked) == 0 || slices.ContainsFunc(checked, func(root string) bool { return root != "b" }) {
		t.Errorf("looked at %q for an edit in b", checked)
	}
}

// TestBarrier: what was done before Refresh is called is in its snapshot, with
// any number of callers, who share the work.
func TestBarrier(t *testing.T) {
	noLeaks(t)
	const callers, rounds = 32, 8
	var lines []string
	for i := range callers {
		lines = append(lines, "skills/s"+string(rune('a'+i%26))+string(rune('a'+i/26))+"/SKILL.md = x")
	}
	dir := vfstest.Build(t, append(lines, "AGENTS.md = x"))
	var refreshes atomic.Int64
	h := newHost(t, host.Options{
		Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: dir}}, Observe: func(*host.Report) { refreshes.Add(1) },
	})
	var wg sync.WaitGroup
	for i := range callers {
		name := "s" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		wg.Go(func() {
			for round := range rounds {
				text := "---\nname: " + name + "\ndescription: round " + string(rune('0'+round)) + "\n---\n"
				if err := os.WriteFile(filepath.Join(dir, "skills", name, "SKILL.md"), []byte(text), 0o600); err != nil {
					t.Error(err)
				}
				report, err := h.Refresh(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if r := report.Snapshot.Find("skill:" + filepath.Join(dir, "skills", name)); r == nil || string(r.Payload) != text {
					t.Errorf("%s, round %d: not in the snapshot of version %d", name, round, report.Snapshot.Version)
				}
			}
		})
	}
	wg.Wait()
	if n := refreshes.Load(); n >= callers*rounds {
		t.Errorf("%d refreshes for %d calls: none was shared", n, callers*rounds)
	}
}

// TestRefreshEndsWithItsCallers: a caller who gives up doesn't end a refresh
// that others wait for.
func TestRefreshEndsWithItsCallers(t *testing.T) {
	noLeaks(t)
	dir := vfstest.Build(t, []string{"AGENTS.md = x"})
	under, proceed := make(chan struct{}), make(chan struct{})
	var first sync.Once
	h := newHost(t, host.Options{Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: dir}}, Observe: func(*host.Report) {
		first.Do(func() { close(under); <-proceed })
	}})
	errs, before := make(chan error, 2), make(chan error, 1)
	go func() {
		_, err := h.Refresh(t.Context())
		before <- err
	}()
	<-under // the next ones wait until that one has ended
	gone, giveUp := context.WithCancel(t.Context())
	go func() {
		_, err := h.Refresh(gone)
		errs <- err
	}()
	giveUp()
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Errorf("who gave up got %v", err)
	}
	go func() {
		_, err := h.Refresh(t.Context())
		errs <- err
	}()
	close(proceed)
	if err := <-before; err != nil {
		t.Errorf("who came first got %v", err)
	}
	if err := <-errs; err != nil {
		t.Errorf("who waited got %v", err)
	}
}

// TestHold: version 0 stays until the workspace is ready, and who asks for what
// needs more is told so at once, however long it would wait.
func TestHold(t *testing.T) {
	noLeaks(t)
	dir := vfstest.Build(t, []string{"AGENTS.md = x"})
	h := newHost(t, host.Options{Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: dir}}, Hold: true})
	running(t, h)
	for name, call := range map[string]func() error{
		"refresh": func() error { _, err := h.Refresh(t.Context()); return err },
		"retry":   func() error { _, err := h.RetryPlugins(t.Context()); return err },
		"why":     func() error { _, err := h.Why(t.Context(), filepath.Join(dir, "AGENTS.md")); return err },
	} {
		if err := call(); !errors.Is(err, host.ErrHeld) {
			t.Errorf("%s while held: %v", name, err)
		}
	}
	if err := h.SetRoots(t.Context(), []host.RootSpec{{Path: dir}}); err != nil {
		t.Errorf("roots while held: %v", err)
	}
	if _, err := h.Approve(t.Context(), "nobody", ""); !errors.Is(err, plugin.ErrNotWaiting) {
		t.Errorf("approve while held: %v", err)
	}
	if v := h.Current().Version; v != 0 || !h.Status().Held {
		t.Errorf("version %d, held %v", v, h.Status().Held)
	}
	h.Ready()
	h.Ready()
	awaitSnapshot(t, h, "ready", func(s *snapshot.Snapshot) bool { return s.Version == 1 && len(s.Resources) == 1 })
	if h.Status().Held {
		t.Error("still held")
	}
}

// TestMemosSurvive: a second process answers from re-checked memos without
// loading a module, and loads it when something has changed.
func TestMemosSurvive(t *testing.T) {
	noLeaks(t)
	dir := vfstest.Build(t, []string{"AGENTS.md = one", "CLAUDE.md = ", skill("skills/a", "a"), ".mcp.json = {}", "bad\xff = x", "skills/b/SKILL.md = broken"})
	memos := filepath.Join(t.TempDir(), "memos")
	loads := 0
	start := func() *host.Host {
		return newHost(t, host.Options{
			Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: dir}}, MemoDir: memos, KeyDir: sharedKey(t, memos+".key"),
			BuiltinNative: func() io.ReaderAt { loads++; return nil },
		})
	}
	reused := func(r *host.Report) (n int) {
		for _, o := range r.Outcomes {
			if o.Reused {
				n++
			}
		}
		return n
	}
	h := start()
	before := refresh(t, h).Snapshot
	if loads != 1 {
		t.Fatalf("%d loads at first", loads)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}

	h = start()
	r := refresh(t, h)
	if loads != 1 || reused(r) != 3 {
		t.Errorf("the second process: %d loads, %d reused", loads, reused(r))
	}
	if !snapshot.SameContent(before, r.Snapshot) {
		t.Errorf("remembered:\n%q\nbefore:\n%q", spell(r.Snapshot.Resources, dir), spell(before.Resources, dir))
	}
	put(t, filepath.Join(dir, "AGENTS.md"), "two")
	if r = refresh(t, h); loads != 2 || reused(r) != 2 || !strings.Contains(payloads(r.Snapshot), "two") {
		t.Errorf("after an edit: %d loads, %d reused, %s", loads, reused(r), payloads(r.Snapshot))
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}

	put(t, filepath.Join(dir, "skills/a/SKILL.md"), "---\nname: a\ndescription: edited while nobody looked\n---\n")
	h = start()
	if r = refresh(t, h); reused(r) != 2 || !strings.Contains(payloads(r.Snapshot), "nobody looked") {
		t.Errorf("after an edit between processes: %d reused, %s", reused(r), payloads(r.Snapshot))
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}

	files, err := filepath.Glob(filepath.Join(memos, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("nothing kept: %v", err)
	}
	for _, f := range files {
		if data, err := os.ReadFile(f); err != nil || strings.Contains(string(data), "nobody looked") {
			t.Errorf("%s is not sealed: %v", filepath.Base(f), err)
		} else if err := os.WriteFile(f, data[:len(data)/2], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if r = refresh(t, start()); reused(r) != 0 || len(r.Snapshot.Resources) != len(before.Resources) {
		t.Errorf("with broken memos: %d reused, %s", reused(r), payloads(r.Snapshot))
	}
}

// TestSetRoots: roots come and go while the host runs; those that stay aren't
// looked at again, and a root that must exist and doesn't changes nothing.
func TestSetRoots(t *testing.T) {
	noLeaks(t)
	dir := vfstest.Build(t, []string{"a/AGENTS.md = a", "b/AGENTS.md = b", "c/AGENTS.md = c"})
	at := func(name string) string { return filepath.Join(dir, name) }
	h := newHost(t, host.Options{Builtin: module(builtin(t)), Watch: slow, Roots: []host.RootSpec{{Path: at("a")}}})
	running(t, h)
	awaitSnapshot(t, h, "first", func(s *snapshot.Snapshot) bool { return payloads(s) == "AGENTS.md=a" })
	set := func(specs ...host.RootSpec) error {
		t.Helper()
		err := h.SetRoots(t.Context(), specs)
		refresh(t, h)
		return err
	}
	if err := set(host.RootSpec{Path: at("b"), Source: true, Optional: true}, host.RootSpec{Path: at("a")}); err != nil {
		t.Error(err)
	}
	if got := payloads(h.Current()); got != "AGENTS.md=a AGENTS.md=b" {
		t.Errorf("two roots: %s", got)
	}
	if err := set(host.RootSpec{Path: at("nothing")}); !errors.Is(err, host.ErrRoot) {
		t.Errorf("a root that isn't there: %v", err)
	}
	if got := payloads(h.Current()); got != "AGENTS.md=a AGENTS.md=b" {
		t.Errorf("after it: %s", got)
	}
	refused := errors.New("not allowed")
	if err := set(host.RootSpec{Path: at("c"), Optional: true, Check: func(target string) error {
		if target != at("c") {
			t.Errorf("asked for %s", target)
		}
		return refused
	}}, host.RootSpec{Path: at("a")}); err != nil {
		t.Error(err)
	}
	if got := payloads(h.Current()); got != "AGENTS.md=a" {
		t.Errorf("with a root that isn't allowed: %s", got)
	}
	if err := set(); err != nil {
		t.Error(err)
	}
	if got := payloads(h.Current()); got != "" {
		t.Errorf("no roots: %s", got)
	}
}

// TestSetRootsAgain: whether a root is there is looked at when roots are set, and not
// taken from the last time.
func TestSetRootsAgain(t *testing.T) {
	noLeaks(t)
	dir := vfstest.Build(t, []string{"a/AGENTS.md = a"})
	a, away := filepath.Join(dir, "a"), filepath.Join(dir, "away")
	h := newHost(t, host.Options{Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: a}}})
	move := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	if got := payloads(refresh(t, h).Snapshot); got != "AGENTS.md=a" {
		t.Errorf("at first: %s", got)
	}
	move(a, away)
	if got := payloads(refresh(t, h).Snapshot); got != "" {
		t.Errorf("while it is away: %s", got)
	}
	move(away, a)
	if err := h.SetRoots(t.Context(), []host.RootSpec{{Path: a}}); err != nil {
		t.Errorf("once it is back: %v", err)
	}
}

// TestReconfigure: what a configuration can say takes effect without a new
// Host, versions go on, and a broken one changes nothing.
func TestReconfigure(t *testing.T) {
	noLeaks(t)
	dir := vfstest.Build(t, []string{"AGENTS.md = a", "CLAUDE.md = b", "RULES.md = c"})
	opts := host.Options{Builtin: module(builtin(t)), Watch: slow, Roots: []host.RootSpec{{Path: dir}}}
	h := newHost(t, opts)
	running(t, h)
	first := awaitSnapshot(t, h, "first", func(s *snapshot.Snapshot) bool { return payloads(s) == "AGENTS.md=a CLAUDE.md=b" })
	apply := func(change func(*host.Options)) error {
		t.Helper()
		next := testOptions(opts)
		change(&next)
		err := h.Reconfigure(t.Context(), next)
		refresh(t, h)
		return err
	}
	if err := apply(func(o *host.Options) {
		o.BuiltinConfig = map[string][]byte{"context": []byte(`{"file_names":["RULES.md","AGENTS.md"]}`)}
		o.Watch.Quiet = time.Millisecond
	}); err != nil {
		t.Error(err)
	}
	if s := h.Current(); payloads(s) != "AGENTS.md=a RULES.md=c" || s.Version != first.Version+1 {
		t.Errorf("other names: version %d after %d, %s", s.Version, first.Version, payloads(s))
	}
	if err := apply(func(o *host.Options) { o.Exclude = []string{"["} }); err == nil {
		t.Error("a broken pattern is taken")
	}
	if got := payloads(h.Current()); got != "AGENTS.md=a RULES.md=c" {
		t.Errorf("after a broken one: %s", got)
	}
	if err := apply(func(o *host.Options) { o.Exclude = []string{"CLAUDE.md"}; o.Caps.MaxResources = 1 }); err != nil {
		t.Error(err)
	}
	if got := payloads(h.Current()); got != "AGENTS.md=a" {
		t.Errorf("excluded: %s", got)
	}
	put(t, filepath.Join(dir, "AGENTS.md"), "edited")
	awaitSnapshot(t, h, "an edit afterwards", func(s *snapshot.Snapshot) bool { return payloads(s) == "AGENTS.md=edited" })
	if err := apply(func(o *host.Options) { o.DisableBuiltin = []string{"context"} }); err != nil {
		t.Error(err)
	}
	if got := payloads(h.Current()); got != "" {
		t.Errorf("disabled: %s", got)
	}
}

// TestNotifierFails: without a notifier everything is polled, the snapshot says
// so, and it says so no more when there is one again.
func TestNotifierFails(t *testing.T) {
	noLeaks(t)
	dir := vfstest.Build(t, []string{"AGENTS.md = a"})
	var works atomic.Bool
	h := newHost(t, host.Options{Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: dir}}, Watch: watch.Options{
		Recheck: time.Hour, SilentRecheck: time.Hour, Poll: time.Millisecond,
		NewBackend: func() (watch.Backend, error) {
			if works.Load() {
				return watch.System()
			}
			return nil, os.NewSyscallError("inotify_init1", syscall.EMFILE)
		},
	}})
	running(t, h)
	s := awaitSnapshot(t, h, "degraded", func(s *snapshot.Snapshot) bool { return s.SnapshotError != "" })
	if !strings.Contains(s.SnapshotError, "inotify") {
		t.Errorf("it says %q", s.SnapshotError)
	}
	put(t, filepath.Join(dir, "AGENTS.md"), "polled")
	awaitSnapshot(t, h, "an edit while degraded", func(s *snapshot.Snapshot) bool { return payloads(s) == "AGENTS.md=polled" })
	works.Store(true)
	awaitSnapshot(t, h, "recovered", func(s *snapshot.Snapshot) bool { return s.SnapshotError == "" })
	put(t, filepath.Join(dir, "AGENTS.md"), "watched")
	awaitSnapshot(t, h, "an edit afterwards", func(s *snapshot.Snapshot) bool { return payloads(s) == "AGENTS.md=watched" })
}

// TestHint: what somebody says that it has written is looked at without an event,
// also by a path over a link, and where the file is gone.
func TestHint(t *testing.T) {
	noLeaks(t)
	dir := vfstest.Build(t, []string{"root/AGENTS.md = one", "other/AGENTS.md = x", "link -> root"})
	root := filepath.Join(dir, "root")
	var mu sync.Mutex
	var checked []string // roots, by hints
	h := newHost(t, host.Options{
		Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: root}, {Path: filepath.Join(dir, "other")}},
		Watch: watch.Options{ // no event ever comes
			Recheck: time.Hour, SilentRecheck: time.Hour, Poll: time.Hour,
			NewBackend: func() (watch.Backend, error) { return nil, errors.New("none in this test") },
		},
		Observe: func(r *host.Report) {
			mu.Lock()
			defer mu.Unlock()
			for _, o := range r.Checked {
				if r.Reason == "hint" {
					checked = append(checked, filepath.Base(o.Root))
				}
			}
		},
	})
	running(t, h)
	is := func(want string) func(*snapshot.Snapshot) bool {
		return func(s *snapshot.Snapshot) bool { return payloads(s) == want }
	}
	awaitSnapshot(t, h, "first", is("AGENTS.md=x AGENTS.md=one"))
	for _, step := range []struct{ path, text, want string }{
		{"root/AGENTS.md", "two", "AGENTS.md=x AGENTS.md=two"},
		{"link/AGENTS.md", "three", "AGENTS.md=x AGENTS.md=three"},
		{"root/AGENTS.md", "", "AGENTS.md=x"},
	} {
		path := filepath.Join(dir, step.path)
		var err error
		if step.text == "" {
			err = os.Remove(path)
		} else {
			err = os.WriteFile(path, []byte(step.text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		h.Hint(path)
		awaitSnapshot(t, h, step.path, is(step.want))
	}
	mu.Lock()
	if slices.Contains(checked, "other") || len(checked) == 0 {
		t.Errorf("looked at %q", checked)
	}
	mu.Unlock()
	many := make([]string, 100)
	for i := range many {
		many[i] = filepath.Join(dir, "elsewhere")
	}
	if err := os.WriteFile(filepath.Join(dir, "other/AGENTS.md"), []byte("y"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.Hint(many...) // too many to compare: everything is looked at
	awaitSnapshot(t, h, "all", is("AGENTS.md=y"))
}
