package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/test/process"
	"waymark/workspace/mcp/session"
)

// many configures as many servers, and approves them.
func many(b *testing.B, n int) (*world, []string) {
	b.Helper()
	w := newWorld(b, "")
	servers, names := config{}, []string{}
	for i := range n {
		name := fmt.Sprintf("s%02d", i)
		servers[name], names = w.hostileEntry("good"), append(names, name)
	}
	w.configure(servers)
	w.start()
	w.listed(names...)
	w.approve(names...)
	for _, name := range names {
		w.becomes(name, works...)
	}
	w.stop()
	return w, names
}

// envBefore names the agent of another version, which takes turns with this one.
const envBefore = "WAYMARK_BENCH_BEFORE"

// BenchmarkCatalogue measures the time from an agent's start until the tools of ten and
// of 20 servers are all known: cold, where each has to be started, and from the cache,
// after a kill -9. It is taken since exec, and since the agent says that it has begun.
// agent-MiB is what the agent then has resident.
func BenchmarkCatalogue(b *testing.B) {
	for _, n := range []int{10, 20} {
		w, names := many(b, n)
		for _, cold := range []bool{true, false} {
			name := fmt.Sprintf("%d/cached", n)
			if cold {
				name = fmt.Sprintf("%d/cold", n)
			}
			b.Run(name, func(b *testing.B) { w.in(b).catalogues(b, names, cold) })
		}
	}
}

