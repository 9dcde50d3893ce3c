package session_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"waymark/workspace/mcp/session"
)

// authority is an MCP server that wants to be signed in to, and its authorization
// server, in one.
type authority struct {
	*httptest.Server
	t *testing.T

	mu sync.Mutex // guards what follows
	// metadata, if not empty, is where the server says that its metadata is; resource
	// and issuer what they say of themselves; life how long tokens live.
	metadata, resource, issuer string
	life                       int
	refuseRefresh              bool
	challenge                  string // code_challenge of the login
	valid                      string // the access token that counts
	minted, refreshed, calls   int
	lastResource               string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, life: 3600}
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", a.serve)
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{"resource": a.is(a.resource, "/mcp"), "authorization_servers": []string{a.URL}, "scopes_supported": []string{"tools"}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{
			"issuer": a.is(a.issuer, ""), "authorization_endpoint": a.URL + "/authorize", "token_endpoint": a.URL + "/token",
			"registration_endpoint": a.URL + "/register", "code_challenge_methods_supported": []string{"S256"},
			"response_types_supported": []string{"code"}, "authorization_response_iss_parameter_supported": true,
		})
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		var asked map[string]any
		_ = json.NewDecoder(r.Body).Decode(&asked)
		asked["client_id"] = "the-client"
		asked["token_endpoint_auth_method"] = "none"
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(asked)
	})
	mux.HandleFunc("/token", a.token)
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Close)
	return a
}

