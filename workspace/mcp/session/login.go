package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"waymark/internal/credential"
	"waymark/internal/defaults"
	"waymark/internal/text"
)

// Login is a sign-in in progress. The user must open its URL.
type Login struct {
	// URL is where to sign in. It is a single line that begins with https:// or, for a
	// server on loopback, http://.
	URL string

	redirect string
	begun    chan struct{} // closed when URL and state are set
	state    string
	answer   chan *auth.AuthorizationResult // has capacity 1
	cancel   context.CancelCauseFunc
	done     chan struct{} // closed when there are tokens, or an error
	closed   chan struct{} // closed when the listener is closed
	err      error         // set before done is closed
	ctx      context.Context
}

// Done is closed when the sign-in has ended. After that Err says how.
func (l *Login) Done() <-chan struct{} { return l.done }

// Err waits for the end, and returns why the sign-in failed; nil if there are tokens.
func (l *Login) Err() error {
	<-l.done
	return l.err
}

// Cancel cancels the sign-in and waits for its end.
func (l *Login) Cancel() {
	l.cancel(errors.New("the login was given up"))
	<-l.closed
}

// Finish completes the sign-in with the address to which the browser was redirected, for
// browsers that can't reach this machine's loopback. It waits for the tokens.
func (l *Login) Finish(ctx context.Context, redirect string) error {
	u, err := url.Parse(strings.TrimSpace(redirect))
	if err != nil {
		return errors.New("this isn't the address that the browser was sent to")
	}
	query := u.Query()
	u.RawQuery, u.Fragment = "", ""
	if u.String() != l.redirect {
		return fmt.Errorf("this isn't the address that the browser was sent to, which begins with %s", l.redirect)
	}
	if err := l.take(query); err != nil {
		return err
	}
	select {
	case <-l.done:
		return l.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// take handles the parameters of the redirect.
func (l *Login) take(query url.Values) error {
	if !credential.Same(query.Get("state"), l.state) {
		return errors.New("this address is of another login: sign in by the newest one")
	}
	if code := query.Get("error"); code != "" {
		err := fmt.Errorf("the sign-in was refused: %s", printable(strings.TrimSpace(code+" "+query.Get("error_description")), 500))
		l.cancel(err)
		return err
	}
	if query.Get("code") == "" {
		return errors.New("this address has no code: it isn't the one that the browser was sent to")
	}
	select {
	case l.answer <- &auth.AuthorizationResult{Code: query.Get("code"), State: query.Get("state"), Iss: query.Get("iss")}:
		return nil
	default:
		return errors.New("this login has its answer already")
	}
}

func printable(s string, limit int) string { return text.Line(s, limit) }

func scopesOf(s string) []string {
	scopes := strings.Fields(s)
	return scopes[:min(len(scopes), 100)]
}

// Login returns the sign-in in progress for an address; nil if there is none.
func (o *OAuth) Login(address string) *Login {
	address, err := canonical(address)
	if err != nil {
		return nil
	}
	a := o.account(address)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.login != nil {
		select {
		case <-a.login.done:
			return nil
		default:
		}
	}
	return a.login
}

// Client is a client registered at an authorization server. Without an ID the agent
// registers itself. Without a Secret it is a public client.
type Client struct{ ID, Secret string }

// credentials converts a client for the SDK; nil if there is none.
func (c Client) credentials() *oauthex.ClientCredentials {
	if c.ID == "" {
		return nil
	}
	credentials := &oauthex.ClientCredentials{ClientID: c.ID}
	if c.Secret != "" {
		credentials.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: c.Secret}
	}
	return credentials
}

// Begin starts a sign-in for an address, and cancels one that is in progress. header has
// the configured headers of the server, and as the registered client, if any. It listens on
// a loopback port for the final redirect, until that arrives or LoginTimeout passes.
func (o *OAuth) Begin(ctx context.Context, address string, header http.Header, as Client) (*Login, error) {
	address, err := canonical(address)
	if err != nil {
		return nil, err
	}
	a := o.account(address)
	if old := o.Login(address); old != nil {
		old.Cancel()
	}
	req, resp, err := o.challengeOf(ctx, a, address, header) //nolint:bodyclose // it has none
	if err != nil {
		return nil, err
	}
	client, err := newMetadataClient(address)
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for where the browser is sent: %w", err)
	}
	l := &Login{
		redirect: "http://" + listener.Addr().String() + "/callback",
		answer:   make(chan *auth.AuthorizationResult, 1), done: make(chan struct{}), closed: make(chan struct{}), begun: make(chan struct{}),
	}
	// The sign-in outlives the request that started it.
	loginCtx, stop := context.WithTimeoutCause(context.WithoutCancel(ctx), o.opts.LoginTimeout, errors.New("nobody has signed in in time"))
	l.ctx, l.cancel = context.WithCancelCause(loginCtx)
	served := make(chan struct{})
	go func() {
		defer close(served)
		l.serve(listener)
	}()
	go func() {
		defer stop()
		defer client.CloseIdleConnections()
		l.err = l.named(o.authorize(l.ctx, l, a, address, as, client, req, resp))
		l.cancel(nil)
		close(l.done)
		<-served
		close(l.closed)
	}()
	select {
	case <-l.begun:
	case <-l.closed:
		return nil, l.err
	case <-ctx.Done():
		l.Cancel()
		return nil, ctx.Err()
	}
	a.mu.Lock()
	a.login = l
	a.mu.Unlock()
	return l, nil
}

