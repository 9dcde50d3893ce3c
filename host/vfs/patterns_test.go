package vfs_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"waymark/host/vfs"
	"waymark/test/contracts/vfstest"
	"waymark/test/testenv"
)

// What patterns may cost, stated once more: a change of the bounds is a change
// of what modules are admitted.
const (
	// mostUnits is the work of one name against all patterns: each of 4096
	// states and its edge once, and 64 KiB of wildcards against the name in
	// sixteenths; the protected places come on top.
	mostUnits = 2*4096 + 500
	perByte   = 64 << 10 / 16
	// mostMemory is what compiled patterns keep.
	mostMemory = 1 << 20
)

// hostileSet makes a set of patterns as a module could declare it.
func hostileSet(r *rand.Rand) []string {
	kinds := vfstest.PatternKinds()
	mixed, kind := r.IntN(3) == 0, kinds[r.IntN(len(kinds))]
	list := make([]string, 1+r.IntN(256))
	for i := range list {
		if mixed {
			kind = kinds[r.IntN(len(kinds))]
		}
		list[i] = vfstest.HostilePattern(r, kind, i)
	}
	return list
}

// admitted cuts a set of reads down to what is admitted.
func admitted(t *testing.T, list []string) []string {
	t.Helper()
	return cut(t, list, func(list []string) error { return new(vfs.Allowance).Take("reads", list) })
}

// cut takes away from a list until it is accepted.
func cut(t *testing.T, list []string, check func([]string) error) []string {
	t.Helper()
	for len(list) > 0 {
		err := check(list)
		if err == nil {
			return list
		}
		e, ok := errors.AsType[*vfs.PatternError](err)
		if !ok || !e.TooMuch || e.Pattern == "" || len(err.Error()) > 600 || strings.Contains(err.Error(), "\n") {
			t.Fatalf("an error that doesn't say which pattern, in one line: %v", err)
		}
		at := len(list) - 1
		for i, p := range list {
			if p == e.Pattern {
				at = min(at, i)
			}
		}
		list = list[:at]
	}
	return list
}

