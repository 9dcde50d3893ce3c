package git

// The schedule is tested from inside, over a scanner and a file system that aren't
// there: within testing/synctest nothing may wait for a process.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"waymark/agentapi"
)

// fakeScanner takes a while for each look, and notes when it has begun.
type fakeScanner struct {
	takes time.Duration
	start time.Time

	mu      sync.Mutex // guards the rest
	began   []time.Duration
	results map[string]result
	now     int // looks that go on
	most    int
}

func (f *fakeScanner) changes(context.Context, string, *question) (*agentapi.GitDiff, error) {
	return nil, errGone
}

func (f *fakeScanner) scan(ctx context.Context, top string) result {
	f.mu.Lock()
	f.began = append(f.began, time.Since(f.start))
	f.now++
	f.most = max(f.most, f.now)
	f.mu.Unlock()
	select {
	case <-time.After(f.takes):
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now--
	return f.results[top]
}

func (f *fakeScanner) set(top string, r result) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.results[top] = r
}

// looks returns when looks began, since the start, and forgets them.
func (f *fakeScanner) looks() []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.began
	f.began = nil
	return list
}

// find is where /NAME… lies in the repository /NAME.
func (f *fakeScanner) find(path string) string {
	name, _, _ := strings.Cut(path[1:], "/")
	f.mu.Lock()
	defer f.mu.Unlock()
	if r, ok := f.results["/"+name]; !ok || r.gone {
		return ""
	}
	return "/" + name
}

func present(top, diff string) result {
	return result{GitRepository: agentapi.GitRepository{RepoRoot: top, Branch: "main", UnifiedDiff: diff}}
}

// watching runs a subscriber in a bubble. What it is told is in messages.
type watching struct {
	refresh chan struct{}
	stop    context.CancelFunc
	done    chan error

	mu       sync.Mutex // guards messages
	messages []agentapi.GitMessage
}

func (s *Service) subscribe(ctx context.Context, chat uuid.UUID) *watching {
	ctx, cancel := context.WithCancel(ctx)
	w := &watching{refresh: make(chan struct{}, 1), stop: cancel, done: make(chan error, 1)}
	go func() {
		w.done <- s.watch(ctx, chat, w.refresh, func(m *agentapi.GitMessage) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.messages = append(w.messages, *m)
			return nil
		})
	}()
	return w
}

func (w *watching) end(t *testing.T) {
	t.Helper()
	w.stop()
	if err := <-w.done; !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
}

// take returns the messages, and forgets them.
func (w *watching) take() []agentapi.GitMessage {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.messages
	w.messages = nil
	return list
}

// told is what the messages said, in short.
func (w *watching) told() string {
	var list []string
	for _, m := range w.take() {
		part := ""
		for _, r := range m.Repositories {
			part += strings.TrimPrefix(r.RepoRoot, "/") + "=" + r.UnifiedDiff
			if r.Removed {
				part += "gone"
			}
			part += " "
		}
		for _, top := range m.Pending {
			part += "…" + top
		}
		list = append(list, strings.TrimSpace(part+m.Message))
	}
	return strings.Join(list, "; ")
}

// bubble makes a Service over a scanner that takes so long.
func bubble(t *testing.T, takes time.Duration, test func(t *testing.T, s *Service, f *fakeScanner)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeScanner{takes: takes, start: time.Now(), results: map[string]result{}}
		s := New(Options{Root: func() string { return "/root" }, scanner: f, find: f.find})
		test(t, s, f)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.repositories) > 0 {
			t.Errorf("still kept are %v", slices.Collect(maps.Keys(s.repositories)))
		}
	})
}

