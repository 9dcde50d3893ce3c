package plugin_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waymark/host/plugin"
	"waymark/test/testenv"
)

// The test binary is a process that runs modules when this names a directory;
// its arguments are what it does.
const envDir = "WAYMARK_TEST_RUNNING"

func TestMain(m *testing.M) {
	if dir := os.Getenv(envDir); dir != "" {
		os.Exit(process(dir, os.Args[1:]))
	}
	os.Exit(m.Run())
}

// process does what its arguments say, in order: begin and end calls of a
// module, beat, say why it is ended by force, close, and say that it is ready
// to be killed.
func process(dir string, does []string) int {
	r, err := plugin.OpenCrashes(dir)
	if err != nil {
		_, _ = fmt.Fprintln(os.Stdout, err)
		return 1
	}
	ends := map[string]func(){}
	for _, step := range does {
		what, arg, _ := strings.Cut(step, " ")
		switch what {
		case "begin":
			ends[arg] = r.Begin(digest(arg), time.Hour)
		case "overdue":
			ends[arg] = r.Begin(digest(arg), -time.Hour)
		case "end":
			ends[arg]()
		case "beat":
			r.Beat()
		case "stuck":
			r.Words()[0] = 1
		case "late", "forced": // having used so much
			cause := map[string]uint64{"late": 2, "forced": 4}[what]
			d, _ := time.ParseDuration(arg)
			*r.Words() = [5]uint64{cause, 1, 0, 1 + uint64(d/time.Second), uint64(d % time.Second)}
		case "again":
			r.Words()[0] = 3
		case "close":
			if err := r.Close(); err != nil {
				_, _ = fmt.Fprintln(os.Stdout, err)
				return 1
			}
			return 0
		}
	}
	_, _ = fmt.Fprintln(os.Stdout, "ready")
	select {}
}

func digest(name string) string {
	return strings.Repeat(fmt.Sprintf("%x", name), 64)[:64]
}

// runs runs a process until it has closed its record, or kills it.
func runsModules(t *testing.T, dir string, does ...string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], does...)
	cmd.Env = append(os.Environ(), envDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	text, _ := bufio.NewReader(out).ReadString('\n')
	_ = cmd.Process.Kill()
	if err := cmd.Wait(); text != "ready\n" && (text != "" || err != nil) {
		t.Fatalf("%q: %q, %v", does, text, err)
	}
}