// TestHostilePatterns: whatever is admitted, a question takes work that is
// linear in its names, and the patterns keep little memory.
func TestHostilePatterns(t *testing.T) {
	seed, rounds := testenv.Seed(t), testenv.Rounds(10, 60, 3000)
	dir := t.TempDir()
	var most, full int64
	for round := range rounds {
		r := testenv.RandOf(seed, uint64(round))
		reads := admitted(t, hostileSet(r))
		view := vfs.View{Reads: reads, Narrow: admitted(t, hostileSet(r))}
		filter, err := view.Compile()
		if err != nil {
			t.Fatalf("round %d: admitted, and not compiled: %v", round, err)
		}
		if len(reads) > 0 && len(reads) < 256 {
			full++
		}
		root, err := vfs.OpenRoot(dir, vfs.RootOptions{Exclude: cut(t, hostileSet(r), vfs.CheckExclude)})
		if err != nil {
			t.Fatal(err)
		}
		run := root.Begin(filter, vfs.Limits{})
		for range 4 {
			name := vfstest.HostilePath(r)
			var units int64
			run.OnWork(func(n int64) { units += n })
			_, err := run.Stat(name)
			bound := int64(3*strings.Count(name+"/", "/")*mostUnits + 3*len(name)*perByte)
			if units > bound || units == 0 && !errors.Is(err, vfs.ErrLimit) {
				t.Errorf("round %d: %d units for a path of %d names, want at most %d: %v", round, units, strings.Count(name, "/")+1, bound, err)
			}
			most = max(most, units)
		}
		if err := errors.Join(run.Close(), root.Close()); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d of %d sets were cut; at most %d units for one question", full, rounds, most)
	if full == 0 {
		t.Error("no set was too large: the test tests little")
	}
}

// TestPatternsKeepLittle: the largest sets that are admitted keep less than a
// megabyte.
func TestPatternsKeepLittle(t *testing.T) {
	r := testenv.Rand(t)
	for _, kind := range vfstest.PatternKinds() {
		var list []string
		for i := range 256 {
			list = append(list, vfstest.HostilePattern(r, kind, i))
		}
		view := vfs.View{Reads: admitted(t, list)}
		var filters [16]*vfs.Filter
		before := heap()
		for i := range filters {
			var err error
			if filters[i], err = view.Compile(); err != nil {
				t.Fatal(err)
			}
		}
		if each := (heap() - before) / int64(len(filters)); each > mostMemory {
			t.Errorf("%s: %d bytes for %d patterns", kind, each, len(view.Reads))
		}
		runtime.KeepAlive(filters)
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC() // what finalizers held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestRunEndsOverWork: a run that would compare names with patterns for ever
// ends by its limits, and shows nothing on the way, protected or not.
func TestRunEndsOverWork(t *testing.T) {
	var reads []string
	for i := range 12 {
		reads = append(reads, strings.Repeat("**/a/", 150)+fmt.Sprint("b", i))
	}
	reads = append(admitted(t, reads), "**/.env", "**/AGENTS.md")
	dir := vfstest.Build(t, []string{"AGENTS.md = x", ".env = TOKEN", "link -> .env"})
	_, _, run := begin(t, vfstest.Config{Dir: dir, View: vfs.View{Reads: reads}})
	if c, err := run.Content("AGENTS.md"); err != nil || string(c.Data) != "x" {
		t.Fatalf("at first: %q %v", c.Data, err)
	}
	deep := strings.Repeat("a/", 2000)
	for i := 0; run.Err() == nil; i++ {
		if i > 100_000 {
			t.Fatal("no limit")
		}
		_, _ = run.Stat(fmt.Sprint(deep, i, "/AGENTS.md"))
	}
	for _, name := range []string{"AGENTS.md", ".env", "link"} {
		if c, err := run.Content(name); !errors.Is(err, vfs.ErrLimit) || c.Data != nil {
			t.Errorf("%s: %q %v", name, c.Data, err)
		}
	}
	if !strings.Contains(run.Err().Error(), "reads") {
		t.Errorf("it doesn't say what to do: %v", run.Err())
	}
}

// TestOnWork: the work is reported when a question is answered, and while a long
// one is, so that who listens can end the run.
func TestOnWork(t *testing.T) {
	var reads []string
	for i := range 10 {
		reads = append(reads, strings.Repeat("**/a/", 150)+fmt.Sprint("b", i))
	}
	_, _, run := begin(t, vfstest.Config{Dir: t.TempDir(), View: vfs.View{Reads: reads}})
	var calls, units int64
	run.OnWork(func(n int64) { calls, units = calls+1, units+n })
	_, _ = run.Stat("a")
	if calls != 1 || units < 3 {
		t.Errorf("a small question: %d calls, %d units", calls, units)
	}
	_, _ = run.Stat(strings.Repeat("a/", 300) + "x")
	if calls < 5 || units/calls > 20_000 {
		t.Errorf("a large question: %d calls, %d units", calls, units)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		run.OnWork(func(int64) { panic("over") })
		_, _ = run.Stat(strings.Repeat("a/", 301) + "x")
	}()
	run.OnWork(nil)
	if _, _, _ = run.Trace(), run.Denied(), run.Usage(); run.Err() != nil {
		t.Error(run.Err())
	}
}

// TestLongWaysAreWork: a path of thousands of names costs what it takes, also
// where a link makes it long.
func TestLongWaysAreWork(t *testing.T) {
	dir := vfstest.Build(t, []string{"d/x = x", "link -> " + strings.Repeat("d/../", 800) + "d/x", "short -> d/x"})
	_, _, run := begin(t, everything(dir))
	var units int64
	run.OnWork(func(n int64) { units += n })
	cost := func(name string) int64 {
		units = 0
		_, _ = run.Stat(name)
		return units
	}
	plain := cost("d/x")
	for _, name := range []string{"link", strings.Repeat("d/x/", 500) + "x"} {
		if got := cost(name); got < plain+1000*20 {
			t.Errorf("%.20s: %d units, d/x takes %d", name, got, plain)
		}
	}
	if got := cost("short"); got > plain+2000 {
		t.Errorf("a link of two names: %d units, d/x takes %d", got, plain)
	}
}

// TestAllowanceIsShared: what resolvers declare counts together.
func TestAllowanceIsShared(t *testing.T) {
	var a vfs.Allowance
	var err error
	n := 0
	for ; err == nil && n < 100; n++ {
		var list []string
		for i := range 256 {
			list = append(list, fmt.Sprintf("dir/%d-%d/*.md", n, i))
		}
		err = a.Take("reads", list)
	}
	e, ok := errors.AsType[*vfs.PatternError](err)
	if !ok || n < 4 || n > 16 || !strings.HasPrefix(e.Pattern, fmt.Sprintf("dir/%d-", n-1)) {
		t.Errorf("after %d lists: %v", n, err)
	}
	// What is wrong in another way isn't for admission to say.
	if err := new(vfs.Allowance).Take("reads", []string{"[", "/a", "a//b", ""}); err != nil {
		t.Error(err)
	}
}

// FuzzPatterns: sets of patterns, as descriptions hold them, against paths:
// bounded work, and doublestar's answer where that is to be had.
func FuzzPatterns(f *testing.F) {
	f.Add("**/a/**/b\n{a,b}{c,d}/*", "", "x/a/b", uint64(1))
	f.Add("a*a*a*b\n[!a]?/**", "a/**", "aaaaaaaa/c", uint64(2))
	f.Add("**/**/x", "{a,{b,{c,**}}}", "c/x", uint64(3))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, reads, narrow, name string, seed uint64) {
		if len(reads) > 1<<18 || len(narrow) > 1<<18 {
			return
		}
		view := vfs.View{Reads: lines(reads), Narrow: lines(narrow)}
		r := testenv.RandOf(seed, 0)
		for i := range r.IntN(20) * int(seed&1) {
			kinds := vfstest.PatternKinds()
			view.Reads = append(view.Reads, vfstest.HostilePattern(r, kinds[r.IntN(len(kinds))], i))
		}
		filter, err := view.Compile()
		if err != nil {
			if took := new(vfs.Allowance).Take("reads", view.Reads); took != nil && !isTooMuch(took) {
				t.Errorf("%v", took)
			}
			return
		}
		root, err := vfs.OpenRoot(dir, vfs.RootOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		names := []string{path.Clean(name)}
		if seed&6 == 2 {
			names = append(names, vfstest.HostilePath(r))
		}
		for _, name := range names {
			run := root.Begin(filter, vfs.Limits{})
			var units int64
			run.OnWork(func(n int64) { units += n })
			_, serr := run.Stat(name)
			if bound := int64(2*strings.Count(name+"/", "/")*mostUnits + 2*len(name)*perByte); units > bound {
				t.Errorf("%d units, want at most %d", units, bound)
			}
			_ = run.Close()
			if len(name) > 200 || name == "." || strings.Contains(name, "\x00") || !filepath.IsLocal(name) || !utf8.ValidString(name) || errors.Is(serr, vfs.ErrLimit) {
				continue
			}
			judged := root.Judge(filter, name)
			if judged.Reason != vfs.ReasonNone && judged.Reason != vfs.ReasonNotInReads {
				continue // protected
			}
			in, sure := oracle(view.Reads, name)
			if len(view.Narrow) > 0 {
				also, sureToo := oracle(view.Narrow, name)
				in, sure = in && also, sure && sureToo
			}
			if sure && in != judged.File {
				t.Errorf("%q in %q and %q: judged %+v, doublestar says %v", name, view.Reads, view.Narrow, judged, in)
			}
		}
	})
}

func lines(text string) []string {
	var list []string
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" {
			list = append(list, line)
		}
	}
	return list
}

func isTooMuch(err error) bool {
	e, ok := errors.AsType[*vfs.PatternError](err)
	return ok && e.TooMuch
}

// oracle asks doublestar. It isn't sure where doublestar takes too long, or
// means something else: classes that match a slash, and braces with stars in
// them.
func oracle(patterns []string, name string) (in, sure bool) {
	for _, p := range patterns {
		// doublestar holds that "a*/**" doesn't match "a", though "a/**" does.
		if strings.Contains(p, "***") || strings.Contains(p, "*/**") || strings.ContainsAny(p, "[") ||
			strings.Contains(p, "{") && (strings.Contains(p, "*") || strings.Count(p, "{") > 8) {
			return false, false
		}
		in = in || doublestar.MatchUnvalidated(p, name)
	}
	return in, true
}
