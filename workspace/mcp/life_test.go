package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waymark/agentapi"
	"waymark/snapshot"
	"waymark/workspace/mcp"
	"waymark/workspace/mcp/catalog"
	"waymark/workspace/mcp/entry"
	"waymark/workspace/mcp/session"
)

// TestLife: pending, connected, idle, known, called again.
func TestLife(t *testing.T) {
	bubble(t, settings, func(w *world) {
		w.expect("before the host has looked", snapshot.PhasePending, "", "")
		w.configure(nil)
		w.expect("with no server", snapshot.PhaseComplete, "", "")
		w.configure(map[string]definition{"a": stdio("a"), "b": remote("b")})
		w.expect("connected", snapshot.PhaseComplete, "a__echo b__echo", "a connected, b connected")
		for range 10 {
			if code, text := w.say("a", "hi"); code != 200 || !strings.Contains(text, `echo{\"text\":\"hi\"}`) {
				t.Fatalf("%d %s", code, text)
			}
		}
		time.Sleep(9 * time.Minute)
		w.expect("a while later", snapshot.PhaseComplete, "a__echo b__echo", "a connected, b connected")
		time.Sleep(2 * time.Minute)
		w.expect("idle", snapshot.PhaseComplete, "a__echo b__echo", "a cached, b cached")
		for _, name := range []string{"a", "b"} {
			if starts, running, _ := w.fakes.server(name).counts(); starts != 1 || running != 0 {
				t.Errorf("%s: %d starts, %d running", name, starts, running)
			}
		}
		if code, text := w.say("a", "hi"); code != 200 {
			t.Fatalf("%d %s", code, text)
		}
		w.expect("called again", snapshot.PhaseComplete, "a__echo b__echo", "a connected, b cached")
	})
}

// TestManyCallers share one process, also when they all come first.
func TestManyCallers(t *testing.T) {
	bubble(t, settings, func(w *world) {
		w.configure(map[string]definition{"a": stdio("a")})
		synctest.Wait()
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		var callers sync.WaitGroup
		for range 40 {
			callers.Go(func() {
				if code, text := w.say("a", "hi"); code != 200 {
					t.Errorf("%d %s", code, text)
				}
			})
		}
		callers.Wait()
		if starts, _, most := w.fakes.server("a").counts(); starts != 2 || most != 1 {
			t.Errorf("%d starts, %d at a time; want one more, one at a time", starts, most)
		}
	})
}

// TestHungDelaysNobody: what is there is listed, and the list isn't complete.
func TestHungDelaysNobody(t *testing.T) {
	bubble(t, settings, func(w *world) {
		w.fakes.server("h").hang = true
		w.configure(map[string]definition{"a": stdio("a"), "h": stdio("h"), "i": remote("h")})
		w.expect("at once", snapshot.PhasePending, "a__echo", "a connected, h pending, i pending")
		resp := w.call("GET", agentapi.PathMCPTools, "")
		if resp.Header.Get("Cache-Control") != "no-store" || resp.Header.Get("ETag") != "" {
			t.Errorf("a pending list has %v", resp.Header)
		}
		before := time.Now()
		if phase, _, _ := w.tools("?wait=10s"); phase != snapshot.PhasePending || time.Since(before) != 10*time.Second {
			t.Errorf("after waiting %s: %s", time.Since(before), phase)
		}
		phase, _, servers := w.tools("?wait=1m")
		if phase != snapshot.PhaseComplete || servers != "a connected, h failed, i failed" {
			t.Errorf("%s %s", phase, servers)
		}
		if waited := time.Since(before); waited != 30*time.Second {
			t.Errorf("complete after %s, want the connect timeout", waited)
		}
		resp = w.call("GET", agentapi.PathMCPTools, "")
		tag := resp.Header.Get("ETag")
		if resp.Header.Get("Cache-Control") != "no-cache" || tag == "" {
			t.Errorf("a complete list has %v", resp.Header)
		}
		if code, _ := w.text("GET", agentapi.PathMCPTools, "", "If-None-Match", tag); code != http.StatusNotModified {
			t.Errorf("asked for by its tag: %d", code)
		}
	})
}

