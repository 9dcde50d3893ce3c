package approvals_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"waymark/abi"
	"waymark/host/plugin/approvals"
)

func reads(patterns ...string) []approvals.Read {
	var list []approvals.Read
	for _, p := range patterns {
		list = append(list, approvals.Read{Pattern: p})
	}
	return list
}

func TestGrown(t *testing.T) {
	mcp := approvals.Read{Pattern: ".mcp.json", MCP: true}
	key := approvals.Read{ConfigKey: "file_names"}
	tests := []struct {
		before, now []approvals.Read
		want        string
	}{
		{nil, nil, ""},
		{reads("a"), reads("a"), ""},
		{reads("a", "b"), reads("b"), ""},
		{reads("a"), reads("a", "b"), "b"},
		{reads("docs/**"), reads("docs/a.md", "docs/*/x", "docs/a/**"), ""},
		{reads("docs/**"), reads("docs2/a", "../docs/a", "docs/../x", "docs", "doc*/a"), "docs2/a ../docs/a docs/../x doc*/a"},
		{reads("*.md"), reads("a.md", "a/b.md", "?.md"), "a/b.md ?.md"},
		{reads("d*/**"), reads("docs/a", "docs/*"), "docs/*"},
		{reads("{a,b}"), reads("a", "b", "c"), "c"},
		{reads("**"), reads("a/**/b", ".x"), ""},
		{reads("a/**"), reads("a/{b,../../c}"), "a/{b,../../c}"},
		{[]approvals.Read{mcp}, reads(".mcp.json"), ".mcp.json"},
		{reads("**"), []approvals.Read{mcp}, ".mcp.json (settings files as well)"},
		{[]approvals.Read{mcp}, []approvals.Read{mcp}, ""},
		{reads("**"), []approvals.Read{key}, "what the configuration key file_names names"},
		{[]approvals.Read{key}, []approvals.Read{key}, ""},
	}
	for _, tt := range tests {
		if got := strings.Join(approvals.Texts(approvals.Grown(tt.before, tt.now)), " "); got != tt.want {
			t.Errorf("from %v to %v: grown by %q, want %q", tt.before, tt.now, got, tt.want)
		}
	}
}

func TestReadsOf(t *testing.T) {
	d := &abi.Description{Resolvers: []abi.Resolver{
		{Kinds: []abi.Kind{abi.KindSkill}, Reads: []string{"a", "b", "a"}, ReadsFromConfig: []string{"k"}},
		{Kinds: []abi.Kind{abi.KindMCPConfig}, Reads: []string{"a"}},
		{Kinds: []abi.Kind{abi.KindMCPConfig, abi.KindSkill}, Reads: []string{"a"}}, // sees no MCP configuration
	}}
	const want = "a|b|what the configuration key k names|a (settings files as well)"
	if got := strings.Join(approvals.Texts(approvals.ReadsOf(d)), "|"); got != want {
		t.Errorf("reads are %q, want %q", got, want)
	}
}

