package authors_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"waymark/test/authors"
)

// timeout is how long something may take to come true on a slow, busy
// machine; nothing is ever waited for that long where all is well.
const timeout = 5 * time.Minute

// TestTutorial does what docs/write-a-resolver.md says, to the letter.
func TestTutorial(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil { // which the page uses, as its readers would
		if os.Getenv("WAYMARK_REQUIRE_ALL") != "" {
			t.Fatal(err)
		}
		t.Skipf("SKIPPED: %v", err)
	}
	follow(t, "../../docs/write-a-resolver.md", 12)
}

// TestSecondHour does the same with docs/second-hour.md.
func TestSecondHour(t *testing.T) {
	long(t)
	follow(t, "../../docs/second-hour.md", 15)
}

// follow plays a page, which has so many steps at least, in an empty directory.
func follow(t *testing.T, file string, least int) {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := authors.Parse(string(page))
	if err != nil {
		t.Fatal(err)
	}
	if len(steps) < least {
		t.Fatalf("the page has %d steps: the test looks at the wrong place", len(steps))
	}
	p := newPlayer(t)
	for _, s := range steps {
		p.play(s)
	}
}

// newPlayer begins in an empty directory.
func newPlayer(t *testing.T) *player {
	t.Helper()
	h := newHome(t)
	p := &player{home: h, work: filepath.Join(h.dir, "work"), cwd: filepath.Join(h.dir, "cwd")}
	if err := os.Mkdir(p.work, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.cwd, []byte(p.work), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// player does the steps of a page, one after the other.
type player struct {
	*home
	work string // where files are written
	cwd  string // a file with the directory that the last commands ended in
}

func (p *player) play(s authors.Step) {
	p.t.Helper()
	switch {
	case s.File != "":
		path := filepath.Join(p.work, s.File)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			p.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(s.Text), 0o600); err != nil {
			p.t.Fatal(err)
		}
	case s.Background:
		p.background(s)
	default:
		p.foreground(s)
	}
}

// shell runs the commands of a step where the ones before have ended.
func (p *player) shell(ctx context.Context, s authors.Step) *exec.Cmd {
	p.t.Helper()
	dir, err := os.ReadFile(p.cwd)
	if err != nil {
		p.t.Fatal(err)
	}
	script := s.Text + "\npwd >'" + p.cwd + "'\n"
	if s.Background { // the shell itself becomes the last command, which can be interrupted then
		at := strings.LastIndex(strings.TrimSpace(s.Text), "\n") + 1
		script = s.Text[:at] + "exec " + s.Text[at:]
	}
	return p.command(ctx, strings.TrimSpace(string(dir)), "sh", "-euc", script)
}

func (p *player) foreground(s authors.Step) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), timeout)
	defer cancel()
	var last string
	for {
		out, err := p.shell(ctx, s).CombinedOutput()
		if ctx.Err() == nil {
			last = string(out)
		}
		matches := s.Want == nil || authors.Matches(s.Want, string(out))
		switch {
		case err == nil && matches:
			return
		case ctx.Err() != nil || !s.Eventually:
			p.t.Fatalf("line %d:\n%s%v; it printed\n%s\nwhich should be\n%s", s.Line, s.Text, err, last, strings.Join(s.Want, "\n"))
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// output is what a process has printed so far.
type output struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
	more chan struct{} // holds a token when there is more
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.more <- struct{}{}:
	default:
	}
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// background starts a command and waits until it has printed what it should, if that
// matters.
func (p *player) background(s authors.Step) {
	p.t.Helper()
	cmd := p.shell(context.Background(), s)
	out := &output{more: make(chan struct{}, 1)}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	p.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			var exit *exec.ExitError
			if errors.As(err, &exit) && exit.ExitCode() != 0 {
				p.t.Errorf("line %d: %v\n%s", s.Line, err, out)
			}
		case <-time.After(timeout):
			_ = cmd.Process.Kill()
			p.t.Errorf("line %d: it doesn't end\n%s", s.Line, out)
		}
	})
	for limit := time.After(timeout); s.Want != nil && !authors.Matches(s.Want, out.String()); {
		select {
		case <-out.more:
		case err := <-ended:
			ended <- err
			p.t.Fatalf("line %d: it has ended: %v\n%s", s.Line, err, out)
		case <-limit:
			p.t.Fatalf("line %d: it printed\n%s\nwhich should be\n%s", s.Line, out, strings.Join(s.Want, "\n"))
		}
	}
}
