package session

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
	"golang.org/x/sync/semaphore"

	"waymark/internal/sealedstore"
)

// OAuth signs in to servers over HTTP, and stores and refreshes their tokens.
//
// A token belongs to the address that it was issued for. It is sent only to the origin of
// that address, and its refresh token only to the endpoint that issued it. Addresses that a
// server names must use https, or http on loopback if the server itself is there. A server
// elsewhere can't cause requests to this machine.
//
// It may be used by any number of goroutines.
type OAuth struct {
	opts  OAuthOptions
	store *sealedstore.Store

	mu    sync.Mutex // guards the fields below
	known map[string]*account
}

// OAuthOptions configure OAuth.
type OAuthOptions struct {
	// Dir is a private directory of its own for the encrypted tokens. KeyDir has the key,
	// which others may share; empty means Dir.
	Dir, KeyDir string
	// LoginTimeout is how long the user has to sign in. Default 10 minutes.
	LoginTimeout time.Duration
	Logger       *slog.Logger
}

// account is what is known about an address.
type account struct {
	turn *semaphore.Weighted // held while refreshing

	mu        sync.Mutex // guards the fields below
	grant     *grant
	loaded    bool
	challenge *challenge
	login     *Login
}

// grant is the stored result of a sign-in.
type grant struct {
	Address      string           `json:"address"`
	ClientID     string           `json:"client_id"`
	ClientSecret string           `json:"client_secret,omitempty"`
	TokenURL     string           `json:"token_url"`
	AuthStyle    oauth2.AuthStyle `json:"auth_style"`
	Resource     string           `json:"resource"`
	Scopes       []string         `json:"scopes,omitempty"`
	Access       string           `json:"access_token"`
	Refresh      string           `json:"refresh_token,omitempty"`
	Expiry       time.Time        `json:"expiry,omitzero"`
}

// challenge is how a server has asked for a sign-in.
type challenge struct {
	status int
	header []string
}

const (
	defaultLogin = 10 * time.Minute
	// maxGrant limits a stored grant, in bytes. Tokens have a few KiB at most.
	maxGrant = 256 << 10
	// slack is how long before its expiry a token is no longer used, so that it is still
	// valid on arrival.
	slack = 30 * time.Second
	// refreshTimeout limits how long a call waits for a fresh token.
	refreshTimeout = 20 * time.Second
)

// NewOAuth opens the directory of tokens.
func NewOAuth(opts OAuthOptions) (*OAuth, error) {
	if opts.LoginTimeout <= 0 {
		opts.LoginTimeout = defaultLogin
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	store, err := sealedstore.Open(opts.Dir, sealedstore.Options{KeyDir: opts.KeyDir, MaxBytes: 64 << 20, MaxBlob: maxGrant, Logger: opts.Logger})
	if err != nil {
		return nil, fmt.Errorf("tokens of MCP servers: %w", err)
	}
	return &OAuth{opts: opts, store: store, known: make(map[string]*account)}, nil
}

// Close cancels all sign-ins and waits for their end.
func (o *OAuth) Close() {
	o.mu.Lock()
	addresses := slices.Collect(maps.Keys(o.known))
	o.mu.Unlock()
	for _, address := range addresses {
		if l := o.Login(address); l != nil {
			l.Cancel()
		}
	}
}

// canonical returns the canonical form of an address: the resource that tokens are for.
func canonical(address string) (string, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return "", errors.New("the server's address isn't one")
	case u.Scheme == "http" && !isLoopbackHost(u.Hostname()):
		return "", errors.New("tokens go to servers with https alone, and this one's address has http")
	}
	u.Fragment, u.User = "", nil
	return u.String(), nil
}

func (o *OAuth) account(address string) *account {
	o.mu.Lock()
	defer o.mu.Unlock()
	a := o.known[address]
	if a == nil {
		a = &account{turn: semaphore.NewWeighted(1)}
		o.known[address] = a
	}
	return a
}

// blob returns the name under which an address's tokens are stored.
func blob(address string) string {
	sum := sha256.Sum256([]byte(address))
	return hex.EncodeToString(sum[:])
}

// current returns the grant for an address; nil if there is none.
func (o *OAuth) current(a *account, address string) *grant {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.loaded {
		a.loaded = true
		a.grant = o.read(address)
	}
	return a.grant
}

func (o *OAuth) read(address string) *grant {
	b, err := o.store.Get(blob(address))
	if err != nil {
		return nil
	}
	defer b.Release()
	g := new(grant)
	if err := json.Unmarshal(b.Bytes(), g); err != nil || g.Address != address {
		return nil
	}
	return g
}

// keep makes a grant the current one and stores it. If storing fails, the user must sign in
// again after a restart.
func (o *OAuth) keep(a *account, g *grant) {
	a.mu.Lock()
	a.grant, a.loaded, a.challenge = g, true, nil
	a.mu.Unlock()
	encoded, err := json.Marshal(g) //nolint:gosec // to be sealed
	if err == nil {
		err = o.store.Put(blob(g.Address), int64(len(encoded)), func(w io.Writer) error {
			_, err := w.Write(encoded)
			return err
		})
	}
	if err != nil {
		o.opts.Logger.Warn("the token of an MCP server can't be kept", slog.Any("error", err))
	}
}

