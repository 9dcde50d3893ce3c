package hub_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/hub/transport"
	"waymark/internal/credential"
	"waymark/internal/httpapi"
	"waymark/test/openapitest"
	"waymark/test/pushtest"
)

// The agents of these tests have their ids in all that they hold, so that an
// answer that has one tells of its agent. One text is the same everywhere: it
// is stored once.
const sharedText = "the same text in every workspace"

// probes are what is asked of every route. A route that isn't here fails the
// test. {agent}, {pin} and {rid} stand for those of the agent that is asked
// about, {other} for a resource that another agent has, {revision} for one of
// the agent's.
var probes = map[string][]string{
	"GET /api/v0/openapi.json": {""},
	"POST /api/v0/login":       {""},
	"POST /api/v0/enroll":      nil, // no token opens it
	"GET /api/v0/search":       {"?q=/w/", "?q=%2Fw&limit=1000"},
	// No reader has these; see TestAPIMatrix.
	"GET /api/v0/approvals": nil, "POST /api/v0/approvals": nil, "DELETE /api/v0/approvals/{id}": nil,
	"GET /api/v0/tokens": nil, "POST /api/v0/tokens": nil, "DELETE /api/v0/tokens/{id}": nil,
	"GET /api/v0/enrollments": nil, "POST /api/v0/enrollments": nil, "DELETE /api/v0/enrollments/{id}": nil,
	"GET /api/v0/webhooks": nil, "POST /api/v0/webhooks": nil, "DELETE /api/v0/webhooks/{id}": nil, "POST /api/v0/webhooks/{id}/test": nil,
	"PATCH /api/v0/agents/{id}": nil, "GET /api/v0/audit": nil,
	"PATCH /api/v0/agents/{id}/labels": nil, "DELETE /api/v0/agents/{id}": nil, "POST /api/v0/backup": nil,
	"GET /api/v0/agents":      {"", "?limit=1000&order=desc&sort=name", "?q=env=prod&label=env=prod"},
	"GET /api/v0/agents/{id}": {""},
	"GET /api/v0/agents/{id}/context": {
		"", "?format=markdown", "?revision={revision}", "?revision=999999", "?wait=1m&after=0", "?wait=1ms&after={revision}", "?wait=1m&after=999999",
	},
	"GET /api/v0/agents/{id}/context/resources/{rid}": {"", "?revision={revision}"},
	"GET /api/v0/agents/{id}/clients/{client}":        {""},
	"GET /api/v0/agents/{id}/coverage":                {""},
	"GET /api/v0/agents/{id}/history":                 {"", "?limit=1"},
	"GET /api/v0/agents/{id}/diff":                    {"?from={revision}", "?from={revision}&to={revision}"},
	"GET /api/v0/pins":                                {"", "?agent_id={agent}"},
	"POST /api/v0/pins":                               {""},
	"GET /api/v0/pins/{id}":                           {""},
	"GET /api/v0/pins/{id}/context":                   {"", "?format=markdown"},
	"GET /api/v0/pins/{id}/context/resources/{rid}":   {""},
	"GET /api/v0/pins/{id}/diff":                      {""},
	"POST /api/v0/pins/{id}/refresh":                  {""},
	"POST /api/v0/pins/{id}/mcp":                      {""},
	"GET /api/v0/pins/{id}/mcp":                       {}, // see TestChatListens
	"DELETE /api/v0/pins/{id}":                        {""},
	"GET /api/v0/events":                              {}, // see TestScopeOfEvents
}

// subject is an agent that is asked about, or none.
type subject struct{ agent, pin, rid, revision string }

// scoped is a hub with two agents and all kinds of readers.
type scoped struct {
	*fixture
	t        *testing.T
	base     string
	subjects map[string]*subject
	// who is let in, by name: bearer tokens, and sessions.
	bearers, sessions map[string]string
	// shows says what whom is shown; nobody else is let in.
	shows map[string][]string
}

