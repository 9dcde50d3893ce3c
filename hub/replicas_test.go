package hub_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waymark/host/push"
	"waymark/hub"
	"waymark/hub/api"
	"waymark/hub/client"
	"waymark/hub/store"
	"waymark/hub/store/postgres"
	"waymark/test/pgtest"
	"waymark/wire/reverse"
)

// replica is one of several hubs over one database, which others reach over HTTP.
type replica struct {
	*fixture
	url    string
	server *http.Server
}

// newReplica starts one. One that isn't advertised can't be reached by the others.
func newReplica(t *testing.T, database string, advertised bool) *replica {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	st, err := postgres.Open(t.Context(), database, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	opts := hub.Options{Store: st, Presence: 5 * time.Millisecond}
	r := &replica{url: "http://" + listener.Addr().String()}
	if advertised {
		opts.Advertise = r.url
	}
	r.fixture = newFixture(t, opts)
	r.server = &http.Server{Handler: r.hub.Handler(), ReadHeaderTimeout: timeout}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = r.server.Serve(listener)
	}()
	t.Cleanup(func() {
		_ = r.server.Close()
		<-served
	})
	return r
}

// published waits until the others have been told that the agent is connected to the hub,
// and returns what they know of it.
func (r *replica) published(agentID string, connected bool) (at store.PresentHub) {
	r.t.Helper()
	if !r.eventually(func() bool {
		var err error
		if at, err = r.store.HubOf(r.t.Context(), agentID); errors.Is(err, store.ErrNotFound) {
			err = nil
		}
		if at.URL != r.url {
			at = store.PresentHub{}
		}
		return err == nil && (at != store.PresentHub{}) == connected
	}) {
		r.t.Fatalf("%s at %s: connected never is %v", agentID, r.url, connected)
	}
	return at
}

// agentAt connects an agent to a hub.
func (f *chatFixture) agentAt(at *replica, token string, handlers map[string]reverse.Handler) (stop func()) {
	f.t.Helper()
	opts := ways["unix"](at.fixture, token)
	opts.Reverse = push.Reverse{Handlers: handlers}
	opts.DialTimeout, opts.CallTimeout = timeout, timeout
	p := push.New(opts)
	done := make(chan error, 1)
	go func() { done <- p.Run(context.Background()) }()
	ended := false
	stop = func() {
		if !ended {
			ended = true
			_ = p.Close()
			if err := <-done; err != nil {
				f.t.Log(err)
			}
		}
	}
	f.t.Cleanup(stop)
	p.Publish(pinned())
	(&workspace{t: f.t, pusher: p}).reverseState(push.ReverseOpen)
	return stop
}

