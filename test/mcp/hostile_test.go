package mcp_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/internal/text"
	"waymark/snapshot"
	hostile "waymark/test/mcp/servers"
)

// quick are times that let what hangs be over soon. What works gets another
// chance when the machine stood still for that long.
const quick = "connect_timeout = \"6s\"\ncall_timeout = \"3s\"\n"

var (
	failed  = []snapshot.Outcome{snapshot.OutcomeFailed}
	decided = []snapshot.Outcome{snapshot.OutcomeFailed, snapshot.OutcomeConnected, snapshot.OutcomeCached}
)

// outcome is what has to become of a hostile server.
type outcome struct {
	is []snapshot.Outcome
	// check is called when it has become that; it may be nil.
	check func(f *fleet, name string)
	// echoes says that its tool echo works, before and after the check.
	echoes bool
}

// outcomes has every mode of package hostile that is no helper, but for those of
// escape_test.go and secrets_test.go.
func outcomes() map[string]outcome {
	fine := outcome{is: works, echoes: true}
	bad := outcome{is: failed}
	fails := func(tools ...string) outcome { return outcome{works, callFails(tools...), true} }
	finding := outcome{works, hasFinding, true}
	return map[string]outcome{
		hostile.Good: fine,
		"mute":       bad, "late": fine, "mute-list": bad, "ignores-unknown": fine, "half-line": bad, "wrong-version": bad, "refuses": bad,
		"dies-at-start": bad, "dies-in-handshake": bad, "closes-stdout": {failed, endsProcess, false}, "never-reads": {failed, endsProcess, false},
		"spins": {failed, endsProcess, false}, "wrong-ids": bad, "string-ids": bad, "asks-before": fine,

		"greets": fine, "noise": fine, "binary-noise": fine, "brace-noise": fine, "crlf": fine, "long-line": bad, "endless-line": bad,
		"endless-noise": {is: decided}, "deep-message": bad, "batches": {is: decided}, "answers-twice": fine, "floods-stderr": {works, boundedLog, true}, "escapes-stderr": {works, cleanLog, true},

		"endless-cursor": {decided, boundedTools, false}, "same-cursor": {decided, boundedTools, false}, "empty-pages": {decided, boundedTools, false},
		"many-tools": {works, trimmedTools, false}, "no-tools": {works, boundedTools, false}, "null-tools": {is: decided},
		"names": {works, hasFinding, true}, "odd-names": finding, "odd-types": {is: decided}, "no-schemas": {is: decided},
		"twins": {works, oneTwin, true}, "big-schema": finding, "deep-schema": {is: decided}, "invalid-utf8": {is: decided},
		"long-instructions": fine, "lies": fine, "never-the-same": {is: works}, "turns": {works, turned, true},

		"floods-notifications": fine, "foreign-progress": fine, "cancels": fine, "asks": {works, refusedRequests, true}, "pings": {works, mayFail, true},
		"unknown-notifications": fine,

		"dies-in-call": fails("do"), "mute-call": fails("do"), "deaf-call": fails("do"), "closes-in-call": fails("do"), "huge-result": fails("do"),
		"long-result": {works, cutResult, true}, "many-pieces": {works, boundedResult, true}, "odd-results": {works, oddResults, true},
		"escapes-result": {works, escapedResult, true}, "floods-progress": {works, progressed, true}, "ignores-cancel": fails("do"),

		"ignores-sigterm": fine, "ignores-eof": fine, "detaches": fine, "litters": fine,
	}
}

// elsewhere are the modes that other tests have.
func elsewhere() []string { return []string{"tries", "echoes"} }