// Forget deletes the tokens for an address, and cancels a sign-in in progress.
func (o *OAuth) Forget(address string) error {
	address, err := canonical(address)
	if err != nil {
		return err
	}
	a := o.account(address)
	a.mu.Lock()
	login := a.login
	a.login, a.grant, a.loaded, a.challenge = nil, nil, true, nil
	a.mu.Unlock()
	if login != nil {
		login.Cancel()
	}
	return o.store.Delete(blob(address))
}

// SignedIn reports whether there are tokens for an address. The server may still refuse
// them.
func (o *OAuth) SignedIn(address string) bool {
	address, err := canonical(address)
	return err == nil && o.current(o.account(address), address) != nil
}

// token returns the token for an address, "" if there is none. It refreshes one that has
// expired or was refused, once for all concurrent callers.
func (o *OAuth) token(ctx context.Context, address, refused string) (string, error) {
	a := o.account(address)
	usable := func() (string, bool) {
		g := o.current(a, address)
		switch {
		case g == nil:
			return "", true
		case g.Access == refused, !g.Expiry.IsZero() && time.Until(g.Expiry) < slack:
			return "", g.Refresh == ""
		}
		return g.Access, true
	}
	if token, ok := usable(); ok {
		return token, nil
	}
	if err := a.turn.Acquire(ctx, 1); err != nil {
		return "", err
	}
	defer a.turn.Release(1)
	if token, ok := usable(); ok {
		return token, nil
	}
	g := o.current(a, address)
	if g == nil {
		return "", nil // it was deleted meanwhile
	}
	fresh, err := o.refresh(ctx, g)
	var refusal *oauth2.RetrieveError
	switch {
	case errors.As(err, &refusal) && refusal.Response != nil && refusal.Response.StatusCode < 500:
		// The user must sign in again. Keep the grant for its scopes, without the useless
		// tokens.
		gone := *g
		gone.Refresh, gone.Access = "", ""
		o.keep(a, &gone)
		return "", nil
	case err != nil:
		return "", fmt.Errorf("refresh the server's token: %w", withoutSecrets(err))
	}
	a.mu.Lock()
	forgotten := a.grant != g
	a.mu.Unlock()
	if forgotten {
		return "", nil
	}
	o.keep(a, fresh)
	return fresh.Access, nil
}

// refresh requests a new token with a grant.
func (o *OAuth) refresh(ctx context.Context, g *grant) (*grant, error) {
	ctx, cancel := context.WithTimeout(ctx, refreshTimeout)
	defer cancel()
	client, err := newMetadataClient(g.Address)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	client.Transport = withResource{client.Transport, g.Resource}
	config := oauth2.Config{
		ClientID: g.ClientID, ClientSecret: g.ClientSecret,
		Endpoint: oauth2.Endpoint{TokenURL: g.TokenURL, AuthStyle: g.AuthStyle},
	}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, client)
	token, err := config.TokenSource(ctx, &oauth2.Token{RefreshToken: g.Refresh}).Token()
	if err != nil {
		return nil, err
	}
	fresh := *g
	fresh.take(token)
	return &fresh, nil
}

// take takes over the answer of a token endpoint.
func (g *grant) take(token *oauth2.Token) {
	g.Access, g.Expiry = token.AccessToken, token.Expiry
	if token.RefreshToken != "" {
		g.Refresh = token.RefreshToken
	}
	if scope, ok := token.Extra("scope").(string); ok && scope != "" {
		g.Scopes = scopesOf(scope)
	}
}

// withoutSecrets returns an error of the OAuth library without the endpoint's answer, which
// may contain anything.
func withoutSecrets(err error) error {
	var refusal *oauth2.RetrieveError
	if errors.As(err, &refusal) {
		status := "an error"
		if refusal.Response != nil {
			status = http.StatusText(refusal.Response.StatusCode)
		}
		return fmt.Errorf("the token endpoint answers %s %s", status, printable(refusal.ErrorCode, 100))
	}
	return bounded(err)
}

// challenged records how a server has asked for a sign-in.
func (o *OAuth) challenged(address string, resp *http.Response) {
	c := &challenge{status: resp.StatusCode}
	length := 0
	for _, value := range resp.Header.Values("WWW-Authenticate") {
		if length += len(value); length > 8<<10 {
			break
		}
		c.header = append(c.header, value)
	}
	a := o.account(address)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.challenge = c
}

// wantsMore reports whether a token was refused because of missing scopes, so that signing
// in again with more scopes helps.
func wantsMore(resp *http.Response) bool {
	if resp.StatusCode != http.StatusForbidden {
		return false
	}
	challenges, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	return err == nil && slices.ContainsFunc(challenges, func(c oauthex.Challenge) bool {
		return c.Scheme == "bearer" && c.Params["error"] == "insufficient_scope"
	})
}
