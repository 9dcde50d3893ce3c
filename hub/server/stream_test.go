package server_test

import (
	"bufio"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"waymark/hub/server"
	"waymark/hub/store/sqlite"
)

// frame is one event as it is sent; one without data moves the position on.
type frame struct {
	event, id, data string
	comment         bool
}

// String has the number of the event of a position.
func (f frame) String() string { return f.event + "@" + f.id[strings.LastIndexByte(f.id, '.')+1:] }

// behind is the position behind some events.
func (f *fixture) behind(events int) string {
	f.Helper()
	at, err := f.store.Newest(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	at.N = int64(events)
	return at.String()
}

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
	schema := map[string]string{"context": "ContextEvent", "pin": "Pin", "agent": "Agent", "reset": "Reset", "end": "-"}[f.event]
	if schema == "" {
		r.Errorf("an event %q is not documented", f.event)
		return
	}
	if schema != "-" {
		r.doc.Schema(r, schema, []byte(f.data))
	}
}

// want requires the next events, each as event@id and a part of its data. Moves of agents,
// which come at any time, are left out where none is wanted.
func (r *reader) want(parts ...string) {
	r.Helper()
	for _, part := range parts {
		name, data, _ := strings.Cut(part, " ")
		f := r.event()
		for f.String() == "agent@" && name != "agent@" {
			f = r.event()
		}
		if f.String() != name || !strings.Contains(f.data, data) {
			r.Fatalf("the next event is %v %s, want %s", f, f.data, part)
		}
	}
}

// ended requires that the stream ends by itself, without a further event but moves of agents.
func (r *reader) ended() {
	r.Helper()
	for {
		f, ok := r.next()
		if !ok {
			return
		}
		if f.event != "" && f.String() != "agent@" {
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
	r.want(`pin@6 "drift_revision":6`, `context@7 "revision":6`)
	f.push("a", text("/w/AGENTS.md", "7"))
	r.want("context@8") // one event only
	f.push("a", text("/w/AGENTS.md", "7"), mcpServer("s", ""))
	r.want(`pin@9 "drift_revision":6`, "context@10")
	f.want(200, "POST", "/api/v0/pins/"+p.ID+"/refresh", "")
	r.want(`pin@11 "drifted_at":null`)
	if err := f.store.RemoveAgent(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	r.want(`pin@12 "agent_gone":true`, `agent@13 "removed":true`)
	f.want(204, "DELETE", "/api/v0/pins/"+p.ID, "")
	r.want(`pin@14 "deleted":true`)
	empty := f.pin("b")
	r.want(`pin@15 "pinned_at":null`) // before the push: a reader sees the newest state of a pin
	f.push("b", text("/w/x", "13"))
	r.want(`pin@16 "revision":13`, "context@17")
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
	notHeard := func(n int) {
		if err := f.store.SetNotHeard(t.Context(), f.Name(), map[string]int{"a": n}); err != nil {
			t.Fatal(err)
		}
	}
	notHeard(2)
	r.want(`agent@ "not_heard":2`)
	notHeard(-1)
	f.connect("a")
	r.want(`agent@ "not_heard":0`, `agent@ "id":"b","name":"","connected":false`)
	if list := get[[]struct {
		ID        string
		Connected bool
	}](f, "/api/v0/agents"); fmt.Sprint(list) != "[{a true} {b false}]" {
		t.Errorf("%v", list)
	}
}

// TestMoves follows agents that the first query doesn't see, or whose ids are used again, and
// goes on from a position.
func TestMoves(t *testing.T) {
	var ahead atomic.Int64
	f := newFixtureOn(t, server.Limits{Presence: 1}, openSQLite(t, sqlite.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }}))
	for _, id := range []string{"a", "b"} {
		f.token("agent", id)
	}
	f.connect("a", "b")
	ahead.Store(int64(10 * time.Minute)) // both have been connected for long
	r := f.follow("")
	r.want(`agent@ "id":"a","name":"","connected":true`, `agent@ "id":"b","name":"","connected":true`)
	f.connect("b")
	r.want(`agent@ "id":"a","name":"","connected":false`)
	f.connect("b", "a")
	r.want(`agent@ "id":"a","name":"","connected":true`)

	// Whichever stream it is, it begins with the newest of each agent that has moved.
	of := f.follow("?agent_id=b&after=" + f.behind(0))
	for range 2 {
		late := f.follow("?after=" + f.behind(0))
		late.want(`agent@ "id":"a","name":"","connected":true`)
		_ = late.resp.Body.Close()
	}
	f.follow("?follow=0&after=" + f.behind(0)).want("end@0")

	if err := f.store.RemoveAgent(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	r.want(`agent@1 "removed":true`)
	f.token("agent", "a")
	f.connect("a", "b")
	r.want(`agent@ "id":"a","name":"","connected":true`)
	f.connect("a")
	of.want(`agent@ "id":"b","name":"","connected":false`)
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
	all := []string{"context@1", "context@3", "pin@4 " + p.ID, "context@5", "context@6"} // 2 is the pin before its last change
	for after, want := range map[int][]string{0: all, 1: all[1:], 2: all[1:], 3: all[2:], 4: all[3:], 5: all[4:]} {
		at := f.behind(after)
		for _, r := range []*reader{
			f.follow("?after=" + at),
			f.follow("", "Last-Event-ID", at),
			f.follow("?after="+f.behind(1000), "Last-Event-ID", at),
		} {
			r.want(want...)
			_ = r.resp.Body.Close()
		}
	}
	f.follow("?after=0&agent_id=b").want("context@3", "context@6")
	f.follow("?after=0&agent_id=a").want("context@1", "pin@4", "context@5")
	own := f.follow("?after=0&pin_id=" + p.ID)
	own.want("pin@4")
	f.want(200, "POST", "/api/v0/pins/"+p.ID+"/refresh", "")
	own.want("pin@7")
	none := f.follow("?after=0&agent_id=b&pin_id=" + p.ID)
	f.stop()
	none.ended()
}

// TestReset asks for what isn't there.
func TestReset(t *testing.T) {
	f := newFixture(t, server.Limits{})
	for n := range 8 {
		f.push("a", text("/w/x", fmt.Sprint(n)))
	}
	for after, want := range map[string][]string{
		f.behind(5): {"context@6", "context@7", "context@8"}, f.behind(7): {"context@8"}, f.behind(8): nil,
		f.behind(9): {"reset@8"}, f.behind(math.MaxInt64): {"reset@8"}, "another.0.7": {"reset@8"},
	} {
		f.follow("?after=" + after).want(want...)
	}
	r := f.follow("?after=another.0.1")
	r.want("reset@8")
	f.push("a", text("/w/x", "on"))
	r.want("context@9") // it goes on from there
	for _, bad := range []string{"1", "-1", "a.b", "a.b.c", ".0.1", "a.0.-1", "a.0.1.2"} {
		f.want(400, "GET", "/api/v0/events?after="+bad, "")
	}
}

// TestOnce reads what there is, and then the stream ends.
func TestOnce(t *testing.T) {
	f := newFixture(t, server.Limits{})
	f.push("a", text("/w/x", "1"))
	f.push("a", text("/w/x", "2"))
	for after, want := range map[string][]string{"0": {"context@1", "context@2", "end@2"}, f.behind(1): {"context@2", "end@2"}, f.behind(2): {"end@2"}} {
		r := f.follow("?follow=0&after=" + after)
		r.want(want...)
		r.ended()
	}
	resp := f.do("GET", "/api/v0/agents", "")
	f.push("a", text("/w/x", "3"))
	f.follow("?after=" + resp.Header.Get("X-Events-After")).want("context@3")
}
