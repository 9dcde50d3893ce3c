package process_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/internal/httpapi"
	"waymark/workspace/supervisor"
)

// overSocket serves a world on a socket, as the agent does, and returns a client of
// it.
func overSocket(t testing.TB, limits supervisor.Limits) (*world, client.Client) {
	t.Helper()
	w := newWorld(t, newSupervisor(t, limits))
	dir, err := os.MkdirTemp("", "wm") // a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := httpapi.ListenUnix(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- (&httpapi.Server{Handler: w.handler}).Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return w, client.New(filepath.Join(dir, "a"), client.Options{})
}

// BenchmarkStart starts a command: until the answer is there, until its first byte
// is, until its end; beside them a shell that is started without any of this.
func BenchmarkStart(b *testing.B) {
	_, c := overSocket(b, supervisor.Limits{})
	start := func(b *testing.B, opts agentapi.OutputOptions) {
		for b.Loop() {
			started, err := c.StartProcess(b.Context(), agentapi.StartProcess{Command: "echo x"})
			if err != nil {
				b.Fatal(err)
			}
			if opts == (agentapi.OutputOptions{}) {
				continue
			}
			if out, err := c.ProcessOutput(b.Context(), started.ID, opts); err != nil || out.Output != "x\n" {
				b.Fatal(out, err)
			}
		}
	}
	from := int64(0)
	b.Run("answer", func(b *testing.B) { start(b, agentapi.OutputOptions{}) })
	b.Run("first byte", func(b *testing.B) { start(b, agentapi.OutputOptions{Offset: &from, WaitFor: patience}) })
	b.Run("end", func(b *testing.B) { start(b, agentapi.OutputOptions{Wait: true}) })
	b.Run("sh -c alone", func(b *testing.B) {
		for b.Loop() {
			if out, err := exec.Command("sh", "-c", "echo x").Output(); err != nil || string(out) != "x\n" {
				b.Fatal(out, err)
			}
		}
	})
}

// BenchmarkOutput follows a process that writes 1 GB as fast as it can, through
// the API, to the byte.
func BenchmarkOutput(b *testing.B) {
	const size = 1 << 30
	_, c := overSocket(b, supervisor.Limits{Spool: size + 1<<20, Spools: 4 * size})
	b.SetBytes(size)
	for b.Loop() {
		started, err := c.StartProcess(b.Context(), agentapi.StartProcess{Command: fmt.Sprintf("yes 'a line of output, as programs write them' | head -c %d", size)})
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for data, err := range client.Follow(b.Context(), c, started.ID) {
			if err != nil {
				b.Fatal(err)
			}
			n += len(data)
		}
		if n != size {
			b.Fatalf("%d bytes", n)
		}
	}
}

// TestHostileOutput: what programs write that mean no good comes as it was
// written, to the byte and as text, while they write it.
func TestHostileOutput(t *testing.T) {
	_, c := overSocket(t, supervisor.Limits{})
	for name, command := range map[string]string{
		"a line of 10 MB":    "head -c 10000000 /dev/zero | tr '\\0' x",
		"no text":            "head -c 3000000 /dev/urandom",
		"halves of runes":    `i=0; while [ $i -lt 300 ]; do printf '\342\202'; printf '\254\360\237'; i=$((i+1)); done`,
		"closes its output":  "echo x; exec >&- 2>&-; sleep 0.2",
		"nothing":            "true",
		"forks and detaches": "(setsid sh -c 'echo late' &) ; echo x",
	} {
		started, err := c.StartProcess(t.Context(), agentapi.StartProcess{Command: command})
		if err != nil {
			t.Fatal(err)
		}
		var raw bytes.Buffer
		for data, err := range client.Follow(t.Context(), c, started.ID) {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			raw.Write(data)
		}
		var text strings.Builder
		for from := int64(0); ; {
			page, err := c.ProcessOutput(t.Context(), started.ID, agentapi.OutputOptions{Offset: &from, Limit: 77777})
			if err != nil {
				t.Fatal(err)
			}
			text.WriteString(page.Output)
			if *page.NextOffset == from {
				break
			}
			from = *page.NextOffset
		}
		if text.String() != string([]rune(raw.String())) {
			t.Errorf("%s: %d bytes as text, %d to the byte", name, text.Len(), raw.Len())
		}
		view, err := c.ProcessOutput(t.Context(), started.ID, agentapi.OutputOptions{})
		if err != nil || len(view.Output) > 3*40<<10 || view.Running {
			t.Errorf("%s: a view of %d bytes, running %v, %v", name, len(view.Output), view.Running, err)
		}
	}
}

// TestManyAtOnce: 200 at once, each with its own output, each waited for.
func TestManyAtOnce(t *testing.T) {
	_, c := overSocket(t, supervisor.Limits{})
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			started, err := c.StartProcess(t.Context(), agentapi.StartProcess{Command: fmt.Sprintf("echo %d", i), ClientToken: fmt.Sprint(i)})
			if err != nil {
				t.Error(err)
				return
			}
			out, err := c.ProcessOutput(t.Context(), started.ID, agentapi.OutputOptions{Wait: true})
			for client.CodeOf(err) == 429 { // more wait than may
				out, err = c.ProcessOutput(t.Context(), started.ID, agentapi.OutputOptions{Wait: true})
			}
			if err != nil || out.Output != fmt.Sprintln(i) || out.ExitCode == nil || *out.ExitCode != 0 {
				t.Errorf("%d: %+v, %v", i, out, err)
			}
		})
	}
	all.Wait()
	list, err := c.ListProcesses(t.Context(), 1000)
	if err != nil || len(list.Processes) != 200 {
		t.Errorf("%d are listed, %v", len(list.Processes), err)
	}
}
