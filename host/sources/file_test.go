package sources_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"waymark/host/sources"
)

// load makes a list of what is persisted.
func load(t *testing.T, home, file string) (*sources.List, error) {
	t.Helper()
	l := sources.New(sources.Options{Home: home, File: file})
	return l, l.Load()
}

func TestPersist(t *testing.T) {
	dir := tree(t, "home/a/", "home/b/", "etc/")
	home, file := dir+"/home", dir+"/state/waymark/sources.json"
	l, err := load(t, home, file)
	must(t, err)
	if _, err := os.Stat(filepath.Dir(file)); err == nil {
		t.Error("a directory was made for nothing")
	}
	add := func(path string, opts sources.AddOptions) {
		t.Helper()
		_, _, err := l.Add(path, opts)
		must(t, err)
	}
	add("~/a", sources.AddOptions{Persist: true})
	add("~/b", sources.AddOptions{})
	add("~/missing", sources.AddOptions{Persist: true})
	add(dir+"/etc", sources.AddOptions{Trusted: true, Persist: true})

	info, err := os.Stat(file)
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(file), ".*")); err != nil || len(left) > 0 {
		t.Errorf("a temporary file is left: %q, %v", left, err)
	}
	l, err = load(t, home, file)
	must(t, err)
	want := []sources.Source{
		{Path: dir + "/etc", Exists: true, Persisted: true, Origin: sources.OriginPersisted},
		{Path: home + "/a", Exists: true, Persisted: true, Origin: sources.OriginPersisted},
		{Path: home + "/missing", Persisted: true, Origin: sources.OriginPersisted},
	}
	if got := l.All(); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	must(t, l.Allowed(dir+"/etc"))

	// What is there can be kept later, and be taken out again.
	add("~/b", sources.AddOptions{})
	add("~/b", sources.AddOptions{Persist: true})
	must(t, l.Remove("~/a"))
	must(t, l.Remove("~/missing"))
	l, err = load(t, home, file)
	if got, want := paths(l.All()), []string{dir + "/etc", home + "/b"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}

// A request's source doesn't become the operator's by lying in the file, nor
// by the operator naming it once.
func TestPersistedIsChecked(t *testing.T) {
	dir := tree(t, "home/a/", "work/", "etc/")
	home, file := dir+"/home", dir+"/sources.json"
	l := sources.New(sources.Options{Home: home, WorkDir: dir + "/work", File: file})
	for _, path := range []string{"~/a", dir + "/work/x"} {
		_, _, err := l.Add(path, sources.AddOptions{Persist: true})
		must(t, err)
	}
	_, _, err := l.Add("~/a", sources.AddOptions{Trusted: true})
	must(t, err)
	must(t, os.Remove(home+"/a"))
	must(t, os.Symlink("../etc", home+"/a"))

	l, err = load(t, home, file)
	must(t, err)
	for _, s := range l.All() {
		if err := l.Allowed(s.Path); !errors.Is(err, sources.ErrNotAllowed) || s.Error == "" || s.Exists {
			t.Errorf("%+v: %v", s, err)
		}
	}
	l.SetWorkDir(dir + "/work") // late, as it may be
	must(t, l.Allowed(dir+"/work/x"))
	if err := l.Allowed(home + "/a"); !errors.Is(err, sources.ErrNotAllowed) {
		t.Error(err)
	}
}