// quarantined opens a record and returns which of the modules are quarantined.
func quarantined(t *testing.T, dir string, names ...string) string {
	t.Helper()
	r, err := plugin.OpenCrashes(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	var list []string
	for _, name := range names {
		if reason := r.Quarantined(digest(name)); reason != "" {
			list = append(list, name)
			if !strings.Contains(reason, "'agent plugins retry'") {
				t.Errorf("%s: %q doesn't say what to do", name, reason)
			}
		}
	}
	return strings.Join(list, " ")
}

type life = []string // of one process

func TestWhoIsToBlame(t *testing.T) {
	t.Parallel()
	died := life{"begin a"}
	for name, c := range map[string]struct {
		lives []life
		want  string
	}{
		"nothing ran":                    {[]life{{"stuck"}}, ""},
		"one ran":                        {[]life{{"begin a", "stuck"}}, "a"},
		"it had ended":                   {[]life{{"begin a", "end a", "begin b", "stuck"}}, "b"},
		"two ran":                        {[]life{{"begin a", "begin b", "stuck"}}, "a b"},
		"two ran, one for too long":      {[]life{{"begin a", "overdue b", "beat", "stuck"}}, "b"},
		"too long, but it ended":         {[]life{{"overdue a", "beat", "end a", "begin b", "stuck"}}, "b"},
		"the process ended well":         {[]life{{"begin a", "close"}}, ""},
		"it had been told to end, spun":  {[]life{{"begin a", "late 200ms"}}, "a"},
		"it had been told to end, slept": {[]life{{"begin a", "late 50ms"}}, ""},
		"something had, spun":            {[]life{{"begin a", "forced 1s"}}, "a"},
		"something had, slept":           {[]life{{"begin a", "forced 200ms"}}, ""},
		"it had been told twice":         {[]life{{"begin a", "again"}, {"begin a", "again"}, {"begin a", "again"}}, ""},
		"killed once":                    {[]life{died}, ""},
		"killed twice":                   {[]life{died, died}, ""},
		"killed three times":             {[]life{died, died, died}, "a"},
		"not in a row":                   {[]life{died, died, {"begin b"}, died}, ""},
		"nothing in between":             {[]life{died, died, {}, died}, ""},
		"a good run in between":          {[]life{died, died, {"begin a", "end a", "close"}, died}, ""},
		"a good end without it":          {[]life{died, died, {"close"}, died}, "a"},
		"a good end, while it ran":       {[]life{died, died, {"begin a", "close"}, died}, "a"},
		"stays so":                       {[]life{{"begin a", "stuck"}, {"close"}, {"begin b", "stuck"}, {"begin b", "end b", "close"}}, "a b"},
		"more than there is room for":    {[]life{append(strings.Split(strings.Repeat("begin b,", 70), ",")[:70], "begin a", "stuck")}, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "running")
			for _, l := range c.lives {
				runsModules(t, dir, l...)
			}
			if got := quarantined(t, dir, "a", "b"); got != c.want {
				t.Errorf("quarantined: %q, want %q", got, c.want)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*.run")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func TestReleaseCrashes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runsModules(t, dir, "begin a", "stuck")
	r, err := plugin.OpenCrashes(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.Quarantined(digest("a")) == "" {
		t.Error("not quarantined")
	}
	if err := r.Release(); err != nil || r.Quarantined(digest("a")) != "" {
		t.Errorf("released: %v, %q", err, r.Quarantined(digest("a")))
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if got := quarantined(t, dir, "a"); got != "" {
		t.Errorf("quarantined again: %q", got)
	}
}

// TestNeighbors: a process that lives is nobody's to judge.
func TestNeighbors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, err := plugin.OpenCrashes(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Begin(digest("a"), time.Second)()
	r.Words()[0] = 1
	if got := quarantined(t, dir, "a"); got != "" {
		t.Errorf("quarantined: %q", got)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// TestNothing: without a directory nothing is recorded, and nothing breaks.
func TestNothing(t *testing.T) {
	t.Parallel()
	r, err := plugin.OpenCrashes("")
	if err != nil || r != nil {
		t.Fatal(r, err)
	}
	r.Begin(digest("a"), time.Second)()
	r.Beat()
	if r.Words() != nil || r.Quarantined(digest("a")) != "" || r.Release() != nil || r.Close() != nil {
		t.Error("a nil record holds something")
	}
}

// TestRubbish: whatever is in the directory, a process starts, and only what
// says so is to blame.
func TestRubbish(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, err := plugin.OpenCrashes(dir)
	if err != nil {
		t.Fatal(err)
	}
	r.Begin(digest("a"), time.Second)
	r.Words()[0] = 1
	files, err := filepath.Glob(filepath.Join(dir, "*.run"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	good, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	rng := testenv.Rand(t)
	for i := range 200 {
		data := append([]byte{}, good...)
		switch rng.IntN(4) {
		case 0:
			data = data[:rng.IntN(len(data))]
		case 1:
			data = append(data, 1)
		case 2:
			for range 1 + rng.IntN(20) {
				data[rng.IntN(len(data))] = byte(rng.IntN(256))
			}
		case 3:
			copy(data[32+rng.IntN(36):], "another boot")
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.run", i)), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := quarantined(t, dir, "b"); got != "" {
			t.Errorf("quarantined: %q", got)
		}
	}
	// One whose number is that of a living process is judged when that has ended.
	left, err := filepath.Glob(filepath.Join(dir, "*.run"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range left {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"", "{", "null", "[]", `{"x": 1}`} {
		if err := os.WriteFile(filepath.Join(dir, "verdicts.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := quarantined(t, dir, "a", "b"); got != "" {
			t.Errorf("%q: quarantined: %q", text, got)
		}
	}
}

func BenchmarkBegin(b *testing.B) {
	r, err := plugin.OpenCrashes(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	d := digest("a")
	for b.Loop() {
		r.Begin(d, time.Second)()
	}
}
