package files_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"waymark/agentapi"
	"waymark/test/testenv"
	"waymark/workspace/access"
)

// snapshotOf is everything in a directory: contents, and where links lead.
func snapshotOf(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			all[path] = "directory"
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			all[path] = "-> " + target
			return err
		case d.Type().IsRegular():
			data, err := os.ReadFile(path)
			all[path] = "= " + string(data)
			return err
		default:
			all[path] = d.Type().String()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func compareSnapshots(t testing.TB, what string, got, want map[string]string) {
	t.Helper()
	for path, is := range got {
		if was, ok := want[path]; !ok || was != is {
			t.Errorf("%s: %s is %.80q, want %.80q", what, path, is, was)
		}
	}
	for path := range want {
		if _, ok := got[path]; !ok {
			t.Errorf("%s: %s is gone", what, path)
		}
	}
}

// swaps are what is replaced by a link, and where that leads.
func swaps(root, out string) [][2]string {
	return [][2]string{
		{"f", "../out/secret.txt"}, {"f", ".env"}, {"f", "real/file"}, {"f", out + "/secret.txt"}, {"f", "../out/none"}, {"f", root + "/../out/secret.txt"},
		{"dir", "../out/dir"}, {"dir", ".git"}, {"dir", "real"}, {"dir", "real/sub"}, {"dir", out + "/dir"}, {"dir", "../out"}, {"dir/sub", "../../out/dir"}, {"dir/sub", out},
		{"plan.md", "f"}, {"plan.md", "../out/secret.txt"}, {"plan.md", ".env"},
	}
}

// TestSwaps replaces files and directories by links, and back, while everything
// is called that reads and writes: what is outside or protected is neither shown
// nor changed, and with a fence nothing but the plan is written.
func TestSwaps(t *testing.T) {
	for _, fence := range []bool{false, true} {
		s := serve(t, []string{"f = fine", "plan.md = fine", "real/file = fine", "real/sub/file = fine", "dir/file = fine", "dir/sub/file = fine", ".env = TOKEN", ".git/file = TOKEN"})
		if fence {
			s.as(&access.Grant{Scopes: acting().Scopes, Plan: s.in("plan.md")})
		}
		outsideBefore := snapshotOf(t, s.out)
		var count atomic.Int64
		done := make(chan struct{})
		var swapper, callers sync.WaitGroup
		swapper.Go(func() {
			list := swaps(s.root, s.out)
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				c := list[i%len(list)]
				path, kept := s.in(c[0]), s.in("kept")
				if os.Rename(path, kept) != nil {
					continue
				}
				// A write may have made the name anew in between.
				for os.Symlink(c[1], path) != nil {
					_ = os.RemoveAll(path)
				}
				count.Add(1)
				for os.Rename(kept, path) != nil { // a file replaces the link, a directory doesn't
					_ = os.RemoveAll(path)
				}
			}
		})
		for n := range 3 {
			callers.Go(func() { s.callAll(t, n, fence, &count) })
		}
		callers.Wait()
		close(done)
		swapper.Wait()
		compareSnapshots(t, "outside", snapshotOf(t, s.out), outsideBefore)
		for path, is := range snapshotOf(t, s.root) {
			secret := strings.Contains(path, ".env") || strings.Contains(path, ".git/")
			if secret && is != "= TOKEN" || !secret && strings.HasPrefix(is, "=") && !strings.HasPrefix(is, "= fine") {
				t.Errorf("%s is %q", path, is)
			}
			if fence && path != s.in("plan.md") && is == "= fine, and mine" {
				t.Errorf("%s was written in spite of the fence", path)
			}
		}
		noTemps(t, s.root, s.out)
	}
}