func TestFileFormat(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
		err        error
	}{
		{"plain", `{"version":1,"sources":[{"path":"/a"},{"path":"/b"}]}`, []string{"/a", "/b"}, nil},
		{"unknown fields", `{"version":1,"more":{"x":[]},"sources":[{"path":"/a","since":"x"}]}`, []string{"/a"}, nil},
		{"none", `{"version":1}`, nil, nil},
		{"twice", `{"version":1,"sources":[{"path":"/a"},{"path":"/a"}]}`, []string{"/a"}, nil},
		{"empty", ``, nil, sources.ErrBroken},
		{"cut off", `{"version":1,"sources":[{"pa`, nil, sources.ErrBroken},
		{"no version", `{"sources":[{"path":"/a"}]}`, nil, sources.ErrBroken},
		{"another type", `{"version":1,"sources":{"path":"/a"}}`, nil, sources.ErrBroken},
		{"a relative one", `{"version":1,"sources":[{"path":"/a"},{"path":"b"}]}`, []string{"/a"}, sources.ErrBroken},
		{"one that isn't clean", `{"version":1,"sources":[{"path":"/a/../b"},{"path":"/c"}]}`, []string{"/c"}, sources.ErrBroken},
		{"a control character", `{"version":1,"sources":[{"path":"/a\u0000"}]}`, nil, sources.ErrBroken},
		{"huge", strings.Repeat(" ", 2<<20), nil, sources.ErrBroken},
		{"newer", `{"version":2,"sources":[{"path":"/a"}]}`, nil, sources.ErrPersist},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := tree(t)
			file := dir + "/sources.json"
			must(t, os.WriteFile(file, []byte(c.text), 0o600))
			l, err := load(t, dir, file)
			if got := paths(l.All()); !slices.Equal(got, c.want) || !errors.Is(err, c.err) || (c.err == nil) != (err == nil) {
				t.Errorf("%q, %v", got, err)
			}
			kept, rerr := os.ReadFile(file + ".broken-1")
			if broken := c.err == sources.ErrBroken; broken != (rerr == nil) || broken && string(kept) != c.text {
				t.Errorf("kept aside: %v", rerr)
			} else if broken && !strings.Contains(err.Error(), file+".broken-1") {
				t.Errorf("%q doesn't tell where it is", err)
			}
			// What could be read is in a good file now, and stays.
			if c.err == sources.ErrBroken {
				l, err = load(t, dir, file)
				if got := paths(l.All()); err != nil || !slices.Equal(got, c.want) {
					t.Errorf("the second time: %q, %v", got, err)
				}
			}
		})
	}
}