// named describes a sign-in's error.
func (l *Login) named(err error) error {
	if err == nil {
		return nil
	}
	if l.ctx.Err() != nil {
		return context.Cause(l.ctx)
	}
	return fmt.Errorf("sign in: %w", withoutSecrets(err))
}

// challengeOf returns a refused request and its response: the last one, or a new one.
func (o *OAuth) challengeOf(ctx context.Context, a *account, address string, header http.Header) (*http.Request, *http.Response, error) {
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + Fallback +
		`","capabilities":{},"clientInfo":{"name":"waymark","version":"` + version() + `"}}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		return nil, nil, errors.New("the server's address isn't one")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	a.mu.Lock()
	c := a.challenge
	a.mu.Unlock()
	if c == nil {
		guard, err := newGuard(address, header, Options{}.orDefaults())
		if err != nil {
			return nil, nil, err
		}
		defer guard.close()
		ctx, cancel := context.WithTimeout(ctx, defaults.MCPConnectTimeout)
		defer cancel()
		guard.challenged = func(resp *http.Response) { o.challenged(address, resp) }
		resp, err := guard.client().Do(req.WithContext(ctx))
		if err == nil {
			_ = resp.Body.Close()
			return nil, nil, errors.New("the server doesn't ask to be signed in to")
		}
		if !errors.Is(err, ErrNeedsAuthorization) {
			return nil, nil, bounded(err)
		}
		a.mu.Lock()
		c = a.challenge
		a.mu.Unlock()
		if c == nil {
			return nil, nil, ErrNeedsAuthorization
		}
	}
	return req, &http.Response{
		StatusCode: c.status, Header: http.Header{"Www-Authenticate": c.header}, Body: io.NopCloser(bytes.NewReader(nil)), Request: req,
	}, nil
}

// authorize performs the sign-in.
func (o *OAuth) authorize(ctx context.Context, l *Login, a *account, address string, as Client, client *http.Client, req *http.Request, resp *http.Response) error {
	more := wantsMore(resp)
	resource := ""
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		RedirectURL: l.redirect,
		Client:      client,
		// The SDK prefers it over registering.
		PreregisteredClient: as.credentials(),
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "Waymark", RedirectURIs: []string{l.redirect},
			GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		}},
		RequestRefreshToken: true,
		ScopeFilter: func(scopes []string) []string {
			if old := o.current(a, address); more && old != nil {
				// Request the previous scopes together with the missing ones.
				return union(old.Scopes, scopes)
			}
			return scopes
		},
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			u, err := url.Parse(args.URL)
			if err != nil || printable(args.URL, maxURL) != args.URL {
				return nil, errors.New("the server names an address for signing in that isn't one")
			}
			l.state, resource = u.Query().Get("state"), u.Query().Get("resource")
			l.URL = args.URL
			close(l.begun)
			select {
			case answer := <-l.answer:
				return answer, nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		},
		NewTokenSource: func(_ context.Context, config *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
			g := &grant{
				Address: address, ClientID: config.ClientID, ClientSecret: config.ClientSecret,
				TokenURL: config.Endpoint.TokenURL, AuthStyle: config.Endpoint.AuthStyle,
				Resource: resource, Scopes: config.Scopes,
			}
			g.take(token)
			o.keep(a, g)
			return oauth2.StaticTokenSource(token), nil
		},
	})
	if err != nil {
		return err
	}
	return handler.Authorize(ctx, req.WithContext(ctx), resp)
}

// maxURL limits a sign-in URL, in bytes.
const maxURL = 8 << 10

func union(a, b []string) []string {
	all := append([]string(nil), a...)
	for _, s := range b {
		found := false
		for _, have := range a {
			found = found || have == s
		}
		if !found {
			all = append(all, s)
		}
	}
	return all
}

// serve waits for the browser's redirect.
func (l *Login) serve(listener net.Listener) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /callback", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-store")
		// A request without this sign-in's state comes from somebody else, and must not end
		// it.
		select {
		case <-l.begun:
		default:
			w.WriteHeader(http.StatusNotFound)
			return
		}
		if err := l.take(r.URL.Query()); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, "Not signed in: "+err.Error()+".\n")
			return
		}
		select {
		case <-l.done:
		case <-r.Context().Done():
			return
		}
		if l.err != nil {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, "Not signed in: "+text.Line(l.err.Error(), maxErrorText)+".\n")
			return
		}
		_, _ = io.WriteString(w, "Signed in. This page can be closed.\n")
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // returns when the sign-in ends
	}()
	<-l.done
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		_ = server.Close()
	}
	<-served
}
