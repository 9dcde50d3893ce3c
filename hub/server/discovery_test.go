package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"waymark/hub/api"
	"waymark/hub/server"
	"waymark/snapshot"
)

// found is a discovery with a source of each name; those in lower case are pending.
func found(names ...string) snapshot.Discovery {
	d := snapshot.Discovery{Phase: snapshot.PhaseComplete}
	for _, name := range names {
		outcome := snapshot.OutcomeConnected
		if name == strings.ToLower(name) {
			d.Phase, outcome = snapshot.PhasePending, snapshot.OutcomePending
		}
		d.Sources = append(d.Sources, snapshot.SourceOutcome{ID: "mcp_server:/w/.mcp.json#" + name, Name: name, Outcome: outcome})
	}
	return d
}

// contextOf asks for the context of agent a in the background.
func (f *fixture) contextOf(query string) <-chan *api.Snapshot {
	f.Helper()
	answer := make(chan *api.Snapshot, 1)
	r := f.request("GET", "/api/v0/agents/a/context?"+query, "")
	go func() {
		defer close(answer)
		resp, err := f.ask(r)
		if err != nil {
			f.Error(err)
			return
		}
		if resp.StatusCode != http.StatusOK {
			return
		}
		s := new(api.Snapshot)
		if err := json.NewDecoder(resp.Body).Decode(s); err != nil {
			f.Error(err)
		}
		answer <- s
	}()
	return answer
}

// TestDiscoveryIsWaitedFor: who asks for what is complete gets it when it is, and
// whoever doesn't gets each revision, as ever.
func TestDiscoveryIsWaitedFor(t *testing.T) {
	f := newFixture(t, server.Limits{MaxWait: timeout})
	f.connect("a")
	f.session("a")
	early := f.contextOf(fmt.Sprint("wait=", timeout, "&discovery=complete")) // before any push
	each := f.contextOf(fmt.Sprint("wait=", timeout))
	first := f.pushDiscovery("a", found("x", "y"), text("/w/x", "1"))
	if s := <-each; s == nil || s.Revision != first || !s.Discovery.Pending() || len(s.Discovery.Sources) != 2 {
		t.Errorf("without it: %+v", s)
	}
	late := f.contextOf(fmt.Sprint("wait=", timeout, "&discovery=complete&after=", first))
	f.pushDiscovery("a", found("X", "y"), text("/w/x", "1"))
	complete := f.pushDiscovery("a", found("X", "Y"), text("/w/x", "1"))
	for name, answer := range map[string]<-chan *api.Snapshot{"early": early, "late": late} {
		if s := <-answer; s == nil || s.Revision != complete || s.Discovery.Pending() {
			t.Errorf("%s: %+v, want revision %d", name, s, complete)
		}
	}
	if s := <-f.contextOf("wait=1ms&discovery=complete"); s == nil || s.Revision != complete {
		t.Errorf("what is complete is answered at once: %+v", s)
	}
}

// TestDiscoveryThatTakesLong: when the time is up there is what there is, and nothing
// for who has that.
func TestDiscoveryThatTakesLong(t *testing.T) {
	f := newFixture(t, server.Limits{})
	f.connect("a")
	rev := f.pushDiscovery("a", found("x"), text("/w/x", "1"))
	f.want(400, "GET", "/api/v0/agents/a/context?wait=1ms&discovery=pending", "")
	if s := <-f.contextOf("wait=1ms&discovery=complete"); s == nil || !s.Discovery.Pending() {
		t.Errorf("got %+v", s)
	}
	f.want(304, "GET", fmt.Sprint("/api/v0/agents/a/context?wait=1ms&discovery=complete&after=", rev), "")

	resp := f.do("GET", "/api/v0/agents/a/context", "")
	if cache := resp.Header.Get("Cache-Control"); cache != "no-store" {
		t.Errorf("Cache-Control of what is pending is %q", cache)
	}
	tag := resp.Header.Get("ETag")
	f.pushDiscovery("a", found("X"), text("/w/x", "1"))
	if resp := f.do("GET", "/api/v0/agents/a/context", "", "If-None-Match", tag); resp.StatusCode != 200 {
		t.Errorf("the tag of what was pending still stands: %d", resp.StatusCode)
	}
}

