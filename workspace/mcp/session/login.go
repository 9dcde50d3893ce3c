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

// Login is a login that goes on: somebody has to open its URL.
type Login struct {
	// URL is where to sign in. It is a line, and begins with https:// or, for a server
	// on loopback, http://.
	URL string

	redirect string
	begun    chan struct{} // closed when URL and state are set
	state    string
	answer   chan *auth.AuthorizationResult // capacity 1
	cancel   context.CancelCauseFunc
	done     chan struct{} // closed when there are tokens, or an error
	closed   chan struct{} // closed when nothing listens any more
	err      error         // set before done is closed
	ctx      context.Context
}

// Done is closed when the login has ended; Err says how afterwards.
func (l *Login) Done() <-chan struct{} { return l.done }

// Err returns why it has failed, nil when there are tokens now.
func (l *Login) Err() error {
	<-l.done
	return l.err
}

// Cancel ends it, and waits for that.
func (l *Login) Cancel() {
	l.cancel(errors.New("the login was given up"))
	<-l.closed
}

// Finish ends it with the address that the browser was sent to, for browsers that don't
// reach this machine's loopback, and waits for the tokens.
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

// take takes the parameters that a browser has brought.
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

// Login returns the login for an address that goes on, nil for none.
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

// Client is one that somebody has registered at an authorization server. Without an ID
// the agent registers itself; without a secret it is a public one.
type Client struct{ ID, Secret string }

// credentials are a client's as the SDK has them; nil for none.
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

// Begin begins a login for an address, in place of one that goes on. header is what
// the server is sent beside, as the client that somebody has registered, if there is
// one. It listens on a port of the loopback interface for where the browser is sent in
// the end, until then or for LoginTimeout.
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
	// It goes on when the request that has begun it ends.
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

// named puts a login's error into words.
func (l *Login) named(err error) error {
	if err == nil {
		return nil
	}
	if l.ctx.Err() != nil {
		return context.Cause(l.ctx)
	}
	return fmt.Errorf("sign in: %w", withoutSecrets(err))
}

// challengeOf returns a request that the server has refused and how: the last one, or
// one that is made for this.
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

// authorize goes through a login.
func (o *OAuth) authorize(ctx context.Context, l *Login, a *account, address string, as Client, client *http.Client, req *http.Request, resp *http.Response) error {
	more := wantsMore(resp)
	resource := ""
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		RedirectURL: l.redirect,
		Client:      client,
		// The SDK prefers it to registering.
		PreregisteredClient: as.credentials(),
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "Waymark", RedirectURIs: []string{l.redirect},
			GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		}},
		RequestRefreshToken: true,
		ScopeFilter: func(scopes []string) []string {
			if old := o.current(a, address); more && old != nil {
				// What there was is asked for again with what is missing.
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

// maxURL is the length of an address for signing in.
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

// serve waits for the browser.
func (l *Login) serve(listener net.Listener) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /callback", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-store")
		// Whoever asks without this login's state is somebody else, and ends nothing.
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
		_ = server.Serve(listener) // until the login ends
	}()
	<-l.done
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		_ = server.Close()
	}
	<-served
}
