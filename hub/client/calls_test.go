package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"waymark/hub/api"
	"waymark/hub/client"
	"waymark/snapshot"
	"waymark/test/testenv"
)

// asked is a request as a hub gets it.
type asked struct{ Method, Path, Token, Body string }

// answering is a hub that answers everything alike, and notes what it was asked.
func answering(t *testing.T, status int, answer string) (client.Client, func() asked) {
	t.Helper()
	var last asked
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		last = asked{r.Method, r.URL.RequestURI(), r.Header.Get("Authorization"), string(body)}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return client.New(server.URL+"/", client.Options{Token: "wmr_x"}), func() asked { return last }
}

const (
	snapshotText = `{"version":3,"aggregate_hash":"ab","payload_bytes":5,"snapshot_error":"","resources":[{"id":"skill:/w/s#k","kind":"skill","source":"/w/s","source_path":"","name":"s","description":"","status":"ok","error":"","stale":false,"content_hash":"01","size_bytes":5,"resolver":"r","attributes":{}}],"plugins":[],"agent_id":"a","received_at":"2026-01-02T03:04:05Z","revision":9}`
	pinText      = `{"id":"p","agent_id":"a","name":"n","revision":9,"aggregate_hash":"ab","created_at":"2026-01-02T03:04:05Z","pinned_at":"2026-01-02T03:04:05Z","drifted_at":null,"drift_revision":0,"agent_gone":false}`
	approvalText = `{"id":"i","name":"n","definition":"d","agents":["a"],"key_id":"k","issued_at":"2026-01-02T03:04:05Z","expires_at":"2026-01-02T03:04:05Z","state":"live","added_by":"t","added_at":"2026-01-02T03:04:05Z","revoked_at":null,"signed":"ZG9j"}`
	tokenText    = `{"id":"t","role":"reader","agent_id":"","name":"n","provisioned":false,"scope":["a"],"scope_labels":null,"created_at":"2026-01-02T03:04:05Z","last_used_at":null,"expires_at":"2026-01-02T03:04:05Z","revoked_at":null}`
	keyText      = `{"id":"k","name":"","agent_id":"","labels":{"a":"b"},"uses":1,"max_uses":2,"created_at":"2026-01-02T03:04:05Z","expires_at":"2026-01-02T03:04:05Z","revoked_at":null,"state":"valid"}`
	hookText     = `{"id":"w","name":"","url":"https://x","types":["drifted_pins"],"insecure":false,"private":true,"created_at":"2026-01-02T03:04:05Z","sent":1,"sent_at":"2026-01-02T03:04:05Z","waiting":0,"dropped":0,"failures":0,"last_error":""}`
	agentText    = `{"id":"a","name":"","connected":true,"version":3,"aggregate_hash":"ab","resources":1,"revision":9,"updated_at":"2026-01-02T03:04:05Z"}`
	diffText     = `{"agent_id":"a","from":1,"to":2,"changes":[{"id":"skill:/w/s","kind":"skill","change":"changed","before":{"id":"skill:/w/s","kind":"skill","source":"/w/s"},"after":{"id":"skill:/w/s","kind":"skill","source":"/w/s","name":"s"},"diff":"+x","diff_note":""}]}`
)