// TestHostileModes: every mode has its outcome here, or is another test's.
func TestHostileModes(t *testing.T) {
	t.Parallel()
	table := outcomes()
	seen := map[string]bool{}
	for _, m := range hostile.Modes() {
		_, here := table[m.Name]
		if here == (m.Helper() || slices.Contains(elsewhere(), m.Name)) {
			t.Errorf("mode %s: has an outcome here: %v", m.Name, here)
		}
		if seen[m.Name] {
			t.Errorf("there are two modes %s", m.Name)
		}
		seen[m.Name] = true
	}
	for name := range table {
		if !seen[name] {
			t.Errorf("there is no mode %s", name)
		}
	}
}

// fleet is a world with one server that behaves, which is called all the time.
type fleet struct {
	*world
	t *testing.T

	calls   atomic.Int64
	longest atomic.Int64 // of those calls, in ns
	ended   chan struct{}
	calling sync.WaitGroup
}

// sail starts an agent with these servers and the good one, all approved.
func sail(t *testing.T, mcp string, servers config) *fleet {
	t.Helper()
	f := &fleet{world: newWorld(t, mcp), t: t, ended: make(chan struct{})}
	servers = maps.Clone(servers)
	for name, e := range servers {
		if e.Command == "" && e.URL == "" {
			servers[name] = f.hostileEntry(name, e.Args...)
		}
	}
	servers[hostile.Good] = f.hostileEntry(hostile.Good)
	f.configure(servers)
	f.start()
	names := slices.Sorted(maps.Keys(servers))
	f.listed(names...)
	f.approve(hostile.Good)
	f.echoes(hostile.Good)
	f.calling.Go(f.neighbor)
	f.approve(slices.DeleteFunc(names, func(name string) bool { return name == hostile.Good })...)
	return f
}

// neighbor calls the good server until the end.
func (f *fleet) neighbor() {
	late := false
	for {
		begun := time.Now()
		r, err := f.call(hostile.Good+"__echo", `{"text":"hello"}`)
		switch {
		case client.CodeOf(err) == http.StatusGatewayTimeout && !late:
			late = true // the machine may have stood still for that long
		case err != nil || say(r) != "hello":
			select {
			case <-f.ended:
			default:
				f.t.Errorf("the good server is disturbed after %d calls: %v, %v", f.calls.Load(), r, err)
			}
			return
		default:
			late = false
			f.calls.Add(1)
		}
		f.longest.Store(max(f.longest.Load(), int64(time.Since(begun))))
		select {
		case <-f.ended:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// harbor ends the agent; nothing is left.
func (f *fleet) harbor() {
	f.t.Helper()
	close(f.ended)
	f.calling.Wait()
	f.t.Logf("the good server answered %d calls, the slowest within %v", f.calls.Load(), time.Duration(f.longest.Load()).Round(time.Millisecond))
	f.stop()
}

// TestHostile runs the servers of the corpus, in groups that share an agent.
func TestHostile(t *testing.T) {
	t.Parallel()
	table := outcomes()
	names := slices.Sorted(maps.Keys(table))
	names = slices.DeleteFunc(names, func(name string) bool { return name == hostile.Good })
	const group = 16
	for i := 0; len(names) > 0; i++ {
		n := min(group, len(names))
		some := names[:n]
		names = names[n:]
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			runHostile(t, table, some)
		})
	}
}

func runHostile(t *testing.T, table map[string]outcome, names []string) {
	t.Helper()
	servers := config{}
	for _, name := range names {
		servers[name] = entry{}
	}
	f := sail(t, quick, servers)
	t.Run("modes", func(t *testing.T) { // and when all have ended, what is below
		for _, name := range names {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				(&fleet{world: f.in(t), t: t}).try(name, table[name])
			})
		}
	})
	f.snapshotIsFine()
	f.harbor()
}

// try looks at what becomes of one server.
func (f *fleet) try(name string, want outcome) {
	f.t.Helper()
	shown(f.t, f.becomes(name, want.is...))
	if want.echoes {
		f.echoes(name)
	}
	if want.check != nil {
		want.check(f, name)
		if want.echoes {
			f.echoes(name)
		}
	}
}

