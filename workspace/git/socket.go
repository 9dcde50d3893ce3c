package git

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"waymark/agentapi"
	"waymark/internal/await"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
)

const (
	// pingEvery is the interval of pings to a client.
	pingEvery = 30 * time.Second
	// patience is how long a client may take to answer a ping or read a message. A slow
	// client misses nothing: it gets the newest state when it reads again.
	patience = 30 * time.Second
	// lastWords is how long a client may take for pending messages when the watch ends.
	lastWords = time.Second
)

// watchParams are the parameters of the watch.
type watchParams struct {
	// The chat whose repositories are watched.
	Chat string `query:"chat_id" format:"uuid" example:"5b2c6a8e-1f0a-4a52-9d7a-3f5c2a1b0c9d"`
}

// Service returns the git watch and the diff for a single call as a part of an API.
func (s *Service) Service() httpapi.Service {
	about := httpapi.AgentAbout("git", "What isn't committed.")
	about.Messages = []any{agentapi.GitMessage{}}
	return httpapi.Service{
		About: about,
		Routes: []httpapi.Route{{
			Method: http.MethodGet, Pattern: agentapi.PathGitWatch, Handle: s.serve,
			Failed: "the repositories can't be watched", MaxBody: maxMessage,
			Operation: &httpapi.Operation{
				ID: "watchGit", Summary: "Watch repositories for what isn't committed",
				Text:   "A WebSocket with a JSON message in each text frame.\n\nWithout `chat_id` it is about the repository that the workspace's directory lies in; with it about those of the paths that this chat, and the chats that it started, have touched: in files that they read or wrote, and in the working directories of processes.\n\nThe server sends `GitMessage`s of type `changes`: first of all repositories, then of those that have changed. A repository is looked at when somebody connects, when a path in it is touched, when a client sends `{\"type\":\"refresh\"}`, and every 30 seconds; at most once a second. A connection and each refresh are answered by a message in any case, though nothing may have changed: the answer is complete when it names nothing in `pending`.\n\nA client sends `{\"type\":\"refresh\"}`, of at most 4 MiB. Anything else is answered by a message of type `error`. No message of the server is larger than 4 MiB.",
				Params: watchParams{},
				Answers: []httpapi.Answer{
					{Code: http.StatusSwitchingProtocols, Text: "The WebSocket. What it carries is `GitMessage`."},
					httpapi.Refuse(http.StatusBadRequest, "`chat_id` is not a UUID, or this is no WebSocket handshake.", "chat_id is not a UUID: leave it out to watch the workspace's own repository"),
				},
				Errors: []int{http.StatusUnauthorized},
			},
		}, {
			Method: http.MethodPost, Pattern: agentapi.PathGitDiff, Effect: httpapi.Reads, Handle: s.serveDiff,
			Failed: "what has changed is not known", Timeout: 2 * commandTime,
			Operation: &httpapi.Operation{
				ID: "gitDiff", Summary: "Say which files aren't as they were committed, and how",
				Text:   "For one call, over the repositories of the watch: with `Coder-Chat-Id` those of a chat. Files are named, up to 4,000, each with the lines added and removed; and as many of their diffs are there as `max_bytes` hold. What is on the secret list, binary or too large has a `note` and no diff, and costs the others nothing: ask for it by `paths`. With `services.files_within` \"workspace\" files outside of the workspace aren't named. The end of the call ends git.",
				Params: agentapi.CallerParams{}, Body: agentapi.GitQuestion{}, Example: agentapi.GitQuestion{Paths: []string{"/srv/project/src"}},
				Answers: []httpapi.Answer{
					httpapi.OK("What has changed.", agentapi.GitDiffs{}),
					httpapi.Refuse(http.StatusBadRequest, "The body, or a path, can't be right.", "what has changed is not known: paths are absolute, without NUL"),
					httpapi.Refuse(http.StatusNotFound, "There is no repository, or nothing at a path: it isn't there, and hasn't gone since the last commit.", "there is no /srv/project/src: it isn't among the files, and hasn't gone since the last commit"),
				},
				Errors: []int{http.StatusUnauthorized},
			},
		}},
	}
}

// serveDiff answers POST /api/v0/git/diff.
func (s *Service) serveDiff(c *httpapi.Call) error {
	caller, err := agentapi.CallerOf(c.Header)
	if err != nil {
		return &problem.Error{Code: http.StatusBadRequest, Message: c.Failed(), Detail: err.Error()}
	}
	var asked agentapi.GitQuestion
	if err := c.Decode(&asked); err != nil {
		return err
	}
	if slices.ContainsFunc(asked.Paths, func(path string) bool { return !filepath.IsAbs(path) || strings.ContainsRune(path, 0) }) {
		return &problem.Error{Code: http.StatusBadRequest, Message: c.Failed(), Detail: "paths are absolute, without NUL"}
	}
	if asked.MaxBytes < 0 || asked.MaxBytes > maxDiff {
		return &problem.Error{Code: http.StatusBadRequest, Message: c.Failed(), Detail: fmt.Sprintf("max_bytes is a number of bytes up to %d", maxDiff)}
	}
	found, err := s.Diff(c.Context(), caller, asked)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, found)
}

// serve serves a WebSocket.
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
	refresh := await.NewWake()
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
	err = s.watch(ctx, chat, refresh, func(m *agentapi.GitMessage) error { return send(ctx, socket, m) })
	cancel(err)
	code, why := websocket.StatusNormalClosure, ""
	if c.Context().Err() != nil || s.ctx.Err() != nil {
		code, why = websocket.StatusGoingAway, httpapi.ErrStopping.Error()
	}
	_ = socket.Close(code, why) // this ends listen; the client may be gone
	<-ended
	<-pinging
	return nil
}

// listen reads a client's messages until the socket is closed.
func listen(socket *websocket.Conn, refresh await.Wake) error {
	ctx := context.Background() // serve closes the socket, which ends reading
	for {
		_, data, err := socket.Read(ctx)
		if err != nil {
			return err
		}
		var message agentapi.GitMessage
		if json.Unmarshal(data, &message) == nil && message.Type == agentapi.GitRefresh {
			refresh.Set()
			continue
		}
		if err := send(ctx, socket, &agentapi.GitMessage{Type: agentapi.GitError, Message: "unknown message type"}); err != nil {
			return err
		}
	}
}

// send sends a message. The client may take patience to read it, but only lastWords after
// ctx ends.
func send(ctx context.Context, socket *websocket.Conn, m *agentapi.GitMessage) error {
	data, err := httpapi.Encode(m)
	if err != nil {
		return err
	}
	own, cancel := unhurried(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastWords, cancel) })()
	return socket.Write(own, websocket.MessageText, data)
}

// unhurried returns a context for a write that doesn't end with ctx, because that would cut
// the connection within a message, before the client gets the reason.
func unhurried(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), patience)
}

// ping pings the client until ctx ends and the socket is closed.
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
