package servers

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// Authority is a server over streamable HTTP, at URL + "/mcp", that wants to be signed
// in to, and the authorization server that it names. Whoever opens its page for signing
// in is let in.
type Authority struct {
	*httptest.Server
	// id and secret are those of a client that somebody has registered; empty where
	// clients register themselves.
	id, secret string

	mu     sync.Mutex        // guards what follows
	codes  map[string]string // challenges by code
	tokens map[string]bool   // those that count, to call and to refresh
}

// NewAuthority starts one. With id, only the client of that name and secret is known;
// without, clients register themselves.
func NewAuthority(id, secret string) *Authority {
	a := &Authority{id: id, secret: secret, codes: map[string]string{}, tokens: map[string]bool{}}
	mux := http.NewServeMux()
	a.Server = httptest.NewServer(mux)
	s := New(Options{Name: "web"})
	protect := auth.RequireBearerToken(a.verify, &auth.RequireBearerTokenOptions{ResourceMetadataURL: a.URL + "/.well-known/oauth-protected-resource/mcp"})
	mux.Handle("/mcp", protect(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)))
	mux.Handle("/.well-known/oauth-protected-resource/mcp", auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: a.URL + "/mcp", AuthorizationServers: []string{a.URL},
	}))
	mux.HandleFunc("/.well-known/oauth-authorization-server", a.metadata)
	mux.HandleFunc("/authorize", a.authorize)
	mux.HandleFunc("/token", a.token)
	if id == "" {
		mux.HandleFunc("/register", register)
	}
	return a
}

func (a *Authority) verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.tokens[token] {
		return nil, auth.ErrInvalidToken
	}
	return &auth.TokenInfo{Expiration: time.Now().Add(time.Hour)}, nil
}

func (a *Authority) metadata(w http.ResponseWriter, _ *http.Request) {
	m := map[string]any{
		"issuer": a.URL, "authorization_endpoint": a.URL + "/authorize", "token_endpoint": a.URL + "/token",
		"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
		"grant_types_supported": []string{"authorization_code", "refresh_token"}, "authorization_response_iss_parameter_supported": true,
		"token_endpoint_auth_methods_supported": []string{"client_secret_basic", "none"},
	}
	if a.id == "" {
		m["registration_endpoint"] = a.URL + "/register"
	}
	write(w, http.StatusOK, m)
}

// register takes whoever asks.
func register(w http.ResponseWriter, r *http.Request) {
	var asked map[string]any
	if json.NewDecoder(r.Body).Decode(&asked) != nil || asked == nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	asked["client_id"], asked["token_endpoint_auth_method"] = rand.Text(), "none"
	write(w, http.StatusCreated, asked)
}

// authorize sends the browser back with a code.
func (a *Authority) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || q.Get("code_challenge_method") != "S256" || a.id != "" && q.Get("client_id") != a.id {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	code := rand.Text()
	a.mu.Lock()
	a.codes[code] = q.Get("code_challenge")
	a.mu.Unlock()
	back.RawQuery = url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {a.URL}}.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// token gives tokens for a code or for a refresh token, each of which counts once.
func (a *Authority) token(w http.ResponseWriter, r *http.Request) {
	if id, secret, _ := r.BasicAuth(); a.id != "" && (id != a.id || secret != a.secret) {
		// What it was told stands in the answer, as careless ones have it.
		write(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client", "error_description": "not " + secret})
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	code, refresh := r.PostFormValue("code"), r.PostFormValue("refresh_token")
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	challenge, known := a.codes[code]
	if (!known || challenge != base64.RawURLEncoding.EncodeToString(sum[:])) && !a.tokens[refresh] {
		write(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
		return
	}
	delete(a.codes, code)
	delete(a.tokens, refresh)
	access, next := "hunter2-access-"+rand.Text(), "hunter2-refresh-"+rand.Text()
	a.tokens[access], a.tokens[next] = true, true
	write(w, http.StatusOK, map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": 3600, "refresh_token": next})
}

func write(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // who doesn't listen any more is told nothing
}