// TestAgentGoesAway: who waits for the discovery of an agent that has gone is told so,
// once, and who waits for what it says next waits on.
func TestAgentGoesAway(t *testing.T) {
	const path = "/api/v0/agents/a/context"
	f := newFixture(t, server.Limits{MaxWait: timeout, Presence: time.Millisecond, Away: time.Nanosecond})
	f.connect("a")
	rev := f.pushDiscovery("a", found("x"), text("/w/x", "1"))
	tag := f.do("GET", path, "").Header.Get("ETag")
	known := f.contextOf(fmt.Sprint("wait=", timeout, "&discovery=complete&after=", rev))
	unknown := f.contextOf(fmt.Sprint("wait=", timeout, "&discovery=complete"))
	next := f.contextOf(fmt.Sprint("wait=", timeout, "&after=", rev))
	f.connect("b")
	for name, answer := range map[string]<-chan *api.Snapshot{"known": known, "unknown": unknown} {
		if s := <-answer; s == nil || s.Revision != rev || !s.Away || !s.Discovery.Pending() {
			t.Errorf("%s: %+v, want revision %d of an agent that is away", name, s, rev)
		}
	}
	resp := f.do("GET", path, "", "If-None-Match", tag)
	away := resp.Header.Get("ETag")
	if resp.StatusCode != 200 || away == tag {
		t.Errorf("the tag of before: %d, then %s and %s", resp.StatusCode, tag, away)
	}
	f.want(304, "GET", path, "", "If-None-Match", away)
	f.want(304, "GET", path+"?wait=1ms&discovery=complete", "", "If-None-Match", away)
	if got := f.want(200, "GET", path+"?format=markdown", ""); !strings.Contains(got, "from `x`; the agent isn't connected") {
		t.Errorf("markdown says\n%s", got)
	}
	if s := <-f.contextOf(fmt.Sprint("revision=", rev)); s == nil || s.Away {
		t.Errorf("by its revision: %+v", s)
	}
	f.connect("a")
	if resp := f.do("GET", path, "", "If-None-Match", away); resp.StatusCode != 200 || resp.Header.Get("ETag") != tag {
		t.Errorf("back: %d %s", resp.StatusCode, resp.Header.Get("ETag"))
	}
	last := f.pushDiscovery("a", found("X"), text("/w/x", "1"))
	f.connect()
	for name, answer := range map[string]<-chan *api.Snapshot{"next": next, "complete": f.contextOf("wait=1ms&discovery=complete")} {
		if s := <-answer; s == nil || s.Revision != last || s.Away {
			t.Errorf("%s: %+v, want revision %d, complete", name, s, last)
		}
	}
}

// TestAgentIsAwayForAMoment: an agent that comes back soon is waited for, however often
// others come and go.
func TestAgentIsAwayForAMoment(t *testing.T) {
	f := newFixture(t, server.Limits{MaxWait: timeout, Presence: time.Millisecond, Away: timeout})
	rev := f.pushDiscovery("a", found("x"), text("/w/x", "1"))
	answer := f.contextOf(fmt.Sprint("wait=", timeout, "&discovery=complete&after=", rev))
	last := f.pushDiscovery("a", found("X"), text("/w/x", "1"))
	if s := <-answer; s == nil || s.Revision != last || s.Away {
		t.Errorf("%+v, want revision %d", s, last)
	}
}

// TestDiscoveryIsTold: in lists, in history, in events, for prompts and of pins.
func TestDiscoveryIsTold(t *testing.T) {
	f := newFixture(t, server.Limits{})
	f.session("a")
	pin := f.pin("a")
	agent := func() (a api.Agent) {
		if err := json.Unmarshal([]byte(f.want(200, "GET", "/api/v0/agents/a", "")), &a); err != nil {
			t.Error(err)
		}
		return a
	}
	if a := agent(); !a.Discovery.Pending() {
		t.Errorf("before the first push: %+v", a.Discovery)
	}
	f.pushDiscovery("a", found("x", "Y"), text("/w/x", "1"))
	if got := agent().Discovery.String(); got != "pending: 1 pending, 1 connected" {
		t.Errorf("agent: %s", got)
	}
	markdown := f.want(200, "GET", "/api/v0/agents/a/context?format=markdown", "")
	if !strings.Contains(markdown, "Not complete yet: more is still to come, from `x`; ") {
		t.Errorf("markdown says\n%s", markdown)
	}
	pinned := "/api/v0/pins/" + pin.ID + "/context"
	tag := f.do("GET", pinned, "").Header.Get("ETag")

	r := f.follow("?after=" + f.newest())
	f.pushDiscovery("a", found("X", "Y"), text("/w/x", "1"))
	for _, want := range []string{"pin", "context"} {
		e, ok := r.next()
		for ok && (e.event == "" || e.event == "agent") {
			e, ok = r.next()
		}
		if !ok || e.event != want || want == "context" && !strings.Contains(e.data, `"discovery":{"phase":"complete","outcomes":{"connected":2}},"changed":[]`) {
			t.Errorf("event %+v, %v, want one of %s", e, ok, want)
		}
	}
	resp := f.do("GET", pinned, "", "If-None-Match", tag)
	var s api.Snapshot
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil || s.Discovery.Pending() || len(s.Discovery.Sources) != 2 {
		t.Errorf("pinned: %d, %v, %+v", resp.StatusCode, err, s.Discovery)
	}
	if markdown := f.want(200, "GET", "/api/v0/agents/a/context?format=markdown", ""); strings.Contains(markdown, "Not complete") {
		t.Errorf("markdown says\n%s", markdown)
	}
	if got := f.want(200, "GET", "/api/v0/agents/a/history", ""); !strings.Contains(got, `"discovery":{"phase":"pending","outcomes":{"connected":1,"pending":1}}`) {
		t.Errorf("history: %s", got)
	}
}