// TestCache: the next agent lists without starting, and starts at the first call.
func TestCache(t *testing.T) {
	bubble(t, settings, func(w *world) {
		servers := map[string]definition{"a": stdio("a"), "b": stdio("b")}
		w.fakes.server("b").tools = nil
		w.configure(servers)
		w.expect("connected", snapshot.PhaseComplete, "a__echo", "a connected, b connected")
		w.stop()
		w.begin()
		w.configure(servers)
		w.expect("the next agent", snapshot.PhaseComplete, "a__echo", "a cached, b cached")
		row := w.row("a")
		if got := row.Attributes["freshness"].Text; got != "catalogue of 00:00, not running" && !strings.HasSuffix(got, ", not running") {
			t.Errorf("freshness %q", got)
		}
		if starts, _, _ := w.fakes.server("a").counts(); starts != 1 {
			t.Errorf("%d starts, want that of the agent before", starts)
		}
		w.fakes.server("a").set(func(f *fakeServer) { f.tools = append(f.tools, tool("more", "")) })
		if code, text := w.say("a", "hi"); code != 200 {
			t.Fatalf("%d %s", code, text)
		}
		w.expect("called", snapshot.PhaseComplete, "a__echo a__more", "a connected, b cached")
		// Another definition isn't listed with it.
		w.configure(map[string]definition{"a": stdio("a"), "b": stdio("b", "other")})
		w.expect("changed", snapshot.PhaseComplete, "a__echo a__more", "a connected, b connected")
		// What is in the directory is nobody else's.
		err := filepathWalk(w.state+"/mcp", func(path string, info os.FileInfo) {
			if info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has mode %v", path, info.Mode())
			}
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestBackOff: what fails is tried again, ever more rarely, and at once when it is
// asked for.
func TestBackOff(t *testing.T) {
	bubble(t, settings, func(w *world) {
		a := w.fakes.server("a")
		a.exits = "no module named x"
		w.configure(map[string]definition{"a": stdio("a")})
		synctest.Wait()
		list := get[agentapi.MCPServers](w, agentapi.PathMCPServers)
		s := list.Servers[0]
		if list.Phase != snapshot.PhaseComplete || s.Outcome != snapshot.OutcomeFailed || s.Error != "it ended with exit code 3: no module named x" || s.RetryAt == nil {
			t.Errorf("%s %+v", list.Phase, s)
		}
		if row := w.row("a"); row.Status != snapshot.StatusUnreadable || row.Error != s.Error {
			t.Errorf("%s %s", row.Status, row.Error)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		a.mu.Lock()
		starts := a.starts
		a.mu.Unlock()
		last := time.Duration(0)
		for i := 1; i < len(starts); i++ {
			pause := starts[i].Sub(starts[i-1])
			if pause < last/2 || pause < time.Second || pause > 5*time.Minute+time.Second {
				t.Errorf("pause %d is %s, the one before was %s", i, pause, last)
			}
			last = pause
		}
		if n := len(starts); n < 15 || n > 30 || last < 3*time.Minute {
			t.Errorf("%d starts in an hour, the last after %s", n, last)
		}
		a.set(func(f *fakeServer) { f.exits = "" })
		if code, text := w.text("POST", agentapi.PathMCPServers+"/a/restart", ""); code != http.StatusNoContent {
			t.Errorf("restart: %d %s", code, text)
		}
		w.expect("mended", snapshot.PhaseComplete, "a__echo", "a connected")
	})
}

// TestReasons: the reason that a person needs comes first, and how the process ended
// where it is the reason, or beside what the server has answered.
func TestReasons(t *testing.T) {
	refused := &session.ServerError{Code: -32000, Message: "no key"}
	for name, c := range map[string]struct {
		refuse error
		code   int
		said   string
		hang   bool
		want   string
	}{
		"refuses":             {refused, 0, "", false, "the server answers with an error (-32000): no key"},
		"refuses, and talks":  {refused, 0, "listening", false, "the server answers with an error (-32000): no key"},
		"refuses, and fails":  {refused, 2, "set API_KEY", false, "the server answers with an error (-32000): no key; it ended with exit code 2: set API_KEY"},
		"breaks a bound":      {errors.New("the server has written a line of more than 16777216 bytes"), 141, "x", false, "the server has written a line of more than 16777216 bytes"},
		"ends":                {session.ErrClosed, 1, "", false, "it ended with exit code 1"},
		"hangs up":            {fmt.Errorf("%w: %w", session.ErrClosed, session.ErrHungUp), 1, "set hunter2-is-a-secret-value", false, "it ended with exit code 1: set [redacted]"},
		"isn't there in time": {nil, 0, "Ok to proceed? (y)", true, "it hasn't answered within 30s (connect_timeout in [mcp] of the configuration); the last that it said: Ok to proceed? (y)"},
		"says nothing":        {nil, 0, "", true, "it hasn't answered within 30s (connect_timeout in [mcp] of the configuration)"},
		"Node":                {session.ErrClosed, 1, nodeTrace, false, "it ended with exit code 1: Error: Cannot find module '/srv/nothing.js'"},
		"Python":              {session.ErrClosed, 1, pythonTrace, false, "it ended with exit code 1: ModuleNotFoundError: No module named 'mcp'"},
		"Go":                  {session.ErrClosed, 2, "panic: no key\n\ngoroutine 1 [running]:\nmain.main()\n\t/srv/main.go:4 +0x2c\nexit status 2", false, "it ended with exit code 2: panic: no key main.main()"},
		"Rust":                {session.ErrClosed, 101, "thread 'main' panicked at src/main.rs:2:5:\nno key\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace", false, "it ended with exit code 101: thread 'main' panicked at src/main.rs:2:5: no key"},
		"npm":                 {session.ErrClosed, 1, npmError, false, "it ended with exit code 1: npm error code E404 npm error 404 Not Found - GET https://registry.example/nothing - Not found npm error 404 npm error 404 'nothing@*' is not in this registry."},
		"colors, and a log":   {session.ErrClosed, 1, "\x1b[32mINFO\x1b[0m starting\n\x1b[31mERROR\x1b[0m DATABASE_URL is missing\n\x1b[32mINFO\x1b[0m bye\x1b[0m", false, "it ended with exit code 1: ERROR DATABASE_URL is missing INFO bye"},
		"only a trace":        {session.ErrClosed, 1, "Node.js v20.11.0", false, "it ended with exit code 1: Node.js v20.11.0"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, settings, func(w *world) {
				a := w.fakes.server("a")
				a.refuse, a.says, a.ends, a.code, a.hang = c.refuse, c.said, !c.hang, c.code, c.hang
				d := stdio("a")
				d["env"] = map[string]string{"KEY": "${TOKEN}"}
				w.configure(map[string]definition{"a": d})
				synctest.Wait()
				time.Sleep(30 * time.Second)
				synctest.Wait()
				if s := w.detail("a"); s.Error != c.want {
					t.Errorf("it says %q, want %q", s.Error, c.want)
				}
			})
		})
	}
}

// What interpreters write before they end.
const (
	nodeTrace = `node:internal/modules/cjs/loader:1228
  throw err;
  ^

Error: Cannot find module '/srv/nothing.js'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1225:15)
    at node:internal/main/run_main_module:36:49 {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}

Node.js v20.11.0`
	pythonTrace = `Traceback (most recent call last):
  File "/srv/server.py", line 1, in <module>
    import mcp
ModuleNotFoundError: No module named 'mcp'
`
	npmError = `npm warn exec The following package was not found and will be installed: nothing
npm error code E404
npm error 404 Not Found - GET https://registry.example/nothing - Not found
npm error 404
npm error 404 'nothing@*' is not in this registry.
npm error A complete log of this run can be found in: /home/dev/.npm/_logs/x.log`
)

// TestManyAtOnce: of many servers only some start at the same time, and those that hang
// don't cost the others their time.
func TestManyAtOnce(t *testing.T) {
	bubble(t, settings, func(w *world) {
		const all = 60
		limit := max(4, 2*runtime.GOMAXPROCS(0))
		servers := map[string]definition{}
		starts := func() (n int) {
			for name := range servers {
				started, _, _ := w.fakes.server(name).counts()
				n += min(started, 1)
			}
			return n
		}
		for i := range all {
			name := fmt.Sprintf("s%02d", i)
			servers[name] = stdio(name)
			w.fakes.server(name).hang = i%2 == 0
		}
		w.configure(servers)
		time.Sleep(time.Second)
		if n := starts(); n < limit || n > limit+all/2 {
			t.Errorf("%d have been started at once", n)
		}
		time.Sleep(time.Duration(all/2/limit+2) * 5 * time.Second)
		synctest.Wait()
		for i := 1; i < all; i += 2 {
			if s := w.detail(fmt.Sprintf("s%02d", i)); s.Outcome != snapshot.OutcomeConnected {
				t.Errorf("%s: %s %s", s.Name, s.Outcome, s.Error)
			}
		}
	})
}

// TestDies: a call that goes on ends with what has happened, and the next one is
// answered by another process, which isn't started faster than back-off lets it.
func TestDies(t *testing.T) {
	bubble(t, settings, func(w *world) {
		a := w.fakes.server("a")
		w.configure(map[string]definition{"a": stdio("a")})
		synctest.Wait()
		a.call = block
		go func() {
			time.Sleep(time.Second)
			a.one().die(7, "panic: out of cheese")
		}()
		code, text := w.say("a", "hi")
		if code != http.StatusBadGateway || !strings.Contains(text, "the server ended during the call: it ended with exit code 7: panic: out of cheese") {
			t.Errorf("%d %s", code, text)
		}
		w.expect("dead", snapshot.PhaseComplete, "a__echo", "a cached")
		a.set(func(f *fakeServer) { f.call = nil })
		before := time.Now()
		if code, text := w.say("a", "hi"); code != http.StatusOK {
			t.Errorf("%d %s", code, text)
		}
		if pause := time.Since(before); pause > 2*time.Second {
			t.Errorf("it came back after %s", pause)
		}
		if s := w.detail("a"); s.Restarts != 1 || s.Outcome != snapshot.OutcomeConnected {
			t.Errorf("%+v", s)
		}
	})
}

// TestSessionLost: a call for which a server over HTTP has no session is made once more, at
// once, in a new one. If that is lost, too, or there is none, the call says so.
func TestSessionLost(t *testing.T) {
	for name, c := range map[string]struct {
		lose   int  // how many calls lose their session
		refuse bool // there is no new session
		code   int
		want   string
		starts int
	}{
		"once":           {1, false, 200, "echo", 2},
		"twice":          {2, false, 502, "a new session was lost at once, too: the server no longer knows the session", 3},
		"no new session": {1, true, 502, "nothing listens there", 2},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, settings, func(w *world) {
				a := w.fakes.server("a")
				w.configure(map[string]definition{"a": remote("a")})
				synctest.Wait()
				lost := 0
				a.set(func(f *fakeServer) {
					f.call = func(_ context.Context, call *session.Call) (*session.Result, error) {
						if lost++; lost <= c.lose {
							if c.refuse {
								a.set(func(f *fakeServer) { f.refuse = errors.New("nothing listens there") })
							}
							return nil, a.forget()
						}
						return &session.Result{Content: []session.Content{{Type: "text", Text: call.Tool}}}, nil
					}
				})
				begun := time.Now()
				code, text := w.say("a", "hi")
				if code != c.code || !strings.Contains(text, c.want) || time.Since(begun) > 0 {
					t.Errorf("%d %s after %s", code, text, time.Since(begun))
				}
				if c.lose == 2 {
					synctest.Wait() // it is connected again, for the next call
				}
				if starts, _, _ := a.counts(); starts != c.starts {
					t.Errorf("%d connections, want %d", starts, c.starts)
				}
			})
		})
	}
}

