package trust_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"waymark/plugins/mcpconfig/servers"
	"waymark/test/testenv"
	"waymark/workspace/mcp/entry"
	"waymark/workspace/mcp/trust"
)

// TestHostilePaths: whatever lies where a file is named, nothing blocks, and nothing
// but regular files of the workspace is read.
func TestHostilePaths(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := syscall.Mkfifo(filepath.Join(w.root, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0); err == nil {
		defer func() { _ = syscall.Close(fd) }()
		if len(w.root) < 90 {
			if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: filepath.Join(w.root, "socket")}); err != nil {
				t.Fatal(err)
			}
		}
	}
	outside := filepath.Join(w.bin, "outside")
	w.write(outside, "1", 0o600)
	for path, target := range map[string]string{
		"zero": "/dev/zero", "environ": "/proc/self/environ", "kmsg": "/proc/kmsg", "loop": "loop", "a": "b", "b": "a", "up": "../..", "out": outside, "broken": "nowhere",
	} {
		w.link(target, path)
	}
	w.write("s.js", "1", 0o600)
	for _, name := range []string{"fifo", "socket", "zero", "environ", "kmsg", "loop", "a", "up/etc/passwd", "out", "broken", ".", "..", "/proc/self/environ", "/dev/zero", "s.js/below",
		strings.Repeat("x/", 3000), strings.Repeat("y", 300), "../../../../../../etc/passwd", "\x01", "~/x"} {
		d := w.digest(stdio("node", name))
		if d.Pinned != trust.PinnedEntry || len(d.Files) != 1 {
			t.Errorf("%s: %s, %v", name, d.Pinned, d.Files)
		}
	}
	before := w.digest(stdio("node", "out"))
	w.write(outside, "2", 0o600)
	if after := w.digest(stdio("node", "out")); after.Definition != before.Definition || after.Local != before.Local {
		t.Error("what lies outside of the workspace was read")
	}
	if d := w.digest(stdio("node", "fifo")); !slices.ContainsFunc(d.Parts, func(p trust.Part) bool { return p.Name == "file fifo" && p.Text == "a FIFO" }) {
		t.Errorf("%+v", d.Parts)
	}
}

