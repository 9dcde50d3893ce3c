package fake_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/agentapi/client/fake"
)

// start starts a process.
func start(t *testing.T, c client.Client, p agentapi.StartProcess) string {
	t.Helper()
	s, err := c.StartProcess(t.Context(), p)
	must(t, err)
	return s.ID
}

// end waits for a process.
func end(t *testing.T, c client.Client, id string) (string, int) {
	t.Helper()
	out, err := c.ProcessOutput(t.Context(), id, agentapi.OutputOptions{Wait: true})
	if err != nil || out.ExitCode == nil {
		t.Fatalf("%+v, %v", out, err)
	}
	return out.Output, *out.ExitCode
}

// said is a program that prints words with pauses between them, and ends with a code.
func said(pause time.Duration, code int, words ...string) fake.Program {
	return func(ctx context.Context, p *fake.Process) int {
		for _, word := range words {
			_, _ = fmt.Fprintln(p.Output, word)
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
		}
		return code
	}
}

// TestPrograms: what a command runs, and that nothing passes for a shell.
func TestPrograms(t *testing.T) {
	a := fake.New(fake.Options{Programs: map[string]fake.Program{"make": said(0, 2, "FAIL"), "make all; true": said(0, 0, "ok")}})
	defer func() { _ = a.Close() }()
	for _, c := range []struct {
		start  agentapi.StartProcess
		output string
		code   int
	}{
		{agentapi.StartProcess{Command: "make -j 2"}, "FAIL\n", 2},
		{agentapi.StartProcess{Command: "make all; true"}, "ok\n", 0},
		{agentapi.StartProcess{Command: "make all; false"}, "make all; false: not found", 127},
		{agentapi.StartProcess{Command: " echo a  b "}, "a b\n", 0},
		{agentapi.StartProcess{Command: "echo $HOME"}, "echo $HOME: not found", 127},
		{agentapi.StartProcess{Argv: []string{"echo", "$HOME; exit"}}, "$HOME; exit\n", 0},
		{agentapi.StartProcess{Command: "  "}, "", 127},
		{agentapi.StartProcess{Command: "sleep 0.01"}, "", 0},
	} {
		if output, code := end(t, a, start(t, a, c.start)); code != c.code || !strings.HasPrefix(output, c.output) {
			t.Errorf("%+v: %q, %d", c.start, output, code)
		}
	}
}

// TestTime: hours pass in no time, for processes and tokens.
func TestTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := fake.New(fake.Options{Programs: map[string]fake.Program{"work": said(time.Hour, 0, "a", "b")}})
		defer func() { _ = a.Close() }()
		began, id, endless := time.Now(), start(t, a, agentapi.StartProcess{Command: "work"}), start(t, a, agentapi.StartProcess{Command: "yes", TimeoutMS: 5050})
		if out, code := end(t, a, endless); strings.Count(out, "y\n") != 50 || code != 143 {
			t.Errorf("yes says %q, %d", out, code)
		}
		out, err := a.ProcessOutput(t.Context(), id, agentapi.OutputOptions{Wait: true})
		if took := time.Since(began).Round(time.Minute); err != nil || !out.Running || out.Output != "a\n" || took != 5*time.Minute {
			t.Errorf("after %s: %+v, %v", took, out, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := a.ProcessOutput(ctx, id, agentapi.OutputOptions{Wait: true}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a deadline: %v", err)
		}
		token, err := a.CreateToken(t.Context(), agentapi.NewToken{})
		must(t, err)
		other := a.WithToken(token.Secret)
		must(t, other.WriteFile(t.Context(), "/workspace/x", strings.NewReader("x")))
		time.Sleep(9 * time.Hour)
		if err := other.WriteFile(t.Context(), "/workspace/x", strings.NewReader("x")); client.CodeOf(err) != 401 {
			t.Errorf("a token of yesterday: %v", err)
		}
	})
}