// TestStarting: the row of a server that is still starting doesn't say that it has no tools.
// One with a command and a url says which of them counts.
func TestStarting(t *testing.T) {
	bubble(t, settings, func(w *world) {
		w.fakes.server("h").hang = true
		both := stdio("a")
		both["url"] = "https://a.example.com/mcp"
		w.configure(map[string]definition{"h": stdio("h"), "a": both})
		synctest.Wait()
		if r := w.row("h"); r.Status != snapshot.StatusExcluded || !strings.Contains(r.Error, "it is starting") {
			t.Errorf("while it starts: %s, %q", r.Status, r.Error)
		}
		d := w.detail("a")
		if d.Transport != "stdio" || len(d.Findings) != 1 || !strings.Contains(d.Findings[0].Text, "it has a command and a url") {
			t.Errorf("with both: %s %+v", d.Transport, d.Findings)
		}
		w.fakes.server("h").set(func(f *fakeServer) { f.hang = false })
		time.Sleep(time.Minute)
		synctest.Wait()
		if r := w.row("h"); r.Status != snapshot.StatusOK || r.Error != "" {
			t.Errorf("then: %s, %q", r.Status, r.Error)
		}
	})
}

// TestHangsInCalls: a server that neither answers a call in time nor a ping is ended, and
// the next call is another process'. One that answers pings is busy, and stays.
func TestHangsInCalls(t *testing.T) {
	for name, c := range map[string]struct {
		of     definition
		deaf   bool
		starts int
		pings  int
	}{
		"hangs":              {stdio("a"), true, 2, 1},
		"is busy":            {stdio("a"), false, 1, 2},
		"hangs, over SSE":    {definition{"type": "sse", "url": "https://a.example.com/sse"}, true, 2, 1},
		"somewhere, by HTTP": {remote("a"), true, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, settings, func(w *world) {
				a := w.fakes.server("a")
				w.configure(map[string]definition{"a": c.of})
				synctest.Wait()
				a.set(func(f *fakeServer) { f.call, f.deaf = block, c.deaf })
				var calls sync.WaitGroup
				for i := range 2 { // one of which would go on
					calls.Go(func() {
						time.Sleep(time.Duration(i) * 30 * time.Second)
						if code, text := w.say("a", "x"); code != http.StatusBadGateway {
							t.Errorf("%d %s", code, text)
						}
					})
				}
				calls.Wait()
				time.Sleep(6 * time.Second)
				synctest.Wait()
				const why = "it answered neither a call in time nor a ping within 5s"
				if s := w.detail("a"); (s.Error == why) != (c.starts > 1) {
					t.Errorf("it is %s: %s", s.Outcome, s.Error)
				}
				if _, log := w.text("GET", agentapi.PathMCPServers+"/a/logs", ""); strings.Contains(log, "ended: "+why) != (c.starts > 1) {
					t.Errorf("its log: %s", log)
				}
				a.set(func(f *fakeServer) { f.call, f.deaf = nil, false })
				if code, text := w.say("a", "x"); code != http.StatusOK {
					t.Errorf("the next call: %d %s", code, text)
				}
				starts, _, most := a.counts()
				if starts != c.starts || most != 1 || a.pings != c.pings {
					t.Errorf("%d starts, %d at a time, %d pings; want %d starts, %d pings", starts, most, a.pings, c.starts, c.pings)
				}
			})
		})
	}
}

