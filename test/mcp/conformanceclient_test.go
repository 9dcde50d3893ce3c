package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"waymark/agentapi"
	"waymark/workspace/mcp/session"
)

// runClient is the client that the suite starts for each scenario, with the address of
// its server. It does what a chat does: it connects, signs in where that is wanted,
// lists the tools, and calls them.
func runClient(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 100*time.Second)
	defer cancel()
	dir, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	oauth, err := session.NewOAuth(session.OAuthOptions{Dir: dir + "/tokens"})
	if err != nil {
		return err
	}
	defer oauth.Close()
	c := &suiteClient{address: address, oauth: oauth}
	defer c.close()
	scenario := os.Getenv("MCP_CONFORMANCE_SCENARIO")
	if scenario == "auth/pre-registration" {
		if c.as, err = given(); err != nil {
			return err
		}
	}
	return c.run(ctx, scenario)
}

type suiteClient struct {
	address string
	oauth   *session.OAuth
	as      session.Client // one that was registered beforehand
	session session.Session
	logins  int
}

// given is the client that the suite has registered.
func given() (session.Client, error) {
	var given struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	err := json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &given)
	return session.Client{ID: given.ID, Secret: given.Secret}, err
}

func (c *suiteClient) close() {
	if c.session != nil {
		_ = c.session.Close()
	}
}

func (c *suiteClient) run(ctx context.Context, scenario string) error {
	switch scenario {
	case "json-schema-2020-12-preservation":
		return c.echoSchema(ctx)
	case "http-custom-headers":
		return c.callGiven(ctx)
	}
	names, err := c.tools(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := c.call(ctx, name, arguments(name)); err != nil {
			return err
		}
	}
	return nil
}

// arguments are what the suite wants a tool to be called with.
func arguments(tool string) string {
	switch tool {
	case "add_numbers":
		return `{"a":5,"b":3}`
	default:
		return `{"region":"us-west1"}`
	}
}

// signedIn does something, and signs in as often as the server wants it, three times at
// most.
func (c *suiteClient) signedIn(ctx context.Context, do func() error) error {
	for {
		err := do()
		if !errors.Is(err, session.ErrNeedsAuthorization) {
			return err
		}
		if c.logins++; c.logins > 3 {
			return err
		}
		if err := c.login(ctx); err != nil {
			return err
		}
	}
}

// login signs in as somebody with a browser on another machine does. The suite's server
// sends on without asking.
func (c *suiteClient) login(ctx context.Context) error {
	login, err := c.oauth.Begin(ctx, c.address, nil, c.as)
	if err != nil {
		return err
	}
	defer login.Cancel()
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, login.URL, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := browser.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	return login.Finish(ctx, resp.Header.Get("Location"))
}

func (c *suiteClient) connected(ctx context.Context) error {
	if c.session != nil {
		return nil
	}
	return c.signedIn(ctx, func() (err error) {
		c.session, err = session.HTTP(ctx, c.address, nil, session.Options{OAuth: c.oauth, Asks: agentapi.MCPAsks})
		return err
	})
}

func (c *suiteClient) tools(ctx context.Context) ([]string, error) {
	if err := c.connected(ctx); err != nil {
		return nil, err
	}
	var names []string
	err := c.signedIn(ctx, func() error {
		catalogue, err := c.session.Catalogue(ctx)
		if err != nil {
			return err
		}
		for i := range catalogue.Tools {
			names = append(names, catalogue.Tools[i].Name)
		}
		return nil
	})
	return names, err
}

// call calls a tool. That the server refuses is the server's business.
func (c *suiteClient) call(ctx context.Context, tool, arguments string) error {
	err := c.signedIn(ctx, func() error {
		_, err := c.session.Call(ctx, &session.Call{Tool: tool, Arguments: json.RawMessage(arguments), Asks: agentapi.MCPAsks, Ask: answered})
		return err
	})
	var refused *session.ServerError
	if errors.As(err, &refused) {
		fmt.Fprintln(os.Stderr, err)
		return nil
	}
	return err
}

// answered answers as somebody does who takes each form as it is.
func answered(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if method != agentapi.MCPElicit {
		return nil, errors.New("not here")
	}
	var form struct {
		RequestedSchema struct {
			Properties map[string]struct{ Default json.RawMessage }
		}
	}
	if err := json.Unmarshal(params, &form); err != nil {
		return nil, err
	}
	content := map[string]json.RawMessage{}
	for name, property := range form.RequestedSchema.Properties {
		if property.Default != nil {
			content[name] = property.Default
		}
	}
	return json.Marshal(map[string]any{"action": "accept", "content": content})
}

// echoSchema sends a tool's schema back as it has come.
func (c *suiteClient) echoSchema(ctx context.Context) error {
	if err := c.connected(ctx); err != nil {
		return err
	}
	catalogue, err := c.session.Catalogue(ctx)
	if err != nil {
		return err
	}
	for i := range catalogue.Tools {
		if tool := &catalogue.Tools[i]; tool.Name == "json_schema_2020_12_tool" {
			return c.call(ctx, "json_schema_echo", `{"schema":`+string(tool.InputSchema)+`}`)
		}
	}
	return errors.New("the tool isn't there")
}

// callGiven makes the calls that the suite names.
func (c *suiteClient) callGiven(ctx context.Context) error {
	if _, err := c.tools(ctx); err != nil {
		return err
	}
	var given struct {
		ToolCalls []struct {
			Name      string
			Arguments json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &given); err != nil {
		return err
	}
	for _, call := range given.ToolCalls {
		if err := c.call(ctx, call.Name, string(call.Arguments)); err != nil {
			return err
		}
	}
	return nil
}