// catalogues measures the starts of this version's agent, and in turns with them those of
// another one's where there is one.
func (w *world) catalogues(b *testing.B, names []string, cold bool) {
	b.Helper()
	agents := map[string]string{"": w.programs.Agent}
	if before := os.Getenv(envBefore); before != "" {
		agents["before-"] = before
	}
	times := map[string][2][]time.Duration{}
	var memory int64
	for b.Loop() {
		for prefix, program := range agents {
			if cold {
				w.forgetCatalogues()
			}
			exec, begun := w.catalogue(program, names)
			times[prefix] = [2][]time.Duration{append(times[prefix][0], exec), append(times[prefix][1], begun)}
			if prefix == "" {
				m, err := w.agent.Memory()
				w.must(err)
				memory = m.Resident
			}
			w.agent.Kill()
			w.nothingLeft()
		}
	}
	for prefix, t := range times {
		b.ReportMetric(ms(median(t[0])), prefix+"ms-since-exec")
		b.ReportMetric(ms(median(t[1])), prefix+"ms-since-begun")
	}
	b.ReportMetric(float64(memory)/(1<<20), "agent-MiB")
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// catalogue starts an agent, and returns how long it took until its first complete list
// of tools: since exec, and since the time at which it says it has begun.
func (w *world) catalogue(program string, names []string) (sinceExec, sinceBegun time.Duration) {
	w.t.Helper()
	w.program = program
	begun := time.Now()
	w.launch()
	w.connect()
	for {
		tools, err := w.client.ListMCPTools(w.ctx, client.MCPToolOptions{Wait: timeout})
		if err == nil {
			if len(tools.Servers) != len(names) || len(tools.Tools) < len(names) {
				w.t.Fatalf("the first list has %d servers and %d tools: %s", len(tools.Servers), len(tools.Tools), tools.Phase)
			}
			break
		}
		w.must(process.Pause(w.ctx, time.Millisecond))
	}
	known := time.Now()
	status, err := w.agent.Client.Status(w.ctx)
	w.must(err)
	return known.Sub(begun), known.Sub(status.StartedAt)
}

// forgetCatalogues removes the cache of what servers offer.
func (w *world) forgetCatalogues() {
	w.t.Helper()
	found, err := filepath.Glob(filepath.Join(w.home.State(), "w/*/mcp/servers/catalogues"))
	w.must(err)
	if len(found) == 0 {
		w.t.Fatal("there are no catalogues to forget")
	}
	for _, path := range found {
		w.must(os.RemoveAll(path))
	}
}

// BenchmarkCall measures a call of one server: by a client of its own, and over the
// agent's socket, of which ratio says how many times longer that takes.
func BenchmarkCall(b *testing.B) {
	w := newWorld(b, "")
	w.configure(config{"s": w.hostileEntry("good")})
	w.start()
	w.listed("s")
	w.approve("s")
	w.echoes("s")
	var direct time.Duration
	b.Run("direct", func(b *testing.B) {
		s := w.in(b).direct()
		direct = measure(b, func() error {
			_, err := s.Call(w.ctx, &session.Call{Tool: "echo", Arguments: json.RawMessage(`{"text":"hello"}`)})
			return err
		})
	})
	b.Run("agent", func(b *testing.B) {
		took := measure(b, func() error {
			_, err := w.call("s__echo", `{"text":"hello"}`)
			return err
		})
		if direct > 0 {
			b.ReportMetric(float64(took)/float64(direct), "ratio")
		}
	})
	// Through our own server, which a client has started, to the agent, to the server.
	b.Run("serve", func(b *testing.B) {
		s := w.in(b).served()
		took := measure(b, func() error {
			_, err := s.Call(w.ctx, &session.Call{Tool: "s__echo", Arguments: json.RawMessage(`{"text":"hello"}`)})
			return err
		})
		if direct > 0 {
			b.ReportMetric(float64(took)/float64(direct), "ratio")
		}
	})
	b.Run("serve/own", func(b *testing.B) { // a tool of our own, without a server behind it
		s := w.in(b).served()
		measure(b, func() error {
			_, err := s.Call(w.ctx, &session.Call{Tool: "list_directory", Arguments: json.RawMessage(`{}`)})
			return err
		})
	})
	w.stop()
}

// served starts 'agent mcp serve' in the workspace, and connects to it.
func (w *world) served() session.Session {
	w.t.Helper()
	cmd := exec.CommandContext(w.ctx, w.programs.Agent, "mcp", "serve")
	cmd.Env, cmd.Dir = w.home.Environ(), w.root
	in, err := cmd.StdinPipe()
	w.must(err)
	out, err := cmd.StdoutPipe()
	w.must(err)
	w.must(cmd.Start())
	s, err := session.Stdio(w.ctx, in, out, session.Options{})
	w.must(err)
	w.t.Cleanup(func() { _, _ = s.Close(), cmd.Wait() })
	return s
}

// direct starts a server and connects to it, without an agent.
func (w *world) direct() session.Session {
	w.t.Helper()
	cmd := exec.CommandContext(w.ctx, w.hostile, "good", w.mark())
	in, err := cmd.StdinPipe()
	w.must(err)
	out, err := cmd.StdoutPipe()
	w.must(err)
	w.must(cmd.Start())
	s, err := session.Stdio(w.ctx, in, out, session.Options{})
	w.must(err)
	w.t.Cleanup(func() { _, _ = s.Close(), cmd.Wait() })
	return s
}

// measure runs f and returns the median of its times.
func measure(b *testing.B, f func() error) time.Duration {
	b.Helper()
	var times []time.Duration
	for b.Loop() {
		begun := time.Now()
		if err := f(); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(begun))
	}
	m := median(times)
	b.ReportMetric(float64(m.Microseconds()), "µs-median")
	return m
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// BenchmarkTenChats measures ten chats that call one server at once, and says how many
// processes that server has.
func BenchmarkTenChats(b *testing.B) {
	w := newWorld(b, "")
	w.configure(config{"s": w.hostileEntry("good")})
	w.start()
	w.listed("s")
	w.approve("s")
	w.echoes("s")
	most := w.tenChats(b, func() bool { return b.Loop() })
	b.ReportMetric(float64(most), "processes")
	w.stop()
}

// tenChats has ten chats call a server, round by round, and returns how many processes
// there have been at most.
func (w *world) tenChats(t testing.TB, more func() bool) (most int) {
	t.Helper()
	chats := make([]client.Client, 10)
	for i := range chats {
		chats[i] = w.client.For(agentapi.Caller{Chat: uuid.New()})
	}
	for more() {
		var all sync.WaitGroup
		for _, c := range chats {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(w.ctx, timeout)
				defer cancel()
				if _, err := c.CallMCPTool(ctx, agentapi.CallMCPTool{ToolName: "s__echo"}, nil); err != nil {
					t.Errorf("call: %v", err)
				}
			})
		}
		all.Wait()
		most = max(most, len(w.left()))
	}
	return most
}

// TestTenChats: ten chats share one process of a server.
func TestTenChats(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.configure(config{"s": w.hostileEntry("good")})
	w.start()
	w.listed("s")
	w.approve("s")
	w.echoes("s")
	rounds := 0
	if most := w.tenChats(t, func() bool { rounds++; return rounds <= 5 }); most != 1 {
		t.Errorf("it has %d processes: %v", most, lines(w.left()))
	}
	w.stop()
}
