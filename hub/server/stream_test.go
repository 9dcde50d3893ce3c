package server_test

import (
	"bufio"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"waymark/hub/server"
	"waymark/hub/store"
	"waymark/hub/store/sqlite"
)

// frame is one event as it is sent; one without data moves the position on.
type frame struct {
	event, id, data string
	comment         bool
}

func (f frame) String() string { return f.event + "@" + f.id }

// reader is a stream.
type reader struct {
	*fixture
	resp  *http.Response
	lines *bufio.Scanner
	last  string // id
}

// follow begins a stream. Headers are pairs.
func (f *fixture) follow(query string, headers ...string) *reader {
	f.Helper()
	resp := f.do("GET", "/api/v0/events"+query, "", headers...)
	if resp.StatusCode != 200 {
		f.Fatalf("events: %s", resp.Status)
	}
	r := &reader{fixture: f, resp: resp, lines: bufio.NewScanner(resp.Body)}
	r.lines.Buffer(nil, 1<<20)
	return r
}

// next returns the next frame; ok is false at the end of the stream.
func (r *reader) next() (f frame, ok bool) {
	for r.lines.Scan() {
		line := r.lines.Text()
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if f == (frame{}) { // only a retry
				continue
			}
			if f.id != "" {
				r.last = f.id
			}
			return f, true
		case name == "":
			f.comment = true
		case name == "event":
			f.event = value
		case name == "id":
			f.id = value
		case name == "data":
			f.data = value
		}
	}
	return f, false
}

// event returns the next frame that is an event.
func (r *reader) event() frame {
	r.Helper()
	for {
		f, ok := r.next()
		if !ok {
			r.Fatalf("the stream ended: %v", r.lines.Err())
		}
		if f.event != "" {
			r.check(f)
			return f
		}
	}
}

// check compares an event with the document.
func (r *reader) check(f frame) {
	r.Helper()
	schema := map[string]string{"context": "ContextEvent", "pin": "Pin", "agent": "Agent", "reset": "Reset"}[f.event]
	if schema == "" {
		r.Errorf("an event %q is not documented", f.event)
		return
	}
	r.doc.Schema(r, schema, []byte(f.data))
}

// want requires the next events, each as event@id and a part of its data.
func (r *reader) want(parts ...string) {
	r.Helper()
	for _, part := range parts {
		name, data, _ := strings.Cut(part, " ")
		if f := r.event(); f.String() != name || !strings.Contains(f.data, data) {
			r.Fatalf("the next event is %v %s, want %s", f, f.data, part)
		}
	}
}

// ended requires that the stream ends by itself, without a further event.
func (r *reader) ended() {
	r.Helper()
	for {
		f, ok := r.next()
		if !ok {
			return
		}
		if f.event != "" {
			r.Fatalf("an event comes instead of the end: %v", f)
		}
	}
}