// TestJudge goes through a module's life, with and without a restart in
// between: each step says which module comes, and what becomes of it.
func TestJudge(t *testing.T) {
	type step struct {
		approve bool // it is approved now
		gone    bool // its file is removed
		m       approvals.Module
		want    string // part of the reason; "" is used
	}
	mod := func(digest string, patterns ...string) approvals.Module {
		return approvals.Module{Name: "m", Path: "/p/m.wasm", Digest: digest, Reads: reads(patterns...)}
	}
	with := func(m approvals.Module, change func(*approvals.Module)) approvals.Module {
		change(&m)
		return m
	}
	pinned := func(m approvals.Module, pin string) approvals.Module {
		return with(m, func(m *approvals.Module) { m.Pin = pin })
	}
	granted := func(m approvals.Module) approvals.Module {
		return with(m, func(m *approvals.Module) { m.Grants = []string{".env*"} })
	}
	named := func(m approvals.Module, name string) approvals.Module {
		return with(m, func(m *approvals.Module) { m.Name = name })
	}
	at := func(m approvals.Module, path string) approvals.Module {
		return with(m, func(m *approvals.Module) { m.Path = path })
	}
	tests := map[string][]step{
		"the first drop":                   {{m: granted(mod("1", "**"))}},
		"another version, the same reads":  {{m: mod("1", "a")}, {m: mod("2", "a")}},
		"fewer reads, and more again":      {{m: mod("1", "a", "b")}, {m: mod("2", "a")}, {m: mod("3", "a", "b"), want: "it reads more than before: b"}},
		"more reads":                       {{m: mod("1", "a")}, {m: mod("2", "a", "b"), want: "it reads more than before: b"}, {m: mod("1", "a")}},
		"more reads, approved":             {{m: mod("1", "a")}, {approve: true, m: mod("2", "b")}, {m: mod("3", "b", "c"), want: "c"}},
		"approved, back and forth":         {{m: mod("1", "a")}, {approve: true, m: mod("2", "b")}, {approve: true, m: mod("1", "a")}, {m: mod("2", "b")}, {m: mod("1", "a")}},
		"only this file is approved":       {{m: mod("1", "a")}, {approve: true, m: mod("2", "b")}, {m: mod("3", "c"), want: "c"}},
		"removed, and back with more":      {{m: mod("1", "a")}, {gone: true, m: mod("1")}, {m: mod("2", "b"), want: "b"}},
		"another name is no way around":    {{m: mod("1", "a")}, {m: named(mod("2", "b"), "n"), want: "b"}},
		"but another file is":              {{m: mod("1", "a")}, {m: at(named(mod("2", "b"), "n"), "/p/n.wasm")}},
		"or one after it was removed":      {{m: mod("1", "a")}, {gone: true, m: mod("1")}, {m: named(mod("2", "b"), "n")}},
		"the name in another file":         {{m: mod("1", "a")}, {m: at(mod("2", "b"), "/p/n.wasm"), want: "b"}},
		"granted secrets":                  {{m: granted(mod("1", "a"))}, {m: granted(mod("2", "a")), want: "grants secrets (.env*)"}},
		"granted secrets, approved":        {{m: granted(mod("1", "a"))}, {approve: true, m: granted(mod("2", "a"))}, {m: granted(mod("2", "a"))}},
		"secrets granted later":            {{m: mod("1", "a")}, {m: granted(mod("1", "a"))}},
		"pinned":                           {{m: pinned(mod("ab", "a"), "AB")}},
		"pinned to another":                {{m: pinned(mod("1", "a"), "2"), want: "not the one that the configuration pins"}},
		"pinned to what reads more":        {{m: mod("1", "a")}, {m: pinned(mod("2", "b"), "2")}},
		"a pin overruled":                  {{m: pinned(mod("1", "a"), "1")}, {approve: true, m: pinned(mod("2", "a"), "1")}, {m: pinned(mod("2", "a"), "1")}},
		"an approval is for one pin":       {{approve: true, m: pinned(mod("2", "a"), "1")}, {m: pinned(mod("2", "a"), "3"), want: "pins"}},
		"an approval without a pin is not": {{m: mod("1", "a")}, {approve: true, m: mod("2", "b")}, {m: pinned(mod("2", "b"), "3"), want: "pins"}},
	}
	for name, steps := range tests {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restart %v", name, restart), func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "state", "approvals.json")
				s := approvals.Open(file, nil)
				for i, step := range steps {
					if restart {
						s = reopen(t, s, file)
					}
					if step.gone {
						s.Gone(step.m.Path)
						continue
					}
					if step.approve {
						if i > 0 && s.Judge(&step.m).OK {
							// A version that may be used anyway is approved in vain.
							t.Logf("step %d needs no approval", i)
						}
						s.Approve(&step.m)
					}
					v := s.Judge(&step.m)
					if v.OK != (step.want == "") || !strings.Contains(v.Reason, step.want) {
						t.Fatalf("step %d: %+v, want %q", i, v, step.want)
					}
					if v.OK {
						s.Use(&step.m)
					}
				}
			})
		}
	}
}

func reopen(t *testing.T, s *approvals.Store, file string) *approvals.Store {
	t.Helper()
	if err := s.Save(); err != nil {
		t.Fatal(err)
	}
	return approvals.Open(file, nil)
}

// TestFile: what is kept is private, and unchanged where nothing is new.
func TestFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "approvals.json")
	s := approvals.Open(file, nil)
	if err := s.Save(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(file)); err == nil {
		t.Error("nothing was to be kept, and there is a directory")
	}
	m := approvals.Module{Name: "m", Path: "/p", Digest: "1", Reads: reads("a")}
	s.Use(&m)
	if s.Saved() {
		t.Error("news is taken for saved")
	}
	s = reopen(t, s, file)
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	s.Use(&m)
	if !s.Saved() {
		t.Error("what is known is taken for news")
	}
}

