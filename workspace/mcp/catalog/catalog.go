// Package catalog has the types for what an MCP server offers. Sessions fetch catalogues,
// approvals pin them, and snapshots list them. Their tools are found by the words of a query,
// which the fake agent for tests does by the same code.
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
	// Offers says what it offers besides tools; see OffersOf.
	Offers []string `json:"offers,omitempty"`
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

// The requests of MCP that are relayed to servers, besides calls of tools.
const (
	ListResources = "resources/list"
	ListTemplates = "resources/templates/list"
	ReadResource  = "resources/read"
	ListPrompts   = "prompts/list"
	GetPrompt     = "prompts/get"
	Complete      = "completion/complete"
)

// What servers offer besides tools.
const (
	OffersResources   = "resources"
	OffersPrompts     = "prompts"
	OffersCompletions = "completions"
)

// OffersOf returns what a server must offer for a request; "" for one that isn't relayed.
func OffersOf(method string) string {
	switch method {
	case ListResources, ListTemplates, ReadResource:
		return OffersResources
	case ListPrompts, GetPrompt:
		return OffersPrompts
	case Complete:
		return OffersCompletions
	}
	return ""
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
