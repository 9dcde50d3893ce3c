package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"time"

	"github.com/coder/websocket"

	"waymark/agentapi"
	"waymark/internal/httpapi/apiclient"
)

// Desktop has the calls about the screen for chats. They need a token with the scope
// "desktop" or, where it says so, "desktop-view". 403 also says that the operator hasn't
// turned it on, 503 that a program is missing, 500 that it has ended.
type Desktop interface {
	// DesktopState returns the state, and starts nothing; "desktop-view" suffices.
	DesktopState(ctx context.Context) (*agentapi.Desktop, error)
	// StartDesktop starts the desktop if it doesn't run, as every action does.
	StartDesktop(ctx context.Context) (*agentapi.Desktop, error)
	// StopDesktop ends the desktop and what shows something on it.
	StopDesktop(ctx context.Context) error
	// DesktopAction does something on the desktop.
	DesktopAction(ctx context.Context, action agentapi.DesktopAction) (*agentapi.DesktopResult, error)
	// WatchDesktop connects a client of RFB (VNC), until the connection is closed or ctx
	// ends. With "desktop-view" it only views.
	WatchDesktop(ctx context.Context) (net.Conn, error)
	// StartRecording records under an id of the caller's choice, a UUID.
	StartRecording(ctx context.Context, id string) error
	// StopRecording ends a recording, writes it as MP4, and returns a picture of its end as
	// JPEG. 404 says that there is none, 413 that it had become too large, 503 also that
	// another call fetches it.
	StopRecording(ctx context.Context, id string, video io.Writer) (thumbnail []byte, err error)
}

const (
	// maxDesktopStart is how long the agent may take to start programs.
	maxDesktopStart = time.Minute
	// maxThumbnail limits a picture of a recording's end, in bytes.
	maxThumbnail = 4 << 20
)

func (a *agent) DesktopState(ctx context.Context) (*agentapi.Desktop, error) {
	return apiclient.Fetch[agentapi.Desktop](ctx, a.api, apiclient.Get(agentapi.PathDesktop))
}

// slow makes a call that may start the desktop.
func slow(path string, body any) apiclient.Request {
	r := post(agentapi.PathDesktop+path, body)
	r.Wait = maxDesktopStart
	return r
}

func (a *agent) StartDesktop(ctx context.Context) (*agentapi.Desktop, error) {
	return apiclient.Fetch[agentapi.Desktop](ctx, a.api, slow("/start", nil))
}

func (a *agent) StopDesktop(ctx context.Context) error { return a.api.Send(ctx, slow("/stop", nil)) }

func (a *agent) DesktopAction(ctx context.Context, action agentapi.DesktopAction) (*agentapi.DesktopResult, error) {
	r := slow("/action", action)
	if action.Duration != nil {
		r.Wait += time.Duration(*action.Duration) * time.Millisecond
	}
	return apiclient.Fetch[agentapi.DesktopResult](ctx, a.api, r)
}

func (a *agent) WatchDesktop(ctx context.Context) (net.Conn, error) {
	socket, err := a.dial(ctx, apiclient.Get(agentapi.PathDesktop+"/vnc"))
	if err != nil {
		return nil, err
	}
	socket.SetReadLimit(-1) // it is a stream
	return websocket.NetConn(ctx, socket, websocket.MessageBinary), nil
}

func (a *agent) StartRecording(ctx context.Context, id string) error {
	return a.api.Send(ctx, slow("/recording/start", agentapi.DesktopRecording{ID: id}))
}

func (a *agent) StopRecording(ctx context.Context, id string, video io.Writer) ([]byte, error) {
	resp, err := a.api.Open(ctx, post(agentapi.PathDesktop+"/recording/stop", agentapi.DesktopRecording{ID: id}))
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	kind, params, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/mixed" {
		return nil, fmt.Errorf("the agent's answer isn't a recording: it is %q", kind)
	}
	var thumbnail bytes.Buffer
	for parts := multipart.NewReader(resp.Body, params["boundary"]); ; {
		part, err := parts.NextPart()
		switch {
		case errors.Is(err, io.EOF):
			return thumbnail.Bytes(), nil
		case err != nil:
			return nil, a.api.Unreachable(ctx, err)
		}
		to, from := video, io.Reader(part)
		if part.Header.Get("Content-Type") == "image/jpeg" {
			to, from = &thumbnail, io.LimitReader(part, maxThumbnail)
		}
		if _, err := io.Copy(to, from); err != nil {
			return nil, err
		}
	}
}
