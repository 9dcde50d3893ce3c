package servers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ClientMain is a program that asks a server of MCP one thing, prints the answer, and
// exits: with 1 when the server refuses, 2 when a tool has failed.
//
//	mcpclient instructions|tools|resources|prompts|skills -- COMMAND ARGUMENT…
//	mcpclient call TOOL JSON -- COMMAND ARGUMENT…
//	mcpclient read URI -- COMMAND ARGUMENT…
//	mcpclient prompt NAME -- COMMAND ARGUMENT…
//
// Where COMMAND is a URL the server is asked over HTTP, with the token in ARGUMENT.
func ClientMain() {
	i := slices.Index(os.Args, "--")
	if i < 2 || i+1 == len(os.Args) {
		_, _ = fmt.Fprintln(os.Stderr, "usage: mcpclient WHAT … -- COMMAND …")
		os.Exit(1)
	}
	failed, err := askServer(context.Background(), os.Args[1:i], os.Args[i+1:])
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if failed {
		os.Exit(2)
	}
}

// bearer shows a token with each request.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

type skillsParams struct{ mcp.ParamsBase }

type skillsResult struct {
	mcp.ResultBase
	Skills []json.RawMessage `json:"skills"`
}

func askServer(ctx context.Context, what, command []string) (failed bool, err error) {
	c := mcp.NewClient(&mcp.Implementation{Name: "mcpclient", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	if err := mcp.AddSendingCustomMethod[*skillsParams, *skillsResult](c, "skills/list"); err != nil {
		return false, err
	}
	var transport mcp.Transport
	if strings.HasPrefix(command[0], "http") {
		transport = &mcp.StreamableClientTransport{
			Endpoint: command[0], HTTPClient: &http.Client{Transport: bearer{strings.Join(command[1:], "")}}, DisableStandaloneSSE: true,
		}
	} else {
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Stderr = os.Stderr
		transport = &mcp.CommandTransport{Command: cmd}
	}
	s, err := c.Connect(ctx, transport, nil)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	switch arg := append(what, "", ""); what[0] {
	case "instructions":
		fmt.Fprintln(os.Stdout, s.InitializeResult().Instructions)
	case "tools":
		for t, err := range s.Tools(ctx, nil) {
			if err != nil {
				return false, err
			}
			fmt.Fprintln(os.Stdout, t.Name)
		}
	case "resources":
		for r, err := range s.Resources(ctx, nil) {
			if err != nil {
				return false, err
			}
			fmt.Fprintln(os.Stdout, r.URI, r.Name)
		}
	case "prompts":
		for p, err := range s.Prompts(ctx, nil) {
			if err != nil {
				return false, err
			}
			fmt.Fprintln(os.Stdout, p.Name, p.Description)
		}
	case "skills":
		list, err := mcp.CallCustomMethod[*skillsParams, *skillsResult](ctx, s, "skills/list", &skillsParams{})
		if err != nil {
			return false, err
		}
		for _, skill := range list.Skills {
			fmt.Fprintln(os.Stdout, string(skill))
		}
	case "call":
		r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: arg[1], Arguments: json.RawMessage(arg[2])})
		if err != nil {
			return false, err
		}
		for _, c := range r.Content {
			if c, ok := c.(*mcp.TextContent); ok {
				fmt.Fprintln(os.Stdout, c.Text)
			}
		}
		return r.IsError, nil
	case "read":
		r, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: arg[1]})
		if err != nil {
			return false, err
		}
		for _, c := range r.Contents {
			fmt.Fprint(os.Stdout, c.Text)
		}
	case "prompt":
		r, err := s.GetPrompt(ctx, &mcp.GetPromptParams{Name: arg[1]})
		if err != nil {
			return false, err
		}
		for _, m := range r.Messages {
			if c, ok := m.Content.(*mcp.TextContent); ok {
				fmt.Fprintln(os.Stdout, c.Text)
			}
		}
	default:
		return false, fmt.Errorf("mcpclient doesn't know %q", what[0])
	}
	return false, nil
}