func TestStream(t *testing.T) {
	f := newFixture(t, server.Limits{})
	f.push("a", text("/w/AGENTS.md", "1"))
	f.token("agent", "b")
	r := f.follow("")
	r.want(`agent@ "id":"a","name":"","connected":false,"version":1`, `agent@ "id":"b"`)
	f.push("a", text("/w/AGENTS.md", "2"), text("/w/CLAUDE.md", ""))
	r.want(`context@2 "agent_id":"a","revision":2,"version":2`)
	f.push("a")
	r.want(`context@3 "changed":["instruction_file:/w/AGENTS.md","instruction_file:/w/CLAUDE.md"]`)
	f.push("a", text("/w/AGENTS.md", "4"))
	p := f.pin("a") // 5
	r.want("context@4", "pin@5 "+p.ID)
	f.push("a", text("/w/AGENTS.md", "6"))
	r.want(`pin@ "drift_revision":6`, "context@6") // the position comes with the last one
	f.push("a", text("/w/AGENTS.md", "7"))
	r.want("context@7") // one event only
	f.push("a", text("/w/AGENTS.md", "7"), mcpServer("s", ""))
	r.want(`pin@ "drift_revision":6`, "context@8")
	f.want(200, "POST", "/api/v0/pins/"+p.ID+"/refresh", "")
	r.want(`pin@9 "drifted_at":null`)
	if err := f.store.RemoveAgent(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	r.want(`pin@ "agent_gone":true`, `agent@10 "removed":true`)
	f.want(204, "DELETE", "/api/v0/pins/"+p.ID, "")
	r.want(`pin@11 "deleted":true`)
	empty := f.pin("b")
	r.want(`pin@12 "pinned_at":null`) // before the push: a reader sees the newest state of a pin
	f.push("b", text("/w/x", "13"))
	r.want(`pin@ "revision":13`, "context@13")
	if got := get[pin](f, "/api/v0/pins/"+empty.ID); got.Revision != 13 {
		t.Errorf("%+v", got)
	}
}

// TestPresence tells who comes and goes.
func TestPresence(t *testing.T) {
	f := newFixture(t, server.Limits{Presence: 1})
	for _, id := range []string{"a", "b"} {
		f.token("agent", id)
	}
	f.connect("b")
	r, of := f.follow(""), f.follow("?agent_id=a")
	r.want(`agent@ "id":"a","name":"","connected":false`, `agent@ "id":"b","name":"","connected":true`)
	of.want(`agent@ "id":"a"`)
	f.connect("b", "a")
	r.want(`agent@ "id":"a","name":"","connected":true`)
	of.want(`agent@ "id":"a","name":"","connected":true`)
	f.online.Store(&map[string]server.Connection{"a": {NotHeard: 2}, "b": {}})
	r.want(`agent@ "not_heard":2`)
	f.connect("a")
	r.want(`agent@ "not_heard":0`, `agent@ "id":"b","name":"","connected":false`)
	if list := get[[]struct {
		ID        string
		Connected bool
	}](f, "/api/v0/agents"); fmt.Sprint(list) != "[{a true} {b false}]" {
		t.Errorf("%v", list)
	}
}

// TestResume goes on from everywhere, by header and by query, and with the
// filters.
func TestResume(t *testing.T) {
	f := newFixture(t, server.Limits{})
	f.push("a", text("/w/x", "1"))
	p := f.pin("a")
	f.push("b", text("/w/x", "3"))
	f.push("a", text("/w/x", "4"))
	f.push("b", text("/w/x", "5"))
	all := []string{"context@1", "context@3", "pin@ " + p.ID, "context@4", "context@5"}
	for after, want := range map[int][]string{0: all, 1: all[1:], 2: all[1:], 3: all[2:], 4: all[4:]} {
		for _, r := range []*reader{
			f.follow(fmt.Sprint("?after=", after)),
			f.follow("", "Last-Event-ID", fmt.Sprint(after)),
			f.follow("?after=1000", "Last-Event-ID", fmt.Sprint(after)),
		} {
			r.want(want...)
			_ = r.resp.Body.Close()
		}
	}
	f.follow("?after=0&agent_id=b").want("context@3", "context@5")
	f.follow("?after=0&agent_id=a").want("context@1", "pin@", "context@4")
	own := f.follow("?after=0&pin_id=" + p.ID)
	own.want("pin@4")
	f.want(200, "POST", "/api/v0/pins/"+p.ID+"/refresh", "")
	own.want("pin@6")
	none := f.follow("?after=0&agent_id=b&pin_id=" + p.ID)
	f.stop()
	none.ended()
}

// TestReset asks for what isn't there.
func TestReset(t *testing.T) {
	f := newFixtureOn(t, server.Limits{}, openSQLite(t, sqlite.Options{History: store.Retention{Revisions: 3}}))
	for n := range 8 {
		f.push("a", text("/w/x", fmt.Sprint(n)))
	}
	for _, c := range []struct {
		after int64
		want  []string
	}{
		{0, []string{"reset@8"}}, {4, []string{"reset@8"}}, {5, []string{"context@6", "context@7", "context@8"}}, {7, []string{"context@8"}},
		{8, nil}, {9, []string{"reset@8"}}, {math.MaxInt64, []string{"reset@8"}},
	} {
		f.follow(fmt.Sprint("?after=", c.after)).want(c.want...)
	}
	r := f.follow("?after=100")
	r.want("reset@8")
	f.push("a", text("/w/x", "on"))
	r.want("context@9") // it goes on from there
}