// TestBreak: an agent that ends cuts off who waits, and loses nothing.
func TestBreak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := fake.New(fake.Options{Programs: map[string]fake.Program{"work": said(time.Minute, 3, "a", "b")}})
		defer func() { _ = a.Close() }()
		id := start(t, a, agentapi.StartProcess{Command: "work"})
		waited := make(chan error, 1)
		go func() {
			_, err := a.ProcessOutput(t.Context(), id, agentapi.OutputOptions{Wait: true})
			waited <- err
		}()
		var text string
		var versions []uint64
		var lost, lostSnapshots int
		ctx, cancel := context.WithCancel(t.Context())
		var followed, watched sync.WaitGroup
		followed.Go(func() {
			for part, err := range client.Follow(t.Context(), a, id) {
				if text += string(part); err != nil {
					lost++
				}
			}
		})
		watched.Go(func() {
			for s, err := range a.Watch(ctx, 0) {
				if err != nil {
					lostSnapshots++
					continue
				}
				versions = append(versions, s.Version)
			}
		})
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
		time.Sleep(2 * time.Second)
		a.Engine().Publish("# 2\n")
		followed.Wait()
		cancel()
		watched.Wait()
		if text != "a\nb\n" || lost != 1 || fmt.Sprint(versions) != "[1 1 2]" || lostSnapshots != 1 {
			t.Errorf("followed %q, lost %d; versions %v, lost %d", text, lost, versions, lostSnapshots)
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
		must(t, err)
		ended, id := start(t, a, agentapi.StartProcess{Command: "echo x"}), start(t, a, agentapi.StartProcess{Command: "sleep 9"})
		synctest.Wait()
		a.LoseSupervisor()
		after, err := a.ListProcesses(t.Context(), 0)
		must(t, err)
		if after.AgentInstanceID == before.AgentInstanceID {
			t.Error("it is the same instance")
		}
		for _, p := range after.Processes {
			if p.Running || (p.Lost != "") != (p.ID == id) || (p.ExitCode != nil) != (p.ID == ended) {
				t.Errorf("%+v", p)
			}
		}
		var lost *client.LostError
		for _, err = range client.Follow(t.Context(), a, id) {
			if !errors.As(err, &lost) || lost.Reason == "" {
				t.Errorf("%v", err)
			}
		}
	})
}

// TestConcurrent: many at once, of one agent.
func TestConcurrent(t *testing.T) {
	a := fake.New(fake.Options{})
	defer func() { _ = a.Close() }()
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			c, name := a.For(agentapi.Caller{}), fmt.Sprintf("/workspace/%d", i%3)
			if err := c.WriteFile(t.Context(), name, strings.NewReader("text")); err != nil {
				t.Error(err)
			}
			_, _ = c.EditFiles(t.Context(), agentapi.EditFiles{Files: []agentapi.FileEdits{{Path: name, Edits: []agentapi.Edit{{Search: "text", Replace: "text"}}}}})
			s, err := c.StartProcess(t.Context(), agentapi.StartProcess{Command: "cat", Stdin: true, ClientToken: name})
			if err != nil {
				t.Error(err)
				return
			}
			_ = c.WriteStdin(t.Context(), s.ID, agentapi.ProcessStdin{Data: "x", Close: true}) // somebody was faster, perhaps
			var text string
			for part, err := range client.Follow(t.Context(), c, s.ID) {
				if text += string(part); err != nil {
					t.Error(err)
				}
			}
			if text != "x" {
				t.Errorf("%s says %q", s.ID, text)
			}
			a.Engine().Publish("# Again\n")
			if _, err := c.Snapshot(t.Context(), client.SnapshotOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if list, err := a.ListProcesses(t.Context(), 100); err != nil || len(list.Processes) != 3 {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestRest: what the fake doesn't do says whose it is.
func TestRest(t *testing.T) {
	a := fake.New(fake.Options{})
	defer func() { _ = a.Close() }()
	if _, err := a.For(agentapi.Caller{}).GitDiff(t.Context(), agentapi.GitQuestion{}); err == nil || !strings.Contains(err.Error(), "fake.Options.Rest") {
		t.Errorf("without Rest: %v", err)
	}
}