func (a *authority) is(set, path string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if set != "" {
		return set
	}
	return a.URL + path
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (a *authority) serve(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.calls++
	ok := a.valid != "" && r.Header.Get("Authorization") == "Bearer "+a.valid
	metadata := a.metadata
	a.mu.Unlock()
	if !ok {
		if metadata == "" {
			metadata = a.URL + "/.well-known/oauth-protected-resource/mcp"
		}
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+metadata+`"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var m message
	_ = json.NewDecoder(r.Body).Decode(&m)
	switch m.Method {
	case "initialize":
		answer(w, m, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"web","version":"1"}}`)
	case "tools/call":
		answer(w, m, `{"content":[]}`)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

func (a *authority) token(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lastResource = r.PostForm.Get("resource")
	switch r.PostForm.Get("grant_type") {
	case "authorization_code":
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		if r.PostForm.Get("code") != "the-code" || base64.RawURLEncoding.EncodeToString(sum[:]) != a.challenge {
			a.t.Errorf("a token is asked for with %v", r.PostForm)
		}
	case "refresh_token":
		a.refreshed++
		if a.refuseRefresh || r.PostForm.Get("refresh_token") != fmt.Sprintf("refresh-secret-%d", a.minted) {
			w.WriteHeader(http.StatusBadRequest)
			writeJSON(w, map[string]string{"error": "invalid_grant", "error_description": r.PostForm.Encode()})
			return
		}
	}
	a.minted++
	a.valid = fmt.Sprintf("access-secret-%d", a.minted)
	writeJSON(w, map[string]any{
		"access_token": a.valid, "token_type": "Bearer", "expires_in": a.life, "refresh_token": fmt.Sprintf("refresh-secret-%d", a.minted),
	})
}

// browse does what a browser does with an address for signing in, and returns where it
// is sent in the end.
func (a *authority) browse(address string) string {
	a.t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		a.t.Fatal(err)
	}
	query := u.Query()
	if query.Get("resource") != a.URL+"/mcp" || query.Get("code_challenge_method") != "S256" || query.Get("scope") != "tools" {
		a.t.Errorf("one signs in at %s", address)
	}
	a.mu.Lock()
	a.challenge = query.Get("code_challenge")
	a.mu.Unlock()
	back, err := url.Parse(query.Get("redirect_uri"))
	if err != nil || back.Hostname() != "127.0.0.1" {
		a.t.Fatalf("one is sent to %s", back)
	}
	back.RawQuery = url.Values{"code": {"the-code"}, "state": {query.Get("state")}, "iss": {a.URL}}.Encode()
	return back.String()
}

func newOAuth(t *testing.T, dir string) *session.OAuth {
	t.Helper()
	o, err := session.NewOAuth(session.OAuthOptions{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	return o
}

func begin(t *testing.T, o *session.OAuth, address string) *session.Login {
	t.Helper()
	l, err := o.Begin(t.Context(), address, nil, session.Client{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func get(t *testing.T, address string) (status int, said string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

// TestLogin: one signs in by a browser that comes to this machine, or with the address
// that it would have come to; the tokens outlive the program and can be forgotten.
func TestLogin(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	address, dir := a.URL+"/mcp", filepath.Join(t.TempDir(), "tokens")
	o := newOAuth(t, dir)
	connect := func(o *session.OAuth) error {
		s, err := session.HTTP(t.Context(), address, nil, session.Options{OAuth: o})
		if err != nil {
			return err
		}
		defer func() { _ = s.Close() }()
		_, err = s.Call(t.Context(), &session.Call{Tool: "x"})
		return err
	}
	if err := connect(o); !errors.Is(err, session.ErrNeedsAuthorization) {
		t.Fatalf("before: %v", err)
	}
	l := begin(t, o, address)
	back := a.browse(l.URL)
	// Whoever else asks ends nothing.
	if status, said := get(t, strings.Replace(back, "state=", "state=x", 1)); status != http.StatusBadRequest || strings.Contains(said, "code") {
		t.Errorf("another's state: %d %s", status, said)
	}
	if status, said := get(t, back); status != http.StatusOK || !strings.HasPrefix(said, "Signed in") {
		t.Errorf("%d %s", status, said)
	}
	if err := l.Err(); err != nil {
		t.Fatal(err)
	}
	if err := connect(o); err != nil {
		t.Errorf("signed in: %v", err)
	}
	// What is kept is sealed, and found again.
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "secret") || strings.Contains(string(text), "client") {
			t.Errorf("%s can be read", d.Name())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	again := newOAuth(t, dir)
	if !again.SignedIn(address) || connect(again) != nil {
		t.Error("the next program isn't signed in")
	}
	if again.SignedIn(a.URL + "/other") {
		t.Error("another address is signed in to")
	}
	if err := again.Forget(address); err != nil || again.SignedIn(address) || newOAuth(t, dir).SignedIn(address) {
		t.Errorf("it isn't forgotten: %v", err)
	}
	// The other way.
	l = begin(t, again, address)
	back = a.browse(l.URL)
	for bad, want := range map[string]string{
		"":                                       "isn't the address",
		"http://127.0.0.1:1/callback?code=x":     "begins with http://127.0.0.1:",
		strings.Replace(back, "state=", "s=", 1): "another login",
		strings.Replace(back, "code=", "c=", 1):  "has no code",
	} {
		if err := l.Finish(t.Context(), bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if err := l.Finish(t.Context(), " "+back+"\n"); err != nil || connect(again) != nil {
		t.Errorf("finished: %v", err)
	}
	if again.Login(address) != nil {
		t.Error("a login goes on")
	}
}

// TestLoginFails: what is wrong with a login is said, and no code is spent on it.
func TestLoginFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(a *authority)
		back   func(back string) string
		want   string
	}{
		{"refused", nil, func(back string) string {
			return strings.Replace(back, "code=the-code", "error=access_denied&error_description=no%1b[31m", 1)
		}, "refused: access_denied no[31m"},
		{"another issuer", nil, func(back string) string {
			return back[:strings.Index(back, "iss=")] + back[strings.Index(back, "&state"):] + "&iss=http%3A%2F%2Flocalhost%3A1"
		}, "issuer"},
		{"no issuer", nil, func(back string) string { return strings.Replace(back, "iss=", "is=", 1) }, "iss"},
		{"metadata of another resource", func(a *authority) { a.resource = "https://example.com/mcp" }, nil, "sign in"},
		{"metadata of another issuer", func(a *authority) { a.issuer = "https://example.com" }, nil, "issuer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := newAuthority(t)
			if c.change != nil {
				c.change(a)
			}
			o := newOAuth(t, filepath.Join(t.TempDir(), "tokens"))
			l, err := o.Begin(t.Context(), a.URL+"/mcp", nil, session.Client{})
			if err == nil {
				if c.back == nil {
					l.Cancel()
					if c.name == "metadata of another resource" {
						return // the SDK asks at the server's own address instead
					}
					t.Fatal("it has begun")
				}
				err = l.Finish(t.Context(), c.back(a.browse(l.URL)))
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || o.SignedIn(a.URL+"/mcp") {
				t.Errorf("got %v", err)
			}
			if a.minted != 0 {
				t.Error("a token was given out")
			}
		})
	}
	server := web(t, nil)
	if _, err := newOAuth(t, filepath.Join(t.TempDir(), "tokens")).Begin(t.Context(), server.URL, nil, session.Client{}); err == nil || !strings.Contains(err.Error(), "doesn't ask") {
		t.Errorf("a server without: %v", err)
	}
}

// TestLoginEnds: one that is given up, replaced, or waited for too long ends.
func TestLoginEnds(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	address := a.URL + "/mcp"
	o, err := session.NewOAuth(session.OAuthOptions{Dir: filepath.Join(t.TempDir(), "tokens"), LoginTimeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	first := begin(t, o, address)
	second := begin(t, o, address)
	if err := first.Err(); err == nil || o.Login(address) != second {
		t.Errorf("the first ends with %v", err)
	}
	if err := o.Forget(address); err != nil || second.Err() == nil {
		t.Errorf("forgotten: %v", err)
	}
	third := begin(t, o, address)
	o.Close()
	if third.Err() == nil {
		t.Error("it goes on")
	}
	short, err := session.NewOAuth(session.OAuthOptions{Dir: filepath.Join(t.TempDir(), "tokens"), LoginTimeout: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	l, err := short.Begin(t.Context(), address, nil, session.Client{})
	if err == nil { // else the machine was slow, and it ended in the beginning
		err = l.Err()
	}
	if err == nil || !strings.Contains(err.Error(), "in time") {
		t.Errorf("got %v", err)
	}
}

// TestRefresh: a token that has run out, or that the server no longer takes, is
// refreshed once for all who ask; when that is refused one has to sign in again.
func TestRefresh(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	address := a.URL + "/mcp"
	a.life = 1 // run out at once, with the slack
	o := newOAuth(t, filepath.Join(t.TempDir(), "tokens"))
	l := begin(t, o, address)
	if err := l.Finish(t.Context(), a.browse(l.URL)); err != nil {
		t.Fatal(err)
	}
	a.mu.Lock()
	a.life = 3600
	a.mu.Unlock()
	s, err := session.HTTP(t.Context(), address, nil, session.Options{OAuth: o})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	callAll := func() {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if _, err := s.Call(context.WithoutCancel(t.Context()), &session.Call{Tool: "x"}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	callAll()
	if a.refreshed != 1 || a.lastResource != address {
		t.Errorf("refreshed %d times, for %q", a.refreshed, a.lastResource)
	}
	a.mu.Lock()
	a.valid = "another"
	a.mu.Unlock()
	callAll()
	if a.refreshed != 2 {
		t.Errorf("refreshed %d times", a.refreshed)
	}
	a.mu.Lock()
	a.valid, a.refuseRefresh = "another", true
	a.mu.Unlock()
	if _, err := s.Call(t.Context(), &session.Call{Tool: "x"}); !errors.Is(err, session.ErrNeedsAuthorization) || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
	if a.refreshed != 3 {
		t.Errorf("refreshed %d times", a.refreshed)
	}
	// And so one does.
	a.mu.Lock()
	a.refuseRefresh = false
	a.mu.Unlock()
	l = begin(t, o, address)
	if err := l.Finish(t.Context(), a.browse(l.URL)); err != nil {
		t.Fatal(err)
	}
	callAll()
}

// TestMetadataStaysOutside: no server elsewhere has this machine asked, or anything
// without TLS, and tokens go nowhere without it.
func TestMetadataStaysOutside(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"http://example.com/mcp", "ftp://127.0.0.1/", "x"} {
		o := newOAuth(t, filepath.Join(t.TempDir(), "tokens"))
		if _, err := o.Begin(t.Context(), address, nil, session.Client{}); err == nil || o.SignedIn(address) || o.Forget(address) == nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	// An authority on this machine may name this machine, but nothing without TLS
	// elsewhere; see also the package's own test of the client for metadata.
	a := newAuthority(t)
	a.metadata = "http://example.com/metadata"
	o := newOAuth(t, filepath.Join(t.TempDir(), "tokens"))
	l := begin(t, o, a.URL+"/mcp") // at the server's own address instead
	l.Cancel()
}
