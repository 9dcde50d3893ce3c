package mcpserver

import (
	"encoding/base64"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/agentapi"
)

// ToProtocol converts a result for MCP. Content of unknown type becomes text.
func ToProtocol(r *agentapi.MCPToolResult) *mcp.CallToolResult {
	out := &mcp.CallToolResult{IsError: r.IsError, Content: []mcp.Content{}}
	if len(r.Structured) > 0 {
		out.StructuredContent = r.Structured
	}
	if r.Asked != nil {
		requests, err := json.Marshal(r.Asked.Requests)
		if err == nil {
			err = json.Unmarshal(requests, &out.InputRequests)
		}
		if err != nil { // the agent has looked at it
			out.IsError, out.Content = true, []mcp.Content{&mcp.TextContent{Text: "the server asks what no client could answer"}}
		}
		out.RequestState = r.Asked.State
		return out
	}
	for i := range r.Content {
		out.Content = append(out.Content, contentOf(&r.Content[i]))
	}
	return out
}

func contentOf(c *agentapi.MCPContent) mcp.Content {
	data, err := base64.StdEncoding.DecodeString(c.Data)
	switch {
	case err != nil:
	case c.Type == "image":
		return &mcp.ImageContent{Data: data, MIMEType: c.MediaType}
	case c.Type == "audio":
		return &mcp.AudioContent{Data: data, MIMEType: c.MediaType}
	case c.Type == "resource_link":
		return &mcp.ResourceLink{URI: c.URI, Name: c.Name, MIMEType: c.MediaType}
	case c.Type == "resource":
		contents := &mcp.ResourceContents{URI: c.URI, MIMEType: c.MediaType, Text: c.Text}
		if c.Data != "" {
			contents.Blob = data
		}
		return &mcp.EmbeddedResource{Resource: contents}
	}
	return &mcp.TextContent{Text: c.Text}
}