// TestChatForwarded: a call reaches an agent at whatever hub it comes in, as one that
// comes in where the agent is; it follows the agent, and ends as the call does.
func TestChatForwarded(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	here, there := newReplica(t, url, true), newReplica(t, url, true)
	f := &chatFixture{fixture: here.fixture, ended: make(chan error, 1), begun: make(chan struct{}, 100)}
	f.reader = here.token(store.RoleReader, "")
	token := here.token(store.RoleAgent, "a")
	handlers := f.handlers()
	handlers[reverse.KindClientContext] = func(context.Context, []byte) ([]byte, error) {
		return api.EncodeClientContext(api.ClientContext{Client: "codex", Name: "Codex", Root: "/w"})
	}
	leave := f.agentAt(there, token, handlers)
	pin, err := here.store.CreatePin(t.Context(), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	f.pin = pin.ID
	at := there.published("a", true)

	header := shows("good")
	header.Set("Cookie", "of the caller")
	long := strings.Repeat("x", 300<<10)
	answer, _ := f.post(t.Context(), stateless, "tools/call", fmt.Sprintf(`{"name":"in parts","arguments":%q}`, long), header)
	if answer.Error != nil || len(answer.Result.Content) != 1 || answer.Result.Content[0].Text != "307202 bytes" {
		t.Fatalf("%+v", answer)
	}
	if got := f.calls[0]; got.GetCapability() != "good" || got.GetName() != "in parts" || len(got.ProtoReflect().GetUnknown()) > 0 {
		t.Errorf("the agent got %s with %q", got.GetName(), got.GetCapability())
	}
	if tools, _ := f.post(t.Context(), stateful, "tools/list", `{}`, shows("good")); len(tools.Result.Tools) != 2 {
		t.Errorf("tools %+v", tools)
	}
	if got := f.noted(`"progressToken":"p","io.modelcontextprotocol/logLevel":"info"`); got != progressed {
		t.Errorf("progress %q", got)
	}
	for name, c := range map[string]struct {
		capability string
		code       int
		says       string
	}{
		"hang": {"forged", -32001, "not known"}, "denied": {"good", -32602, "not good for it"}, "huge": {"good", -32000, "not what it should be"},
	} {
		if answer := f.call(name, `{}`, c.capability); answer.Error == nil || answer.Error.Code != c.code || !strings.Contains(answer.Error.Message, c.says) {
			t.Errorf("%s with %q: %+v", name, c.capability, answer.Error)
		}
	}
	view, err := client.New(here.url, client.Options{Token: f.reader}).ClientContext(t.Context(), "a", "codex")
	if err != nil || view.Name != "Codex" {
		t.Errorf("what Codex sees: %+v, %v", view, err)
	}

	// A chat that hangs up takes its call back at the agent.
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		f.post(ctx, stateless, "tools/call", `{"name":"hang","arguments":{}}`, shows("good"))
	}()
	<-f.begun
	cancel()
	<-gone
	if err := <-f.ended; err == nil {
		t.Error("it ended without a reason")
	}

	// Both ends have a record, and neither has a secret.
	if !strings.Contains(here.log.String(), "tool called for a chat") || !strings.Contains(there.log.String(), "agent asked for another hub") {
		t.Error("the logs say nothing of the calls")
	}
	for _, secret := range []string{"=good", "forged", "xxxx", "of the caller", at.Secret} {
		if strings.Contains(here.log.String()+there.log.String(), secret) {
			t.Errorf("a log has %q", secret)
		}
	}

	// The agent goes to another hub.
	leave()
	third := newReplica(t, url, true)
	leave = f.agentAt(third, token, handlers)
	third.published("a", true)
	if answer := f.call("echo", `"moved"`, "good"); answer.Error != nil {
		t.Errorf("at another hub: %+v", answer.Error)
	}

	// That one dies in the middle of a call.
	lost := make(chan *reply, 1)
	go func() { lost <- f.call("hang", `{}`, "good") }()
	<-f.begun
	_ = third.server.Close()
	if answer := <-lost; answer.Error == nil || !strings.Contains(answer.Error.Message, "whether it was done is not known") {
		t.Errorf("in the middle: %+v", answer.Error)
	}
	if err := <-f.ended; err == nil { // that of the hub that is gone
		t.Error("it ended without a reason")
	}
	if answer := f.call("echo", `{}`, "good"); answer.Error == nil || !strings.Contains(answer.Error.Message, "ask again in half a minute") {
		t.Errorf("of a hub that is gone: %+v", answer.Error)
	}
	if _, err := client.New(here.url, client.Options{Token: f.reader}).ClientContext(t.Context(), "a", "codex"); err == nil || !strings.Contains(err.Error(), "ask again") {
		t.Errorf("of a hub that is gone: %v", err)
	}
	// A call that waits goes on when the agent is at this hub itself.
	leave()
	waited := make(chan *reply, 1)
	go func() { waited <- f.call("echo", `"back"`, "good") }()
	f.agentAt(here, token, handlers)
	if answer := <-waited; answer.Error != nil {
		t.Errorf("back here: %+v", answer.Error)
	}
}

