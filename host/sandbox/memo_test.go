package sandbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waymark/abi"
	"waymark/host/sandbox"
	"waymark/host/vfs"
)

// memory is one root with what its runs leave for the next.
type memory struct {
	t      *testing.T
	dir    string
	root   *vfs.Root
	filter *vfs.Filter
	left   *vfs.Units
	limits vfs.Limits

	resolver string
}

func newMemory(t *testing.T, files map[string]string) *memory {
	t.Helper()
	m := &memory{t: t, dir: t.TempDir(), resolver: "r"}
	for name, text := range files {
		m.write(name, text)
	}
	var err error
	if m.root, err = vfs.OpenRoot(m.dir, vfs.RootOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.root.Close() })
	if m.filter, err = (vfs.View{Reads: []string{"**"}}).Compile(); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *memory) write(name, text string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// resolve runs a module with what is left of the run before, and returns its
// warning.
func (m *memory) resolve(module *sandbox.Module) (*sandbox.Result, string, error) {
	m.t.Helper()
	run := m.root.Begin(m.filter, m.limits)
	defer func() { _ = run.Close() }()
	if m.left != nil {
		run.Recall(m.root.CheckUnits(m.filter, m.left).Units)
	}
	res, err := module.Resolve(m.t.Context(), &abi.Request{ABI: 1, Resolver: m.resolver}, run)
	if err != nil {
		return res, "", err
	}
	m.left = run.Units()
	return res, strings.Join(res.Response.Warnings, " "), nil
}

func (m *memory) says(module *sandbox.Module, want string) {
	m.t.Helper()
	if _, got, err := m.resolve(module); err != nil || got != want {
		m.t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func guest(t *testing.T, g *unitGuest, limits sandbox.Limits) *sandbox.Module {
	t.Helper()
	return load(t, newHost(t), g.bytes(), limits)
}

// TestUnits: what hasn't changed is remembered, and nothing else.
func TestUnits(t *testing.T) {
	m := newMemory(t, map[string]string{"a": "one", "b": "two"})
	g := guest(t, new(unitGuest).unit("a", "a").unit("b", "b"), sandbox.Limits{})
	m.says(g, "-one.-two.")
	m.says(g, "+one+two")
	m.write("b", "three")
	m.says(g, "+one-three.")
	m.says(g, "+one+three")
	m.left = nil // a host may forget
	m.says(g, "-one.-three.")
}

// TestUnitMisuse: whoever ignores an error merely computes what it could have
// had.
func TestUnitMisuse(t *testing.T) {
	for _, tt := range []struct {
		name          string
		guest         *unitGuest
		first, second string
	}{
		{"nested", new(unitGuest).begin("a").begin("b").end("x").end("y").begin("c").end("z"), "-!!!-.", "-!!!+z!"},
		{"not begun", new(unitGuest).end("x"), "!", "!"},
		{"ended twice", new(unitGuest).begin("a").end("x").end("y"), "-.!", "+x!!"},
		{"not ended", new(unitGuest).begin("a").end("x").begin("b"), "-.-", "+x!-"},
		{"no value", new(unitGuest).begin("a").endEmpty(), "-.", "-."},
		{"an empty value", new(unitGuest).begin("a").end(""), "-.", "-."},
		{"an empty key", new(unitGuest).begin("").end("x"), "!!", "!!"},
		{"a long key", new(unitGuest).begin(strings.Repeat("k", 4097)).end("x"), "!!", "!!"},
		{"the longest key", new(unitGuest).begin(strings.Repeat("k", 4096)).end("x"), "-.", "+x!"},
		{"an empty key in a unit", new(unitGuest).begin("a").begin("").end("x"), "-!!", "-!!"},
		{"twice", new(unitGuest).begin("a").end("x").begin("a").end("y"), "-.-.", "+y!+y!"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMemory(t, nil)
			g := guest(t, tt.guest, sandbox.Limits{})
			m.says(g, tt.first)
			m.says(g, tt.second)
		})
	}
}

// TestUnitLimits: values are remembered as far as a response may be long, and
// units cost what other accesses cost.
func TestUnitLimits(t *testing.T) {
	value := strings.Repeat("v", 300)
	three := new(unitGuest).begin("a").end(value).begin("b").end(value).begin("c").end("short")
	m := newMemory(t, nil)
	m.says(guest(t, three, sandbox.Limits{Response: 400}), "-.-.-.")
	if n := m.left.Len(); n != 2 {
		t.Errorf("%d units are remembered", n)
	}
	// What is given back counts as well.
	if _, got, err := m.resolve(guest(t, three, sandbox.Limits{Response: 1000})); err != nil || got != "+"+value+"!-.+short!" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, got, err := m.resolve(guest(t, three, sandbox.Limits{Response: 400})); err != nil || got != "+"+value+"!-.+short!" {
		t.Errorf("with less room, got %q, %v", got, err)
	}

	m = newMemory(t, nil)
	m.limits.Entries = 100
	many := func(n int) *unitGuest {
		return new(unitGuest).repeat(n, func(g *unitGuest) { g.begin("k").end("v") })
	}
	if _, _, err := m.resolve(guest(t, many(100), sandbox.Limits{})); err != nil {
		t.Error(err)
	}
	if _, _, err := m.resolve(guest(t, many(101), sandbox.Limits{})); !errors.Is(err, sandbox.ErrLimit) || !strings.Contains(err.Error(), "entries = 100") {
		t.Errorf("101 units: %v", err)
	}
	m.left = nil
	endless := guest(t, many(1_000_000_000), sandbox.Limits{Time: 100 * time.Millisecond})
	m.limits.Entries = 1 << 40
	if _, _, err := m.resolve(endless); !errors.Is(err, sandbox.ErrDeadline) && !errors.Is(err, sandbox.ErrLimit) {
		t.Errorf("units without an end: %v", err)
	}
}

// TestUnitsOfAFailedRun: nothing of a run that fails gets anywhere, and the
// next one begins where the last good one ended.
func TestUnitsOfAFailedRun(t *testing.T) {
	m := newMemory(t, map[string]string{"a": "one", "b": "two"})
	good := guest(t, new(unitGuest).unit("a", "a").unit("b", "b"), sandbox.Limits{})
	m.says(good, "-one.-two.")
	m.write("a", "changed")
	bad := guest(t, new(unitGuest).unit("a", "a").begin("b").add("(unreachable)"), sandbox.Limits{})
	if _, _, err := m.resolve(bad); !errors.Is(err, sandbox.ErrCrashed) {
		t.Errorf("error %v", err)
	}
	m.says(good, "-changed.+two")
}

// TestUnitsOfTheSDK: keys and values of all lengths come through as they are.
func TestUnitsOfTheSDK(t *testing.T) {
	m := newMemory(t, nil)
	m.resolver = "units"
	probe := loadProbe(t, sandbox.Limits{Time: time.Minute})
	// Of 438 units 14 have keys that are too long, and 19 values are empty.
	m.says(probe, "0 remembered, 2 parts computed")
	m.says(probe, "405 remembered, 1 parts computed")
}

// TestBlockCopy: what lies in the kernel's memory is copied, also onto itself;
// anything else ends the run.
func TestBlockCopy(t *testing.T) {
	m := newMemory(t, nil)
	good := new(unitGuest).copied("0123456789", "0", "5", "5").copied("0123456789", "2", "0", "6").copied("0123456789", "0", "2", "6").copied("0123456789", "3", "0", "0")
	m.says(guest(t, good, sandbox.Limits{}), "5678956789"+"0101234589"+"2345676789"+"0123456789")
	for _, bad := range [][3]string{
		{"0", "0", "0x100000"}, {"0", "0", "-1"}, {"-0x100000", "0", "1"}, {"0", "0x10000000", "1"}, {"0x10000000", "0", "1"},
		{"0x100000000", "0", "1"}, {"0", "0x100000000", "1"}, {"0", "0", "0x100000001"}, {"0", "0x7fffffffffffffff", "1"},
	} {
		if _, _, err := m.resolve(guest(t, new(unitGuest).copied("0123456789", bad[0], bad[1], bad[2]), sandbox.Limits{})); !errors.Is(err, sandbox.ErrCrashed) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// TestUnitHandles: what is no block ends the run, or is an empty one.
func TestUnitHandles(t *testing.T) {
	for _, handle := range []string{"1", "-1", "0x7fffffffffffffff", "0x100000000"} {
		for _, call := range []string{"(drop (call $memo_begin (i64.const " + handle + ")))", "(call $memo_end (i64.const " + handle + "))"} {
			m := newMemory(t, nil)
			g := guest(t, new(unitGuest).begin("a").add("%s", call), sandbox.Limits{})
			if _, _, err := m.resolve(g); err != nil && !errors.Is(err, sandbox.ErrCrashed) {
				t.Errorf("%s: %v", call, err)
			}
			if m.left != nil && m.left.Len() > 0 {
				t.Errorf("%s: %d units are remembered", call, m.left.Len())
			}
		}
	}
}
