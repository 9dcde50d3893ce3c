package git

import (
	"context"
	_ "embed" // the document
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
	"waymark/internal/notify"
	"waymark/workspace"
)

const (
	// pingEvery is how often a client is asked whether it is there.
	pingEvery = 30 * time.Second
	// patience is how long a client may take to answer that, or to take a message.
	// A slow one misses nothing: it gets the newest state when it reads again.
	patience = 30 * time.Second
	// lastWords is how long it may take what is on its way when the watch ends.
	lastWords = time.Second
)

//go:embed openapi.json
var document []byte

// Service is the git watch, with the diff for one call, as a part of an API.
func (s *Service) Service() httpapi.Service {
	return httpapi.Service{
		Routes: []httpapi.Route{{
			Method: http.MethodGet, Pattern: workspace.PathGitWatch, Handle: s.serve,
			Failed: "the repositories can't be watched", MaxBody: maxMessage,
		}, {
			Method: http.MethodPost, Pattern: workspace.PathGitDiff, Effect: httpapi.Reads, Handle: s.serveDiff,
			Failed: "what has changed is not known", Timeout: 2 * commandTime,
		}},
		Document: document,
	}
}

// serveDiff answers POST /api/v0/git/diff.
func (s *Service) serveDiff(c *httpapi.Call) error {
	caller, err := workspace.CallerOf(c.Header)
	if err != nil {
		return &problem.Error{Code: http.StatusBadRequest, Message: c.Failed(), Detail: err.Error()}
	}
	var asked workspace.GitQuestion
	if err := c.Decode(&asked); err != nil {
		return err
	}
	if slices.ContainsFunc(asked.Paths, func(path string) bool { return !filepath.IsAbs(path) || strings.ContainsRune(path, 0) }) {
		return &problem.Error{Code: http.StatusBadRequest, Message: c.Failed(), Detail: "paths are absolute, without NUL"}
	}
	found, err := s.Diff(c.Context(), caller, asked.Paths)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, found)
}

// serve is one WebSocket.
func (s *Service) serve(c *httpapi.Call) error {
	text, err := c.Text("chat_id")
	if err != nil {
		return err
	}
	var chat uuid.UUID
	if text != "" {
		if chat, err = uuid.Parse(text); err != nil || chat == uuid.Nil {
			return &problem.Error{Code: http.StatusBadRequest, Message: "chat_id is not a UUID",
				Detail: "leave it out to watch the workspace's own repository"}
		}
	}
	c.Stream()
	socket, err := c.Upgrade()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(c.Context())
	refresh := notify.NewWake()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cancel(listen(socket, refresh))
	}()
	stopped := context.AfterFunc(s.ctx, func() { cancel(httpapi.ErrStopping) })
	defer stopped()
	pinging := make(chan struct{})
	go func() {
		defer close(pinging)
		if err := ping(ctx, socket, s.opts.ping); err != nil {
			cancel(err)
		}
	}()
	err = s.watch(ctx, chat, refresh, func(m *workspace.GitMessage) error { return send(ctx, socket, m) })
	cancel(err)
	code, why := websocket.StatusNormalClosure, ""
	if c.Context().Err() != nil || s.ctx.Err() != nil {
		code, why = websocket.StatusGoingAway, httpapi.ErrStopping.Error()
	}
	_ = socket.Close(code, why) // which ends listen; the client may have gone
	<-ended
	<-pinging
	return nil
}

// listen reads what a client says until the socket is closed.
func listen(socket *websocket.Conn, refresh notify.Wake) error {
	ctx := context.Background() // the socket's end is its own: serve closes it
	for {
		_, data, err := socket.Read(ctx)
		if err != nil {
			return err
		}
		var message workspace.GitMessage
		if json.Unmarshal(data, &message) == nil && message.Type == workspace.GitRefresh {
			refresh.Set()
			continue
		}
		if err := send(ctx, socket, &workspace.GitMessage{Type: workspace.GitError, Message: "unknown message type"}); err != nil {
			return err
		}
	}
}

// send sends a message, which the client has some time to take, and lastWords from when ctx
// ends.
func send(ctx context.Context, socket *websocket.Conn, m *workspace.GitMessage) error {
	data, err := httpapi.Encode(m)
	if err != nil {
		return err
	}
	own, cancel := unhurried(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastWords, cancel) })()
	return socket.Write(own, websocket.MessageText, data)
}

// unhurried is a context for a write that doesn't end with ctx: a write whose context ends
// cuts the connection, so that the client has half a message and isn't told why.
func unhurried(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), patience)
}

// ping asks the client now and then whether it is there, until ctx ends and the socket is
// closed.
func ping(ctx context.Context, socket *websocket.Conn, every time.Duration) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
		own, cancel := unhurried(ctx)
		err := socket.Ping(own)
		cancel()
		if err != nil {
			return err
		}
	}
}