// TestOlder: a server that doesn't know what is asked first is started once more, and
// never asked so again.
func TestOlder(t *testing.T) {
	bubble(t, settings, func(w *world) {
		a := w.fakes.server("a")
		a.older = true
		servers := map[string]definition{"a": stdio("a")}
		w.configure(servers)
		w.expect("connected", snapshot.PhaseComplete, "a__echo", "a connected")
		time.Sleep(11 * time.Minute)
		w.say("a", "hi")
		w.stop()
		w.begin()
		w.configure(servers)
		w.say("a", "hi")
		if got := strings.Join(a.protocols, ","); got != ",2025-11-25,2025-11-25,2025-11-25" {
			t.Errorf("asked for %q", got)
		}
		if _, _, most := a.counts(); most != 1 {
			t.Errorf("%d ran at the same time", most)
		}
	})
}

// TestListChanged: a server that says so is asked again, but not all the time.
func TestListChanged(t *testing.T) {
	bubble(t, settings, func(w *world) {
		a := w.fakes.server("a")
		w.configure(map[string]definition{"a": stdio("a")})
		synctest.Wait()
		time.Sleep(time.Minute)
		a.set(func(f *fakeServer) { f.tools = []catalog.Tool{tool("echo", "Say it again."), tool("new", "")} })
		a.one().changed <- struct{}{}
		time.Sleep(time.Second)
		w.expect("changed", snapshot.PhaseComplete, "a__echo a__new", "a connected")
		// One that never lists again keeps what it has.
		a.set(func(f *fakeServer) { f.endless = true })
		a.one().changed <- struct{}{}
		time.Sleep(40 * time.Second)
		w.expect("endless", snapshot.PhaseComplete, "a__echo a__new", "a connected")
		if d := w.detail("a"); !strings.Contains(d.Error, "its tools are not known anew") {
			t.Errorf("%+v", d.MCPServer)
		}
	})
}

