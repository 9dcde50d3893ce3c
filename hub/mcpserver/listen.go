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
	// withoutSessions is the first protocol version without GET.
	withoutSessions = "2026-07-28"
	// beat is the interval of keep-alives on a stream. They prevent proxies from ending it,
	// and detect clients that have disconnected.
	beat = 20 * time.Second
)

// news determines which lists have changed.
type news struct {
	pinned time.Time
	acting bool // with a capability there are tools
}

// of returns which lists have changed with an event of the pin: the content if the pin was
// refreshed, otherwise the agent's MCP servers. A drift changes no list.
func (n *news) of(pin *store.Pin) (resources, tools bool) {
	resources = !pin.PinnedAt.Equal(n.pinned)
	n.pinned = pin.PinnedAt
	return resources, n.acting
}

// listen answers GET /api/v0/pins/{id}/mcp with a stream of list_changed, for clients of a
// protocol version with sessions.
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
	var why error // read after the end
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
	defer func() { // the goroutines below end with this
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

// eventsOf returns the notifications as events.
func eventsOf(resources, tools bool) []byte {
	var b bytes.Buffer
	say := func(what string) {
		message, _ := json.Marshal(map[string]string{"jsonrpc": "2.0", "method": "notifications/" + what + "/list_changed"}) // strings always marshal
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

// subscribe answers subscriptions/listen. The SDK keeps the stream, and learns of changes.
func (r *request) subscribe(ctx context.Context, server *mcp.Server, next mcp.MethodHandler, req mcp.Request) (mcp.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.over, cancel)()
	n := news{pinned: r.pin.PinnedAt, acting: r.capability != ""}
	begun, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		defer cancel() // the stream ends with its pin
		ended <- r.opts.Follow(ctx, r.pin.ID, func() error { close(begun); return nil }, func(pin *store.Pin) error {
			resources, tools := n.of(pin)
			// The SDK sends a notification when its own list changes. Nobody sees these
			// lists, because handle answers the requests.
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
	select { // changes after the SDK's confirmation must not be lost
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
