package agent

import (
	"errors"
	"fmt"
	"log/slog"

	"waymark/host/config"
	"waymark/host/push"
	"waymark/internal/credential"
)

// peer is a control plane elsewhere that the agent pushes to.
type peer struct {
	url, token string
	user       bool // it also gets what is in the home directory
	options    push.Options
}

// same reports whether both are the same destination.
func (p *peer) same(other *peer) bool {
	if p == nil || other == nil {
		return p == other
	}
	return p.url == other.url && p.token == other.token && p.user == other.user
}

// remotePeer returns the control plane that flags or the configuration name; nil if none is
// named.
func remotePeer(s *Options, c *config.Config, paths *config.Paths, log *slog.Logger) (*peer, error) {
	p, err := choosePeer(s, c, paths)
	if p == nil || err != nil {
		return nil, err
	}
	target, err := push.ParseURL(p.url)
	if err != nil { // choosePeer has checked it
		return nil, err
	}
	p.options, err = push.Remote(p.url, push.RemoteOptions{Token: p.token, Insecure: s.Insecure})
	if errors.Is(err, push.ErrClearText) {
		return nil, usage("%w: --insecure insists", err)
	}
	if err != nil {
		return nil, err
	}
	p.options.Logger = log
	if p.user = c.Conventions.User == config.UserPushed; !p.user {
		p.options.Hold = push.HoldUser
	}
	if !target.Encrypted() && !target.Local() {
		log.Warn("the peer is not on this machine, and the connection is not encrypted: token and contents can be read on the way",
			slog.String("peer", target.String()))
	}
	return p, nil
}

// choosePeer determines URL and token.
func choosePeer(s *Options, c *config.Config, paths *config.Paths) (*peer, error) {
	if s.Coder {
		return coderPeer(s, paths)
	}
	url, tokenFile := c.Push.URL, c.Push.TokenFile
	if s.URL != "" {
		url = s.URL
	}
	if s.TokenFile != "" {
		tokenFile = s.TokenFile
	}
	switch {
	case url == "" && s.TokenFile != "":
		return nil, usage("--token-file without --url: the hub that is started here has its own token")
	case url == "":
		return nil, nil
	case tokenFile == "":
		return nil, usage("--url needs --token-file: make a token with 'hub token create --role agent' and put it into a file")
	}
	if _, err := push.ParseURL(url); err != nil {
		return nil, s.wrong("push.url", err)
	}
	token, err := TokenIn(paths, tokenFile)
	if err != nil {
		return nil, err
	}
	if kind := credential.Of(token); kind != credential.AgentToken && kind.Prefix != "" {
		return nil, usage("token file %s holds %s, which pushes nothing: make an agent's with 'hub token create --role agent', or enroll with 'agent enroll'", tokenFile, kind.Name)
	}
	return &peer{url: url, token: token}, nil
}

// coderPeer returns the Coder server of the workspace that this agent runs in. It is used
// only on request, because the workspace's own agent owns the same rows there.
func coderPeer(s *Options, paths *config.Paths) (*peer, error) {
	p := &peer{url: s.Environment.Get("CODER_AGENT_URL"), token: s.Environment.Get("CODER_AGENT_TOKEN")}
	// Coder's own agent reads this file, so it is hidden from chats even if it isn't used
	// here.
	if path := s.Environment.Get("CODER_AGENT_TOKEN_FILE"); path != "" {
		file, err := paths.Token(path)
		if err == nil && p.token == "" {
			p.token, err = ReadToken(file)
		}
		if err != nil {
			return nil, fmt.Errorf("CODER_AGENT_TOKEN_FILE: %w", err)
		}
	}
	switch {
	case s.URL != "":
		return nil, usage("--coder and --url exclude each other")
	case p.url == "":
		return nil, usage("--coder needs CODER_AGENT_URL, which a Coder workspace sets")
	case p.token == "":
		return nil, usage("--coder needs CODER_AGENT_TOKEN or CODER_AGENT_TOKEN_FILE, of which a Coder workspace sets one")
	}
	if _, err := push.ParseURL(p.url); err != nil {
		return nil, usage("CODER_AGENT_URL: %w", err)
	}
	return p, nil
}

// wrong says where an unusable URL came from.
func (s *Options) wrong(key string, err error) error {
	if s.URL != "" {
		return usage("--url: %w", err)
	}
	return fmt.Errorf("%s: %w", key, err)
}
