package session

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"waymark/internal/await"
	"waymark/internal/httpapi/apiclient"
)

// maxOverheard limits a message on the server's own stream, which has changes, logs and
// progress.
const maxOverheard = 1 << 20

// maxSilences is how often in a row the stream may end without a message before reading
// stops.
const maxSilences = 8

// overhear reads what a server before 2026-07-28 sends on its own, with a GET of its
// address, as long as the server allows that. Failures don't affect the session.
func (t *tap) overhear(g *guard) {
	pause := await.Backoff{Shortest: time.Second, Longest: time.Minute, Jitter: true}
	last := ""
	for silences := 0; silences < maxSilences; silences++ {
		resp, err := t.overhearing(g, last)
		if err == nil {
			pause.Worked()
			t.heard(true)
			err = apiclient.ReadEvents(resp.Body, maxOverheard, func(e apiclient.Event) bool {
				silences = 0
				if e.ID != "" {
					last = e.ID
				}
				return t.overheard(e)
			})
			_ = resp.Body.Close()
		}
		t.heard(false)
		if errors.Is(err, errNoStream) || !t.without(pause.Next(), nil) {
			return
		}
		t.opts.Logger.Debug("an MCP server's stream of events has ended", slog.Any("error", bounded(err)))
	}
}

// errNoStream says that the server has no stream of its own.
var errNoStream = errors.New("the server has no stream of events")

func (t *tap) overhearing(g *guard, last string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(reporting(t.ctx, nil), http.MethodGet, g.address.String(), http.NoBody)
	if err != nil {
		return nil, errNoStream
	}
	req.Header.Set("Accept", "text/event-stream")
	if id := t.inner.SessionID(); id != "" {
		req.Header.Set("Mcp-Session-Id", id)
	}
	if last != "" {
		req.Header.Set("Last-Event-Id", last)
	}
	resp, err := g.client().Do(req)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode == http.StatusOK && kind == "text/event-stream" {
		return resp, nil
	}
	_, _ = io.Copy(io.Discard, resp.Body) // the body is limited
	_ = resp.Body.Close()
	if resp.StatusCode >= 500 {
		return nil, errors.New("the server's stream of events: " + resp.Status)
	}
	return nil, errNoStream
}

// overheard handles a message, and reports whether to continue.
func (t *tap) overheard(e apiclient.Event) bool {
	if (e.Type != "" && e.Type != "message") || e.Data == "" {
		return true
	}
	msg, err := jsonrpc.DecodeMessage(bytes.TrimSpace([]byte(e.Data)))
	if err != nil {
		return true
	}
	req, ok := msg.(*jsonrpc.Request)
	switch {
	case !ok: // responses arrive with their calls
	case !req.IsCall():
		t.notified(req)
	default:
		return t.answer(req)
	}
	return true
}
