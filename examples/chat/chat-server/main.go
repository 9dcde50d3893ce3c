// Chat-server is a chat server without a model: it shows what one asks of a hub. It pins
// an agent's context, renders it for a prompt, reads skills and calls tools over MCP, is
// told when the workspace drifts, and moves on. It needs Go's standard library alone.
//
//	chat-server -hub http://127.0.0.1:7878 -agent dev-1 -token-file reader -capability-file capability
//
// Each line of its input is a command; what a model would decide a person types:
//
//	prompt                    the pinned context, as system text
//	tools                     the tools that the capability is good for
//	call NAME {"path":"x"}    calls one
//	read URI                  a skill or a file of instructions, as it is pinned
//	wait                      waits until the workspace has drifted from the pin
//	refresh                   pins what there is now
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() {
	s := server{http: http.Client{Timeout: 6 * time.Minute}} // the hub takes at most 5 for a call
	flag.StringVar(&s.hub, "hub", "http://127.0.0.1:7878", "`URL` of the hub")
	flag.StringVar(&s.agent, "agent", "", "`id` of the agent")
	token := flag.String("token-file", "", "`file` with a reader's token")
	capability := flag.String("capability-file", "", "`file` with a capability of the agent; none: only read what is pinned")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := s.run(ctx, *token, *capability); err != nil {
		fmt.Fprintln(os.Stderr, "chat-server:", err)
		os.Exit(1)
	}
}

// server serves one chat.
type server struct {
	http              http.Client
	hub, agent        string
	token, capability string
	pin               string // its id
	last              int    // id of the last request over MCP
}

func (s *server) run(ctx context.Context, tokenFile, capabilityFile string) (err error) {
	if s.token, err = readSecret(tokenFile); err != nil {
		return err
	}
	if capabilityFile != "" {
		if s.capability, err = readSecret(capabilityFile); err != nil {
			return err
		}
	}
	var pin struct{ ID string }
	if err := s.api(ctx, http.MethodPost, "/pins", map[string]string{"agent_id": s.agent, "name": "example chat"}, &pin); err != nil {
		return err
	}
	s.pin = pin.ID
	if _, err := fmt.Fprintln(os.Stdout, "pinned:", s.pin); err != nil {
		return err
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		command, rest, _ := strings.Cut(lines.Text(), " ")
		text, err := s.do(ctx, command, rest)
		if err != nil { // a chat goes on: the model is told
			text = "error: " + err.Error()
		}
		if _, err := fmt.Fprintf(os.Stdout, "%s\ndone: %s\n", text, command); err != nil {
			return err
		}
	}
	return s.api(ctx, http.MethodDelete, "/pins/"+s.pin, nil, nil)
}

func readSecret(path string) (string, error) {
	data, err := os.ReadFile(path)
	return strings.TrimSpace(string(data)), err
}

// do does what a line says.
func (s *server) do(ctx context.Context, command, rest string) (string, error) {
	switch command {
	case "prompt":
		var text []byte
		return asText(&text, s.api(ctx, http.MethodGet, "/pins/"+s.pin+"/context?format=markdown", nil, &text))
	case "tools":
		return s.tools(ctx)
	case "read":
		var result struct{ Contents []struct{ Text string } }
		if err := s.mcp(ctx, "resources/read", map[string]any{"uri": rest}, &result); err != nil || len(result.Contents) == 0 {
			return "", err
		}
		return result.Contents[0].Text, nil
	case "call":
		name, arguments, _ := strings.Cut(rest, " ")
		return s.call(ctx, name, json.RawMessage(arguments))
	case "wait":
		return s.wait(ctx)
	case "refresh":
		return "", s.api(ctx, http.MethodPost, "/pins/"+s.pin+"/refresh", nil, nil)
	}
	return "", fmt.Errorf("there is no command %q", command)
}

func asText(text *[]byte, err error) (string, error) { return string(*text), err }

func (s *server) tools(ctx context.Context) (string, error) {
	var result struct {
		Tools []struct{ Name, Description string }
	}
	if err := s.mcp(ctx, "tools/list", map[string]any{}, &result); err != nil {
		return "", err
	}
	var b strings.Builder
	for _, t := range result.Tools {
		fmt.Fprintf(&b, "%s: %s\n", t.Name, t.Description)
	}
	return b.String(), nil
}

func (s *server) call(ctx context.Context, name string, arguments json.RawMessage) (string, error) {
	var result struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := s.mcp(ctx, "tools/call", map[string]any{"name": name, "arguments": arguments}, &result); err != nil {
		return "", err
	}
	var b strings.Builder
	for _, c := range result.Content {
		fmt.Fprintln(&b, c.Text)
	}
	return b.String(), nil
}

// wait asks until the pin has drifted. A server with many chats follows /events instead,
// once for all of them.
func (s *server) wait(ctx context.Context) (string, error) {
	for {
		var pin struct {
			DriftedAt     *time.Time `json:"drifted_at"`
			DriftRevision int64      `json:"drift_revision"`
		}
		err := s.api(ctx, http.MethodGet, "/pins/"+s.pin, nil, &pin)
		if err == nil && pin.DriftedAt != nil {
			return fmt.Sprintf("drifted at revision %d", pin.DriftRevision), nil
		}
		select { // also while the hub is started anew
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// mcp makes a request over MCP. There is no session: each stands for itself.
func (s *server) mcp(ctx context.Context, method string, params, result any) error {
	s.last++
	message := map[string]any{"jsonrpc": "2.0", "id": s.last, "method": method, "params": params}
	var answer struct {
		Result json.RawMessage
		Error  *struct {
			Code    int
			Message string
		}
	}
	if err := s.api(ctx, http.MethodPost, "/pins/"+s.pin+"/mcp", message, &answer); err != nil {
		return err
	}
	if answer.Error != nil {
		return fmt.Errorf("%s (%d)", answer.Error.Message, answer.Error.Code)
	}
	return json.Unmarshal(answer.Result, result)
}

// api makes a request of the hub. An answer into *[]byte is taken as it is.
func (s *server) api(ctx context.Context, method, path string, body, answer any) error {
	sent, err := json.Marshal(body)
	if err != nil {
		return err
	}
	if body == nil {
		sent = nil
	}
	target, err := url.Parse(strings.TrimSuffix(s.hub, "/") + "/api/v0" + path)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(sent))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if strings.HasSuffix(path, "/mcp") {
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("MCP-Protocol-Version", "2025-11-25")
		if s.capability != "" {
			r.Header.Set("Waymark-Capability", s.capability)
		}
	}
	response, err := s.http.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(response.Body, 16<<20))
	switch text, ok := answer.(*[]byte); {
	case err != nil:
		return err
	case response.StatusCode/100 != 2:
		return fmt.Errorf("%s: %s", response.Status, bytes.TrimSpace(data))
	case answer == nil:
		return nil
	case ok:
		*text = data
		return nil
	}
	return json.Unmarshal(data, answer)
}