// TestCalls is what each call asks, and what becomes of the answer.
func TestCalls(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	pin := &api.Pin{ID: "p", AgentID: "a", Name: "n", Revision: 9, AggregateHash: snapshot.Hash{0xab}, CreatedAt: at, PinnedAt: &at}
	agent := api.Agent{ID: "a", Connected: true, Version: 3, AggregateHash: snapshot.Hash{0xab}, Resources: 1, Revision: 9, UpdatedAt: &at}
	stored := &api.Snapshot{
		Snapshot: snapshot.Snapshot{
			Version: 3, AggregateHash: snapshot.Hash{0xab}, PayloadBytes: 5, Plugins: snapshot.Plugins{},
			Resources: snapshot.Resources{{Kind: "skill", Source: "/w/s", Key: "k", Name: "s", Status: "ok", ContentHash: snapshot.Hash{1}, SizeBytes: 5, Resolver: "r"}},
		},
		AgentID: "a", ReceivedAt: at, Revision: 9,
	}
	diff := &api.Diff{AgentID: "a", From: 1, To: 2, Changes: []api.ResourceDiff{{ID: "skill:/w/s", Kind: "skill", Change: api.Changed, Diff: "+x",
		Before: &snapshot.Resource{Kind: "skill", Source: "/w/s"}, After: &snapshot.Resource{Kind: "skill", Source: "/w/s", Name: "s"}}}}
	approval := &api.Approval{
		ID: "i", Name: "n", Definition: "d", Agents: []string{"a"}, KeyID: "k", IssuedAt: at, ExpiresAt: at,
		State: api.ApprovalLive, AddedBy: "t", AddedAt: at, Signed: []byte("doc"),
	}
	token := &api.Token{ID: "t", Role: "reader", Name: "n", Scope: []string{"a"}, CreatedAt: at, ExpiresAt: &at}
	key := &api.EnrollmentKey{ID: "k", Labels: map[string]string{"a": "b"}, Uses: 1, MaxUses: 2, CreatedAt: at, ExpiresAt: at, State: api.EnrollmentValid}
	hook := &api.Webhook{ID: "w", URL: "https://x", Types: []string{"drifted_pins"}, Private: true, CreatedAt: at, Sent: 1, SentAt: &at}
	change := api.Change{Revision: 9, Version: 3, AggregateHash: snapshot.Hash{0xab}, At: at, Counts: api.Counts{Added: 1, Changed: 2, Removed: 3}}

	type c = client.Client
	for name, test := range map[string]struct {
		answer string
		call   func(context.Context, c) (any, error)
		method string
		path   string
		body   string
		want   any
	}{
		"agents": {"[" + agentText + "]", func(ctx context.Context, h c) (any, error) { return h.Agents(ctx) },
			"GET", "/api/v0/agents", "", []api.Agent{agent}},
		"find agents": {"[" + agentText + "]", func(ctx context.Context, h c) (any, error) {
			return h.FindAgents(ctx, client.AgentQuery{Limit: 5, After: "x", Sort: "name", Descending: true, Text: "a b", State: api.StateAway, Labels: []string{"a=b", "c="}, Attention: "failing_servers"})
		}, "GET", "/api/v0/agents?after=x&attention=failing_servers&label=a%3Db&label=c%3D&limit=5&order=desc&q=a+b&sort=name&state=away", "",
			&client.AgentPage{Agents: []api.Agent{agent}, Total: 1}},
		"agent": {agentText, func(ctx context.Context, h c) (any, error) { return h.Agent(ctx, "a/b?") },
			"GET", "/api/v0/agents/a%2Fb%3F", "", &agent},
		"client": {`{"client":"codex","name":"Codex","version":"1","judged":"program 1, 2026-11-24","root":"/w","project":"/w","items":[{"id":"i","kind":"skill","path":"/w/x","name":"x","bytes":3,"tokens":1,"included":true,"cut_bytes":0}],"budget":{"used_bytes":3},"withheld":1,"left_off":2,"known":[{"client":"codex","name":"Codex"}]}`,
			func(ctx context.Context, h c) (any, error) { return h.ClientContext(ctx, "a/b", "co dex") }, "GET", "/api/v0/agents/a%2Fb/clients/co%20dex", "",
			&api.ClientContext{
				Client: "codex", Name: "Codex", Version: "1", Judged: "program 1, 2026-11-24", Root: "/w", Project: "/w", Withheld: 1, LeftOff: 2,
				Items:  []snapshot.ClientItem{{ID: "i", Kind: "skill", Path: "/w/x", Name: "x", Bytes: 3, Tokens: 1, Included: true}},
				Budget: snapshot.ClientBudget{UsedBytes: 3}, Known: []api.KnownClient{{Client: "codex", Name: "Codex"}},
			}},
		"context": {snapshotText, func(ctx context.Context, h c) (any, error) { return h.Context(ctx, "a", client.ContextOptions{}) },
			"GET", "/api/v0/agents/a/context", "", stored},
		"context of old": {snapshotText, func(ctx context.Context, h c) (any, error) {
			return h.Context(ctx, "a", client.ContextOptions{Revision: 9})
		}, "GET", "/api/v0/agents/a/context?revision=9", "", stored},
		"context to come": {snapshotText, func(ctx context.Context, h c) (any, error) {
			return h.Context(ctx, "a", client.ContextOptions{Wait: 90 * time.Second, After: 8})
		}, "GET", "/api/v0/agents/a/context?after=8&wait=1m30s", "", stored},
		"markdown": {"# x", func(ctx context.Context, h c) (any, error) { return h.Markdown(ctx, "a", 4) },
			"GET", "/api/v0/agents/a/context?format=markdown&revision=4", "", "# x"},
		"resource": {"text", func(ctx context.Context, h c) (any, error) { return h.Resource(ctx, "a", "skill:/w/a b#?%", 0) },
			"GET", "/api/v0/agents/a/context/resources/skill:%2Fw%2Fa%20b%23%3F%25", "", []byte("text")},
		"history": {`[{"revision":9,"version":3,"aggregate_hash":"ab","at":"2026-01-02T03:04:05Z","added":1,"changed":2,"removed":3}]`,
			func(ctx context.Context, h c) (any, error) { return h.History(ctx, "a", 5) },
			"GET", "/api/v0/agents/a/history?limit=5", "", []api.Change{change}},
		"diff": {diffText, func(ctx context.Context, h c) (any, error) { return h.Diff(ctx, "a", 1, 0) },
			"GET", "/api/v0/agents/a/diff?from=1", "", diff},
		"create pin": {pinText, func(ctx context.Context, h c) (any, error) { return h.CreatePin(ctx, "a", "n") },
			"POST", "/api/v0/pins", `{"agent_id":"a","name":"n"}`, pin},
		"pins": {"[" + pinText + "]", func(ctx context.Context, h c) (any, error) { return h.Pins(ctx, "") },
			"GET", "/api/v0/pins", "", []api.Pin{*pin}},
		"pins of an agent": {"[]", func(ctx context.Context, h c) (any, error) { return h.Pins(ctx, "a") },
			"GET", "/api/v0/pins?agent_id=a", "", []api.Pin{}},
		"pin":         {pinText, func(ctx context.Context, h c) (any, error) { return h.Pin(ctx, "p") }, "GET", "/api/v0/pins/p", "", pin},
		"refresh pin": {pinText, func(ctx context.Context, h c) (any, error) { return h.RefreshPin(ctx, "p") }, "POST", "/api/v0/pins/p/refresh", "", pin},
		"delete pin":  {"", func(ctx context.Context, h c) (any, error) { return nil, h.DeletePin(ctx, "p") }, "DELETE", "/api/v0/pins/p", "", nil},
		"pin context": {snapshotText, func(ctx context.Context, h c) (any, error) { return h.PinContext(ctx, "p") },
			"GET", "/api/v0/pins/p/context", "", stored},
		"pin markdown": {"# x", func(ctx context.Context, h c) (any, error) { return h.PinMarkdown(ctx, "p") },
			"GET", "/api/v0/pins/p/context?format=markdown", "", "# x"},
		"pin pieces": {`{"agent_id":"a","revision":3,"pieces":[],"left_out":[],"read_by_client":2,"tokens":9}`, func(ctx context.Context, h c) (any, error) {
			return h.PinPieces(ctx, "p", client.PromptOptions{Client: "codex", Budget: 4000})
		}, "GET", "/api/v0/pins/p/context?budget=4000&client=codex&format=pieces", "", &api.Pieces{
			AgentID: "a", Revision: 3, Pieces: []api.Piece{}, LeftOut: []api.LeftOut{}, ReadByClient: 2, Tokens: 9,
		}},
		"pin resource": {"text", func(ctx context.Context, h c) (any, error) { return h.PinResource(ctx, "p", "skill:/w") },
			"GET", "/api/v0/pins/p/context/resources/skill:%2Fw", "", []byte("text")},
		"pin diff": {diffText, func(ctx context.Context, h c) (any, error) { return h.PinDiff(ctx, "p") }, "GET", "/api/v0/pins/p/diff", "", diff},
		"add an approval": {approvalText, func(ctx context.Context, h c) (any, error) { return h.AddApproval(ctx, []byte("doc")) },
			"POST", "/api/v0/approvals", `{"signed":"ZG9j"}`, approval},
		"approvals": {"[" + approvalText + "]", func(ctx context.Context, h c) (any, error) { return h.Approvals(ctx) },
			"GET", "/api/v0/approvals", "", []api.Approval{*approval}},
		"revoke an approval": {approvalText, func(ctx context.Context, h c) (any, error) { return h.RevokeApproval(ctx, "a/b") },
			"DELETE", "/api/v0/approvals/a%2Fb", "", approval},
		"tokens": {"[" + tokenText + "]", func(ctx context.Context, h c) (any, error) { return h.Tokens(ctx) },
			"GET", "/api/v0/tokens", "", []api.Token{*token}},
		"create a token": {tokenText, func(ctx context.Context, h c) (any, error) {
			return h.CreateToken(ctx, api.NewToken{TokenSHA256: "ab", Role: "reader", Scope: []string{"a"}, ExpiresAt: &at})
		}, "POST", "/api/v0/tokens", `{"token_sha256":"ab","role":"reader","scope":["a"],"expires_at":"2026-01-02T03:04:05Z"}`, token},
		"revoke a token": {"", func(ctx context.Context, h c) (any, error) { return nil, h.RevokeToken(ctx, "a/b") },
			"DELETE", "/api/v0/tokens/a%2Fb", "", nil},
		"enrollments": {"[" + keyText + "]", func(ctx context.Context, h c) (any, error) { return h.Enrollments(ctx) },
			"GET", "/api/v0/enrollments", "", []api.EnrollmentKey{*key}},
		"create an enrollment": {keyText, func(ctx context.Context, h c) (any, error) {
			return h.CreateEnrollment(ctx, api.NewEnrollmentKey{KeySHA256: "ab", MaxUses: 2, ExpiresAt: at})
		}, "POST", "/api/v0/enrollments", `{"key_sha256":"ab","max_uses":2,"expires_at":"2026-01-02T03:04:05Z"}`, key},
		"revoke an enrollment": {`{"tokens":3}`, func(ctx context.Context, h c) (any, error) { return h.RevokeEnrollment(ctx, "k", true) },
			"DELETE", "/api/v0/enrollments/k?tokens=1", "", 3},
		"revoke an enrollment alone": {`{"tokens":0}`, func(ctx context.Context, h c) (any, error) { return h.RevokeEnrollment(ctx, "k", false) },
			"DELETE", "/api/v0/enrollments/k", "", 0},
		"label": {`{"set":{"a":"b"}}`, func(ctx context.Context, h c) (any, error) {
			return h.LabelAgent(ctx, "a/b", api.LabelChange{Set: map[string]string{"a": "b"}, Remove: []string{"c"}})
		}, "PATCH", "/api/v0/agents/a%2Fb/labels", `{"set":{"a":"b"},"remove":["c"]}`, map[string]string{"a": "b"}},
		"rename": {`{"id":"a/b","name":"x"}`, func(ctx context.Context, h c) (any, error) {
			agent, err := h.RenameAgent(ctx, "a/b", "x")
			return agent.Name, err
		}, "PATCH", "/api/v0/agents/a%2Fb", `{"name":"x"}`, "x"},
		"audit": {`[{"id":"1","what":"agent.removed"}]`, func(ctx context.Context, h c) (any, error) {
			acts, next, err := h.Audit(ctx, client.AuditQuery{Subject: "a/b", Limit: 3, After: "x"})
			return append(acts, api.Act{ID: next}), err
		}, "GET", "/api/v0/audit?after=x&limit=3&subject=a%2Fb", "", []api.Act{{ID: "1", What: "agent.removed"}, {}}},
		"remove an agent": {"", func(ctx context.Context, h c) (any, error) { return nil, h.RemoveAgent(ctx, "a/b") },
			"DELETE", "/api/v0/agents/a%2Fb", "", nil},
		"webhooks": {"[" + hookText + "]", func(ctx context.Context, h c) (any, error) { return h.Webhooks(ctx) },
			"GET", "/api/v0/webhooks", "", []api.Webhook{*hook}},
		"create a webhook": {hookText, func(ctx context.Context, h c) (any, error) {
			return h.CreateWebhook(ctx, api.NewWebhook{URL: "https://x", Secret: "s", Private: true})
		}, "POST", "/api/v0/webhooks", `{"url":"https://x","secret":"s","private":true}`, hook},
		"delete a webhook": {"", func(ctx context.Context, h c) (any, error) { return nil, h.DeleteWebhook(ctx, "w") },
			"DELETE", "/api/v0/webhooks/w", "", nil},
		"test a webhook": {"", func(ctx context.Context, h c) (any, error) { return nil, h.TestWebhook(ctx, "w/x") },
			"POST", "/api/v0/webhooks/w%2Fx/test", "", nil},
		"backup": {"the database", func(ctx context.Context, h c) (any, error) {
			var b strings.Builder
			n, err := h.Backup(ctx, &b)
			return fmt.Sprint(n, b.String()), err
		}, "POST", "/api/v0/backup", "", "12the database"},
		"login": {`{"url":"http://h/login?code=c","expires_at":"2026-01-02T03:04:05Z"}`, func(ctx context.Context, h c) (any, error) { return h.Login(ctx) },
			"POST", "/api/v0/login", "", &api.Login{URL: "http://h/login?code=c", ExpiresAt: at}},
	} {
		t.Run(name, func(t *testing.T) {
			hub, last := answering(t, 200, test.answer)
			got, err := test.call(t.Context(), hub)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(asked{test.method, test.path, "Bearer wmr_x", test.body}, last()); d != "" {
				t.Errorf("asked (-want +got):\n%s", d)
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("answer (-want +got):\n%s", d)
			}
		})
	}
}

