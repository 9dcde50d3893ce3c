// Package catalog is what an MCP server offers, as its session found it, its
// approval pins it, and snapshots list it.
//
// # Concurrency
//
// Values are plain data. Whoever shares one doesn't change it.
package catalog

import (
	"bytes"
	"encoding/json"
	"time"

	"waymark/agentapi"
)

// Catalogue is what a server offered when it was last asked.
type Catalogue struct {
	// ServerName, ServerTitle and ServerVersion are the server's own.
	ServerName    string `json:"server_name,omitempty"`
	ServerTitle   string `json:"server_title,omitempty"`
	ServerVersion string `json:"server_version,omitempty"`
	// Protocol is the version that was agreed on.
	Protocol string `json:"protocol,omitempty"`
	// Instructions are the server's, for models.
	Instructions string `json:"instructions,omitempty"`
	// Tools are in the server's order; no two have one name.
	Tools []Tool `json:"tools"`
	// Findings say what was left out or looks wrong.
	Findings []Finding `json:"findings,omitempty"`
	// At is when it was asked.
	At time.Time `json:"at"`
}

// Tool is one tool. The raw fields are compact JSON, of bounded size and depth.
type Tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
}

// Finding is something that a person should know of a server.
type Finding struct {
	// Code is a word for programs, such as "invisible_characters", "duplicate_tool",
	// "tools_trimmed", "schema_too_large".
	Code string `json:"code"`
	// Tool is the tool's name, as far as it can be shown; empty for the server.
	Tool string `json:"tool,omitempty"`
	// Text is a sentence for people. It holds no value of the configuration.
	Text string `json:"text"`
}

// Separator is between a server's name and its tool's.
const Separator = "__"

// Listed are the tools of a server as the API has them. The fake that stands in for the
// agent in tests lists its own with it.
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