// TestBrokenFile: what can't be believed lets nothing run that isn't approved
// or pinned, also after restarts, until the file is removed.
func TestBrokenFile(t *testing.T) {
	good := `{"version":1,"modules":[{"name":"m","path":"/p","digest":"1","reads":[]}]}`
	spoil := map[string]func(file string) error{
		"cut":             func(file string) error { return os.WriteFile(file, []byte(good[:40]), 0o600) },
		"empty":           func(file string) error { return os.WriteFile(file, nil, 0o600) },
		"another version": func(file string) error { return os.WriteFile(file, []byte(`{"version":2,"modules":[]}`), 0o600) },
		"unknown keys": func(file string) error {
			return os.WriteFile(file, []byte(`{"version":1,"all":true,"modules":[]}`), 0o600)
		},
		"a module twice": func(file string) error {
			return os.WriteFile(file, []byte(`{"version":1,"modules":[{"name":"m"},{"name":"m"}]}`), 0o600)
		},
		"writable by others": func(file string) error {
			if err := os.WriteFile(file, []byte(good), 0o600); err != nil {
				return err
			}
			return os.Chmod(file, 0o622)
		},
		"a link": func(file string) error {
			if err := os.WriteFile(file+".real", []byte(good), 0o600); err != nil {
				return err
			}
			return os.Symlink(file+".real", file)
		},
		"a directory": func(file string) error { return os.Mkdir(file, 0o700) },
	}
	for name, do := range spoil {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "approvals.json")
			if err := do(file); err != nil {
				t.Fatal(err)
			}
			s := approvals.Open(file, nil)
			one := approvals.Module{Name: "one", Path: "/1", Digest: "1"}
			for range 2 { // the second time the file is whole again, and still says it
				if v := s.Judge(&one); v.OK || !strings.Contains(v.Reason, "what was approved before is not known") {
					t.Fatalf("%+v", v)
				}
				s = reopen(t, s, file)
			}
			pinned := approvals.Module{Name: "two", Path: "/2", Digest: "2", Pin: "2"}
			if v := s.Judge(&pinned); !v.OK {
				t.Errorf("pinned: %+v", v)
			}
			s.Approve(&one)
			s = reopen(t, s, file)
			if v := s.Judge(&one); !v.OK {
				t.Errorf("approved: %+v", v)
			}
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			s = approvals.Open(file, nil)
			if v := s.Judge(&one); !v.OK {
				t.Errorf("after a fresh start: %+v", v)
			}
		})
	}
}

// TestSharedFile: two agents lose nothing of each other's.
func TestSharedFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "approvals.json")
	var wg sync.WaitGroup
	for agent := range 4 {
		wg.Go(func() {
			s := approvals.Open(file, nil)
			s.LockFor(5 * time.Minute) // the others may have the lock whenever it tries
			for i := range 10 {
				s.Use(&approvals.Module{Name: fmt.Sprintf("m-%d-%d", agent, i), Path: fmt.Sprintf("/%d/%d", agent, i), Digest: "1", Reads: reads("a")})
				if err := s.Save(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var kept struct{ Modules []struct{ Name string } }
	if err := json.Unmarshal(data, &kept); err != nil || len(kept.Modules) != 40 {
		t.Errorf("%d modules are kept, %v", len(kept.Modules), err)
	}
}

// FuzzFile: whatever is in the file, either it is believed and says the same
// after being saved, or nothing unknown runs.
func FuzzFile(f *testing.F) {
	f.Add([]byte(`{"version":1,"modules":[{"name":"m","path":"/p","digest":"1","reads":[{"pattern":"a"}],"approved":[{"digest":"2"}]}]}`))
	f.Add([]byte(`{"version":1,"closed":true,"why":"x","modules":null}`))
	f.Add([]byte(`{"version":1,"modules":[{"name":"b"},{"name":"a"}]} {}`))
	f.Add([]byte("{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(t.TempDir(), "approvals.json")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s := approvals.Open(file, nil)
		asked := []approvals.Module{
			{Name: "m", Path: "/p", Digest: "1", Reads: reads("a")}, {Name: "m", Path: "/p", Digest: "2", Reads: reads("b")},
			{Name: "n", Path: "/p", Digest: "3", Reads: reads("c")}, {Name: "unknown", Path: "/u", Digest: "4", Reads: reads("d")},
		}
		var before []approvals.Verdict
		for i := range asked {
			before = append(before, s.Judge(&asked[i]))
		}
		s.Approve(&approvals.Module{Name: "another", Digest: "5"})
		s = reopen(t, s, file)
		for i := range asked {
			if v := s.Judge(&asked[i]); v.OK != before[i].OK {
				t.Errorf("%+v was %+v, and is %+v after being saved", asked[i], before[i], v)
			}
		}
	})
}