// in is the world in a part of its test.
func (w *world) in(t testing.TB) *world {
	other := *w
	other.t = t
	return &other
}

// shown requires that what is shown of a server is text of a bounded length, and
// that a failed one says why.
func shown(t *testing.T, d *agentapi.MCPServerDetail) {
	t.Helper()
	all, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) > 4<<20 {
		t.Errorf("%d bytes are shown of it", len(all))
	}
	if d.Outcome == snapshot.OutcomeFailed && (d.Error == "" || len(d.Error) > 4<<10 || !utf8.ValidString(d.Error) || strings.ContainsAny(d.Error, "\x00\x1b")) {
		t.Errorf("it failed with %q", d.Error)
	}
	t.Logf("%s, %d tools, %d findings, %q", d.Outcome, len(d.Tools), len(d.Findings), d.Error)
}

// snapshotIsFine requires that what is published of all servers is bounded, and
// that every row is there.
func (f *fleet) snapshotIsFine() {
	f.t.Helper()
	f.await("that every server is in the snapshot", func() (any, bool) {
		s, err := f.client.Snapshot(f.ctx, client.SnapshotOptions{})
		if err != nil {
			return err, false
		}
		list, err := f.client.MCPServers(f.ctx, "", 0)
		if err != nil {
			return err, false
		}
		rows := 0
		for i := range s.Resources {
			if s.Resources[i].Kind == "mcp_server" {
				rows++
			}
		}
		return fmt.Sprintf("%d rows, %d servers", rows, len(list.Servers)), rows == len(list.Servers)
	})
}

func callFails(tools ...string) func(*fleet, string) {
	return func(f *fleet, name string) {
		f.t.Helper()
		for _, tool := range tools {
			r, err := f.call(name+"__"+tool, "{}")
			if err == nil && !r.IsError {
				f.t.Errorf("the call has a result: %.1000v", r)
			}
			if err != nil && client.CodeOf(err) != http.StatusBadGateway && client.CodeOf(err) != http.StatusGatewayTimeout {
				f.t.Errorf("the call fails with %v", err)
			}
			f.t.Log(err)
		}
	}
}

func mayFail(f *fleet, name string) {
	f.t.Helper()
	_, err := f.call(name+"__do", "{}")
	f.t.Log(err)
}

func hasFinding(f *fleet, name string) {
	f.t.Helper()
	d := f.becomes(name, works...)
	if len(d.Findings) == 0 {
		f.t.Error("it has no finding")
	}
	for _, finding := range d.Findings {
		if text.Printable(finding.Text) != finding.Text || text.Printable(finding.Tool) != finding.Tool {
			f.t.Errorf("a finding shows %q of %q", finding.Text, finding.Tool)
		}
	}
	for _, args := range [][]string{{"mcp", "show", name}, {"mcp", "list"}} {
		out, err := f.run(args...)
		if err != nil {
			f.t.Errorf("%v: %v\n%s", args, err, out)
		}
		if strings.ContainsAny(out, "\x1b\u200b\u202e\U000e0041\x00") {
			f.t.Errorf("%v prints %q", args, out)
		}
	}
}

func boundedTools(f *fleet, name string) {
	f.t.Helper()
	d := f.becomes(name, decided...)
	if n := len(d.Tools); n > 1000 {
		f.t.Errorf("it has %d tools", n)
	}
}

func trimmedTools(f *fleet, name string) {
	f.t.Helper()
	boundedTools(f, name)
	hasFinding(f, name)
}

func oneTwin(f *fleet, name string) {
	f.t.Helper()
	hasFinding(f, name)
	twins := 0
	for _, tool := range f.becomes(name, works...).Tools {
		if strings.HasSuffix(tool.Name, "twin") {
			twins++
		}
	}
	if twins > 1 {
		f.t.Errorf("there are %d twins", twins)
	}
}

