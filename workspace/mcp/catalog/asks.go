package catalog

import (
	"encoding/json"

	"waymark/agentapi"
)

// AskOf returns what a request of a server asks, one of agentapi.MCPAsks; "" for another
// request.
func AskOf(method string, params json.RawMessage) string {
	switch method {
	case agentapi.MCPElicit:
		var p struct {
			Mode string `json:"mode"`
		}
		if _ = json.Unmarshal(params, &p); p.Mode == "url" {
			return agentapi.MCPAskURL
		}
		return agentapi.MCPAskForm
	case agentapi.MCPSample:
		return agentapi.MCPAskSampling
	case agentapi.MCPListRoots:
		return agentapi.MCPAskRoots
	}
	return ""
}