// TestHostilePrograms: what can't be a program is an error that says so.
func TestHostilePrograms(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := syscall.Mkfifo(filepath.Join(w.root, "fifo"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.link("/proc/self/exe", "self")
	w.link("/dev/zero", "zero")
	w.link("loop", "loop")
	w.write("loop.sh", "#!loop.sh\n", 0o755)
	w.write("env.sh", "#!/usr/bin/env env.sh\n", 0o755)
	w.write("no.sh", "#!/nowhere/x\n", 0o755)
	for _, command := range []string{"nowhere", "./nowhere", "./fifo", "./zero", "./loop", ".", "./", "/", "/dev/zero", "node/x"} {
		if d, err := w.try(stdio(command)); !errors.Is(err, trust.ErrNoProgram) {
			t.Errorf("%s: %+v, %v", command, d, err)
		}
	}
	for _, command := range []string{"./loop.sh", "./env.sh", "./no.sh", "./self"} {
		if d, err := w.try(stdio(command)); err != nil || d.Program != w.root+"/"+command {
			t.Errorf("%s: %+v, %v", command, d, err)
		}
	}
	relative := stdio("node")
	d, err := w.store.Digest(context.Background(), relative, w.expand(relative), []string{"PATH=.:bin:" + w.bin})
	if err != nil || d.Program != w.bin+"/node" {
		t.Errorf("%+v, %v", d, err)
	}
	w.write("node", "\x7fELF evil", 0o755)
	if d, err = w.store.Digest(context.Background(), relative, w.expand(relative), []string{"PATH=.::" + w.bin}); err != nil || d.Program != w.bin+"/node" {
		t.Errorf("a program of the workspace was found in PATH: %+v, %v", d, err)
	}
}

// TestLimits: what is too much is an error, not work without end.
func TestLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("big", "", 0o600)
	if err := os.Truncate(filepath.Join(w.root, "big"), trust.MaxFile+1); err != nil {
		t.Fatal(err)
	}
	if _, err := w.try(stdio("node", "big")); !errors.Is(err, trust.ErrFile) || !strings.Contains(err.Error(), "more than 1024 MiB") {
		t.Errorf("%v", err)
	}
	if _, err := w.try(stdio("node", strings.Repeat("x ", 5000)+strings.Repeat("yz ", 10), strings.Join(numbers(5000), " "))); !errors.Is(err, trust.ErrFile) {
		t.Errorf("%v", err)
	}
	for _, name := range numbers(trust.MaxFiles + 1) {
		w.write(name, "", 0o600)
	}
	if _, err := w.try(stdio("node", numbers(trust.MaxFiles+1)...)); !errors.Is(err, trust.ErrFile) {
		t.Errorf("%v", err)
	}
	if d, err := w.try(stdio("node", numbers(trust.MaxFiles)...)); err != nil || len(d.Files) != trust.MaxFiles+1 {
		t.Errorf("%v", err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	e := stdio("node", "1")
	if _, err := w.store.Digest(ended, e, w.expand(e), []string{"PATH=" + w.bin}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func numbers(n int) (list []string) {
	for i := range n {
		list = append(list, "f"+strings.Repeat("0", 4)+string(rune('a'+i%26))+strings.Repeat("b", i/26))
	}
	return list
}

// TestFull: a program that needs nothing else is covered wholly.
func TestFull(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("static", image(1), 0o755)
	w.write("dynamic", image(3), 0o755)
	for command, want := range map[string]trust.Pinned{"./static": trust.PinnedFull, "./dynamic": trust.PinnedPartial} {
		if d := w.digest(stdio(command, "--port=1")); d.Pinned != want {
			t.Errorf("%s: %s", command, d.Pinned)
		}
	}
	w.link("/etc/hostname", "conf")
	if d := w.digest(stdio("./static", "conf")); d.Pinned != trust.PinnedPartial {
		t.Errorf("with a file outside: %s", d.Pinned)
	}
	w.write(filepath.Join(w.bin, "docker"), image(1), 0o755)
	if d := w.digest(stdio("docker", "run", "image")); d.Pinned != trust.PinnedEntry {
		t.Errorf("docker: %s", d.Pinned)
	}
}

// image is a program for Linux with one segment of a type: 1 is loaded, 3 names a
// loader.
func image(segment uint32) string {
	b := []byte{0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	le := binary.LittleEndian
	b = le.AppendUint16(b, 2)  // executable
	b = le.AppendUint16(b, 62) // amd64
	b = le.AppendUint32(b, 1)
	b = le.AppendUint64(b, 0)
	b = le.AppendUint64(b, 64) // where the segments are
	b = le.AppendUint64(b, 0)
	b = le.AppendUint32(b, 0)
	for _, n := range []uint16{64, 56, 1, 64, 0, 0} {
		b = le.AppendUint16(b, n)
	}
	b = le.AppendUint32(b, segment)
	return string(append(b, make([]byte, 52)...))
}

// TestWhileItChanges: a digest is of one state or the other, or an error, and ends.
func TestWhileItChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := stdio("node", "s.js")
	known := map[string]bool{}
	texts := []string{strings.Repeat("a", 1<<16), strings.Repeat("b", 1<<16)}
	for _, text := range texts {
		w.write("s.js", text, 0o600)
		known[w.digest(e).Definition] = true
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.WriteFile(filepath.Join(w.root, "tmp"), []byte(texts[i%2]), 0o600)
			_ = os.Rename(filepath.Join(w.root, "tmp"), filepath.Join(w.root, "s.js"))
		}
	})
	for range 200 {
		if d, err := w.try(e); err == nil && !known[d.Definition] {
			t.Errorf("a digest of neither: %+v", d.Files)
		} else if err != nil && !errors.Is(err, trust.ErrFile) {
			t.Error(err)
		}
	}
	close(stop)
	wg.Wait()
}

// TestRandom makes entries by chance. The same one in two workspaces has the same
// definition; whatever part of it changes, or of the files that it names, a digest
// does; and what variables hold that env refers to changes none.
func TestRandom(t *testing.T) {
	t.Parallel()
	r := testenv.Rand(t)
	one, two := newWorld(t), newWorld(t)
	for round := range testenv.Rounds(40, 200, 20_000) {
		words := randomWords(r)
		for _, w := range []*world{one, two} {
			w.env = map[string]string{"A": "alpha", "B": "beta", "C": ""}
			for i, text := range words.files {
				w.write(fileNames[i], text, 0o600)
			}
		}
		first, second := one.digest(words.entry(one.root)), two.digest(words.entry(two.root))
		if first.Definition != second.Definition {
			t.Fatalf("round %d: %+v has two definitions: %+v, %+v", round, words, first, second)
		}
		for _, name := range []string{"A", "B", "C"} {
			one.env[name] = "rotated " + name
		}
		rotated := one.digest(words.entry(one.root))
		if rotated.Definition != first.Definition || rotated.Local != first.Local && !words.refers() {
			t.Fatalf("round %d: a rotated variable changed the digests of %+v", round, words)
		}
		one.env = map[string]string{"A": "alpha", "B": "beta", "C": ""}
		what := words.change(r)
		for i, text := range words.files {
			one.write(fileNames[i], text, 0o600)
		}
		changed := one.digest(words.entry(one.root))
		if what != "" && changed.Definition == first.Definition && changed.Local == first.Local {
			t.Fatalf("round %d: %s has changed in %+v, and no digest", round, what, words)
		}
	}
}

var fileNames = []string{"a.js", "lib/b.js", "c d.txt"}

// words are a random entry.
type words struct {
	name, cwd string
	args      []string
	env       map[string]string
	files     []string
}

// entry writes it down, in a workspace.
func (ws words) entry(root string) *entry.Entry {
	e := &entry.Entry{Server: servers.Server{Name: ws.name, Transport: "stdio", Command: "node", Cwd: ws.cwd, Env: map[string]string{}}}
	for _, arg := range ws.args {
		e.Args = append(e.Args, strings.ReplaceAll(arg, "ROOT", root))
	}
	for name, value := range ws.env {
		e.Env[name] = strings.ReplaceAll(value, "ROOT", root)
	}
	return e
}

// refers reports whether an argument refers to a variable.
func (ws words) refers() bool { return strings.Contains(strings.Join(ws.args, ""), "$") }

func randomText(r *rand.Rand) string {
	texts := []string{"a.js", "./lib/b.js", "ROOT/a.js", "ROOT", "--x=ROOT/lib/b.js", "c d.txt", "-v", "", "--token", "--token=abc", "abc", "$A", "${B}x", "${C:-d}", "é\u200b", "sh -c 'node a.js'", "https://u:p@h/?k=v"}
	return texts[r.IntN(len(texts))]
}

func randomWords(r *rand.Rand) words {
	ws := words{name: "n", env: map[string]string{}}
	for range r.IntN(5) {
		ws.args = append(ws.args, randomText(r))
	}
	for i := range r.IntN(4) {
		ws.env[[]string{"K", "API_TOKEN", "NODE_OPTIONS", "L"}[i]] = randomText(r)
	}
	for range fileNames {
		ws.files = append(ws.files, randomText(r))
	}
	return ws
}

// change changes one part, and says which; "" where that needn't be seen.
func (ws *words) change(r *rand.Rand) string {
	switch i := r.IntN(6); {
	case i == 0:
		ws.name += "x"
		return "the name"
	case i == 1:
		ws.args = append(slices.Clone(ws.args), "new")
		return "an argument"
	case i == 2 && len(ws.args) > 0:
		j := r.IntN(len(ws.args))
		ws.args = slices.Clone(ws.args)
		ws.args[j] += "x"
		return "argument " + ws.args[j]
	case i == 3 && len(ws.env) > 0:
		for _, name := range []string{"K", "API_TOKEN", "NODE_OPTIONS", "L"} {
			if value, ok := ws.env[name]; ok {
				ws.env[name] = value + "x"
				return "variable " + name
			}
		}
	case i == 4:
		named := strings.Join(ws.args, " ")
		ws.files = slices.Clone(ws.files)
		for j, name := range fileNames {
			ws.files[j] += "x"
			if j < 2 && slices.ContainsFunc(ws.args, func(arg string) bool { return strings.HasSuffix(arg, name) }) {
				return "a file of " + named
			}
		}
		return ""
	}
	ws.cwd += "./"
	return "the working directory"
}
