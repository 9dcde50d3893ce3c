package hub_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/hub/transport"
	"waymark/internal/credential"
	"waymark/test/pushtest"
	"waymark/wire"
	"waymark/wire/coder"
)

// TestLogsHoldNoSecrets does everything wrong that can be done with tokens and
// payloads, at a hub that logs all there is to log.
func TestLogsHoldNoSecrets(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{Limits: transport.Limits{Recheck: 10 * time.Millisecond}})
	endpoint := f.web()
	agent, reader, revoked := f.token(store.RoleAgent, "a"), f.token(store.RoleReader, ""), f.token(store.RoleAgent, "r")
	unknown := credential.AgentToken.New()
	const payload = "the-payload-of-a-workspace"
	secrets := []string{agent, reader, revoked, unknown, payload, "hunter2"}

	// In the right place and in wrong ones: as the wrong kind, in the path, the
	// query, other headers, the body, the id of an agent, of a resource.
	for _, token := range secrets {
		for _, path := range []string{
			"/api/v0/agents", "/api/v0/agents/" + token, "/api/v0/agents/" + token + "/context/resources/" + token, "/api/v0/events?after=" + token,
			"/login?code=" + token, "/" + token, "/api/v0/pins/" + token, wire.EndpointPath + "?version=" + token,
		} {
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
				if strings.Contains(path, "events") {
					continue // it would last
				}
				_ = f.do(method, path, token, "").Body.Close()
				_ = f.do(method, path, token, "evil.example.com").Body.Close()
			}
		}
		request := http.Header{"Coder-Session-Token": {token}, "Cookie": {"waymark_reader=" + token}, "X-Other": {token}}
		if ws, _, err := websocket.Dial(t.Context(), endpoint+"?version=9.9", &websocket.DialOptions{HTTPHeader: request}); err == nil {
			_ = ws.CloseNow()
		}
		p := f.dial(token)
		_, _ = p.push(&pushtest.Push{Version: 1, Resources: []*pushtest.Resource{file("", token)}})
		_, _ = p.push(&pushtest.Push{Version: 1, Resources: []*pushtest.Resource{{Kind: token, Source: token, Error: token, Name: token}}})
		_, _ = p.pushCoder(&coder.PushContextStateRequest{Version: 1, SnapshotError: token + long(5000)})
	}
	a := dialBare(t, endpoint, agent)
	a.mustPush(&pushtest.Push{Version: 1, Resources: []*pushtest.Resource{file("/w", payload)}}, true)
	if _, err := a.push(&pushtest.Push{Version: 2, Resources: []*pushtest.Resource{file("/w", payload), file("/w", payload)}}); err == nil {
		t.Error("a duplicate was taken")
	}
	_ = a.invoke(wire.MethodPush, []byte(payload))
	_ = a.invoke("/"+agent+"/x", []byte(payload))
	ws := dialWS(t, endpoint, agent)
	_ = ws.Write(t.Context(), websocket.MessageBinary, []byte(agent+payload))
	_ = readFrames(ws, timeout)
	token, err := f.store.TokenByHash(t.Context(), credential.HashOf(revoked))
	if err != nil {
		t.Fatal(err)
	}
	ws = dialWS(t, endpoint, revoked)
	if err := f.store.RevokeToken(t.Context(), token.ID); err != nil {
		t.Fatal(err)
	}
	_ = readFrames(ws, timeout)
	if err := f.hub.Close(); err != nil {
		t.Error(err)
	}
	text := f.log.String()
	for _, want := range []string{"push refused", "connection ended", "agent connected"} {
		if !strings.Contains(text, want) {
			t.Errorf("the log doesn't tell of %q: it isn't the one this test is about", want)
		}
	}
	for _, secret := range secrets {
		if i := strings.Index(text, secret); i >= 0 {
			begin := strings.LastIndexByte(text[:i], '\n') + 1
			t.Errorf("%q is in the log: %.300s", secret, text[begin:])
		}
	}
}
