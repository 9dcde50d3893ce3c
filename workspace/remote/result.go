package remote

import (
	"encoding/json"
	"fmt"

	"waymark/workspace"
)

// callResult is the result of a tool, as MCP has it.
type callResult struct {
	Content    []content       `json:"content"`
	IsError    bool            `json:"isError,omitempty"`
	Structured json.RawMessage `json:"structuredContent,omitempty"`
}

type content struct {
	Type     string    `json:"type"`
	Text     *string   `json:"text,omitempty"`
	Data     string    `json:"data,omitempty"`
	MIMEType string    `json:"mimeType,omitempty"`
	URI      string    `json:"uri,omitempty"`
	Name     string    `json:"name,omitempty"`
	Resource *resource `json:"resource,omitempty"`
}

type resource struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType,omitempty"`
	Text     string `json:"text,omitempty"`
	Blob     string `json:"blob,omitempty"`
}

// resultOf makes a result of MCP of the agent's. What it doesn't know becomes text.
func resultOf(r *workspace.MCPToolResult) *callResult {
	answer := &callResult{Content: []content{}, IsError: r.IsError, Structured: r.Structured}
	for i := range r.Content {
		answer.Content = append(answer.Content, contentOf(&r.Content[i]))
	}
	if t := r.Truncated; t != nil {
		note := fmt.Sprintf("(the result was too long: %d of %d bytes are shown)", t.RetainedBytes, t.OriginalBytes)
		answer.Content = append(answer.Content, content{Type: "text", Text: &note})
	}
	return answer
}

func contentOf(c *workspace.MCPContent) content {
	switch c.Type {
	case "image", "audio":
		return content{Type: c.Type, Data: c.Data, MIMEType: c.MediaType}
	case "resource_link":
		return content{Type: c.Type, URI: c.URI, Name: c.Name, MIMEType: c.MediaType}
	case "resource":
		return content{Type: c.Type, Resource: &resource{c.URI, c.MediaType, c.Text, c.Data}}
	}
	return content{Type: "text", Text: &c.Text}
}
