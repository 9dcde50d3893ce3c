package fake_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waymark/workspace"
	"waymark/workspace/client"
	"waymark/workspace/client/fake"
)

// start starts a process.
func start(t *testing.T, a client.Client, p workspace.StartProcess) string {
	t.Helper()
	s, err := a.StartProcess(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return s.ID
}

// end waits for a process.
func end(t *testing.T, a client.Client, id string) (string, int) {
	t.Helper()
	out, err := a.ProcessOutput(t.Context(), id, workspace.OutputOptions{Wait: true})
	if err != nil || out.ExitCode == nil {
		t.Fatalf("%+v, %v", out, err)
	}
	return out.Output, *out.ExitCode
}

// TestShell: what the shell in memory knows.
func TestShell(t *testing.T) {
	a := fake.New(fake.Options{})
	defer func() { _ = a.Close() }()
	for _, c := range []struct {
		command, output string
		code            int
	}{
		{"echo hi; exit 3", "hi\n", 3},
		{"seq 1 5 | cat; seq 3", "1\n2\n3\n4\n5\n1\n2\n3\n", 0},
		{"echo x >f; echo y >>f; cat f; ls; cat <f", "x\ny\nf\nx\ny\n", 0},
		{"cat none", "cat: open none: file does not exist\n", 1},
		{"echo x >none/f", "", 1},
		{`head -c 3 /dev/zero | tr '\0' x`, "xxx", 0},
		{`printf '\303\244'; for i in 1 2; do printf "$i"; done`, "ä12", 0},
		{"cd /none || cd /tmp; pwd", "cd: no such file or directory: \"/none\"\n/tmp\n", 0},
		{"cat <<X\nhere\nX", "here\n", 0},
		{"sh -c 'exit 4'; echo $?", "4\n", 0},
		{"nothing", "sh: nothing: not found\n", 127},
		{"if", "", 2},
		{"[ -d /tmp ] && [ ! -e /tmp/x ] && echo yes", "yes\n", 0},
		{"cat /etc/passwd", "", 1}, // not this machine's
		{"sleep x", "sleep: invalid time interval \"x\"\n", 1},
		{"exit 300", "", 44},
		{"echo x >/dev/null", "", 0},
	} {
		output, code := end(t, a, start(t, a, workspace.StartProcess{Command: c.command}))
		if code != c.code || c.output != "" && strings.ReplaceAll(output, "/workspace/", "") != c.output {
			t.Errorf("%s: got %q, %d, want %q, %d", c.command, output, code, c.output, c.code)
		}
		if c.code == 1 && strings.Contains(output, "root:") {
			t.Errorf("%s reads this machine's files", c.command)
		}
	}
}

// TestTime: hours pass in no time.
func TestTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := fake.New(fake.Options{})
		defer func() { _ = a.Close() }()
		began := time.Now()
		id := start(t, a, workspace.StartProcess{Command: "echo a; sleep 3600; echo b"})
		out, err := a.ProcessOutput(t.Context(), id, workspace.OutputOptions{Wait: true})
		if took := time.Since(began); err != nil || !out.Running || out.Output != "a\n" || took != 5*time.Minute {
			t.Errorf("after %s: %+v, %v", took, out, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := a.ProcessOutput(ctx, id, workspace.OutputOptions{Wait: true}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a deadline: %v", err)
		}
		text := ""
		for part, err := range client.Follow(t.Context(), a, id) {
			if err != nil {
				t.Fatal(err)
			}
			text += string(part)
		}
		if took := time.Since(began); text != "a\nb\n" || took != time.Hour {
			t.Errorf("%q after %s", text, took)
		}
		token, err := a.CreateToken(t.Context(), workspace.NewToken{})
		if err != nil {
			t.Fatal(err)
		}
		other := a.WithToken(token.Secret)
		if err := other.WriteFile(t.Context(), "/workspace/x", strings.NewReader("x")); err != nil {
			t.Error(err)
		}
		time.Sleep(9 * time.Hour)
		if err := other.WriteFile(t.Context(), "/workspace/x", strings.NewReader("x")); client.CodeOf(err) != 401 {
			t.Errorf("a token of yesterday: %v", err)
		}
	})
}