// endsProcess: a server that has failed is ended.
func endsProcess(f *fleet, name string) {
	f.t.Helper()
	f.await("that its process is gone", func() (any, bool) {
		var those []string
		for _, line := range lines(f.left()) {
			if strings.Contains(line, " "+name+" ") || strings.Contains(line, "/hostile "+name) {
				those = append(those, line)
			}
		}
		return those, len(those) == 0
	})
}

// wholeLog reads all that there is of a log.
func wholeLog(f *fleet, name string) string {
	f.t.Helper()
	var b strings.Builder
	for offset := int64(0); ; {
		page, err := f.client.MCPLogs(f.ctx, name, client.MCPLogOptions{Offset: offset})
		f.must(err)
		b.WriteString(page.Text)
		if page.NextOffset <= offset || page.Text == "" {
			return b.String()
		}
		offset = page.NextOffset
	}
}

func boundedLog(f *fleet, name string) {
	f.t.Helper()
	if n := len(wholeLog(f, name)); n > 16<<20 {
		f.t.Errorf("its log has %d bytes", n)
	}
}

func cleanLog(f *fleet, name string) {
	f.t.Helper()
	if log := wholeLog(f, name); !utf8.ValidString(log) || !strings.Contains(log, "owned") {
		f.t.Errorf("its log is %q", log)
	}
}

// turned: what an approved server has changed is held back.
func turned(f *fleet, name string) {
	f.t.Helper()
	r, err := f.call(name+"__pay", "{}")
	if err != nil || say(r) != "paid" {
		f.t.Fatalf("%v, %v", r, err)
	}
	f.put(filepath.Join(f.root, hostile.TurnFile), "now")
	_, err = f.call(name+"__turn", "{}")
	f.must(err)
	var d *agentapi.MCPServerDetail
	f.await("that the changed tool is held back", func() (any, bool) {
		d, err = f.client.MCPServer(f.ctx, name)
		f.must(err)
		return d.Held, len(d.Held) > 0
	})
	if r, err := f.call(name+"__pay", "{}"); err == nil {
		f.t.Errorf("the changed tool is called: %v", r)
	}
	for _, tool := range d.Tools {
		if strings.Contains(tool.Description, "id_ed25519") {
			f.t.Errorf("the changed tool is listed: %v", tool)
		}
	}
	if i := slices.IndexFunc(d.Held, func(h agentapi.MCPHeldTool) bool { return strings.HasSuffix(h.Name, "pay") }); i < 0 || !strings.Contains(d.Held[i].Diff, "id_ed25519") {
		f.t.Errorf("what is held back is %+v", d.Held)
	}
	f.approve(name)
	f.await("that it can be called again", func() (any, bool) {
		r, err := f.call(name+"__pay", "{}")
		return err, err == nil && say(r) == "paid"
	})
}

func refusedRequests(f *fleet, name string) {
	f.t.Helper()
	r, err := f.call(name+"__echo", "{}")
	f.must(err)
	for line := range strings.Lines(say(r)) {
		// Roots may be told: there are none.
		if strings.Contains(line, "no answer") || strings.Contains(line, "granted") && !strings.HasPrefix(line, "roots/list") {
			f.t.Errorf("it was told: %s", line)
		}
	}
}

func cutResult(f *fleet, name string) {
	f.t.Helper()
	r, err := f.call(name+"__do", "{}")
	f.must(err)
	if len(say(r)) > 1<<20 || r.Truncated == nil || r.Truncated.OriginalBytes < 4<<20 || r.Truncated.ResultID == "" {
		f.t.Fatalf("%d bytes, cut: %+v", len(say(r)), r.Truncated)
	}
	var whole strings.Builder
	for offset := int64(0); ; {
		page, err := f.client.MCPResult(f.ctx, r.Truncated.ResultID, offset, 0)
		f.must(err)
		whole.WriteString(page.Text)
		if page.NextOffset <= offset || page.NextOffset >= page.Length {
			break
		}
		offset = page.NextOffset
	}
	if n := strings.Count(whole.String(), "0123456789abcdef"); n < 4<<20/16 {
		f.t.Errorf("the whole has %d of %d pieces", n, 4<<20/16)
	}
}