// callAll calls everything, again and again.
func (s *server) callAll(t *testing.T, n int, fence bool, swapped *atomic.Int64) {
	paths := []string{"f", "dir/file", "dir/sub/file", "dir/new", "dir/a/b", "plan.md"}
	rounds := testenv.Rounds(25, 60, 5000)
	for i := 0; i < rounds || swapped.Load() < int64(rounds); i++ {
		path := s.in(paths[(i+n)%len(paths)])
		if code, got := s.read(t, path); code == 200 && !strings.HasPrefix(got, "fine") || strings.Contains(got, "TOKEN") {
			t.Errorf("%s: read %d %q", path, code, got)
		}
		if got := s.lines(t, path); got.Success && !strings.HasPrefix(got.Content, "1\tfine") || strings.Contains(got.Content+got.Error, "TOKEN") {
			t.Errorf("%s: read %+v", path, got)
		}
		mine := "fine"
		if fence {
			mine = "fine, and mine"
		}
		if code, body := s.write(t, path, mine); code == 500 || strings.Contains(body, "TOKEN") || fence && code == 200 && path != s.in("plan.md") {
			t.Errorf("%s: wrote %d %s", path, code, body)
		}
		code, body := s.post(t, agentapi.PathEditFiles, agentapi.EditFiles{IncludeDiff: true, Files: []agentapi.FileEdits{one(path, "fine", "fine, and mine")}})
		if code == 500 || strings.Contains(body, "TOKEN") || strings.Contains(body, "outside") {
			t.Errorf("%s: edited %d %s", path, code, body)
		}
		_, list := s.post(t, agentapi.PathListDirectory, agentapi.ListDirectory{Path: []string{s.in("dir")}, Relativity: "root"})
		if strings.Contains(list, "secret.txt") {
			t.Errorf("listed %s", list)
		}
	}
}

// oracle says by the system's own calls, name by name and with nothing moving,
// what is to come of a path.
type oracle struct {
	root  string
	links int
}

type verdict struct {
	code int    // of reading
	path string // where it leads, also when it isn't there
	made bool   // it isn't there, and can be made
}

var errForbidden = errors.New("forbidden")

func (o *oracle) in(path string) bool { return path == o.root || strings.HasPrefix(path, o.root+"/") }

func secretName(path string) bool {
	for name := range strings.SplitSeq(strings.ToLower(path), "/") {
		if name == ".git" || strings.HasPrefix(name, ".env") {
			return true
		}
	}
	return false
}

func (o *oracle) judge(asked string) verdict {
	asked = filepath.Clean(asked)
	if secretName(asked) {
		return verdict{code: 403}
	}
	path, rest, err := o.walk("/", strings.Split(asked, "/"), false)
	switch {
	case errors.Is(err, errForbidden):
		return verdict{code: 403}
	case errors.Is(err, fs.ErrNotExist):
		for _, name := range rest {
			if name == ".." {
				return verdict{code: 404}
			}
			path = filepath.Join(path, name)
		}
		if secretName(path) {
			return verdict{code: 403}
		}
		return verdict{code: 404, path: path, made: true}
	case err != nil:
		return verdict{code: 400}
	}
	info, err := os.Lstat(path)
	if err != nil || info.IsDir() {
		return verdict{code: 400}
	}
	return verdict{code: 200, path: path}
}

// walk goes on from a place. held says that the path may not leave the workspace
// any more. The rest is what is left where something isn't there.
func (o *oracle) walk(at string, names []string, held bool) (string, []string, error) {
	for len(names) > 0 {
		name := names[0]
		if name == "" || name == "." {
			names = names[1:]
			continue
		}
		next := filepath.Join(at, name)
		if name != ".." && secretName(next) {
			return at, nil, errForbidden // before anything is looked at
		}
		info, err := os.Lstat(at)
		if err != nil || !info.IsDir() {
			return at, names, errors.New("not a directory")
		}
		// Above the workspace only its own path leads back.
		if held && !o.in(next) && !strings.HasPrefix(o.root+"/", strings.TrimSuffix(next, "/")+"/") {
			return at, nil, errForbidden
		}
		names = names[1:]
		if name == ".." {
			at = next
			continue
		}
		info, err = os.Lstat(next)
		switch {
		case err != nil:
			return at, append([]string{name}, names...), err
		case info.Mode().Type() != fs.ModeSymlink:
			at = next
			continue
		}
		if o.links++; o.links > 40 {
			return at, nil, errors.New("too many links")
		}
		target, err := os.Readlink(next)
		if err != nil {
			return at, nil, err
		}
		held = held || o.in(at)
		if strings.HasPrefix(target, "/") {
			at = "/"
		}
		names = append(strings.Split(target, "/"), names...)
	}
	if held && !o.in(at) {
		return at, nil, errForbidden
	}
	return at, nil, nil
}

