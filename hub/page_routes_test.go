package hub_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/internal/credential"
)

// TestLoginMatrix: who gets a link to the page.
func TestLoginMatrix(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	reader, agent := f.token(store.RoleReader, ""), f.token(store.RoleAgent, "a")
	revoked := f.token(store.RoleReader, "")
	token, err := f.store.TokenByHash(t.Context(), credential.HashOf(revoked))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.store.RevokeToken(t.Context(), token.ID); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		method, token, host string
		want                int
	}{
		{"POST", reader, "", 201}, {"POST", reader, "localhost:7878", 201}, {"POST", "", "", 401}, {"POST", "nonsense", "", 401},
		{"POST", revoked, "", 401}, {"POST", agent, "", 403}, {"POST", reader, "evil.example.com", 421},
		{"GET", reader, "", 405}, {"GET", "", "", 401},
	} {
		name := fmt.Sprintf("%s with %.4q at %q", test.method, test.token, test.host)
		response := f.do(test.method, "/api/v0/login", test.token, test.host)
		if response.StatusCode != test.want {
			t.Errorf("%s: %s, want %d", name, response.Status, test.want)
		}
		checkHeaders(t, name, response)
		if test.want != 201 {
			checkError(t, name, response)
			continue
		}
		var answer struct {
			URL       string    `json:"url"`
			ExpiresAt time.Time `json:"expires_at"`
		}
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
			t.Fatal(err)
		}
		host := test.host
		if host == "" {
			host = "localhost"
		}
		if !strings.HasPrefix(answer.URL, "http://"+host+"/login?code=") || answer.ExpiresAt.Before(time.Now()) {
			t.Errorf("%s: %+v", name, answer)
		}
	}
	for _, path := range []string{"/", "/login", "/logout", "/assets/0/app.js"} {
		if response := f.do("GET", path, reader, "evil.example.com"); response.StatusCode != http.StatusMisdirectedRequest {
			t.Errorf("%s under another name: %s", path, response.Status)
		}
	}
}

// TestLoginURL goes the way of a browser: the link that the hub prints, the
// page, the API, a change, and the end.
func TestLoginURL(t *testing.T) {
	t.Parallel()
	server := listen(t, hub.ListenOptions{DB: "sqlite:" + filepath.Join(t.TempDir(), "hub.db"), HTTP: "127.0.0.1:0"})
	stop := run(t, server)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func(method, target, body string, header http.Header) (int, string) {
		t.Helper()
		if strings.HasPrefix(target, "/") {
			target = server.HTTPURL() + target
		}
		request, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, values := range header {
			request.Header[name] = values
		}
		response, err := browser.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(text)
	}
	if status, text := ask("GET", "/", "", nil); status != 401 || !strings.Contains(text, "hub login") {
		t.Errorf("before: %d\n%s", status, text)
	}
	if status, text := ask("GET", server.LoginURL(store.RoleReader), "", nil); status != 200 || !strings.Contains(text, "/app.js") {
		t.Errorf("the link: %d\n%s", status, text)
	}
	if status, _ := ask("GET", "/api/v0/agents", "", nil); status != 200 {
		t.Errorf("agents: %d", status)
	}
	tokens, err := server.Store().Tokens(t.Context())
	if err != nil || len(tokens) != 1 || tokens[0].Name != "page" || tokens[0].Role != store.RoleReader {
		t.Errorf("tokens: %+v, %v", tokens, err)
	}
	pin, kind := `{"agent_id":"none","name":""}`, []string{"application/json"}
	elsewhere := http.Header{"Sec-Fetch-Site": {"cross-site"}, "Content-Type": kind}
	if status, text := ask("POST", "/api/v0/pins", pin, elsewhere); status != 403 {
		t.Errorf("a pin from another site's page: %d\n%s", status, text)
	}
	if status, text := ask("POST", "/api/v0/login", "", elsewhere); status != 403 {
		t.Errorf("a link from another site's page: %d\n%s", status, text)
	}
	if status, text := ask("POST", "/api/v0/pins", pin, http.Header{"Sec-Fetch-Site": {"same-origin"}, "Content-Type": kind}); status != 404 {
		t.Errorf("a pin from the page itself, for no agent: %d\n%s", status, text)
	}
	if status, text := ask("POST", "/logout", "", nil); status != 200 || !strings.Contains(text, "Signed out") {
		t.Errorf("sign out: %d\n%s", status, text)
	}
	if status, _ := ask("GET", "/api/v0/agents", "", nil); status != 401 {
		t.Errorf("agents after that: %d", status)
	}

	// The first operator's link, with which the first token is made.
	link := server.LoginURL(store.RoleOperator)
	if status, text := ask("GET", link, "", nil); status != 200 || !strings.Contains(text, `data-operator="yes"`) {
		t.Errorf("the operator's link: %d\n%s", status, text)
	}
	if status, _ := ask("GET", link, "", nil); status != 403 {
		t.Errorf("the operator's link, again: %d", status)
	}
	made := store.RoleOperator.Kind().New()
	hash := credential.HashOf(made)
	wanted := fmt.Sprintf(`{"token_sha256":"%x","role":"operator","name":"ops"}`, hash[:])
	if status, text := ask("POST", "/api/v0/tokens", wanted, elsewhere); status != 403 {
		t.Errorf("a token from another site's page: %d\n%s", status, text)
	}
	if status, text := ask("POST", "/api/v0/tokens", wanted, http.Header{"Sec-Fetch-Site": {"same-origin"}, "Content-Type": kind}); status != 201 {
		t.Errorf("a token from the page: %d\n%s", status, text)
	}
	if token, err := server.Store().TokenByHash(t.Context(), hash); err != nil || token.Role != store.RoleOperator || token.Name != "ops" {
		t.Errorf("%+v, %v", token, err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestPageNamesDatabase: the page has it for its commands, and not for readers of some agents.
func TestPageNamesDatabase(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{Database: "sqlite:/a b/hub.db"})
	for want, token := range map[string]store.NewToken{
		`data-database="&#39;sqlite:/a b/hub.db&#39;"`: {Role: store.RoleReader},
		`data-database="" `:                            {Role: store.RoleReader, Scope: []string{"dev-1"}},
		`data-database=""`:                             {Role: store.RoleReader, ScopeLabels: store.Labels{"env": "prod"}},
	} {
		text, _, err := hub.CreateToken(t.Context(), f.store, token)
		if err != nil {
			t.Fatal(err)
		}
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/", nil)
		request.AddCookie(f.signIn(text))
		answer := httptest.NewRecorder()
		f.hub.Handler().ServeHTTP(answer, request)
		if body := answer.Body.String(); answer.Code != http.StatusOK || !strings.Contains(body, strings.TrimSpace(want)) {
			t.Errorf("%+v: %d, no %s", token, answer.Code, want)
		}
	}
}
