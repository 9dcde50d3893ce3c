package push

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// ErrClearText says that a URL would carry the token and all contents over a
// network in clear text.
var ErrClearText = errors.New("not encrypted")

// RemoteOptions say how to reach a peer. The zero value is fine for a peer
// that wants no token.
type RemoteOptions struct {
	// Token is the agent's, as the peer gave it out.
	Token string
	// Insecure allows http to another machine. Without it, only a loopback
	// address can be reached that way.
	Insecure bool
	// TLS is for https; nil trusts what the system trusts, or the
	// certificates in the file that SSL_CERT_FILE names.
	TLS *tls.Config
	// Proxy chooses the proxy for http and https; nil means the one that
	// HTTPS_PROXY, HTTP_PROXY and NO_PROXY name.
	Proxy func(*http.Request) (*url.URL, error)
}

// Remote returns Options whose Dialer, Peer and Token are set for the peer at
// a URL; see ParseURL for its forms. The caller sets the rest.
//
// An https or http URL is dialed as a workspace agent dials a Coder server,
// except for the role, so that the server doesn't mistake this connection for
// that of the workspace's own agent.
//
// # Errors
//
// ErrClearText is matched when the peer is on another machine, the URL says
// http and Insecure isn't set. No error holds the token or a credential that
// was in the URL.
func Remote(url string, opts RemoteOptions) (Options, error) {
	target, err := ParseURL(url)
	if err != nil {
		return Options{}, err
	}
	if !target.web() {
		return Options{Dialer: target, Peer: target.String(), Token: opts.Token}, nil
	}
	if target.Network == "http" && !target.Local() && !opts.Insecure {
		return Options{}, fmt.Errorf("%s is %w: token and contents could be read on the way; use https, or insist if the network can be trusted", target, ErrClearText)
	}
	return Options{Dialer: newWebDialer(target, &opts), Peer: target.String()}, nil
}
