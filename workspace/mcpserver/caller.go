package mcpserver

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/agentapi"
	"waymark/workspace/mcpserver/tools"
)

// callerOf returns what the client of a call takes of the tool's server.
func callerOf(ctx context.Context, r *mcp.CallToolRequest) *tools.Caller {
	token := r.Params.GetProgressToken()
	c := &tools.Caller{Logs: true, Progress: func(p agentapi.MCPProgress) { // the client may have disconnected
		switch {
		case p.Log != nil: // the SDK knows which levels it takes
			_ = r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: mcp.LoggingLevel(p.Log.Level), Logger: p.Log.Logger, Data: p.Log.Data})
		case token != nil:
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Progress: p.Progress, Total: p.Total, Message: p.Message,
			})
		}
	}}
	if init := r.Session.InitializeParams(); init != nil {
		c.Asks = asksOf(init.Capabilities)
	}
	c.State, c.Answers = answersIn(r.Params)
	return c
}

// CallerOf returns what a client at a hub can be asked, and has answered, by what the hub says
// of it: JSON of MCP, with capabilities, inputResponses and requestState.
func CallerOf(client []byte) *tools.Caller {
	var said struct {
		mcp.CallToolParamsRaw

		Capabilities struct {
			mcp.ClientCapabilities

			Roots *mcp.RootCapabilities `json:"roots"` // which the SDK doesn't decode
		} `json:"capabilities"`
	}
	c := new(tools.Caller)
	if json.Unmarshal(client, &said) == nil {
		said.Capabilities.RootsV2 = said.Capabilities.Roots
		c.Asks = asksOf(&said.Capabilities.ClientCapabilities)
		c.State, c.Answers = answersIn(&said.CallToolParamsRaw)
	}
	return c
}

// asksOf returns what a client says that it can be asked, of agentapi.MCPAsks.
func asksOf(caps *mcp.ClientCapabilities) (asks []string) {
	if caps == nil {
		return nil
	}
	if e := caps.Elicitation; e != nil {
		if e.Form != nil || e.URL == nil {
			asks = append(asks, agentapi.MCPAskForm)
		}
		if e.URL != nil {
			asks = append(asks, agentapi.MCPAskURL)
		}
	}
	if caps.Sampling != nil {
		asks = append(asks, agentapi.MCPAskSampling)
	}
	if caps.RootsV2 != nil {
		asks = append(asks, agentapi.MCPAskRoots)
	}
	return asks
}

// answersIn returns the answers of a call that continues another, since 2026-07-28.
func answersIn(p *mcp.CallToolParamsRaw) (state string, answers map[string]json.RawMessage) {
	if p.RequestState == "" {
		return "", nil
	}
	answers = map[string]json.RawMessage{}
	for id, response := range p.InputResponses {
		if data, err := json.Marshal(response); err == nil {
			answers[id] = data
		}
	}
	return p.RequestState, answers
}

func versionOf(s *mcp.ServerSession) string {
	if init := s.InitializeParams(); init != nil {
		return init.ProtocolVersion
	}
	return ""
}

// answersOf asks the client of a session. What it doesn't answer is missing.
func answersOf(ctx context.Context, s *mcp.ServerSession, asked *agentapi.MCPAsked) map[string]json.RawMessage {
	answers := map[string]json.RawMessage{}
	for id, one := range asked.Requests {
		var answer any
		var err error
		switch one.Method {
		case agentapi.MCPElicit:
			answer, err = asking(ctx, one.Params, s.Elicit)
		case agentapi.MCPSample:
			answer, err = asking(ctx, one.Params, s.CreateMessageWithTools)
		case agentapi.MCPListRoots:
			answer, err = asking(ctx, one.Params, s.ListRoots)
		}
		if data, encodeErr := json.Marshal(answer); err == nil && encodeErr == nil {
			answers[id] = data
		}
	}
	return answers
}

func asking[P, R any](ctx context.Context, raw json.RawMessage, ask func(context.Context, *P) (R, error)) (answer R, err error) {
	params := new(P)
	if err = json.Unmarshal(raw, params); err == nil {
		answer, err = ask(ctx, params)
	}
	return answer, err
}
