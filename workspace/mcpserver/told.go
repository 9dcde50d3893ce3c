package mcpserver

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Told is what a client is told at the beginning of a session, as people look at it.
type Told struct {
	// Instructions are the text for the model.
	Instructions string `json:"instructions"`
	// Tools are the listed tools, Resources and Prompts the listed ones of these.
	Tools     []ToldItem `json:"tools"`
	Resources []ToldItem `json:"resources"`
	Prompts   []ToldItem `json:"prompts"`
	// Tokens is the approximate number of tokens of the instructions and the tools, which each
	// chat begins with.
	Tokens int `json:"tokens"`
}

// ToldItem is a tool, a resource or a prompt.
type ToldItem struct {
	// Name is its name, or the URI of a resource.
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Tokens is the approximate number of tokens of a tool with its schema.
	Tokens int `json:"tokens,omitempty"`
}

// Tell connects a client and returns what it is told. Run must be running.
func (s *Server) Tell(ctx context.Context) (*Told, error) {
	here, there := mcp.NewInMemoryTransports()
	served, err := s.mcp.Connect(ctx, here, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = served.Close() }()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "waymark", Version: "0"}, nil).Connect(ctx, there, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	told := &Told{Instructions: c.InitializeResult().Instructions, Tools: []ToldItem{}, Resources: []ToldItem{}, Prompts: []ToldItem{}}
	told.Tokens = len(told.Instructions) / bytesPerToken
	for t, err := range c.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		data, _ := json.Marshal(t) // it was JSON before
		told.Tools = append(told.Tools, ToldItem{t.Name, t.Description, len(data) / bytesPerToken})
		told.Tokens += len(data) / bytesPerToken
	}
	for r, err := range c.Resources(ctx, nil) {
		if err != nil {
			return nil, err
		}
		told.Resources = append(told.Resources, ToldItem{Name: r.URI, Description: r.Description})
	}
	for p, err := range c.Prompts(ctx, nil) {
		if err != nil {
			return nil, err
		}
		told.Prompts = append(told.Prompts, ToldItem{Name: p.Name, Description: p.Description})
	}
	return told, nil
}
