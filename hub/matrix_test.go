package hub_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/internal/credential"
	"waymark/internal/httpapi"
	"waymark/test/openapitest"
	"waymark/test/pushtest"
	"waymark/wire"
)

// matrix is every route with every kind of token and every kind of host.
type matrix struct {
	*fixture
	pin string
}

// TestAPIMatrix asks for every documented route, and a few that aren't.
func TestAPIMatrix(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{AllowHosts: []string{"Hub.example.com:443"}, Backup: func(_ context.Context, file string) error {
		return os.WriteFile(file, []byte("the database"), 0o600)
	}})
	agent, other := f.token(store.RoleAgent, "a"), f.token(store.RoleAgent, "b")
	f.dial(agent).mustPush(&pushtest.Push{Version: 1, Resources: []*pushtest.Resource{file("/w/AGENTS.md", "text")}}, true)
	reader, revoked, operator := f.token(store.RoleReader, ""), f.token(store.RoleReader, ""), f.token(store.RoleOperator, "")
	f.revoke(revoked)
	lost := f.token(store.RoleAgent, "a")
	f.revoke(lost)
	pin, err := f.store.CreatePin(t.Context(), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	m := &matrix{f, pin.ID}
	tokens := map[string]int{ // 0: let in
		"": 401, "nonsense": 401, credential.ReaderToken.New(): 401, credential.AgentToken.New(): 401,
		revoked: 401, lost: 401, agent: 403, other: 403, reader: 0,
		credential.OperatorToken.New(): 401, operator: 0,
	}
	// allowed says whether who is let in may have a route at all.
	allowed := func(method, path, token string) int {
		operators := method == "PATCH" || method == "DELETE" && strings.HasPrefix(path, "/api/v0/agents/")
		for _, prefix := range []string{"approvals", "tokens", "enrollments", "webhooks", "backup", "audit"} {
			operators = operators || strings.HasPrefix(path, "/api/v0/"+prefix)
		}
		if operators && token != operator {
			return 403
		}
		return 0
	}
	for path, methods := range m.routes(t) {
		for _, method := range methods {
			for token, denied := range tokens {
				code := denied
				if path == "/api/v0/enroll" {
					code = 401
				}
				if code == 0 {
					code = allowed(method, path, token)
				}
				m.one(method, path, token, "bearer", code)
				m.one(method, path, token, "cookie", 401) // no token is a session
			}
		}
	}
	for path, methods := range m.routes(t) {
		for _, method := range methods {
			for text, code := range map[string]int{f.session(reader): 0, credential.Session.New(): 401} {
				if path == "/api/v0/enroll" {
					code = 401
				}
				if code == 0 && (path == "/api/v0/login" || strings.HasSuffix(path, "/mcp") || allowed(method, path, "") != 0) {
					code = 403
				}
				m.one(method, path, text, "cookie", code)
				m.one(method, path, text, "bearer", 401) // nor the other way round
			}
		}
	}
	// A browser in which an operator is signed in sees what operators see, and does what they
	// do, but for what tells others or leaves as a whole. An answer that isn't 403 is one to
	// an empty body.
	for _, test := range []struct {
		method, path string
		code         int
	}{
		{"GET", "approvals", 200}, {"HEAD", "approvals", 200}, {"POST", "approvals", 415}, {"DELETE", "approvals/x", 404},
		{"GET", "tokens", 200}, {"POST", "tokens", 415}, {"DELETE", "tokens/x", 404},
		{"GET", "enrollments", 200}, {"POST", "enrollments", 415}, {"DELETE", "enrollments/x", 404},
		{"PATCH", "agents/x", 415}, {"PATCH", "agents/x/labels", 415}, {"DELETE", "agents/x", 404}, {"GET", "audit", 200},
		{"GET", "webhooks", 200}, {"POST", "webhooks", 403}, {"DELETE", "webhooks/x", 403}, {"POST", "webhooks/x/test", 403}, {"POST", "backup", 403},
	} {
		if response := m.ask(test.method, "/api/v0/"+test.path, f.session(operator), "cookie", "localhost"); response.StatusCode != test.code {
			t.Errorf("%s %s in an operator's browser: %s, want %d", test.method, test.path, response.Status, test.code)
		}
	}
	m.agentsRoute(map[string]int{
		"": 401, "nonsense": 401, revoked: 401, lost: 401, reader: 401, agent: http.StatusUpgradeRequired, other: http.StatusUpgradeRequired,
	})
	if response := f.do("GET", "/healthz", "", "evil.example.com"); response.StatusCode != 200 || body(t, response) != "ok\n" {
		t.Errorf("healthz: %v", response.Status)
	}
	for _, path := range []string{"/healthz", "/api/v0/agents", "/api/v0/agents/a/context"} {
		for _, method := range []string{"POST", "DELETE", "OPTIONS"} {
			response := f.do(method, path, reader, "")
			if response.StatusCode != 405 || response.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: %v", method, path, response.Status)
			}
			checkError(t, path, response)
		}
	}
}