func newScoped(t *testing.T) *scoped {
	t.Helper()
	f := newFixture(t, hub.Options{Limits: transport.Limits{Recheck: 10 * time.Millisecond}})
	s := &scoped{fixture: f, t: t, base: strings.TrimSuffix(f.web(), "/api/v2/workspaceagents/me/rpc"), subjects: map[string]*subject{}}
	for _, id := range []string{"alpha", "beta"} {
		text, _, err := hub.CreateToken(t.Context(), f.store, store.NewToken{Role: store.RoleAgent, AgentID: id, Name: id + "-name"})
		if err != nil {
			t.Fatal(err)
		}
		agent := f.dial(text)
		for version := range uint64(2) {
			agent.mustPush(&pushtest.Push{
				Version: version + 1, AggregateHash: []byte{byte(version)},
				Resources: []*pushtest.Resource{
					file("/w/"+id, fmt.Sprint(id, "-text-", version)), file("/w/shared", sharedText),
				},
			}, true)
		}
		if _, err := f.store.LabelAgent(t.Context(), id, store.Labels{"of": id, "env": "prod"}, nil); err != nil {
			t.Fatal(err)
		}
		info, err := f.store.Agent(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		s.subjects[id] = &subject{agent: id, rid: "instruction_file:/w/" + id, revision: strconv.FormatInt(info.Revision, 10)}
	}
	reader := func(nt store.NewToken) string {
		t.Helper()
		nt.Role = store.RoleReader
		text, _, err := hub.CreateToken(t.Context(), f.store, nt)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	soon := time.Now().Add(time.Hour)
	s.bearers = map[string]string{
		"master": reader(store.NewToken{}), "scoped to alpha": reader(store.NewToken{Scope: []string{"alpha"}}),
		"scoped to beta": reader(store.NewToken{Scope: []string{"beta"}, ExpiresAt: soon}),
		"scoped to both": reader(store.NewToken{Scope: []string{"beta", "alpha"}}), "scoped to nobody": reader(store.NewToken{Scope: []string{"Alpha", "bet"}}),
		"labeled alpha":                    reader(store.NewToken{ScopeLabels: store.Labels{"env": "prod", "of": "alpha"}}),
		"labeled both":                     reader(store.NewToken{ScopeLabels: store.Labels{"env": "prod"}}),
		"labeled both, and scoped to beta": reader(store.NewToken{ScopeLabels: store.Labels{"env": "prod"}, Scope: []string{"beta"}}),
		"labeled nobody":                   reader(store.NewToken{ScopeLabels: store.Labels{"env": "dev"}}),
		"expired":                          reader(store.NewToken{ExpiresAt: time.Now().Add(-time.Minute)}), "revoked": reader(store.NewToken{}),
		"an agent": f.token(store.RoleAgent, "alpha"), "nobody": "", "unknown": credential.ReaderToken.New(),
	}
	s.sessions = map[string]string{}
	for name, token := range s.bearers {
		if !slices.Contains([]string{"expired", "an agent", "nobody", "unknown"}, name) {
			s.sessions["session of "+name] = f.session(token)
		}
	}
	s.sessions["token of master in the cookie"] = s.bearers["master"]
	s.bearers["session of master as bearer"] = s.sessions["session of master"]
	f.revoke(s.bearers["revoked"])
	s.shows = map[string][]string{
		"master": {"alpha", "beta"}, "scoped to alpha": {"alpha"}, "scoped to beta": {"beta"}, "scoped to both": {"alpha", "beta"}, "scoped to nobody": {},
		"labeled alpha": {"alpha"}, "labeled both": {"alpha", "beta"}, "labeled both, and scoped to beta": {"beta"}, "labeled nobody": {},
	}
	for name, agents := range maps.Clone(s.shows) {
		s.shows["session of "+name] = agents
	}
	return s
}

// everybody lists all who ask, in order.
func (s *scoped) everybody() []string {
	return slices.Sorted(maps.Keys(func() map[string]string {
		all := maps.Clone(s.bearers)
		maps.Copy(all, s.sessions)
		return all
	}()))
}

// as makes a request of somebody.
func (s *scoped) as(ctx context.Context, name, method, path, body string) *http.Request {
	s.t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, s.base+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if text := s.bearers[name]; text != "" {
		request.Header.Set("Authorization", "Bearer "+text)
	}
	if text := s.sessions[name]; text != "" {
		request.AddCookie(&http.Cookie{Name: httpapi.SessionName, Value: text})
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	return request
}

// ask asks and returns the status and all that the answer says.
func (s *scoped) ask(name, method, path, body string) (int, string) {
	s.t.Helper()
	response, err := http.DefaultClient.Do(s.as(s.t.Context(), name, method, path, body))
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	var said strings.Builder
	for _, header := range slices.Sorted(maps.Keys(response.Header)) {
		if header != "Date" && header != "Content-Length" {
			fmt.Fprintln(&said, header, response.Header[header])
		}
	}
	said.Write(data)
	return response.StatusCode, said.String()
}

// newPin makes a pin of the agent, with its id in the name.
func (s *scoped) newPin(agent string) store.Pin {
	s.t.Helper()
	pin, err := s.store.CreatePin(s.t.Context(), agent, agent+"-pin")
	if err != nil {
		s.t.Fatal(err)
	}
	return pin
}

// fill fills a probe of a route in.
func fill(route, probe string, of *subject, rid string) (path, body string) {
	id := of.agent
	if strings.Contains(route, "/pins/{id}") {
		id = of.pin
	}
	path = strings.NewReplacer("{id}", id, "{client}", "codex", "{rid}", url.PathEscape(rid)).Replace(route) +
		strings.NewReplacer("{agent}", of.agent, "{revision}", of.revision).Replace(probe)
	if route == "/api/v0/pins" {
		body = fmt.Sprintf(`{"agent_id":%q,"name":"chat"}`, of.agent)
	}
	if strings.HasSuffix(route, "/mcp") {
		body = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	}
	return path, body
}

// TestScope asks for everything as everybody: who isn't let in learns nothing,
// who is sees what the token shows, and what is there beside it is for them as
// if it weren't.
func TestScope(t *testing.T) {
	t.Parallel()
	s := newScoped(t)
	documented := openapitest.Load(t, document(t)).Routes()
	asked := map[string]bool{}
	for route, methods := range documented {
		for _, method := range methods {
			key := method + " " + route
			list, known := probes[key]
			if !known {
				t.Errorf("%s isn't in the matrix", key)
			}
			asked[key] = true
			for _, name := range s.everybody() {
				for _, probe := range list {
					s.probe(name, method, route, probe)
				}
			}
		}
	}
	for key := range probes {
		if !asked[key] {
			t.Errorf("%s isn't documented any more", key)
		}
	}
}

// unknown stands for what nobody has.
const unknown = "0f8e4f5c-7a39-4b53-a5c5-9d1d3c6f2f10"

// probe asks for one thing as somebody, about every agent.
func (s *scoped) probe(name, method, route, probe string) {
	s.t.Helper()
	shows, letIn := s.shows[name]
	made := map[string]store.Pin{}
	for agent, of := range s.subjects {
		made[agent] = s.newPin(agent)
		of.pin = made[agent].ID
	}
	for agent, of := range s.subjects {
		rids := []string{of.rid}
		if strings.Contains(route, "{rid}") {
			rids = []string{of.rid, "instruction_file:/w/shared", "instruction_file:/w/none", "\x00"}
		}
		for _, rid := range rids {
			path, body := fill(route, probe, of, rid)
			if method != http.MethodPost {
				body = ""
			}
			code, said := s.ask(name, method, path, body)
			what := fmt.Sprintf("%s: %s %s", name, method, path)
			if !letIn {
				want := 401
				if name == "an agent" {
					want = 403
				}
				if code != want {
					s.t.Errorf("%s: %d, want %d", what, code, want)
				}
				s.containsNone(what, said, "alpha", "beta")
				continue
			}
			if strings.HasSuffix(route, "/mcp") && strings.HasPrefix(name, "session") { // which is for programs
				if code != 403 {
					s.t.Errorf("%s: %d, want 403", what, code)
				}
				s.containsNone(what, said, "alpha", "beta")
				continue
			}
			about := strings.Contains(route, "{id}") || route == "/api/v0/pins" && (method == http.MethodPost || probe != "")
			switch {
			case !about:
				want := 200
				switch {
				case route != "/api/v0/login":
				case strings.HasPrefix(name, "session"):
					want = 403
				default:
					want = 201
				}
				if code != want {
					s.t.Errorf("%s: %d, want %d:\n%s", what, code, want, said)
				}
				s.containsOnly(what, said, shows, route)
			case slices.Contains(shows, agent) && (strings.HasSuffix(route, "/clients/{client}") || strings.HasSuffix(route, "/coverage")):
				if code != 409 { // these agents have nothing on which they could be asked
					s.t.Errorf("%s: %d:\n%s", what, code, said)
				}
			case slices.Contains(shows, agent):
				missing := strings.Contains(route, "{rid}") && (rid == "\x00" || strings.HasSuffix(rid, "none"))
				if missing != (code == 404) || !missing && code/100 != 2 && code != 304 {
					s.t.Errorf("%s: %d:\n%s", what, code, said)
				}
				s.containsOnly(what, said, shows, "")
			default:
				s.likeUnknown(what, name, method, route, probe, rid, of, code, said)
			}
		}
	}
	for agent := range s.subjects {
		may := letIn && slices.Contains(shows, agent)
		pin, err := s.store.Pin(s.t.Context(), made[agent].ID)
		gone, refreshed := err != nil, strings.HasSuffix(route, "/refresh")
		if gone != (may && method == http.MethodDelete) || !gone && (pin.Changed != made[agent].Changed) != (may && refreshed) {
			s.t.Errorf("%s: %s %s: the pin %+v is %+v, %v", name, method, route, made[agent], pin, err)
		}
		s.dropPins(agent, name, method, route, may)
	}
}

// dropPins removes all pins, and checks that nobody made one who may not.
func (s *scoped) dropPins(agent, name, method, route string, may bool) {
	s.t.Helper()
	pins, err := s.store.Pins(s.t.Context(), agent)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, pin := range pins {
		if pin.Name == "chat" && (!may || method != http.MethodPost) {
			s.t.Errorf("%s: %s %s made the pin %+v", name, method, route, pin)
		}
		if err := s.store.DeletePin(s.t.Context(), pin.ID); err != nil {
			s.t.Fatal(err)
		}
	}
}

// likeUnknown fails the test if an answer about an agent out of scope differs
// from one about an agent that isn't there.
func (s *scoped) likeUnknown(what, name, method, route, probe, rid string, of *subject, code int, said string) {
	s.t.Helper()
	nobody := &subject{agent: unknown, pin: unknown, revision: of.revision}
	path, body := fill(route, probe, nobody, rid)
	if method != http.MethodPost {
		body = ""
	}
	wantCode, want := s.ask(name, method, path, body)
	said = strings.NewReplacer(of.agent, unknown, of.pin, unknown).Replace(said)
	want = strings.NewReplacer(of.agent, unknown).Replace(want)
	if code != wantCode || said != want {
		s.t.Errorf("%s: %d, and %d for what isn't there:\n%s\n%s", what, code, wantCode, said, want)
	}
	if wantCode != 404 && probe == "" {
		s.t.Errorf("%s: %d, want 404", what, code)
	}
}

// tellsNothing fails the test if an answer has something of one of the agents.
func (s *scoped) containsNone(what, said string, agents ...string) {
	s.t.Helper()
	for _, agent := range agents {
		if pin := s.subjects[agent].pin; strings.Contains(said, agent) || pin != "" && strings.Contains(said, pin) {
			s.t.Errorf("%s tells of %s:\n%s", what, agent, said)
		}
	}
	if strings.Contains(said, sharedText) && len(agents) == len(s.subjects) {
		s.t.Errorf("%s tells a text:\n%s", what, said)
	}
}

// tellsOnly fails the test if an answer has something of an agent that isn't
// shown, or, for a list, nothing of one that is.
func (s *scoped) containsOnly(what, said string, shows []string, list string) {
	s.t.Helper()
	for agent := range s.subjects {
		switch shown := slices.Contains(shows, agent); {
		case !shown:
			s.containsNone(what, said, agent)
		case (list == "/api/v0/agents" || list == "/api/v0/pins") && !strings.Contains(said, agent):
			s.t.Errorf("%s doesn't tell of %s:\n%s", what, agent, said)
		}
	}
}

// TestScopeOfEvents follows as everybody who is let in, in all the ways there
// are, while all that can happen does.
func TestScopeOfEvents(t *testing.T) {
	t.Parallel()
	s := newScoped(t)
	for id := range s.subjects {
		s.subjects[id].pin = s.newPin(id).ID
		s.token(store.RoleAgent, id+"-gone")
	}
	// The scopes name agents that come and go, too.
	for name, scope := range map[string][]string{"alpha, long": {"alpha", "alpha-gone", "alpha-new"}, "beta, long": {"beta", "beta-gone", "beta-new"}} {
		text, _, err := hub.CreateToken(t.Context(), s.store, store.NewToken{Role: store.RoleReader, Scope: scope})
		if err != nil {
			t.Fatal(err)
		}
		s.bearers[name], s.shows[name] = text, scope[:1]
		s.sessions["session of "+name], s.shows["session of "+name] = s.session(text), scope[:1]
	}
	delete(s.shows, "scoped to nobody") // there is nothing to wait for
	delete(s.shows, "session of scoped to nobody")
	delete(s.shows, "labeled nobody")
	delete(s.shows, "session of labeled nobody")
	type stream struct {
		name, query string
		lines       *bufio.Scanner
	}
	newest, err := s.store.Newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	behind := func(events int64) string {
		newest.N = events
		return newest.String()
	}
	var streams []stream
	for _, name := range slices.Sorted(maps.Keys(s.shows)) {
		for _, query := range []string{"", "?after=0", "?after=" + behind(1), "?after=" + behind(999999), "?agent_id=alpha", "?agent_id=beta&after=0", "?pin_id=" + s.subjects["beta"].pin + "&after=0"} {
			response, err := http.DefaultClient.Do(s.as(t.Context(), name, http.MethodGet, "/api/v0/events"+query, ""))
			if err != nil || response.StatusCode != 200 {
				t.Fatalf("%s: %v, %v", name, response.Status, err)
			}
			t.Cleanup(func() { _ = response.Body.Close() })
			lines := bufio.NewScanner(response.Body)
			lines.Buffer(nil, 1<<20)
			streams = append(streams, stream{name, query, lines})
		}
	}
	versions := map[string]uint64{"alpha": 2, "beta": 2}
	agents := map[string]*peer{}
	push := func(id, source string) {
		t.Helper()
		if agents[id] == nil {
			agents[id] = s.dial(s.token(store.RoleAgent, id))
		}
		versions[id]++
		agents[id].mustPush(&pushtest.Push{
			Version: versions[id], AggregateHash: []byte{byte(versions[id])},
			Resources: []*pushtest.Resource{file("/w/"+source, source), file("/w/shared", sharedText)},
		}, true)
	}
	for _, id := range []string{"alpha", "beta"} { // what happens
		push(id, id+"-drift")
		push(id+"-new", id+"-new-text")
		pin := s.newPin(id).ID
		if _, err := s.store.RefreshPin(t.Context(), s.subjects[id].pin); err != nil {
			t.Fatal(err)
		}
		if err := s.store.DeletePin(t.Context(), pin); err != nil {
			t.Fatal(err)
		}
		if err := s.store.RemoveAgent(t.Context(), id+"-gone"); err != nil {
			t.Fatal(err)
		}
	}
	push("beta", "beta-last")
	push("alpha", "alpha-last")
	push("beta", "beta-end")
	last := map[string]string{"alpha": "alpha-last", "beta": "beta-end"}
	for _, st := range streams {
		shows := s.shows[st.name]
		what := st.name + " follows " + st.query
		of := shows[0]
		switch {
		case strings.Contains(st.query, "agent_id=beta"), strings.Contains(st.query, "pin_id"):
			of = "beta"
		case strings.Contains(st.query, "agent_id=alpha"):
			of = "alpha"
		}
		if !slices.Contains(shows, of) || strings.Contains(st.query, "pin_id") {
			continue // silent, or so short that there is no last one: see the next loop
		}
		var said strings.Builder
		for !strings.Contains(said.String(), last[of]) && st.lines.Scan() {
			said.WriteString(st.lines.Text() + "\n")
		}
		if !strings.Contains(said.String(), last[of]) {
			t.Errorf("%s: it ended:\n%s", what, said.String())
		}
		s.containsOnly(what, said.String(), shows, "")
	}
	// What must stay silent is ended, and then read as a whole.
	for name := range s.shows {
		if text, session := s.bearers[name], s.sessions[name]; text != "" {
			s.revoke(text)
		} else if found, err := s.store.SessionByHash(t.Context(), credential.HashOf(session)); err == nil {
			if err := s.store.EndSession(t.Context(), found.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, st := range streams {
		var said strings.Builder
		for st.lines.Scan() {
			said.WriteString(st.lines.Text() + "\n")
		}
		what := st.name + " follows " + st.query + " to its end"
		s.containsOnly(what, said.String(), s.shows[st.name], "")
		if strings.Contains(st.query, "pin_id") && slices.Contains(s.shows[st.name], "beta") != strings.Contains(said.String(), s.subjects["beta"].pin) {
			t.Errorf("%s:\n%s", what, said.String())
		}
	}
}

// TestScopeRelabeled: what a token shows by labels follows them, and what is open ends.
func TestScopeRelabeled(t *testing.T) {
	t.Parallel()
	s := newScoped(t)
	const who = "labeled alpha"
	response, err := http.DefaultClient.Do(s.as(t.Context(), who, http.MethodGet, "/api/v0/events", ""))
	if err != nil || response.StatusCode != 200 {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := s.store.LabelAgent(t.Context(), "alpha", nil, []string{"env"}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil { // it ends
		t.Error(err)
	}
	if code, said := s.ask(who, http.MethodGet, "/api/v0/agents/alpha/context", ""); code != http.StatusNotFound {
		t.Errorf("without the label: %d, %s", code, said)
	}
	if _, err := s.store.LabelAgent(t.Context(), "beta", store.Labels{"of": "alpha"}, nil); err != nil {
		t.Fatal(err)
	}
	if code, said := s.ask(who, http.MethodGet, "/api/v0/agents/beta/context", ""); code != http.StatusOK {
		t.Errorf("with the label: %d, %s", code, said)
	}
}
