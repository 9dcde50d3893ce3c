//go:build linux

package launch_test

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/host/vfs"
	"waymark/test/testenv"
	"waymark/workspace/launch"
)

// names are those of a random home: some of the secret list, some nearly.
var names = []string{
	".ssh", ".SSH", ".aws", ".config", "gcloud", "gh", "hub", ".docker", "config.json", ".cargo", "credentials", "credentials.toml", ".netrc", ".kube",
	".local", "share", "state", "opencode", "auth.json", ".codex", ".env", ".env.local", "a.pem", "a.key", "id_rsa", ".git", "a", "b", "c", "waymark", ".gem", ".m2", "settings.xml",
}

// world is a random home with what its profile is to do.
type world struct {
	home   string
	places launch.Places
	files  []string // real paths
	dirs   []string
	links  []string
}

func randomWorld(t *testing.T, r *rand.Rand) *world {
	t.Helper()
	w := &world{home: dir(t)}
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	w.dirs = []string{w.home}
	for range 30 + r.IntN(40) {
		at := filepath.Join(pick(w.dirs), pick(names))
		if _, err := os.Lstat(at); err == nil {
			continue
		}
		var err error
		switch n := r.IntN(20); {
		case n < 9:
			err = os.Mkdir(at, 0o755)
			w.dirs = append(w.dirs, at)
		case n < 17 || len(w.files) == 0:
			err = os.WriteFile(at, []byte(at), 0o600)
			w.files = append(w.files, at)
		default:
			target := pick(append(w.dirs, w.files...))
			if r.IntN(2) == 0 {
				target, _ = filepath.Rel(filepath.Dir(at), target)
			}
			err = os.Symlink(target, at)
			w.links = append(w.links, at)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	agent := func() string { // there, or not, or below what isn't
		at := pick(w.dirs[1:])
		if r.IntN(2) == 0 {
			at = filepath.Join(at, pick([]string{"waymark", "none/waymark"}))
		}
		return at
	}
	if len(w.dirs) < 3 {
		return randomWorld(t, r)
	}
	w.places = launch.Places{Home: w.home, Own: []string{agent(), agent(), "/etc/waymark"}, Root: pick(w.dirs)}
	if r.IntN(3) == 0 {
		w.places.Granted = []string{".ssh/**", ".env*", ".config/gh/**"}
	}
	return w
}

// oracle knows what is hidden. It goes over all paths there are, by links too, and
// asks the secret list of each; the profile goes over the secret list.
type oracle struct {
	roots map[string]bool // hidden with all below; those of the agent perhaps not there
	agent map[string]bool // those of them that are the agent's
	root  string          // the workspace
}

func (w *world) oracle() *oracle {
	o := &oracle{roots: map[string]bool{}, agent: map[string]bool{}, root: w.places.Root}
	for _, dir := range w.places.Own[:2] {
		at := dir
		for n := 0; n < 40; n++ { // a link in its place is the agent's, too
			target, err := os.Readlink(at)
			if err != nil {
				break
			}
			o.roots[at] = true
			if at = target; !filepath.IsAbs(target) {
				at = filepath.Join(filepath.Dir(dir), target)
			}
			at = resolved(at)[0]
		}
		o.roots[at], o.agent[at] = true, true
		o.follow(w.home, at, 3)
	}
	var walk func(rel, dir string, depth int)
	walk = func(rel, dir string, depth int) {
		entries, _ := os.ReadDir(dir)
		for _, entry := range entries {
			name, at := path.Join(rel, strings.ToLower(entry.Name())), filepath.Join(dir, entry.Name())
			target, err := filepath.EvalSymlinks(at)
			switch {
			case err != nil:
			case !w.secret(name):
				if depth > 1 {
					walk(name, target, depth-1)
				}
			case target != w.home: // a link to it hides nothing
				o.roots[target] = true
				o.follow(w.home, target, 3)
			}
		}
	}
	walk("", w.home, 4) // no entry of the list has more names
	return o
}

// secret reports whether a path below the home directory is an entry's.
func (w *world) secret(rel string) bool {
	return slices.ContainsFunc(vfs.SecretPatterns(), func(s vfs.Secret) bool {
		ok, _ := path.Match(strings.TrimSuffix(s.Pattern, "/**"), rel)
		return ok && !slices.Contains(append([]string{".git/**", ".hg/**", ".svn/**", ".jj/**"}, w.places.Granted...), s.Pattern)
	})
}

// follow hides the files that links in a hidden directory lead to.
func (o *oracle) follow(home, dir string, depth int) {
	_ = filepath.WalkDir(dir, func(at string, entry fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, at); err != nil || strings.Count(rel, "/") >= depth {
			return fs.SkipDir
		}
		if entry.Type()&fs.ModeSymlink != 0 {
			target, err := filepath.EvalSymlinks(at)
			if info, statErr := os.Stat(at); err == nil && statErr == nil && info.Mode().IsRegular() && strings.HasPrefix(target, home+"/") {
				o.roots[target] = true
			}
		}
		return nil
	})
}

func inside(at, dir string) bool { return at == dir || strings.HasPrefix(at, dir+"/") }

// hidden reports whether a real path is hidden.
func (o *oracle) hidden(at string) bool {
	chosen := inside(at, o.root) && !slices.ContainsFunc(slices.Collect(maps.Keys(o.agent)), func(dir string) bool { return inside(o.root, dir) })
	for root := range o.roots {
		if inside(at, root) && (!chosen || !inside(o.root, root)) {
			return true
		}
	}
	return false
}

// fixed reports whether nothing can be made in a directory: it is hidden, or on the
// way to what is.
func (o *oracle) fixed(dir string) bool {
	for root := range o.roots {
		if strings.HasPrefix(root, dir+"/") {
			return true
		}
	}
	return o.hidden(dir)
}

// TestRandomHomes has a confined program try everything in random homes.
func TestRandomHomes(t *testing.T) {
	supported(t)
	seed := testenv.Seed(t)
	for round := range uint64(testenv.Rounds(5, 10, 2000)) {
		r := testenv.RandOf(seed, round)
		w := randomWorld(t, r)
		p, err := launch.HideSecrets(w.places)
		if err != nil {
			t.Fatal(err)
		}
		o := w.oracle()
		cases := w.cases(r, o)
		for _, want := range []string{"no", "ok"} {
			expect(t, p, map[string][]op{want: cases[want]})
		}
		for _, file := range w.files {
			if data, err := os.ReadFile(file); o.hidden(file) && (err != nil || string(data) != file) {
				t.Errorf("%s is hidden, and has been changed: %q, %v", file, data, err)
			}
		}
		if t.Failed() {
			t.Fatalf("round %d: %+v, hidden are %q, links %s", round, w.places, slices.Sorted(maps.Keys(o.roots)), w.show())
		}
	}
}

// cases are all that is tried, by what must come of it.
func (w *world) cases(r *rand.Rand, o *oracle) map[string][]op {
	cases := map[string][]op{}
	add := func(refused bool, o op) {
		want := map[bool]string{true: "no", false: "ok"}[refused]
		cases[want] = append(cases[want], o)
	}
	ways := []string{"read", "readAt", "readPath", "write"}
	for _, file := range w.files {
		for _, way := range ways {
			add(o.hidden(file), op{way, file})
		}
		add(o.hidden(file), op{"read", "/proc/self/root" + file})
	}
	for _, link := range w.links {
		target, err := filepath.EvalSymlinks(link)
		if info, statErr := os.Stat(link); err == nil && statErr == nil && info.Mode().IsRegular() {
			add(o.hidden(target), op{ways[r.IntN(len(ways))], link})
		}
	}
	for n, dir := range w.dirs {
		add(o.fixed(dir), op{"create", fmt.Sprintf("%s/new-%d", dir, n)})
		add(o.fixed(dir), op{"mkdir", fmt.Sprintf("%s/new-%d", dir, n)})
		add(false, op{"list", dir})
		for _, file := range w.files {
			// What is hidden doesn't come out, and nothing gets in.
			if r.IntN(4) == 0 && (o.hidden(file) || o.fixed(filepath.Dir(file)) || o.fixed(dir)) && filepath.Dir(file) != dir {
				add(true, op{"rename", file, dir + "/moved"})
				add(true, op{"link", file, dir + "/linked"})
			}
		}
	}
	return cases
}

func (w *world) show() string { // of a failure
	var b strings.Builder
	for _, link := range w.links {
		target, _ := os.Readlink(link)
		fmt.Fprintf(&b, "\n%s -> %s", link, target)
	}
	return b.String()
}