// TestReload: unchanged entries keep their connection, changed ones theirs of before
// when the new one can't be had, and removed ones end.
func TestReload(t *testing.T) {
	bubble(t, settings, func(w *world) {
		w.configure(map[string]definition{"a": stdio("a"), "b": stdio("b"), "c": stdio("c")})
		synctest.Wait()
		w.fakes.server("d").refuse = errRefused
		w.configure(map[string]definition{"a": stdio("a"), "b": stdio("d"), "n": stdio("n")})
		w.expect("changed", snapshot.PhaseComplete, "a__echo b__echo n__echo", "a connected, b connected, n connected")
		if code, text := w.say("b", "hi"); code != 200 {
			t.Errorf("the old connection: %d %s", code, text)
		}
		time.Sleep(time.Second)
		if d := w.detail("b"); !strings.Contains(d.Error, "(nobody answers): the connection from before is kept") {
			t.Errorf("it says %q", d.Error)
		}
		for name, want := range map[string][2]int{"a": {1, 1}, "b": {1, 1}, "c": {1, 0}, "n": {1, 1}} { // starts, running
			if starts, running, _ := w.fakes.server(name).counts(); starts != want[0] || running != want[1] {
				t.Errorf("%s: %d starts, %d running, want %v", name, starts, running, want)
			}
		}
		if code, _ := w.say("c", "hi"); code != http.StatusNotFound {
			t.Errorf("the removed one: %d", code)
		}
		// Tried again, it takes the place.
		w.fakes.server("d").set(func(f *fakeServer) { f.refuse = nil })
		time.Sleep(time.Minute)
		w.expect("tried again", snapshot.PhaseComplete, "a__echo b__echo n__echo", "a connected, b connected, n connected")
		if _, running, _ := w.fakes.server("b").counts(); running != 0 {
			t.Error("the old one runs still")
		}
		if _, running, _ := w.fakes.server("d").counts(); running != 1 {
			t.Error("the new one doesn't run")
		}
		// Removed and back again at once: never two.
		w.fakes.server("a").set(func(f *fakeServer) { f.stubborn = true })
		w.configure(map[string]definition{"b": stdio("d")})
		synctest.Wait()
		w.configure(map[string]definition{"a": stdio("a"), "b": stdio("d")})
		w.say("a", "hi")
		w.expect("back again", snapshot.PhaseComplete, "a__echo b__echo", "a connected, b connected")
		w.text("POST", agentapi.PathMCPServers+"/a/restart", "")
		w.expect("restarted", snapshot.PhaseComplete, "a__echo b__echo", "a connected, b connected")
		if _, _, most := w.fakes.server("a").counts(); most != 1 {
			t.Errorf("%d ran at the same time", most)
		}
	})
}