func (f *fixture) revoke(text string) {
	f.t.Helper()
	token, err := f.store.TokenByHash(f.t.Context(), credential.HashOf(text))
	if err == nil {
		err = f.store.RevokeToken(f.t.Context(), token.ID)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// session begins a session of the reader's token and returns its text.
func (f *fixture) session(reader string) string {
	f.t.Helper()
	token, err := f.store.TokenByHash(context.Background(), credential.HashOf(reader))
	if err != nil {
		f.t.Fatal(err)
	}
	text := credential.Session.New()
	_, err = f.store.CreateSession(context.Background(), store.NewSession{
		Hash: credential.HashOf(text), TokenID: token.ID, ExpiresAt: time.Now().Add(time.Hour),
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return text
}

// routes are the documented ones, filled in.
func (m *matrix) routes(t *testing.T) map[string][]string {
	routes := map[string][]string{"/api/v0/nothing": {"GET"}, "/api/v0/": {"GET"}, "/nothing": {"GET"}, "/api": {"POST"}}
	documented := openapitest.Load(t, document(t)).Routes()
	if len(documented) < 15 {
		t.Fatalf("only %d routes are documented", len(documented))
	}
	for path, methods := range documented {
		id := "a"
		if strings.Contains(path, "/pins/") {
			id = m.pin
		}
		path = strings.ReplaceAll(path, "{id}", id)
		path = strings.ReplaceAll(path, "{rid}", url.PathEscape("instruction_file:/w/AGENTS.md"))
		routes[path] = methods
	}
	return routes
}

// hosts says which names are this hub's.
var hosts = map[string]bool{
	"localhost": true, "LOCALHOST:7878": true, "localhost.": true, "127.0.0.1:1": true, "[::1]:7878": true, "127.9.9.9": true,
	"hub.example.com": true, "HUB.example.com:99": true,
	"evil.example.com": false, "evil.example.com:7878": false, "192.168.1.1": false, "localhost.evil.com": false, "a.hub.example.com": false,
}

// one asks in one way, under all names.
func (m *matrix) one(method, path, token, as string, denied int) {
	m.t.Helper()
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		if denied == 0 && hosts[host] && (method == "DELETE" || strings.HasSuffix(path, "/events")) {
			continue // would delete what the others need, or never end
		}
		response := m.ask(method, path, token, as, host)
		name := fmt.Sprintf("%s %s with %.4q as %s at %s", method, path, token, as, host)
		checkHeaders(m.t, name, response)
		switch code := response.StatusCode; {
		case !hosts[host]:
			if code != http.StatusMisdirectedRequest {
				m.t.Errorf("%s: %d", name, code)
			}
		case denied != 0:
			if code != denied {
				m.t.Errorf("%s: %d, want %d", name, code, denied)
			}
		case code == 401 || code == 403 || code == 421 || code >= 500:
			m.t.Errorf("%s: a reader is not let in: %d", name, code)
		}
		if response.StatusCode >= 400 {
			checkError(m.t, name, response)
		}
	}
}

func (m *matrix) ask(method, path, token, as, host string) *http.Response {
	request := httptest.NewRequestWithContext(m.t.Context(), method, "http://localhost"+path, nil)
	request.Host = host
	switch {
	case token == "":
	case as == "cookie":
		request.AddCookie(&http.Cookie{Name: httpapi.SessionName, Value: token})
	default:
		request.Header.Set("Authorization", "Bearer "+token)
	}
	recorder := httptest.NewRecorder()
	m.hub.Handler().ServeHTTP(recorder, request)
	return recorder.Result()
}

// agentsRoute is where agents connect: readers are unauthenticated there, and no
// page of this hub's or another's can connect with a cookie.
func (m *matrix) agentsRoute(tokens map[string]int) {
	m.t.Helper()
	for token, code := range tokens {
		for host, known := range hosts {
			want := code
			request := httptest.NewRequestWithContext(m.t.Context(), "GET", "http://localhost"+wire.EndpointPath+"?version=2.10", nil)
			request.Host = host
			request.Header.Set(wire.TokenHeader, token)
			request.AddCookie(&http.Cookie{Name: httpapi.SessionName, Value: token})
			recorder := httptest.NewRecorder()
			m.hub.Handler().ServeHTTP(recorder, request)
			if !known {
				want = http.StatusMisdirectedRequest
			}
			if recorder.Code != want {
				m.t.Errorf("agents' endpoint with %.4q at %s: %d, want %d", token, host, recorder.Code, want)
			}
		}
	}
}

// TestOrigins sends what a page has a browser send: with the cookie, which
// comes by itself.
func TestOrigins(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	f.token(store.RoleAgent, "a")
	session := f.session(f.token(store.RoleReader, ""))
	for _, c := range []struct {
		method, path, site, origin string
		code                       int
	}{
		{"POST", "/api/v0/pins/x/refresh", "same-origin", "http://localhost", 404},
		{"POST", "/api/v0/pins/x/refresh", "", "", 404}, // no browser
		{"POST", "/api/v0/pins/x/refresh", "", "http://localhost", 404},
		{"POST", "/api/v0/pins/x/refresh", "cross-site", "http://evil.example.com", 403},
		{"POST", "/api/v0/pins/x/refresh", "same-site", "http://localhost:9", 403},
		{"POST", "/api/v0/pins/x/refresh", "", "http://evil.example.com", 403},
		{"POST", "/api/v0/pins/x/refresh", "", "null", 403},
		{"POST", "/api/v0/pins", "cross-site", "http://evil.example.com", 403},
		{"DELETE", "/api/v0/pins/x", "cross-site", "http://evil.example.com", 403},
		{"POST", "/api/v0/login", "cross-site", "http://evil.example.com", 403},
		{"GET", "/api/v0/agents", "cross-site", "http://evil.example.com", 200}, // the answer isn't theirs to read
	} {
		request := httptest.NewRequestWithContext(t.Context(), c.method, "http://localhost"+c.path, nil)
		request.AddCookie(&http.Cookie{Name: httpapi.SessionName, Value: session})
		for name, value := range map[string]string{"Sec-Fetch-Site": c.site, "Origin": c.origin} {
			if value != "" {
				request.Header.Set(name, value)
			}
		}
		recorder := httptest.NewRecorder()
		f.hub.Handler().ServeHTTP(recorder, request)
		if recorder.Code != c.code {
			t.Errorf("%s %s from %q (%s): %d, want %d", c.method, c.path, c.origin, c.site, recorder.Code, c.code)
		}
		if cors := recorder.Header().Get("Access-Control-Allow-Origin"); cors != "" {
			t.Errorf("%s allows %s", c.path, cors)
		}
	}
}

// TestTwoTokens: a header that is there counts, however bad it is, and two
// cookies are none.
func TestTwoTokens(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	reader := f.token(store.RoleReader, "")
	session := f.session(reader)
	good := &http.Cookie{Name: httpapi.SessionName, Value: session}
	for name, c := range map[string]struct {
		headers []string
		cookies []*http.Cookie
		code    int
	}{
		"cookie":                  {nil, []*http.Cookie{good}, 200},
		"bad header, good cookie": {[]string{"Bearer x"}, []*http.Cookie{good}, 401},
		"basic, good cookie":      {[]string{"Basic " + reader}, []*http.Cookie{good}, 401},
		"lower case":              {[]string{"bearer " + reader}, nil, 200},
		"two headers":             {[]string{"Bearer " + reader, "Bearer " + reader}, nil, 401},
		"two cookies":             {nil, []*http.Cookie{good, good}, 401},
		"other cookie":            {nil, []*http.Cookie{{Name: "reader", Value: session}}, 401},
		"token in the cookie":     {nil, []*http.Cookie{{Name: httpapi.SessionName, Value: reader}}, 401},
		"session as bearer":       {[]string{"Bearer " + session}, nil, 401},
	} {
		request := httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost/api/v0/agents", nil)
		request.Header["Authorization"] = c.headers
		if c.headers == nil {
			delete(request.Header, "Authorization")
		}
		for _, cookie := range c.cookies {
			request.AddCookie(cookie)
		}
		recorder := httptest.NewRecorder()
		f.hub.Handler().ServeHTTP(recorder, request)
		if recorder.Code != c.code {
			t.Errorf("%s: %d, want %d", name, recorder.Code, c.code)
		}
	}
}
