// Package catalog has the types for what an MCP server offers. Sessions fetch catalogues,
// approvals pin them, and snapshots list them.
//
// # Concurrency
//
// Values are plain data. Don't modify values that are shared.
package catalog

import (
	"bytes"
	"encoding/json"
	"time"

	"waymark/agentapi"
)

// Catalogue is what a server offered when it was last asked.
type Catalogue struct {
	// ServerName, ServerTitle and ServerVersion are the server's description of itself.
	ServerName    string `json:"server_name,omitempty"`
	ServerTitle   string `json:"server_title,omitempty"`
	ServerVersion string `json:"server_version,omitempty"`
	// Protocol is the negotiated protocol version.
	Protocol string `json:"protocol,omitempty"`
	// Instructions are the server's instructions for models.
	Instructions string `json:"instructions,omitempty"`
	// Tools are in the server's order. Names are unique.
	Tools []Tool `json:"tools"`
	// Findings say what was left out or looks suspicious.
	Findings []Finding `json:"findings,omitempty"`
	// At is the time of the answer.
	At time.Time `json:"at"`
}

// Tool is a tool. The raw fields are compact JSON of limited size and depth.
type Tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
}

// Finding is something that a person should know about a server.
type Finding struct {
	// Code identifies the finding for programs, for example "invisible_characters",
	// "duplicate_tool", "tools_trimmed" or "schema_too_large".
	Code string `json:"code"`
	// Tool is the tool's name as far as it can be shown; empty for the server.
	Tool string `json:"tool,omitempty"`
	// Text is a sentence for people. It contains no value from the configuration.
	Text string `json:"text"`
}

// Separator separates the server's name from the tool's.
const Separator = "__"

// Listed converts a server's tools for the API. The fake agent for tests uses it, too.
func Listed(server string, tools []Tool) []agentapi.MCPTool {
	list := make([]agentapi.MCPTool, 0, len(tools))
	for i := range tools {
		t := &tools[i]
		m := agentapi.MCPTool{
			ServerName: server, Name: server + Separator + t.Name, Title: t.Title, Description: t.Description,
			InputSchema: t.InputSchema, Annotations: t.Annotations, Schema: json.RawMessage("{}"), Required: []string{},
		}
		var schema struct {
			Properties json.RawMessage `json:"properties"`
			Required   []string        `json:"required"`
		}
		if json.Unmarshal(t.InputSchema, &schema) == nil {
			if p := bytes.TrimSpace(schema.Properties); len(p) > 0 && p[0] == '{' {
				m.Schema = p
			}
			if schema.Required != nil {
				m.Required = schema.Required
			}
		}
		list = append(list, m)
	}
	return list
}