// TestInvalidFile keeps what was there, and says so.
func TestInvalidFile(t *testing.T) {
	bubble(t, settings, func(w *world) {
		w.configure(map[string]definition{"a": stdio("a")})
		synctest.Wait()
		for _, text := range []string{`{"mcpServers":`, `{"mcpServers": 7}`} {
			w.service.SetFiles([]entry.File{w.file(".mcp.json", text)})
			w.expect("broken", snapshot.PhaseComplete, "a__echo", "a connected")
			if d := w.detail("a"); !strings.Contains(d.Error, "what it said before counts") || len(d.Findings) != 1 {
				t.Errorf("%s: %+v", text, d.MCPServer)
			}
		}
		// One that has changed since it was found is looked at again.
		f := w.file(".mcp.json", `{"mcpServers":{"b":{"command":"./server","args":["b"]}}}`)
		w.file(".mcp.json", `{"mcpServers":{"c":{"command":"./server","args":["c"]}}}`)
		w.service.SetFiles([]entry.File{f})
		w.expect("changed since", snapshot.PhaseComplete, "a__echo", "a connected")
		// An entry that can't be used any more keeps its connection.
		w.configure(map[string]definition{"a": {"command": "./server", "args": 7}})
		w.expect("a bad entry", snapshot.PhaseComplete, "a__echo", "a connected")
		w.service.SetFiles(nil)
		w.expect("removed", snapshot.PhaseComplete, "", "")
	})
}