// What could have been written by others, or isn't a file, isn't trusted.
func TestFileIsNotOurs(t *testing.T) {
	text := []byte(`{"version":1,"sources":[{"path":"/a","trusted":true}]}`)
	for name, put := range map[string]func(file string) error{
		"writable": func(file string) error { return errors.Join(os.WriteFile(file, text, 0o600), os.Chmod(file, 0o620)) },
		"link": func(file string) error {
			return errors.Join(os.WriteFile(file+".x", text, 0o600), os.Symlink(file+".x", file))
		},
		"fifo":      func(file string) error { return syscall.Mkfifo(file, 0o600) },
		"directory": func(file string) error { return os.Mkdir(file, 0o700) },
	} {
		file := tree(t) + "/sources.json"
		must(t, put(file))
		l, err := load(t, "", file)
		if !errors.Is(err, sources.ErrBroken) || len(l.All()) > 0 {
			t.Errorf("%s: %v, %v", name, l.All(), err)
		}
		if _, err := os.Lstat(file + ".broken-1"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A change that can't be kept isn't made, and nothing is overwritten.
func TestPersistFails(t *testing.T) {
	dir := tree(t, "home/", "file")
	home := dir + "/home"
	newer := dir + "/newer.json"
	must(t, os.WriteFile(newer, []byte(`{"version":9}`), 0o600))
	for name, file := range map[string]string{"no place": "", "below a file": dir + "/file/sources.json", "newer": newer} {
		l := sources.New(sources.Options{Home: home, File: file})
		if _, _, err := l.Add("~/a", sources.AddOptions{Persist: true}); !errors.Is(err, sources.ErrPersist) || len(l.All()) > 0 {
			t.Errorf("%s: %v, %v", name, l.All(), err)
		}
		if _, added, err := l.Add("~/a", sources.AddOptions{}); err != nil || !added {
			t.Errorf("%s: %t, %v", name, added, err)
		}
		if _, _, err := l.Add("~/a", sources.AddOptions{Persist: true}); !errors.Is(err, sources.ErrPersist) || l.All()[0].Persisted {
			t.Errorf("%s: %v, %v", name, l.All(), err)
		}
	}
	if text, err := os.ReadFile(newer); err != nil || string(text) != `{"version":9}` {
		t.Errorf("%s, %v", text, err)
	}

	// Neither is one that can't be forgotten.
	file := dir + "/sources.json"
	l := sources.New(sources.Options{Home: home, File: file})
	_, _, err := l.Add("~/a", sources.AddOptions{Persist: true})
	must(t, err)
	must(t, os.Remove(file+".lock"))
	must(t, os.Mkdir(file+".lock", 0o700))
	if err := l.Remove("~/a"); !errors.Is(err, sources.ErrPersist) || len(l.All()) != 1 {
		t.Errorf("%v, %v", l.All(), err)
	}
}

// The file breaks while the agent runs: the change isn't made, that is said,
// and what the agent knows isn't lost.
func TestFileBreaksLater(t *testing.T) {
	dir := tree(t)
	file := dir + "/sources.json"
	l := sources.New(sources.Options{File: file})
	both := sources.AddOptions{Trusted: true, Persist: true}
	_, _, err := l.Add("/a", both)
	must(t, err)
	must(t, os.WriteFile(file, []byte("{"), 0o600))
	if _, _, err := l.Add("/b", both); !errors.Is(err, sources.ErrBroken) || len(l.All()) != 1 {
		t.Errorf("%v, %v", l.All(), err)
	}
	if _, added, err := l.Add("/b", both); err != nil || !added {
		t.Errorf("%t, %v", added, err)
	}
	again, err := load(t, "", file)
	if got := paths(again.All()); err != nil || !slices.Equal(got, []string{"/a", "/b"}) {
		t.Errorf("%q, %v", got, err)
	}
	if err := again.Allowed("/a"); err != nil {
		t.Errorf("it isn't the operator's any more: %v", err)
	}
	if text, err := os.ReadFile(file + ".broken-1"); err != nil || string(text) != "{" {
		t.Errorf("%s, %v", text, err)
	}
}

// Two agents share the file, and lose nothing of each other's.
func TestTwoWriters(t *testing.T) {
	dir := tree(t)
	file := dir + "/sources.json"
	const n = 10
	var g sync.WaitGroup
	for agent := range 2 {
		// One of them may have the lock whenever the other one tries.
		l := sources.New(sources.Options{File: file, LockFor: 5 * time.Minute})
		g.Go(func() {
			for i := range n {
				path := fmt.Sprintf("/%d-%d", agent, i)
				if _, _, err := l.Add(path, sources.AddOptions{Trusted: true, Persist: true}); err != nil {
					t.Error(err)
				}
				if i%2 == 0 {
					if err := l.Remove(path); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	g.Wait()
	l, err := load(t, "", file)
	if got := paths(l.All()); err != nil || len(got) != n {
		t.Errorf("%d of %d: %q, %v", len(got), n, got, err)
	}
}

// An agent that is stopped with the lock in its hand doesn't hang others.
func TestLockHeld(t *testing.T) {
	file := tree(t) + "/sources.json"
	lock, err := os.Create(file + ".lock")
	must(t, err)
	must(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	l := sources.New(sources.Options{File: file, LockFor: 20 * time.Millisecond})
	if _, _, err := l.Add("/a", sources.AddOptions{Trusted: true, Persist: true}); !errors.Is(err, sources.ErrPersist) {
		t.Errorf("%v", err)
	}
	must(t, lock.Close())
	if _, _, err := l.Add("/a", sources.AddOptions{Trusted: true, Persist: true}); err != nil {
		t.Error(err)
	}
}

func TestPersistedTooMany(t *testing.T) {
	dir := tree(t)
	file := dir + "/sources.json"
	must(t, os.WriteFile(file, []byte(`{"version":1,"sources":[{"path":"/a"},{"path":"/b"},{"path":"/c"}]}`), 0o600))
	l := sources.New(sources.Options{File: file, Max: 2})
	if err := l.Load(); !errors.Is(err, sources.ErrTooMany) || !strings.Contains(err.Error(), "1 persisted") || len(l.All()) != 2 {
		t.Errorf("%v, %v", l.All(), err)
	}
}

// Whatever the file holds, it is either used or kept aside, and what is on the
// list then is fit for it.
func FuzzFile(f *testing.F) {
	for _, text := range []string{
		`{"version":1,"sources":[{"path":"/a","trusted":true},{"path":"b"}]}`, `{"version":2}`, `{`, ``, `null`, `[]`,
		`{"version":1,"sources":[{"path":"/\ud800"},null,{}]}`, `{"version":1e9,"sources":null}`,
	} {
		f.Add([]byte(text))
	}
	dir := tree(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		file := dir + "/sources.json"
		must(t, errors.Join(os.RemoveAll(file), os.RemoveAll(file+".broken-1")))
		must(t, os.WriteFile(file, text, 0o600))
		l := sources.New(sources.Options{File: file})
		err := l.Load()
		kept := file
		if errors.Is(err, sources.ErrBroken) {
			kept = file + ".broken-1"
		}
		if data, rerr := os.ReadFile(kept); rerr != nil || string(data) != string(text) {
			t.Fatalf("%q, %v: %q is lost: %v", data, rerr, text, err)
		}
		if len(l.All()) > sources.DefaultMax {
			t.Fatal("too many")
		}
		for _, s := range l.All() {
			if !filepath.IsAbs(s.Path) || filepath.Clean(s.Path) != s.Path || strings.ContainsAny(s.Path, "\x00\n") {
				t.Fatalf("%q", s.Path)
			}
		}
	})
}