func TestNothingNewer(t *testing.T) {
	hub, _ := answering(t, http.StatusNotModified, "")
	got, err := hub.Context(t.Context(), "a", client.ContextOptions{Wait: time.Second, After: 3})
	if got != nil || err != nil {
		t.Errorf("got %v, %v; want nothing", got, err)
	}
}

func TestRefusals(t *testing.T) {
	hub, _ := answering(t, 404, `{"message":"not found","detail":"no agent a"}`)
	_, err := hub.Agent(t.Context(), "a")
	if !errors.Is(err, client.ErrNotFound) || err.Error() != "not found: no agent a" {
		t.Errorf("404: %v", err)
	}
	hub, _ = answering(t, 502, `<html>a proxy's words</html>`)
	_, err = hub.Agents(t.Context())
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Code != 502 || errors.Is(err, client.ErrNotFound) || strings.Contains(err.Error(), "html") {
		t.Errorf("502: %v", err)
	}
	hub, _ = answering(t, 200, `{"half`)
	var syntax *jsontext.SyntacticError
	if _, err = hub.Agent(t.Context(), "a"); !errors.As(err, &syntax) {
		t.Errorf("half an answer: %v", err)
	}
}

// TestRedirect: a token must not follow a redirect to somebody else.
func TestRedirect(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	if _, err := client.New(server.URL, client.Options{Token: "wmr_x"}).Agents(t.Context()); err == nil {
		t.Error("a redirect was taken for an answer")
	}
}

func TestPlaces(t *testing.T) {
	for _, place := range []string{"", "localhost:7878", "ftp://h", "http://", "http://u:p@h", "http://h?x", "http://h#x", "http://%zz"} {
		if _, err := client.New(place, client.Options{}).Agents(t.Context()); err == nil || errors.Is(err, client.ErrUnreachable) {
			t.Errorf("%q: %v", place, err)
		}
	}
	_, err := client.New("http://"+testenv.UnservedAddress(t), client.Options{}).Agents(t.Context())
	if !errors.Is(err, client.ErrUnreachable) || !strings.Contains(err.Error(), "hub serve") {
		t.Errorf("nobody there: %v", err)
	}
}

// TestDeadline: a call without a deadline of its own ends.
func TestDeadline(t *testing.T) {
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-over:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(over)
	_, err := client.New(server.URL, client.Options{Timeout: time.Millisecond}).Agents(t.Context())
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a hub that doesn't answer: %v", err)
	}
}