// TestShadowed: the first file wins, and the other entry says why it doesn't count.
func TestShadowed(t *testing.T) {
	bubble(t, settings, func(w *world) {
		first := w.file(".mcp.json", `{"mcpServers":{"a":{"command":"./server","args":["a"]}}}`)
		second := w.file("other.json", `{"mcpServers":{"a":{"command":"./server","args":["b"]},"u":{"command":"./server","args":["u"]}}}`)
		second.Origin = entry.OriginUser
		w.service.SetFiles([]entry.File{first, second})
		w.expect("two files", snapshot.PhaseComplete, "a__echo", "a connected, u listed")
		if d := w.detail("a"); len(d.Shadows) != 1 || d.Shadows[0] != second.Path {
			t.Errorf("shadows %q", d.Shadows)
		}
		w.row("a")
		var why string
		for _, o := range w.service.Discovery().Sources {
			if strings.HasSuffix(o.ID, "other.json#a") {
				why = o.Error
			}
		}
		if !strings.Contains(why, first.Path) {
			t.Errorf("it says %q", why)
		}
		with := settings
		with.From = []entry.Origin{entry.OriginUser}
		w.service.SetSettings(with)
		w.expect("widened", snapshot.PhaseComplete, "a__echo u__echo", "a connected, u connected")
	})
}

// TestSettings: what they switch off ends, and what they allow begins.
func TestSettings(t *testing.T) {
	bubble(t, settings, func(w *world) {
		w.configure(map[string]definition{"a": stdio("a"), "b": stdio("b")})
		w.expect("all", snapshot.PhaseComplete, "a__echo b__echo", "a connected, b connected")
		for _, c := range []struct {
			change         func(s *mcp.Settings)
			tools, servers string
			code           int // of a call of a's
		}{
			{func(s *mcp.Settings) { s.Deny = []string{"a"} }, "b__echo", "a switched_off, b connected", 403},
			{func(s *mcp.Settings) { s.Deny = []string{"a__e*"} }, "b__echo", "a connected, b connected", 403},
			{func(s *mcp.Settings) { s.Allow = []string{"b__*"} }, "b__echo", "a switched_off, b connected", 403},
			{func(s *mcp.Settings) { s.Allow = []string{"*"} }, "a__echo b__echo", "a connected, b connected", 200},
			{func(s *mcp.Settings) { s.Servers = map[string]mcp.ServerSettings{"a": {Off: true}} }, "b__echo", "a switched_off, b connected", 403},
			{func(s *mcp.Settings) { s.Tools = 1 }, "a__echo", "a connected, b connected", 200},
			{func(s *mcp.Settings) { s.Bytes = 10 }, "", "a connected, b connected", 200},
			{func(s *mcp.Settings) { s.Off = true }, "", "a switched_off, b switched_off", 403},
			{func(*mcp.Settings) {}, "a__echo b__echo", "a connected, b connected", 200},
		} {
			with := settings
			c.change(&with)
			w.service.SetSettings(with)
			synctest.Wait()
			w.tools("?refresh=true&wait=1m")
			w.expect("with other settings", snapshot.PhaseComplete, c.tools, c.servers)
			if code, text := w.say("a", "hi"); code != c.code {
				t.Errorf("%d %s, want %d", code, text, c.code)
			}
		}
	})
}