func boundedResult(f *fleet, name string) {
	f.t.Helper()
	r, err := f.call(name+"__do", "{}")
	if err != nil {
		f.t.Log(err)
		return
	}
	all, err := json.Marshal(r)
	f.must(err)
	if len(all) > 1<<20 {
		f.t.Errorf("the result has %d bytes", len(all))
	}
}

func oddResults(f *fleet, name string) {
	f.t.Helper()
	for i, odd := range hostile.OddResults() {
		r, err := f.call(fmt.Sprint(name, "__do", i), "{}")
		if err != nil && client.CodeOf(err) != http.StatusBadGateway && client.CodeOf(err) != http.StatusGatewayTimeout {
			f.t.Errorf("%s: %v", odd, err)
		}
		if err == nil && r.Content == nil {
			f.t.Errorf("%s: content is null", odd)
		}
		f.t.Logf("%s: %+v, %v", odd, r, err)
		f.echoes(name)
	}
}

func escapedResult(f *fleet, name string) {
	f.t.Helper()
	out, err := f.run("mcp", "call", name+"__fail")
	if err == nil || strings.ContainsAny(out, "\x1b\u202e\x00") || !strings.Contains(out, "gnp.exe") {
		f.t.Errorf("agent mcp call prints %q (%v)", out, err)
	}
}

func progressed(f *fleet, name string) {
	f.t.Helper()
	notes := 0
	r, err := f.client.CallMCPTool(f.ctx, agentapi.CallMCPTool{ToolName: name + "__do"}, func(agentapi.MCPProgress) { notes++ })
	if err != nil || say(r) != "done" {
		f.t.Errorf("%v, %v", r, err)
	}
	f.t.Logf("%d notes of %d", notes, hostile.ProgressNotes)
}

// TestHostileHTTP runs those that are reached over HTTP.
func TestHostileHTTP(t *testing.T) {
	t.Parallel()
	programs(t)
	var strangers atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		strangers.Add(1)
		t.Errorf("another origin was asked for %s %s with %v", r.Method, r.URL, r.Header)
	}))
	t.Cleanup(other.Close)
	server := httptest.NewServer(hostile.Handler(other.URL))
	t.Cleanup(server.CloseClientConnections)
	const secret = "Bearer 0f4c2ad19b7e4e55"
	servers := config{}
	for _, m := range hostile.HTTP() {
		e := entry{Type: "http", URL: server.URL + "/" + m.Name, Headers: map[string]string{"Authorization": secret}}
		if m.SSE {
			e.Type = "sse"
		}
		servers[m.Name] = e
	}
	delete(servers["oauth-elsewhere"].Headers, "Authorization")
	f := sail(t, quick, servers)
	for _, m := range hostile.HTTP() {
		t.Run(m.Name, func(t *testing.T) {
			f := &fleet{world: f.in(t), t: t}
			want := failed
			switch m.Name {
			case hostile.GoodHTTP, "redirect-call":
				want = works
			case "oauth-elsewhere":
				want = []snapshot.Outcome{snapshot.OutcomeNeedsAuthorization}
			case "forbids":
				want = append(failed, snapshot.OutcomeNeedsAuthorization)
			case "new-session":
				want = decided
			}
			d := f.becomes(m.Name, want...)
			shown(t, d)
			if strings.Contains(d.Error, secret[10:]) {
				t.Errorf("the error shows the header: %s", d.Error)
			}
			switch m.Name {
			case hostile.GoodHTTP:
				f.echoes(m.Name)
			case "redirect-call":
				callFails("echo")(f, m.Name)
			}
		})
	}
	f.snapshotIsFine()
	f.harbor()
}
