package client

import (
	"context"
	"fmt"
	"iter"
	"net/url"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"waymark/agentapi"
	"waymark/internal/httpapi/apiclient"
	"waymark/internal/httpapi/problem"
)

// GitOptions configure a git watch. The zero value works.
type GitOptions struct {
	// Refresh requests another look at the repositories with each value. Closing it ends
	// the requests. Nil means none.
	Refresh <-chan struct{}
}

// maxGitMessage limits a message: 3 MiB of diff, which JSON makes longer, and names.
const maxGitMessage = 32 << 20

// maxGitDiff limits how long the agent may take for a diff.
const maxGitDiff = 2 * time.Minute

func (a *agent) GitDiff(ctx context.Context, asked agentapi.GitQuestion) (*agentapi.GitDiffs, error) {
	r := post(agentapi.PathGitDiff, asked)
	r.Wait = maxGitDiff
	return apiclient.Fetch[agentapi.GitDiffs](ctx, a.api, r)
}

func (a *agent) WatchGit(ctx context.Context, opts GitOptions) iter.Seq2[*agentapi.GitMessage, error] {
	return apiclient.Follow(ctx, a.opts.Retry, func(ctx context.Context, c *apiclient.Connection[*agentapi.GitMessage]) error {
		return a.watchGit(ctx, c, opts)
	})
}

// watchGit serves one connection.
func (a *agent) watchGit(ctx context.Context, c *apiclient.Connection[*agentapi.GitMessage], opts GitOptions) error {
	r := apiclient.Get(agentapi.PathGitWatch)
	if chat := a.opts.Caller; chat.Scoped() {
		r.Query = url.Values{"chat_id": {chat.Chat.String()}}
	}
	socket, err := a.dial(ctx, r)
	if err != nil {
		return err
	}
	socket.SetReadLimit(maxGitMessage)
	defer func() { _ = socket.CloseNow() }()
	c.Open()
	ctx, cancel := context.WithCancel(ctx)
	asking := make(chan struct{})
	go func() {
		defer close(asking)
		ask(ctx, socket, opts.Refresh)
	}()
	defer func() { cancel(); <-asking }()
	for {
		m := new(agentapi.GitMessage)
		if err := wsjson.Read(ctx, socket, m); err != nil {
			return a.api.Unreachable(ctx, err)
		}
		if !c.Yield(m) {
			_ = socket.Close(websocket.StatusNormalClosure, "")
			return nil
		}
	}
}

// ask sends a message for each value of refresh.
func ask(ctx context.Context, socket *websocket.Conn, refresh <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case _, more := <-refresh:
			if !more {
				return
			}
			if wsjson.Write(ctx, socket, agentapi.GitMessage{Type: agentapi.GitRefresh}) != nil {
				return // the reader reports the error
			}
		}
	}
}

// dial opens the WebSocket.
func (a *agent) dial(ctx context.Context, r apiclient.Request) (*websocket.Conn, error) {
	if err := a.api.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, a.opts.Timeout) // for the handshake alone
	defer cancel()
	//nolint:bodyclose // the library has read and closed it, or it is the connection
	socket, resp, err := websocket.Dial(ctx, a.api.URL(r), &websocket.DialOptions{HTTPClient: a.api.HTTP(), HTTPHeader: a.api.Header()})
	switch {
	case err == nil:
		return socket, nil
	case resp != nil && resp.StatusCode/100 != 2 && resp.StatusCode/100 != 1:
		return nil, problem.Read(resp, "agent")
	case resp != nil:
		return nil, fmt.Errorf("agent at %s: no WebSocket: %w", a.api.Where(), err)
	}
	return nil, a.api.Unreachable(ctx, err)
}
