package vfs_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"waymark/host/vfs"
	"waymark/test/contracts/vfstest"
)

// room is enough for every value in these tests.
const room = 1 << 20

// readUnit is a unit whose value is what its paths hold. It reports whether it
// was remembered.
func readUnit(t testing.TB, run *vfs.Run, key string, paths ...string) (value string, remembered bool) {
	t.Helper()
	known, err := run.BeginUnit(key, room)
	if err != nil {
		t.Fatal(err)
	}
	if known != nil {
		return string(known), true
	}
	var b strings.Builder
	for _, p := range paths {
		data, errno := direct{run}.Read(p, 0, 100)
		b.WriteString(p + "=" + string(data) + errno + ";")
	}
	if err := run.EndUnit([]byte(b.String())); err != nil {
		t.Fatal(err)
	}
	return b.String(), false
}

// next begins a run that remembers what was left and still holds.
func next(t testing.TB, root *vfs.Root, filter *vfs.Filter, left *vfs.Units) (*vfs.Run, vfs.Freshness) {
	t.Helper()
	f := root.CheckUnits(filter, left)
	run := root.Begin(filter, vfs.Limits{})
	t.Cleanup(func() { _ = run.Close() })
	run.Recall(f.Units)
	return run, f
}

func rename(t testing.TB, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// Of several units only the one that an edit concerns is computed again.
func TestUnitsApart(t *testing.T) {
	dir := vfstest.Build(t, []string{"skills -> store", "store/a/f = 1", "store/b/f = 2", "other/a/f = 3", "other/b/f = 4", "shared = s"})
	root, filter, run := begin(t, everything(dir))
	at := func(name string) string { return filepath.Join(dir, name) }
	play := func(run *vfs.Run) string {
		var again []string
		_, _ = direct{run}.List("skills")
		for _, name := range []string{"a", "b", "c"} {
			if _, known := readUnit(t, run, name, "skills/"+name+"/f", "shared"); !known {
				again = append(again, name)
			}
		}
		return strings.Join(again, " ")
	}
	if got := play(run); got != "a b c" {
		t.Errorf("the first run remembers: %s", got)
	}
	left := run.Units()
	for _, step := range []struct {
		name          string
		edit          func()
		changed, want string
	}{
		{"nothing", func() {}, "", ""},
		{"one file", func() { write(t, at("store/a/f"), "10") }, "store/a/f", "a"},
		{"what was missing", func() { _ = os.Mkdir(at("store/c"), 0o755); write(t, at("store/c/f"), "x") }, "store", "c"},
		{"not read", func() { write(t, at("store/a/g"), "10") }, "", ""},
		{"listed", func() { write(t, at("store/g"), "10") }, "store", ""},
		{"a file of all", func() { write(t, at("shared"), "t") }, "shared", "a b c"},
		{"written as it was", func() { write(t, at("shared"), "t") }, "", ""},
		{"a directory became a link", func() { rename(t, at("store/b"), at("b")); _ = os.Symlink("../b", at("store/b")) }, "store", "b"},
		{"the link of all", func() { _ = os.Remove(at("skills")); _ = os.Symlink("other", at("skills")) }, "skills", "a b c"},
	} {
		step.edit()
		run, f := next(t, root, filter, left)
		if got := play(run); got != step.want {
			t.Errorf("%s: computed %q, want %q", step.name, got, step.want)
		}
		if f.Fresh != (step.changed == "") || f.Changed != step.changed {
			t.Errorf("%s: %q changed, want %q", step.name, f.Changed, step.changed)
		}
		left = run.Units()
		if left.Len() != 3 {
			t.Errorf("%s: %d units left", step.name, left.Len())
		}
	}
}

// What was re-checked is what is pushed, whatever happens afterwards.
func TestAdoptedContent(t *testing.T) {
	dir := vfstest.Build(t, []string{"link -> real", "real = text", "over = 65537*x", "read = r"})
	root, filter, run := begin(t, everything(dir))
	names := []string{"link", "over"}
	readUnit(t, run, "u", "link", "over", "read")
	before := contents(run, names...)
	again, f := next(t, root, filter, run.Units())
	for _, name := range []string{"link", "real", "over"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, known := readUnit(t, again, "u"); !known || !f.Fresh {
		t.Fatalf("not remembered: %q changed", f.Changed)
	}
	if after := contents(again, names...); after != before {
		t.Errorf("was %s\nis  %s", before, after)
	}
	if f := root.CheckUnits(filter, again.Units()); f.Fresh || f.Changed != "link" {
		t.Errorf("afterwards fresh: %v, %q changed", f.Fresh, f.Changed)
	}
	// What was no content isn't kept: it is read when somebody wants it.
	if got, _ := (direct{again}).Read("read", 0, 10); string(got) != "r" {
		t.Errorf("read %q", got)
	}
}

func contents(run *vfs.Run, names ...string) string {
	var b strings.Builder
	for _, n := range names {
		c, err := run.Content(n)
		b.WriteString(n + ": ")
		b.WriteString(strings.Join([]string{c.Path, c.Class.String(), string(c.Hash), string(c.Data)}, " "))
		if err != nil {
			b.WriteString(err.Error())
		}
	}
	return b.String()
}

// A run that has seen another version of a file doesn't take over a unit that
// was made of the one before.
func TestAdoptOtherVersion(t *testing.T) {
	for _, kept := range []bool{false, true} {
		dir := vfstest.Build(t, []string{"f = one"})
		root, filter, run := begin(t, everything(dir))
		readUnit(t, run, "u", "f")
		if kept {
			contents(run, "f")
		}
		again, _ := next(t, root, filter, run.Units())
		write(t, filepath.Join(dir, "f"), "two")
		if got, _ := (direct{again}).Read("f", 0, 10); string(got) != "two" {
			t.Fatalf("read %q", got)
		}
		if got, known := readUnit(t, again, "u", "f"); known || got != "f=two;" {
			t.Errorf("kept %v: %q, remembered: %v", kept, got, known)
		}
	}
}

// Below a directory that is by its identity what it was, nothing is looked at
// that could only be another if it were not. That a directory has been replaced
// by a link to itself elsewhere is seen all the same.
func TestSteadyDirectories(t *testing.T) {
	dir := vfstest.Build(t, []string{"skills/a/f = 1", "skills/b/f = 2", "skills/c/d/f = 3", "elsewhere/"})
	config := everything(dir)
	config.Options.Now = func() time.Time { return time.Now().Add(time.Hour) }
	root, filter, run := begin(t, config)
	at := func(name string) string { return filepath.Join(dir, name) }
	paths := map[string]string{"a": "skills/a/f", "b": "skills/b/f", "c": "skills/c/d/f"}
	play := func(run *vfs.Run) string {
		var again []string
		_, _ = direct{run}.List("skills")
		for _, name := range []string{"a", "b", "c"} {
			if _, known := readUnit(t, run, name, paths[name]); !known {
				again = append(again, name)
			}
		}
		return strings.Join(again, " ")
	}
	play(run)
	left := run.Units()
	// Times that no edit could have had, since clocks are coarse.
	touch := func(name string, second int64) {
		if err := os.Chtimes(at(name), time.Time{}, time.Unix(second, 0)); err != nil {
			t.Fatal(err)
		}
	}
	for i, step := range []struct {
		name string
		edit func()
		want string
	}{
		{"nothing", func() {}, ""},
		{"a file", func() { write(t, at("skills/b/f"), "20") }, "b"},
		{"a link to where it went", func() {
			rename(t, at("skills/a"), at("elsewhere/a"))
			_ = os.Symlink("../elsewhere/a", at("skills/a"))
			touch("skills", 1000)
		}, "a"},
		{"deeper", func() {
			rename(t, at("skills/c/d"), at("elsewhere/d"))
			_ = os.Symlink("../../elsewhere/d", at("skills/c/d"))
			touch("skills/c", 2000)
		}, "c"},
		{"gone", func() { _ = os.RemoveAll(at("skills/b")); touch("skills", 3000) }, "b"},
		{"another file", func() { write(t, at("elsewhere/a/f"), "100") }, "a"},
	} {
		step.edit()
		run, _ := next(t, root, filter, left)
		if got := play(run); got != step.want {
			t.Errorf("%d, %s: computed %q, want %q", i, step.name, got, step.want)
		}
		left = run.Units()
		if f := root.CheckUnits(filter, left); !f.Fresh {
			t.Errorf("%d, %s: %s has changed afterwards", i, step.name, f.Changed)
		}
	}
}

// What isn't a unit by the rules isn't remembered, and costs nothing else.
func TestUnitMisuse(t *testing.T) {
	dir := vfstest.Build(t, []string{"f = x", "g = y"})
	root, filter, run := begin(t, everything(dir))
	must := func(err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	beginUnit := func(key string) error {
		value, err := run.BeginUnit(key, room)
		if value != nil {
			t.Errorf("%s: remembered %q", key, value)
		}
		return err
	}
	must(run.EndUnit([]byte("v")), vfs.ErrNoUnit)
	must(beginUnit("outer"), nil)
	must(beginUnit("inner"), vfs.ErrUnitOpen)
	must(run.EndUnit([]byte("inner")), vfs.ErrNoUnit) // neither is open
	must(run.EndUnit([]byte("outer")), vfs.ErrNoUnit)

	must(beginUnit("empty"), nil)
	must(run.EndUnit(nil), nil)

	f, err := run.Open("f")
	must(err, nil)
	must(beginUnit("foreign"), nil)
	_, _ = f.ReadAt(make([]byte, 1), 0)
	must(run.EndUnit([]byte("v")), nil)

	must(beginUnit("good"), nil)
	inside, err := run.Open("g")
	must(err, nil)
	_, err = inside.Stat()
	must(err, nil)
	must(run.EndUnit([]byte("good")), nil)
	_, err = inside.Stat()
	must(err, nil)

	must(beginUnit("twice"), nil)
	must(run.EndUnit([]byte("1")), nil)
	must(beginUnit("twice"), nil)
	must(run.EndUnit([]byte("2")), nil)

	must(beginUnit("unfinished"), nil)
	_, err = run.Stat("g")
	must(err, nil)
	left := run.Units()
	if left.Len() != 2 || len(left.Trace()) != 2 {
		t.Errorf("%d units and %v are left", left.Len(), left.Trace())
	}
	again, _ := next(t, root, filter, left)
	for key, want := range map[string]string{"good": "good", "twice": "2", "empty": "", "foreign": "", "outer": "", "inner": "", "unfinished": ""} {
		value, err := again.BeginUnit(key, 4)
		if err != nil || string(value) != want {
			t.Errorf("%s: %q, %v", key, value, err)
		}
		if value == nil {
			must(again.EndUnit(nil), nil)
		}
	}
	if value, _ := again.BeginUnit("good", 3); value != nil {
		t.Errorf("there was no room for %q", value)
	}
	_ = again.Close()
	_, err = again.BeginUnit("good", room)
	must(err, syscall.EBADF)
}

// A unit costs the same, computed or remembered.
func TestUnitLimits(t *testing.T) {
	dir := vfstest.Build(t, []string{"a/f = 1000*x", "b/f = 1000*y", "tail = 70000*t", "l -> a"})
	config := everything(dir)
	root, filter, _ := begin(t, config)
	play := func(run *vfs.Run) error {
		for _, c := range [][]string{{"a", "a/f", "l/f"}, {"b", "b/f", "a/f", "no"}, {"tail", "tail"}} {
			value, err := run.BeginUnit(c[0], room)
			if err != nil {
				return err
			}
			if value != nil {
				continue
			}
			for _, p := range c[1:] {
				_, _ = direct{run}.Read(p, 69_000, 500)
				_, _ = direct{run}.List(p)
			}
			if err := run.EndUnit([]byte("v")); err != nil {
				return err
			}
		}
		return run.Err()
	}
	clean := root.Begin(filter, vfs.Limits{})
	defer clean.Close()
	if err := play(clean); err != nil {
		t.Fatal(err)
	}
	left, used := clean.Units(), clean.Usage()
	for _, c := range []struct {
		limits vfs.Limits
		over   bool
	}{
		{vfs.Limits{}, false},
		{vfs.Limits{Opens: used.Opens, Entries: used.Entries, ReadBytes: used.ReadBytes}, false},
		{vfs.Limits{Opens: used.Opens - 1}, true}, {vfs.Limits{Entries: used.Entries - 1}, true}, {vfs.Limits{ReadBytes: used.ReadBytes - 1}, true},
		{vfs.Limits{Opens: 1}, true}, {vfs.Limits{Entries: 1}, true}, {vfs.Limits{ReadBytes: 1}, true},
	} {
		for _, units := range []*vfs.Units{nil, root.CheckUnits(filter, left).Units} {
			run := root.Begin(filter, c.limits)
			run.Recall(units)
			err := play(run)
			if c.over != errors.Is(err, vfs.ErrLimit) || c.over != errors.Is(run.Err(), vfs.ErrLimit) {
				t.Errorf("%+v, remembering %v: %v", c.limits, units != nil, err)
			}
			if err == nil && run.Usage() != used {
				t.Errorf("remembering %v: used %+v, want %+v", units != nil, run.Usage(), used)
			}
			_ = run.Close()
		}
	}
}

// What a unit was refused is reported as if it had been computed, and names that
// aren't UTF-8 are counted once.
func TestUnitDenials(t *testing.T) {
	dir := vfstest.Build(t, []string{"d/f = x", "d/esc -> ../../out/x", ".env = s", "d/a\xff = x"})
	root, filter, run := begin(t, everything(dir))
	play := func(run *vfs.Run) {
		_, _ = direct{run}.List("d")
		if value, _ := run.BeginUnit("u", room); value == nil {
			_, _ = direct{run}.List("d")
			_, _ = direct{run}.Read("d/esc", 0, 1)
			_, _ = direct{run}.Read(".env", 0, 1)
			_ = run.EndUnit([]byte("v"))
		}
	}
	play(run)
	again, f := next(t, root, filter, run.Units())
	play(again)
	if !f.Fresh || len(run.Denied()) != 2 || !slices.Equal(run.Denied(), again.Denied()) {
		t.Errorf("%q changed; denied %v, then %v", f.Changed, run.Denied(), again.Denied())
	}
	if run.HiddenNames() != 1 || again.HiddenNames() != 1 {
		t.Errorf("%d hidden names, then %d", run.HiddenNames(), again.HiddenNames())
	}
}

// Files that are hashed only as far as the run's budget reaches get the same
// hashes when they are known already.
func TestUnitsAndHashBudget(t *testing.T) {
	const n = 17 // one more than the budget holds
	var tree []string
	for i := range n {
		tree = append(tree, "f"+string(rune('a'+i))+" # 16777216")
	}
	dir := vfstest.Build(t, tree)
	root, filter, run := begin(t, everything(dir))
	play := func(run *vfs.Run, from int) (hashes []string) {
		for i := from; i < n; i++ {
			name := "f" + string(rune('a'+i))
			readUnit(t, run, name, name)
		}
		for i := from; i < n; i++ {
			c, err := run.Content("f" + string(rune('a'+i)))
			if err != nil || c.Class != vfs.ContentOversize {
				t.Fatal(c.Class, err)
			}
			hashes = append(hashes, string(c.Hash))
		}
		return hashes
	}
	first := play(run, 0)
	if first[15] != first[0] || first[16] == first[0] {
		t.Error("the budget isn't where the test expects it")
	}
	left := run.Units()
	again, _ := next(t, root, filter, left)
	if !slices.Equal(first, play(again, 0)) {
		t.Error("other hashes when they are known")
	}
	fewer, _ := next(t, root, filter, left)
	if got := play(fewer, 1); got[15] != first[0] {
		t.Error("a file that the budget has room for now isn't hashed")
	}
	all, _ := next(t, root, filter, fewer.Units())
	if !slices.Equal(first, play(all, 0)) {
		t.Error("a hash is used that a run without memory had no budget for")
	}
}
