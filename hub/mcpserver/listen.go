package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/hub/store"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
)

const (
	methodListen = "subscriptions/listen"
	// withoutSessions is the first version of the protocol that has no GET.
	withoutSessions = "2026-07-28"
	// beat is how often a stream says that it is there, for proxies that end silent ones,
	// and to notice who has gone.
	beat = 20 * time.Second
)

// news tells which lists are others than before.
type news struct {
	pinned time.Time
	acting bool // with a capability there are tools
}

// of returns what has changed with what happened to the pin: its content when it was
// pinned anew, else what follows the agent, which is its servers of MCP. That it has
// drifted changes no list.
func (n *news) of(pin *store.Pin) (resources, tools bool) {
	resources = !pin.PinnedAt.Equal(n.pinned)
	n.pinned = pin.PinnedAt
	return resources, n.acting
}

// listen answers GET /api/v0/pins/{id}/mcp with a stream of list_changed, for clients that
// speak a version with sessions: the stream is for whoever has opened it.
func (s *Service) listen(c *httpapi.Call) error {
	r, err := s.admit(c)
	if err != nil {
		return err
	}
	if c.Header.Get("Mcp-Protocol-Version") >= withoutSessions || !strings.Contains(c.Header.Get("Accept"), "text/event-stream") || c.Method == http.MethodHead {
		c.Writer().Header().Set("Allow", http.MethodPost)
		return &problem.Error{Code: http.StatusMethodNotAllowed, Message: "method not allowed", Detail: "GET is for streams of versions up to 2025-11-25, with Accept: text/event-stream"}
	}
	changes := make(chan [2]bool, 1)
	ctx, cancel := context.WithCancel(c.Context())
	begun, ended := make(chan struct{}), make(chan struct{})
	var why error // to be read after the end
	n := news{pinned: r.pin.PinnedAt, acting: r.capability != ""}
	go func() {
		defer close(ended)
		why = s.opts.Follow(ctx, r.pin.ID, func() error { close(begun); return nil }, func(pin *store.Pin) error {
			var one [2]bool
			one[0], one[1] = n.of(pin)
			select {
			case changes <- one:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	defer func() { // what follows ends with this
		cancel()
		<-ended
	}()
	select {
	case <-begun:
	case <-ended:
		return why
	}
	c.Stream()
	header := c.Writer().Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no")
	c.Writer().WriteHeader(http.StatusOK)
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for part := []byte(": here\n\n"); c.Flush(part) == nil; {
		select {
		case one := <-changes:
			part = eventsOf(one[0], one[1])
		case <-ticker.C:
			part = []byte(": here\n\n")
		case <-ended:
			return nil
		}
	}
	return nil
}

// eventsOf are the notifications as events.
func eventsOf(resources, tools bool) []byte {
	var b bytes.Buffer
	say := func(what string) {
		message, _ := json.Marshal(map[string]string{"jsonrpc": "2.0", "method": "notifications/" + what + "/list_changed"}) // texts
		b.WriteString("event: message\ndata: ")
		b.Write(message)
		b.WriteString("\n\n")
	}
	if resources {
		say("resources")
		say("prompts")
	}
	if tools {
		say("tools")
	}
	return b.Bytes()
}

// subscribe answers subscriptions/listen: the SDK keeps the stream, and is told of what
// changes.
func (r *request) subscribe(ctx context.Context, server *mcp.Server, next mcp.MethodHandler, req mcp.Request) (mcp.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.over, cancel)()
	n := news{pinned: r.pin.PinnedAt, acting: r.capability != ""}
	begun, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		defer cancel() // the stream ends with what it is of
		ended <- r.opts.Follow(ctx, r.pin.ID, func() error { close(begun); return nil }, func(pin *store.Pin) error {
			resources, tools := n.of(pin)
			// The SDK tells when its own list changes. These lists are looked at by
			// nobody: what is asked for is answered by handle.
			if resources {
				server.AddResource(&mcp.Resource{URI: "waymark:changed", Name: "changed"}, nil)
				server.AddPrompt(&mcp.Prompt{Name: "changed"}, nil)
			}
			if tools {
				server.AddTool(&mcp.Tool{Name: "changed", InputSchema: map[string]any{"type": "object"}}, nil)
			}
			return nil
		})
	}()
	select { // what changes after the SDK has said that it listens must not be lost
	case <-begun:
	case <-ctx.Done():
	}
	result, err := next(ctx, methodListen, req)
	cancel()
	if why := <-ended; why != nil && r.over.Err() == nil {
		return nil, why
	}
	return result, err
}