// TestSchedule: a look on subscribe, touch and refresh, and every 30 s; a second
// between two of them; one for all subscribers; and only what changes is told.
func TestSchedule(t *testing.T) {
	bubble(t, 100*time.Millisecond, func(t *testing.T, s *Service, f *fakeScanner) {
		f.set("/root", present("/root", "1"))
		one := s.subscribe(t.Context(), uuid.Nil)
		time.Sleep(5 * time.Second)
		two := s.subscribe(t.Context(), uuid.Nil)
		time.Sleep(15 * time.Second)
		if a, b := one.told(), two.told(); a != "root=1" || b != "root=1" {
			t.Errorf("told are %q and %q", a, b)
		}
		f.set("/root", present("/root", "2"))
		for range 50 { // within five seconds
			s.Touched(agentapi.Caller{}, "/root/f", "/root/g")
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(5 * time.Second)
		if a, b := one.told(), two.told(); a != "root=2" || b != "root=2" {
			t.Errorf("told are %q and %q", a, b)
		}
		s.Touched(agentapi.Caller{}, "/other/f")
		time.Sleep(5 * time.Second)
		looks := f.looks()
		if len(looks) < 6 || len(looks) > 9 {
			t.Errorf("there were looks at %v", looks)
		}
		for i, at := range looks[1:] {
			if at-looks[i] < time.Second {
				t.Errorf("there were looks at %v", looks)
			}
		}
		time.Sleep(2 * time.Minute)
		if looks := f.looks(); len(looks) < 3 || len(looks) > 4 {
			t.Errorf("in two minutes there were looks at %v", looks)
		}
		one.refresh <- struct{}{}
		time.Sleep(2 * time.Second)
		if a, b := one.told(), two.told(); a != "" || len(b) != 0 {
			t.Errorf("told are %q and %q", a, b)
		}
		one.end(t)
		f.set("/root", result{gone: true})
		time.Sleep(time.Minute)
		if got := two.told(); got != "root=gone" || len(f.looks()) == 0 {
			t.Errorf("told is %q", got)
		}
		f.set("/root", present("/root", "3"))
		time.Sleep(time.Minute)
		if got := two.told(); got != "root=3" {
			t.Errorf("told is %q", got)
		}
		two.end(t)
		f.looks()
		time.Sleep(time.Hour)
		if looks := f.looks(); len(looks) > 0 {
			t.Errorf("nobody watches, and there were looks at %v", looks)
		}
	})
}

// TestRefreshAnswered: who asks is answered when all has been looked at, also
// when nothing has changed.
func TestRefreshAnswered(t *testing.T) {
	bubble(t, time.Millisecond, func(t *testing.T, s *Service, f *fakeScanner) {
		f.set("/root", present("/root", "1"))
		w := s.subscribe(t.Context(), uuid.Nil)
		for range 3 {
			time.Sleep(5 * time.Second)
			w.refresh <- struct{}{}
		}
		time.Sleep(5 * time.Second)
		if got := w.told(); got != "root=1; ; ; " {
			t.Errorf("told is %q", got)
		}
		w.end(t)
	})
	bubble(t, time.Millisecond, func(t *testing.T, s *Service, f *fakeScanner) {
		w := s.subscribe(t.Context(), uuid.Nil) // there is no repository
		time.Sleep(time.Second)
		if m := w.take(); len(m) != 1 || m[0].ScannedAt == nil {
			t.Errorf("told is %+v", m)
		}
		f.set("/root", present("/root", "1")) // git init
		time.Sleep(time.Minute)
		if got := w.told(); got != "root=1" {
			t.Errorf("told is %q", got)
		}
		w.end(t)
	})
}

// TestSlow: a repository that takes long delays no other, and is named while it
// does; it is left alone as long as it takes.
func TestSlow(t *testing.T) {
	bubble(t, 5*time.Second, func(t *testing.T, s *Service, f *fakeScanner) {
		chat := uuid.UUID{1}
		for i := range 5 {
			top := fmt.Sprint("/r", i)
			f.set(top, present(top, "d"))
			s.Touched(agentapi.Caller{Chat: chat}, top+"/f")
		}
		w := s.subscribe(t.Context(), chat)
		time.Sleep(6 * time.Second)
		if got := w.told(); !strings.Contains(got, "=d") || !strings.Contains(got, "…") {
			t.Errorf("told is %q", got)
		}
		time.Sleep(20 * time.Second)
		if m := w.take(); len(m) == 0 || len(m[len(m)-1].Pending) > 0 {
			t.Errorf("in the end it says %+v", m)
		}
		w.end(t)
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.most > maxLooks {
			t.Errorf("%d went on at a time", f.most)
		}
	})
	bubble(t, 5*time.Second, func(t *testing.T, s *Service, f *fakeScanner) {
		f.set("/root", present("/root", "1"))
		w := s.subscribe(t.Context(), uuid.Nil)
		for range 1000 {
			s.Touched(agentapi.Caller{}, "/root/f")
			time.Sleep(100 * time.Millisecond)
		}
		looks := f.looks()
		for i, at := range looks[1:] {
			if at-looks[i] < 10*time.Second {
				t.Errorf("there were looks at %v", looks)
			}
		}
		w.end(t)
	})
}

// TestWarning: what is wrong is told once; how it was stays known, and that it has
// recovered is told.
func TestWarning(t *testing.T) {
	bubble(t, time.Millisecond, func(t *testing.T, s *Service, f *fakeScanner) {
		f.set("/root", present("/root", "1"))
		w := s.subscribe(t.Context(), uuid.Nil)
		time.Sleep(time.Second)
		broken := present("/root", "")
		broken.GitRepository, broken.warning = agentapi.GitRepository{}, "it is damaged"
		good := present("/root", "1")
		for range 2 {
			f.set("/root", broken)
			for range 3 {
				s.Touched(agentapi.Caller{}, "/root/f")
				time.Sleep(2 * time.Second)
			}
			f.set("/root", good)
			time.Sleep(time.Minute)
		}
		if got := w.told(); got != "root=1; /root: it is damaged; root=1; /root: it is damaged; root=1" {
			t.Errorf("told is %q", got)
		}
		w.end(t)
	})
}

// TestTouches: what is remembered is bounded, the oldest is forgotten first.
func TestTouches(t *testing.T) {
	var touched touches
	id := func(n int) uuid.UUID { return uuid.UUID{0: 1, 14: byte(n >> 8), 15: byte(n)} }
	for n := range maxChats + 10 {
		touched.add(agentapi.Caller{Chat: id(n)}, []string{fmt.Sprint("/c", n)})
		touched.add(agentapi.Caller{Chat: id(0)}, []string{"/kept"})
	}
	if len(touched.chats) != maxChats+1 {
		t.Errorf("%d chats are remembered", len(touched.chats))
	}
	for n, want := range map[int]int{0: 2, 1: 0, 10: 0, 11: 1, maxChats + 9: 1} {
		if paths, _ := touched.since(id(n), 0); len(paths) != want {
			t.Errorf("of chat %d are remembered %q", n, paths)
		}
	}
	for n := range maxPaths + 10 {
		touched.add(agentapi.Caller{Chat: id(0)}, []string{fmt.Sprint("/p", n), "/kept"})
	}
	paths, seq := touched.since(id(0), 0)
	if len(paths) != maxPaths || slices.Contains(paths, "/p5") || !slices.Contains(paths, "/kept") {
		t.Errorf("%d paths are remembered", len(paths))
	}
	if more, _ := touched.since(id(0), seq); len(more) > 0 {
		t.Errorf("since then it was %q", more)
	}
	if touched.add(agentapi.Caller{Chat: id(0)}, []string{"", "relative", "/" + strings.Repeat("x", maxPath)}) {
		t.Error("it remembers what is no absolute path")
	}
}

// TestRemote: no credentials are told.
func TestRemote(t *testing.T) {
	for remote, want := range map[string]string{
		"https://example.com/r.git":                   "https://example.com/r.git",
		"https://user:token@example.com/r.git":        "https://example.com/r.git",
		"https://token@example.com:8443/r.git?t=x#y":  "https://example.com:8443/r.git",
		"https://x:a@b@example.com/r":                 "https://example.com/r",
		"https://x:%zz@example.com/r":                 "https://example.com/r",
		"http://:token@[::1]:80/r":                    "http://[::1]:80/r",
		"ssh://git:pw@example.com/r":                  "ssh://git@example.com/r",
		"git+ssh://git@example.com/r":                 "git+ssh://git@example.com/r",
		"git@example.com:r.git":                       "git@example.com:r.git",
		"user:token@example.com/r":                    "example.com/r",
		"/srv/r.git":                                  "/srv/r.git",
		"../r":                                        "../r",
		"file:///srv/r":                               "file:///srv/r",
		"helper::https://user:token@example.com/r":    "helper::https://example.com/r",
		"https://user:to ken@example.com/r?private=1": "https://example.com/r",
		"https://exa\x1bmple.com/r":                   "https://example.com/r",
		"":                                            "",
	} {
		if got := withoutCredentials(remote); got != want {
			t.Errorf("%q: got %q, want %q", remote, got, want)
		}
	}
}

// TestShrink: the largest give way, as many as it takes.
func TestShrink(t *testing.T) {
	big := strings.Repeat("x", 2<<20)
	list := []agentapi.GitRepository{{UnifiedDiff: big + "y"}, {UnifiedDiff: "small"}, {UnifiedDiff: big}, {UnifiedDiff: strings.Repeat("\x01", 700<<10)}}
	shrink(list)
	if !strings.HasPrefix(list[0].UnifiedDiff, "Total diff too large") || list[1].UnifiedDiff != "small" || list[2].UnifiedDiff != big ||
		!strings.HasPrefix(list[3].UnifiedDiff, "Total diff too large") {
		t.Errorf("got %.30q, %.30q, %.30q, %.30q", list[0].UnifiedDiff, list[1].UnifiedDiff, list[2].UnifiedDiff, list[3].UnifiedDiff)
	}
}

// FuzzPatch: whatever git prints, what comes out is text without NUL, and of no
// file that may not be shown.
func FuzzPatch(f *testing.F) {
	f.Add("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
	f.Add("diff --git \"a/n\\nl\" \"b/n\\nl\"\n@@ -1 +1 @@\n-SECRET\x00\n")
	f.Add("diff --git a/secret b/open\nsimilarity index 90%\nrename from secret\nrename to open\n@@ -1 +1 @@\n+SECRET\n")
	f.Add("diff --git a/open \"b/se\\143ret\"\nrename from open\nrename to \"se\\143ret\"\n@@ -1 +1 @@\n SECRET\n")
	f.Add("* Unmerged path x\ndiff --git a/a b b/a b\nnew file mode 100644\n--- /dev/null\n+++ b/a b\t\n@@ -0,0 +1 @@\n+x\xff\n")
	f.Fuzz(func(t *testing.T, printed string) {
		p, err := readPatch(strings.NewReader(printed), func(name string) bool { return !strings.Contains(name, "secret") })
		if err != nil {
			t.Fatal(err)
		}
		got := p.String()
		if strings.Contains(got, "\x00") || valid(got) != got {
			t.Errorf("got %q", got)
		}
		if strings.HasPrefix(printed, "diff --git a/secret b/") && strings.Count("\n"+printed, "\ndiff --git ") == 1 && strings.Contains(got, "diff --git") {
			t.Errorf("%q is shown", got)
		}
	})
}
