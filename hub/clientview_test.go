package hub_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"waymark/hub"
	"waymark/hub/api"
	"waymark/hub/client"
	"waymark/hub/store"
	"waymark/internal/httpapi/problem"
	"waymark/snapshot"
	"waymark/wire/reverse"
)

// TestClientContext: a reader asks an agent through its reverse channel, and gets what it
// says, or why it says nothing.
func TestClientContext(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	base := strings.TrimSuffix(f.web(), "/api/v2/workspaceagents/me/rpc")
	reader := func(scope ...string) client.Client {
		text, _, err := hub.CreateToken(t.Context(), f.store, store.NewToken{Role: store.RoleReader, Scope: scope})
		if err != nil {
			t.Fatal(err)
		}
		return client.New(base, client.Options{Token: text})
	}
	all := reader()
	hanging, released := make(chan struct{}, 10), make(chan struct{})
	good := api.ClientContext{
		Client: "codex", Name: "Codex", Version: "1", Root: "/w", Project: "/w", Known: []api.KnownClient{{Client: "codex", Name: "Codex"}},
		Items: []snapshot.ClientItem{{ID: "skill:/w/x", Kind: "skill", Path: "/w/x/SKILL.md", Name: "x\x1b[31m", Included: true}}, Withheld: 2,
	}
	answer := func(ctx context.Context, body []byte) ([]byte, error) {
		request, err := api.DecodeClientRequest(body)
		if err != nil {
			t.Error(err)
		}
		switch request.Client {
		case "codex", "another":
			return api.EncodeClientContext(good)
		case "junk":
			return []byte("junk"), nil
		case "unknown":
			return nil, &reverse.Error{Code: reverse.CodeInvalid, Text: "only those of codex"}
		case "off":
			return nil, &reverse.Error{Code: reverse.CodeDenied, Text: "it is switched off"}
		case "held":
			return nil, &reverse.Error{Code: reverse.CodeUnavailable, Text: "the first snapshot is held back"}
		case "late":
			return nil, &reverse.Error{Code: reverse.CodeDeadline}
		case "hang":
			hanging <- struct{}{}
			select {
			case <-released:
			case <-ctx.Done():
			}
			return api.EncodeClientContext(api.ClientContext{Client: "hang"})
		}
		return nil, errors.New("broken")
	}
	agent := &workspace{t: t, handlers: map[string]reverse.Handler{reverse.KindClientContext: answer}}
	agent.run(ways["unix"](f, f.token(store.RoleAgent, "a")))
	agent.wants()
	old := &workspace{t: t}
	old.run(ways["unix"](f, f.token(store.RoleAgent, "old")))
	old.wants()
	f.token(store.RoleAgent, "away")

	view, err := all.ClientContext(t.Context(), "a", "codex")
	if err != nil || view.Name != "Codex" || len(view.Items) != 1 || view.Withheld != 2 || len(view.Known) != 1 {
		t.Errorf("%+v, %v", view, err)
	}
	wants := func(c client.Client, agentID, name string, code int, words string) {
		t.Helper()
		_, err := c.ClientContext(t.Context(), agentID, name)
		var no *problem.Error
		if !errors.As(err, &no) || no.Code != code || !strings.Contains(no.Detail, words) {
			t.Errorf("%s of %s: %v, want %d", name, agentID, err, code)
		}
	}
	wants(all, "a", "unknown", 400, "only those of codex")
	wants(all, "a", "off", 409, "switched off")
	wants(all, "a", "held", 503, "held back")
	wants(all, "a", "late", 504, "")
	wants(all, "a", "junk", 502, "can't be understood")
	wants(all, "a", "another", 502, "can't be understood")
	wants(all, "a", "broken", 502, "")
	wants(all, "old", "codex", 409, "update the agent")
	wants(all, "away", "codex", 503, "not connected")
	wants(all, "none", "codex", 404, "no agent")
	wants(reader("old"), "a", "codex", 404, "no agent a")

	// What readers ask of one agent at a time is bounded, and the rest goes on.
	done := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := all.ClientContext(t.Context(), "a", "hang")
			done <- err
		}()
		<-hanging
	}
	wants(all, "a", "codex", http.StatusTooManyRequests, "wait for one of them")
	f.addApproval(signed(t, "meanwhile", soon()))
	agent.wants("meanwhile")
	close(released)
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if _, err := all.ClientContext(t.Context(), "a", "codex"); err != nil {
		t.Error(err)
	}
}

// TestCoverage: a reader asks an agent what isn't used, in the same way.
func TestCoverage(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	base := strings.TrimSuffix(f.web(), "/api/v2/workspaceagents/me/rpc")
	var next atomic.Pointer[func() ([]byte, error)]
	agent := &workspace{t: t, handlers: map[string]reverse.Handler{reverse.KindContextCoverage: func(_ context.Context, body []byte) ([]byte, error) {
		if len(body) > 0 {
			t.Errorf("the request has the body %q", body)
		}
		return (*next.Load())()
	}}}
	agent.run(ways["unix"](f, f.token(store.RoleAgent, "a")))
	agent.wants()
	// It answers what clients see, and is older than this.
	old := &workspace{t: t, handlers: map[string]reverse.Handler{reverse.KindClientContext: func(context.Context, []byte) ([]byte, error) { return nil, errors.New("not this") }}}
	old.run(ways["unix"](f, f.token(store.RoleAgent, "old")))
	old.wants()
	f.token(store.RoleAgent, "away")
	token := func(scope ...string) string {
		text, _, err := hub.CreateToken(t.Context(), f.store, store.NewToken{Role: store.RoleReader, Scope: scope})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	all, scoped := token(), token("old")
	wants := func(token, agentID string, code int, words string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/api/v0/agents/"+agentID+"/coverage", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		said, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != code || !strings.Contains(string(said), words) {
			t.Errorf("%s: %d, %v, want %d and %q:\n%s", agentID, response.StatusCode, err, code, words, said)
		}
	}
	for _, c := range []struct {
		answer func() ([]byte, error)
		code   int
		words  string
	}{
		{func() ([]byte, error) {
			return api.EncodeCoverage(api.Coverage{Groups: []api.CoverageGroup{{Reason: "no_kind", Text: "1 file", Files: []api.CoverageFile{{Path: "/w/x"}}}}})
		}, 200, `{"reason":"no_kind","text":"1 file","files":[{"path":"/w/x","as":"","readers":[]}],"withheld":0,"left_off":0}`},
		{func() ([]byte, error) { return api.EncodeCoverage(api.Coverage{}) }, 200, `{"groups":[],"partial":false}`},
		{func() ([]byte, error) { return []byte("junk"), nil }, 502, "can't be understood"},
		{func() ([]byte, error) { return nil, &reverse.Error{Code: reverse.CodeDenied, Text: "switched off"} }, 409, "the agent says: switched off"},
		{func() ([]byte, error) { return nil, errors.New("broken") }, 502, ""},
	} {
		next.Store(&c.answer)
		wants(all, "a", c.code, c.words)
	}
	wants(all, "old", 409, "update the agent")
	wants(all, "away", 503, "not connected")
	wants(all, "none", 404, "no agent")
	wants(scoped, "a", 404, "no agent a")
}