// TestCloseTogether: servers that take their time to end take it at the same time.
func TestCloseTogether(t *testing.T) {
	bubble(t, settings, func(w *world) {
		servers := map[string]definition{}
		for _, name := range strings.Fields("a b c d e f g h") {
			servers[name] = stdio(name)
			w.fakes.server(name).stubborn = true
		}
		w.fakes.server("h").hang = true
		w.configure(servers)
		synctest.Wait()
		before := time.Now()
		w.stop()
		if took := time.Since(before); took != 2300*time.Millisecond {
			t.Errorf("all were ended after %s", took)
		}
	})
}

// TestRefresh asks again, and is shared by those who ask at the same time.
func TestRefresh(t *testing.T) {
	bubble(t, settings, func(w *world) {
		a, f := w.fakes.server("a"), w.fakes.server("f")
		f.refuse = errRefused
		w.configure(map[string]definition{"a": stdio("a"), "f": stdio("f")})
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		before, _, _ := f.counts()
		a.set(func(f *fakeServer) { f.tools = append(f.tools, tool("new", "")) })
		f.set(func(f *fakeServer) { f.hang, f.refuse = true, nil })
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				if phase, tools, servers := w.tools("?refresh=true"); phase != snapshot.PhaseComplete || tools != "a__echo a__new" || servers != "a connected, f failed" {
					t.Errorf("%s %s %s", phase, tools, servers)
				}
			})
		}
		callers.Wait()
		if after, _, _ := f.counts(); after-before > 2 {
			t.Errorf("eight callers have started it %d times", after-before)
		}
	})
}

// TestWaitForOne: who waits for one server waits for no other.
func TestWaitForOne(t *testing.T) {
	bubble(t, settings, func(w *world) {
		w.fakes.server("h").hang = true
		w.configure(map[string]definition{"a": stdio("a"), "h": stdio("h"), "bad": {"command": 7}})
		before := time.Now()
		list := get[agentapi.MCPServers](w, agentapi.PathMCPServers+"?wait=10s&name=a")
		if len(list.Servers) != 1 || list.Servers[0].Name != "a" || list.Servers[0].Outcome != snapshot.OutcomeConnected || list.Phase != snapshot.PhaseComplete || len(list.Invalid) != 0 || time.Since(before) != 0 {
			t.Errorf("after %s: %+v", time.Since(before), list)
		}
		list = get[agentapi.MCPServers](w, agentapi.PathMCPServers+"?wait=10s&name=h")
		if len(list.Servers) != 1 || list.Phase != snapshot.PhasePending || time.Since(before) != 10*time.Second {
			t.Errorf("after %s: %+v", time.Since(before), list)
		}
		if list = get[agentapi.MCPServers](w, agentapi.PathMCPServers+"?wait=1s&name=nobody"); len(list.Servers) != 0 || list.Phase != snapshot.PhaseComplete {
			t.Errorf("%+v", list)
		}
		list = get[agentapi.MCPServers](w, agentapi.PathMCPServers)
		want := agentapi.MCPInvalid{Source: w.root + "/.mcp.json", Name: "bad", Error: "command is a number, not a string"}
		if len(list.Servers) != 3 || len(list.Invalid) != 1 || list.Invalid[0] != want {
			t.Errorf("%+v", list)
		}
	})
}