// TestReplicaDoor: a hub asks agents for those who show what it has told the other hubs,
// only what chats and readers may have asked, and only agents of its own.
func TestReplicaDoor(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	here, there, hidden := newReplica(t, url, true), newReplica(t, url, true), newReplica(t, url, false)
	f := &chatFixture{fixture: here.fixture, ended: make(chan error, 1), begun: make(chan struct{}, 100)}
	f.reader = here.token(store.RoleReader, "")
	f.agentAt(there, here.token(store.RoleAgent, "a"), f.handlers())
	f.agentAt(here, here.token(store.RoleAgent, "b"), f.handlers())
	f.agentAt(hidden, here.token(store.RoleAgent, "c"), f.handlers())
	at, own := there.published("a", true), here.published("b", true)
	ask := func(hub, agentID, kind, secret string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, hub+"/internal/v0/agents/"+agentID+"/ask/"+kind, strings.NewReader("\n\x04good"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+secret)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	for name, c := range map[string]struct {
		hub, agent, kind, secret string
		code                     int
		says                     string
	}{
		"as it should be":     {at.URL, "a", "tools.list", at.Secret, 200, `"echo"`},
		"nothing shown":       {at.URL, "a", "tools.list", "", 401, "unauthorized"},
		"a reader":            {at.URL, "a", "tools.list", f.reader, 401, "unauthorized"},
		"another hub's":       {at.URL, "a", "tools.list", own.Secret, 401, "unauthorized"},
		"approvals":           {at.URL, "a", "approvals.set", at.Secret, 404, "no such page"},
		"the rest of another": {at.URL, "a", "tools.more", at.Secret, 404, "no such page"},
		"one hop":             {own.URL, "a", "tools.list", own.Secret, 409, "not_there"},
		"nobody":              {own.URL, "none", "tools.list", own.Secret, 409, "not_there"},
		"one that is hidden":  {hidden.url, "c", "tools.list", "", 401, "unauthorized"},
	} {
		if code, body := ask(c.hub, c.agent, c.kind, c.secret); code != c.code || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
	// Of an agent at a hub that can't be reached is said what to do.
	if !f.eventually(func() bool {
		at, err := here.store.HubOf(t.Context(), "c")
		return err == nil && at.URL == ""
	}) {
		t.Fatal("the hub without an address isn't there")
	}
	pin, err := here.store.CreatePin(t.Context(), "c", "")
	if err != nil {
		t.Fatal(err)
	}
	f.pin = pin.ID
	if answer := f.call("echo", `{}`, "good"); answer.Error == nil || !strings.Contains(answer.Error.Message, "--advertise") {
		t.Errorf("of one that can't be reached: %+v", answer.Error)
	}
	for _, bad := range []string{"10.0.0.7:7878", "ftp://x", "http://", "http://a:b@x", "http://x/path", "http://x?q"} {
		if _, err := hub.New(hub.Options{Store: here.store, Advertise: bad}); err == nil {
			t.Errorf("--advertise %s is taken", bad)
		}
	}
}

// TestChatArguments: as much as a call may have gets through a hub as it is served.
func TestChatArguments(t *testing.T) {
	t.Parallel()
	server := listen(t, hub.ListenOptions{DB: "sqlite:" + filepath.Join(t.TempDir(), "hub.db"), HTTP: "127.0.0.1:0"})
	run(t, server)
	reader, _, err := hub.CreateToken(t.Context(), server.Store(), store.NewToken{Role: store.RoleReader})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := hub.CreateToken(t.Context(), server.Store(), store.NewToken{Role: store.RoleAgent, AgentID: "a"}); err != nil {
		t.Fatal(err)
	}
	pin, err := server.Store().CreatePin(t.Context(), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":%q}}`, strings.Repeat("x", 500<<10))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.HTTPURL()+"/api/v0/pins/"+pin.ID+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {"Bearer " + reader}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(answer), "tools need a capability") {
		t.Errorf("%d: %.300s, %v", response.StatusCode, answer, err)
	}
}