// TestRun: a process is a function.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := fake.New(fake.Options{Run: func(ctx context.Context, p *fake.Process) int {
			stop := p.Trap()
			_, _ = fmt.Fprintln(p.Output, p.Argv, p.WorkDir, p.Env["A"], p.Size().Rows)
			line, _ := bufio.NewReader(p.Stdin).ReadString('\n')
			_, _ = io.WriteString(p.Output, line)
			select {
			case <-stop:
				_, _ = fmt.Fprintln(p.Output, "stopping", p.Size().Rows)
				time.Sleep(time.Second) // so that the second signal finds it
				return 5
			case <-ctx.Done():
				_, _ = fmt.Fprintln(p.Output, "never seen")
				return 6
			}
		}})
		defer func() { _ = a.Close() }()
		run := func() string {
			id := start(t, a, workspace.StartProcess{Argv: []string{"serve", "-x"}, Env: map[string]string{"A": "b"}, PTY: &workspace.TerminalSize{Rows: 7, Cols: 8}})
			synctest.Wait()
			if err := a.ResizeProcess(t.Context(), id, workspace.TerminalSize{Rows: 9, Cols: 9}); err != nil {
				t.Error(err)
			}
			if err := a.WriteStdin(t.Context(), id, workspace.ProcessStdin{Data: "line\n"}); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			return id
		}
		trapped := run()
		for range 2 { // a second one changes nothing
			if err := a.SignalProcess(t.Context(), trapped, "terminate"); err != nil {
				t.Error(err)
			}
		}
		if output, code := end(t, a, trapped); output != "[serve -x] /workspace b 7\nline\nstopping 9\n" || code != 5 {
			t.Errorf("trapped: %q, %d", output, code)
		}
		killed := run()
		if err := a.SignalProcess(t.Context(), killed, "kill"); err != nil {
			t.Error(err)
		}
		if output, code := end(t, a, killed); output != "[serve -x] /workspace b 7\nline\n" || code != 137 {
			t.Errorf("killed: %q, %d", output, code)
		}
	})
}

// TestBreak: an agent that ends cuts off who waits, and loses nothing.
func TestBreak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := fake.New(fake.Options{})
		defer func() { _ = a.Close() }()
		id := start(t, a, workspace.StartProcess{Command: "echo a; sleep 60; echo b; sleep 60; exit 3"})
		waited := make(chan error, 1)
		go func() {
			_, err := a.ProcessOutput(t.Context(), id, workspace.OutputOptions{Wait: true})
			waited <- err
		}()
		var text string
		var lost []error
		followed := make(chan struct{})
		go func() {
			defer close(followed)
			for part, err := range client.Follow(t.Context(), a, id) {
				if err != nil {
					lost = append(lost, err)
				}
				text += string(part)
			}
		}()
		synctest.Wait()
		a.Break()
		if err := <-waited; err == nil || client.CodeOf(err) != 0 || errors.Is(err, client.ErrNotRunning) {
			t.Errorf("who waited: %v", err)
		}
		if _, err := a.Status(t.Context()); !errors.Is(err, client.ErrNotRunning) {
			t.Errorf("while it is away: %v", err)
		}
		time.Sleep(90 * time.Second) // the process writes meanwhile
		a.Resume()
		<-followed
		if text != "a\nb\n" || len(lost) != 1 {
			t.Errorf("followed %q, lost %v", text, lost)
		}
		if _, code := end(t, a, id); code != 3 {
			t.Errorf("exit code %d", code)
		}
	})
}