// TestRandomTrees compares reading and writing with an oracle, in trees of random
// links: the code, the content, and that nothing else has changed.
func TestRandomTrees(t *testing.T) {
	seed := testenv.Seed(t)
	for round := range testenv.Rounds(5, 25, 1000) {
		r := testenv.RandOf(seed, uint64(round))
		names := []string{"a", "b", "c", "d", ".env", ".git", "..", "."}
		random := func(most int) string {
			var list []string
			for range 1 + r.IntN(most) {
				list = append(list, names[r.IntN(len(names))])
			}
			return strings.Join(list, "/")
		}
		s := serve(t, nil)
		for range 25 {
			base := []string{s.root, s.root, s.root, s.out}[r.IntN(4)]
			path := filepath.Join(base, filepath.Join("/", random(3)))
			if _, err := os.Lstat(path); err == nil || os.MkdirAll(filepath.Dir(path), 0o755) != nil {
				continue
			}
			target := []string{random(4), random(2), s.root + "/" + random(3), s.out + "/" + random(2), "../out/" + random(2), "../root/" + random(2), "../../root/" + random(2)}[r.IntN(7)]
			switch r.IntN(3) {
			case 0:
				_ = os.WriteFile(path, []byte("content of "+path), 0o644)
			case 1:
				_ = os.Mkdir(path, 0o755)
			default:
				_ = os.Symlink(target, path)
			}
		}
		for range 20 {
			asked := filepath.Join([]string{s.root, s.root, s.out}[r.IntN(3)], random(4))
			if !strings.HasPrefix(asked, filepath.Dir(s.root)+"/") {
				continue
			}
			s.compareWithOracle(t, asked)
			if t.Failed() {
				t.Fatalf("round %d", round)
			}
		}
		s.Close()
	}
}

func (s *server) compareWithOracle(t *testing.T, asked string) {
	t.Helper()
	top := filepath.Dir(s.root)
	want := (&oracle{root: s.root}).judge(asked)
	before := snapshotOf(t, top)
	code, got := s.read(t, asked)
	if code != want.code || code == 200 && "= "+got != before[want.path] {
		t.Errorf("reading %s: %d %q, want %+v", asked, code, got, want)
	}
	// Whatever the oracle thinks: only a test of its own stays in its directory.
	if want.path != "" && !strings.HasPrefix(want.path, top+"/") {
		return
	}
	code, body := s.write(t, asked, "written")
	wantCode := want.code
	if want.made {
		wantCode = 200
	}
	if code != wantCode {
		t.Errorf("writing %s: %d %s, want %d at %s", asked, code, body, wantCode, want.path)
	}
	if wantCode == 200 {
		before[want.path] = "= written"
		for dir := filepath.Dir(want.path); before[dir] == ""; dir = filepath.Dir(dir) {
			before[dir] = "directory"
		}
	}
	compareSnapshots(t, "writing "+asked, snapshotOf(t, top), before)
	code, body = s.edit(t, "written", "edited", asked)
	if wantCode == 200 {
		before[want.path] = "= edited"
	}
	if code != wantCode {
		t.Errorf("editing %s: %d %s, want %d", asked, code, body, wantCode)
	}
	compareSnapshots(t, "editing "+asked, snapshotOf(t, top), before)
}

// TestMissingParents: calls that write in the same new directories, some of which
// break off, are not in each other's way, and leave only what was written.
func TestMissingParents(t *testing.T) {
	seed := testenv.Seed(t)
	for round := range testenv.Rounds(10, 40, 2000) {
		r := testenv.RandOf(seed, uint64(round))
		s := serve(t, nil)
		want := map[string]string{s.root: "directory"}
		var wg sync.WaitGroup
		for n := range 8 {
			path := s.in(strings.Repeat("d/", 1+r.IntN(3)) + fmt.Sprintf("e%d/%d", r.IntN(2), n))
			text := strings.Repeat(string(rune('a'+n)), 1+r.IntN(5000))
			if r.IntN(2) == 0 {
				q := s.request(t, "POST", query(agentapi.PathWriteFile, path), &slowBody{text, errors.New("broken")})
				wg.Go(func() {
					if resp, err := s.Client().Do(q); err == nil {
						_ = resp.Body.Close()
					}
				})
				continue
			}
			want[path] = "= " + text
			for dir := filepath.Dir(path); dir != s.root; dir = filepath.Dir(dir) {
				want[dir] = "directory"
			}
			wg.Go(func() {
				if code, body := s.write(t, path, text); code != 200 {
					t.Errorf("%s: %d %s", path, code, body)
				}
			})
		}
		wg.Wait()
		s.Close() // waits for handlers
		compareSnapshots(t, fmt.Sprintf("round %d", round), snapshotOf(t, s.root), want)
		if t.Failed() {
			return
		}
	}
}
