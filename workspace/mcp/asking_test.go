package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waymark/agentapi"
	"waymark/workspace/mcp/session"
)

// TestAsking: what a server asks goes to the caller of its tool, if its approval and the
// caller name it, and only that caller can answer.
func TestAsking(t *testing.T) {
	bubble(t, asking, func(w *world) {
		w.configure(map[string]definition{"a": stdio("a", "literal")})
		var heard []string
		w.fakes.server("a").call = func(ctx context.Context, c *session.Call) (*session.Result, error) {
			heard = append(heard, strings.Join(c.Asks, " "))
			if c.Ask == nil {
				return nil, &session.ServerError{Code: -1, Message: "nobody to ask"}
			}
			var params struct{ Method, Params json.RawMessage }
			_ = json.Unmarshal(c.Arguments, &params)
			var method string
			_ = json.Unmarshal(params.Method, &method)
			answer, err := c.Ask(ctx, method, params.Params)
			return &session.Result{Content: []session.Content{{Type: "text", Text: fmt.Sprintf("%s, %v", answer, err)}}}, nil
		}
		approve := func(more string) int {
			d := w.detail("a")
			code, _ := w.text(http.MethodPost, agentapi.PathMCPServers+"/a/approve", fmt.Sprintf(`{"definition":%q,"local":%q,"held":%q%s}`, d.Definition, d.Local, d.HeldDigest, more))
			synctest.Wait()
			return code
		}
		call := func(rest string, headers ...string) (int, *agentapi.MCPToolResult, string) {
			code, text := w.text(http.MethodPost, agentapi.PathMCPCallTool, `{"tool_name":"a__echo",`+rest+`}`, headers...)
			result := new(agentapi.MCPToolResult)
			if err := json.Unmarshal([]byte(text), result); err != nil && code == http.StatusOK {
				t.Fatalf("%s: %v", text, err)
			}
			return code, result, text
		}
		const form = `"arguments":{"method":"elicitation/create","params":{"message":"who are\nyou?","_meta":{"x":1}}},"asks":["elicitation","sampling"]`
		if code := approve(`,"asks":["everything"]`); code != http.StatusBadRequest {
			t.Errorf("an approval of what isn't there: %d", code)
		}
		approve("")
		if code, _, text := call(form); code != http.StatusBadGateway || !strings.Contains(text, "nobody to ask") {
			t.Errorf("not approved: %d %s", code, text)
		}
		approve(`,"asks":["elicitation","elicitation-url"]`)
		if code, _, text := call(`"arguments":{}`); code != http.StatusBadGateway {
			t.Errorf("a caller that isn't asked: %d %s", code, text)
		}
		code, result, text := call(form)
		if code != http.StatusOK || result.Asked == nil || result.Asked.State == "" || len(result.Content) > 0 {
			t.Fatalf("%d %s", code, text)
		}
		one := result.Asked.Requests["1"]
		if want := `{"message":"[The MCP server a asks this.] who are\nyou?"}`; one.Method != agentapi.MCPElicit || string(one.Params) != want {
			t.Errorf("it asks %s %s", one.Method, one.Params)
		}
		if last := heard[len(heard)-1]; last != "elicitation" {
			t.Errorf("the server may ask %q", last)
		}
		answer := fmt.Sprintf(`"state":%q,"answers":{"1":{"action":"accept"}}`, result.Asked.State)
		for _, headers := range [][]string{{agentapi.HeaderChat, "7d9f2b52-5a2e-4a57-9a4d-0f6a2a3c1d11"}, {"X-Grant", "plan"}} {
			if code, _, text := call(answer, headers...); code != http.StatusGone && code != http.StatusForbidden {
				t.Errorf("somebody else's answer %v: %d %s", headers, code, text)
			}
		}
		if code, result, text := call(answer); code != http.StatusOK || result.Asked != nil || result.Content[0].Text != `{"action":"accept"}, <nil>` {
			t.Errorf("%d %s", code, text)
		}
		if code, _, text := call(answer); code != http.StatusGone {
			t.Errorf("answered again: %d %s", code, text)
		}
		// Neither an answer nor an address that may be shown.
		_, result, _ = call(form)
		if code, _, text := call(fmt.Sprintf(`"state":%q`, result.Asked.State)); code != http.StatusOK || !strings.Contains(text, "the caller hasn't answered") {
			t.Errorf("no answer: %d %s", code, text)
		}
		const address = `"arguments":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":%q}},"asks":["elicitation-url"]`
		if _, result, text := call(fmt.Sprintf(address, "javascript:alert(1)")); result.Asked != nil || !strings.Contains(text, "isn't the address of a web page") {
			t.Errorf("a script: %s", text)
		}
		if _, result, text := call(fmt.Sprintf(address, "https://example.com/sign-in")); result.Asked == nil {
			t.Errorf("an address: %s", text)
		}
		// That is never answered: the call ends, and so does the server's.
		time.Sleep(6 * time.Minute)
		if d := w.detail("a"); d.Approval == nil || !slices.Equal(d.Approval.Widening.Asks, []string{"elicitation", "elicitation-url"}) {
			t.Errorf("the approval is %+v", d.Approval)
		}
	})
}