// TestLoseSupervisor: what ran is lost, and says so.
func TestLoseSupervisor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := fake.New(fake.Options{})
		defer func() { _ = a.Close() }()
		before, err := a.ListProcesses(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		ended, id := start(t, a, workspace.StartProcess{Command: "echo x; exit 1"}), start(t, a, workspace.StartProcess{Command: "echo y; sleep 9"})
		synctest.Wait()
		a.LoseSupervisor()
		after, err := a.ListProcesses(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if after.AgentInstanceID == before.AgentInstanceID {
			t.Error("it is the same instance")
		}
		for _, p := range after.Processes {
			if p.Running || (p.Lost != "") != (p.ID == id) || (p.ExitCode != nil) != (p.ID == ended) {
				t.Errorf("%+v", p)
			}
		}
		var last error
		text := ""
		for part, err := range client.Follow(t.Context(), a, id) {
			text, last = text+string(part), err
		}
		var lost *client.LostError
		if text != "y\n" || !errors.As(last, &lost) || lost.Reason == "" {
			t.Errorf("%q, %v", text, last)
		}
	})
}

// TestSpool: what is too much is gone, and counted.
func TestSpool(t *testing.T) {
	a := fake.New(fake.Options{Spool: 1000})
	defer func() { _ = a.Close() }()
	id := start(t, a, workspace.StartProcess{Command: "seq 1 2000"})
	end(t, a, id)
	var gone int64
	var text string
	for part, err := range client.Follow(t.Context(), a, id) {
		var omitted *client.OmittedError
		if errors.As(err, &omitted) {
			gone += omitted.Bytes
		} else if err != nil {
			t.Fatal(err)
		}
		text += string(part)
	}
	if gone != 8893-1000 || len(text) != 1000 || !strings.HasSuffix(text, "\n2000\n") {
		t.Errorf("%d bytes gone, %d there", gone, len(text))
	}
	out, err := a.ProcessOutput(t.Context(), id, workspace.OutputOptions{})
	if err != nil || out.Truncated == nil || out.Truncated.OriginalBytes != 8893 || !strings.Contains(out.Output, "omitted") {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestConcurrent: many at once, of one agent.
func TestConcurrent(t *testing.T) {
	a := fake.New(fake.Options{})
	defer func() { _ = a.Close() }()
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			c := a.For(workspace.Caller{})
			name := fmt.Sprintf("/workspace/%d", i%3)
			if err := c.WriteFile(t.Context(), name, strings.NewReader("text")); err != nil {
				t.Error(err)
			}
			_, _ = c.EditFiles(t.Context(), workspace.EditFiles{Files: []workspace.FileEdits{{Path: name, Edits: []workspace.Edit{{Search: "text", Replace: "text"}}}}})
			s, err := c.StartProcess(t.Context(), workspace.StartProcess{Command: "seq 1 100; cat", Stdin: true, ClientToken: name})
			if err != nil {
				t.Error(err)
				return
			}
			_ = c.WriteStdin(t.Context(), s.ID, workspace.ProcessStdin{Close: true}) // somebody was faster, perhaps
			n := 0
			for part, err := range client.Follow(t.Context(), c, s.ID) {
				if err != nil {
					t.Error(err)
				}
				n += len(part)
			}
			if n != 292 {
				t.Errorf("%d bytes", n)
			}
			if i%5 == 0 {
				a.Engine().Publish("# Again\n")
			}
			if _, err := c.Snapshot(t.Context(), client.SnapshotOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	list, err := a.ListProcesses(t.Context(), 100)
	if err != nil || len(list.Processes) != 3 {
		t.Errorf("%d processes, %v", len(list.Processes), err)
	}
}

// TestWatch: snapshots over a restart.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := fake.New(fake.Options{})
		defer func() { _ = a.Close() }()
		ctx, cancel := context.WithCancel(t.Context())
		var versions []uint64
		lost := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			for s, err := range a.Watch(ctx, 0) {
				if err != nil {
					lost++
					continue
				}
				versions = append(versions, s.Version)
			}
		}()
		synctest.Wait()
		a.Engine().Publish("# 2\n")
		synctest.Wait()
		a.Break()
		synctest.Wait()
		a.Resume()
		synctest.Wait()
		a.Engine().Publish("# 3\n")
		synctest.Wait()
		cancel()
		<-done
		if fmt.Sprint(versions) != "[1 2 2 3]" || lost != 1 {
			t.Errorf("versions %v, lost %d times", versions, lost)
		}
	})
}
