package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"waymark/abi"
	"waymark/agentapi"
	"waymark/snapshot"
	"waymark/wire/convert"
	"waymark/workspace/access"
	"waymark/workspace/mcp"
	"waymark/workspace/mcp/catalog"
	"waymark/workspace/mcp/session"
)

// TestContract is what SERVICES.md says of MCP servers, case by case: a request, and
// what must come of it.
func TestContract(t *testing.T) {
	bubble(t, asking, func(w *world) {
		a := stdio("a", "literal")
		w.env["HOME"], w.env["EMAIL"] = "/home/someone", "someone@example.com"
		a["env"] = map[string]string{"KEY": "${TOKEN}", "DATABASE": "sqlite:///${HOME}/data.db", "CONTACT": "${EMAIL}"}
		w.configure(map[string]definition{"a": a, "n": stdio("n"), "r": remote("r"), "bad__name": stdio("b"), "worse": {"type": "telepathy"}})
		w.fakes.server("a").call = answers(w.env["TOKEN"] + " of someone@example.com in /home/someone/project")
		w.fakes.server("a").offers = []string{catalog.OffersResources}
		w.approve("a")
		w.approve("r")
		synctest.Wait()
		d := w.detail("n")
		digests := fmt.Sprintf(`"definition":%q,"local":%q`, d.Definition, d.Local)
		const tools, call, relay, servers, search, results = agentapi.PathMCPTools, agentapi.PathMCPCallTool, agentapi.PathMCPRequest, agentapi.PathMCPServers, agentapi.PathMCPSearch, agentapi.PathMCPResults
		for _, c := range []struct {
			name, method, target, body string
			headers                    []string
			code                       int
			contains                   string
		}{
			{"list", "GET", tools, "", nil, 200, `{"tools":[{"server_name":"a","name":"a__echo","description":"Say it again.","schema":{"text":{"type":"string"}},"required":["text"],"input_schema":{"type":"object",`},
			{"list says what may come", "GET", tools, "", nil, 200, `"phase":"complete","servers":[{"name":"a","outcome":"connected"},`},
			{"list without a token", "GET", tools, "", []string{"X-Grant", "none"}, 200, ""},
			{"list, refreshed", "GET", tools + "?refresh=true", "", nil, 200, ""},
			{"list, not refreshed", "GET", tools + "?refresh=false", "", nil, 200, ""},
			{"list, refreshed perhaps", "GET", tools + "?refresh=perhaps", "", nil, 400, "true or false"},
			{"list, waiting", "GET", tools + "?wait=1s", "", nil, 200, ""},
			{"list, waiting backwards", "GET", tools + "?wait=-1s", "", nil, 400, "wait"},
			{"list with a body", "GET", tools, "{}", nil, 400, "no body"},

			{"call", "POST", call, `{"tool_name":"a__echo","arguments":{"text":"x"}}`, nil, 200, `{"content":[{"type":"text","text":"echo{\"text\":\"x\"}"}],"is_error":false}`},
			{"call without arguments", "POST", call, `{"tool_name":"a__echo"}`, nil, 200, `"text":"echo"`},
			{"call with null", "POST", call, `{"tool_name":"a__echo","arguments":null}`, nil, 200, `"text":"echo"`},
			{"call that fails", "POST", call, `{"tool_name":"a__echo","arguments":{"fail":1}}`, nil, 200, `"is_error":true`},
			{"call with every kind", "POST", call, `{"tool_name":"a__echo","arguments":{"kinds":1}}`, nil, 200,
				`[{"type":"text","text":"t"},{"type":"image","data":"AQI=","media_type":"image/png"},{"type":"resource_link","uri":"file:///x","name":"x"}],"is_error":false,"structured_content":{"a":1}}`},
			{"call with nothing but an object", "POST", call, `{"tool_name":"a__echo","arguments":{"structured":1}}`, nil, 200,
				`[{"type":"text"},{"type":"text","text":"{\"key\":\"[redacted] of someone@example.com in /home/someone/project\"}","media_type":"application/json"}],"is_error":false,"structured_content":{"key":"[redacted] of`},
			{"call that is refused with data", "POST", call, `{"tool_name":"a__echo","arguments":{"error":1}}`, nil, 502, strings.Repeat("y", 1200) + "!"},
			{"call that says what it was given", "POST", call, `{"tool_name":"a__echo","arguments":{"env":1}}`, nil, 200, `[redacted] of someone@example.com in /home/someone/project`},
			{"call that is refused", "POST", call, `{"tool_name":"a__echo","arguments":{"error":1}}`, nil, 502, "the server answers with an error"},
			{"call that never ends", "POST", call, `{"tool_name":"a__echo","arguments":{"block":1}}`, nil, 502, "hasn't answered within 1m0s"},
			{"call of a server that is dialed", "POST", call, `{"tool_name":"r__echo"}`, nil, 200, "echo"},
			{"call without a tool", "POST", call, `{"tool_name":"a__"}`, nil, 400, "two underscores"},
			{"call without a server", "POST", call, `{"tool_name":"__echo"}`, nil, 400, "two underscores"},
			{"call of one name", "POST", call, `{"tool_name":"echo"}`, nil, 400, "two underscores"},
			{"call of nothing", "POST", call, `{}`, nil, 400, "two underscores"},
			{"call with an array", "POST", call, `{"tool_name":"a__echo","arguments":[1]}`, nil, 400, "object"},
			{"call with an empty array", "POST", call, `{"tool_name":"a__echo","arguments":[]}`, nil, 400, "object"},
			{"call with a text", "POST", call, `{"tool_name":"a__echo","arguments":""}`, nil, 400, "object"},
			{"call with half a body", "POST", call, `{"tool_name"`, nil, 400, ""},
			{"call with an unknown member", "POST", call, `{"tool_name":"a__echo","args":{}}`, nil, 400, "args"},
			{"call of an unknown server", "POST", call, `{"tool_name":"x__echo"}`, nil, 404, `\"x\"`},
			{"call of an unknown tool", "POST", call, `{"tool_name":"a__shout"}`, nil, 502, `no tool \"shout\"`},
			{"call that isn't approved", "POST", call, `{"tool_name":"n__echo"}`, nil, 403, "agent mcp approve n"},
			{"call of an entry that can't be used", "POST", call, `{"tool_name":"worse__echo"}`, nil, 502, ""},
			{"call without a token", "POST", call, `{"tool_name":"a__echo"}`, []string{"X-Grant", "none"}, 401, ""},
			{"call beyond the token", "POST", call, `{"tool_name":"a__echo"}`, []string{"X-Grant", "other"}, 403, "scope mcp"},
			{"call with a fence", "POST", call, `{"tool_name":"a__echo"}`, []string{"X-Grant", "plan"}, 403, "plan"},

			{"request", "POST", relay, `{"server":"a","method":"resources/read","params":{"uri":"file:///x"}}`, nil, 200, `"result":`},
			{"request without parameters", "POST", relay, `{"server":"a","method":"resources/list"}`, nil, 200, `"result":`},
			{"request of what isn't offered", "POST", relay, `{"server":"a","method":"prompts/list"}`, nil, 502, "offers no prompts"},
			{"request of a tool", "POST", relay, `{"server":"a","method":"tools/call"}`, nil, 400, "isn't relayed"},
			{"request with an array", "POST", relay, `{"server":"a","method":"prompts/list","params":[]}`, nil, 400, "object"},
			{"request with half a body", "POST", relay, `{"server"`, nil, 400, ""},
			{"request of an unknown server", "POST", relay, `{"server":"x","method":"prompts/list"}`, nil, 404, `\"x\"`},
			{"request that isn't approved", "POST", relay, `{"server":"n","method":"prompts/list"}`, nil, 403, "agent mcp approve n"},
			{"request of an entry that can't be used", "POST", relay, `{"server":"worse","method":"prompts/list"}`, nil, 502, ""},
			{"request without a token", "POST", relay, `{"server":"a","method":"prompts/list"}`, []string{"X-Grant", "none"}, 401, ""},
			{"request beyond the token", "POST", relay, `{"server":"a","method":"prompts/list"}`, []string{"X-Grant", "other"}, 403, "scope mcp"},
			{"request with a fence", "POST", relay, `{"server":"a","method":"prompts/list"}`, []string{"X-Grant", "plan"}, 403, "plan"},

			{"servers", "GET", servers, "", nil, 200, `"name":"a"`},
			{"servers, waiting", "GET", servers + "?wait=1s", "", nil, 200, `"phase":"complete"`},
			{"servers, waiting for no time", "GET", servers + "?wait=x", "", nil, 400, "wait"},
			{"a server", "GET", servers + "/a", "", nil, 200, `"env_names":["CONTACT","DATABASE","KEY"],"redacted":["KEY"]`},
			{"a server that needs an approval", "GET", servers + "/n", "", nil, 200, `"outcome":"needs_approval"`},
			{"a server that is dialed", "GET", servers + "/r", "", nil, 200, `"url_host":"r.example.com"`},
			{"a server with a bad name", "GET", servers + "/bad__name", "", nil, 200, `"outcome":"failed"`},
			{"an entry that can't be used", "GET", servers + "/worse", "", nil, 200, `"outcome":"failed"`},
			{"a server with a body", "GET", servers + "/a", "{}", nil, 400, "no body"},
			{"no server", "GET", servers + "/x", "", nil, 404, "agent mcp list"},
			{"its log", "GET", servers + "/a/logs", "", nil, 200, "connected: 1 tool"},
			{"a piece of its log", "GET", servers + "/a/logs?offset=2&limit=10", "", nil, 200, `"next_offset":12`},
			{"its log, waiting", "GET", servers + "/n/logs?wait_ms=10&offset=100000", "", nil, 200, ""},
			{"its log from before", "GET", servers + "/a/logs?offset=-1", "", nil, 400, "offset"},
			{"nothing of its log", "GET", servers + "/a/logs?limit=0", "", nil, 400, "limit"},
			{"its log, waiting backwards", "GET", servers + "/a/logs?wait_ms=-1", "", nil, 400, "wait_ms"},
			{"no log", "GET", servers + "/x/logs", "", nil, 404, ""},

			{"restart", "POST", servers + "/a/restart", "", nil, 204, ""},
			{"restart without an approval", "POST", servers + "/n/restart", "", nil, 409, "agent mcp approve n"},
			{"restart what can't be used", "POST", servers + "/worse/restart", "", nil, 502, ""},
			{"restart with something", "POST", servers + "/a/restart", `{"x":1}`, nil, 400, ""},
			{"restart nothing", "POST", servers + "/x/restart", "", nil, 404, ""},
			{"restart without a token", "POST", servers + "/a/restart", "", []string{"X-Grant", "none"}, 401, ""},
			{"restart beyond the token", "POST", servers + "/a/restart", "", []string{"X-Grant", "other"}, 403, ""},

			{"approve without a token", "POST", servers + "/n/approve", "{" + digests + "}", []string{"X-Grant", "none"}, 401, ""},
			{"approve beyond the token", "POST", servers + "/n/approve", "{" + digests + "}", []string{"X-Grant", "other"}, 403, "approve"},
			{"approve what was never seen", "POST", servers + "/n/approve", `{"definition":"","local":""}`, nil, 409, "agent mcp show n"},
			{"approve what can't be used", "POST", servers + "/worse/approve", "{" + digests + "}", nil, 409, "nothing to decide"},
			{"approve nothing", "POST", servers + "/x/approve", "{" + digests + "}", nil, 404, ""},
			{"approve half", "POST", servers + "/n/approve", "{", nil, 400, ""},
			{"approve", "POST", servers + "/n/approve", "{" + digests + `,"unix":true,"ports":[443],"read":["/usr/share"]}`, nil, 204, ""},
			{"deny without a token", "POST", servers + "/n/deny", "", []string{"X-Grant", "none"}, 401, ""},
			{"deny beyond the token", "POST", servers + "/n/deny", "", []string{"X-Grant", "other"}, 403, ""},
			{"deny with something", "POST", servers + "/n/deny", `{"x":1}`, nil, 400, ""},
			{"deny what can't be used", "POST", servers + "/worse/deny", "", nil, 409, ""},
			{"deny nothing", "POST", servers + "/x/deny", "", nil, 404, ""},
			{"deny", "POST", servers + "/n/deny", "", nil, 204, ""},

			{"sign in to what is started", "POST", servers + "/a/login", "", nil, 409, "isn't a server that is dialed"},
			{"sign in to nothing", "POST", servers + "/x/login", "{}", nil, 404, ""},
			{"sign in with half a body", "POST", servers + "/r/login", "{", nil, 400, ""},
			{"sign in by what wasn't begun", "POST", servers + "/r/login", `{"redirect":"http://127.0.0.1:1/callback?code=x"}`, nil, 409, "begin one"},
			{"sign out", "POST", servers + "/r/login", `{"forget":true}`, nil, 200, `"done":true`},
			{"sign in without a token", "POST", servers + "/r/login", "{}", []string{"X-Grant", "none"}, 401, ""},
			{"sign in beyond the token", "POST", servers + "/r/login", "{}", []string{"X-Grant", "other"}, 403, ""},

			{"search", "GET", search + "?q=say", "", nil, 200, `"name":"a__echo"`},
			{"search nothing", "GET", search + "?q=unheard", "", nil, 200, `{"phase":"complete","tools":[],"tokens":0,"omitted":0}`},
			{"search with few tokens", "GET", search + "?q=say&tokens=1", "", nil, 200, `"tools":[],"tokens":0,"omitted":2`},
			{"search a few", "GET", search + "?limit=1", "", nil, 200, `"omitted":1`},
			{"search badly", "GET", search + "?limit=x", "", nil, 400, "limit"},
			{"search with less than nothing", "GET", search + "?tokens=-1", "", nil, 400, "tokens"},
			{"search twice", "GET", search + "?q=a&q=b", "", nil, 400, "more than once"},
			{"a result that isn't there", "GET", results + "/x", "", nil, 404, ""},
			{"a result from before", "GET", results + "/x?offset=-1", "", nil, 400, "offset"},
		} {
			code, text := w.text(c.method, c.target, c.body, c.headers...)
			if code != c.code || !strings.Contains(text, c.contains) {
				t.Errorf("%s: %d %s\nwant %d with %s", c.name, code, text, c.code, c.contains)
			}
			if strings.Contains(text, w.env["TOKEN"]) {
				t.Errorf("%s: it has the token: %s", c.name, text)
			}
			synctest.Wait()
		}
		for _, target := range []string{call, relay, servers + "/n/approve", servers + "/n/login"} {
			if code, _ := w.text("POST", target, strings.Repeat(" ", 5<<20)+"{}"); code != http.StatusRequestEntityTooLarge {
				t.Errorf("%s of a large body: %d", target, code)
			}
			if code, _ := w.text("POST", target, "x", "Content-Type", "text/plain"); code != http.StatusUnsupportedMediaType {
				t.Errorf("%s of no JSON: %d", target, code)
			}
		}
		for _, target := range []string{tools, servers, search} {
			tag := w.call("GET", target, "").Header.Get("ETag")
			if code, _ := w.text("GET", target, "", "If-None-Match", tag); code != http.StatusNotModified {
				t.Errorf("%s by its tag: %d", target, code)
			}
		}
		if left := w.doc.Undocumented(400, 401, 403, 404, 405, 429); len(left) > 0 {
			t.Errorf("answers that aren't documented: %q", left)
		}
		unseen := slices.DeleteFunc(w.doc.Unseen(), func(s string) bool { return strings.HasSuffix(s, " 429") || strings.HasSuffix(s, "/login 502") })
		if !slices.Equal(unseen, []string{"GET " + results + "/{id} 200"}) {
			t.Errorf("codes that are documented and that nothing is answered with: %q", unseen)
		}
	})
}

// answers are what the server of TestContract does.
func answers(given string) func(ctx context.Context, c *session.Call) (*session.Result, error) {
	return func(ctx context.Context, c *session.Call) (*session.Result, error) {
		var want map[string]any
		_ = json.Unmarshal(c.Arguments, &want)
		r := &session.Result{Content: []session.Content{{Type: "text", Text: c.Tool + string(c.Arguments)}}}
		switch {
		case want["fail"] != nil:
			r.IsError = true
		case want["kinds"] != nil:
			r.Content = []session.Content{
				{Type: "text", Text: "t"}, {Type: "image", Data: []byte{1, 2}, MediaType: "image/png"}, {Type: "resource_link", URI: "file:///x", Name: "x"},
			}
			r.Structured = json.RawMessage(`{"a":1}`)
		case want["env"] != nil:
			r.Content[0].Text = "KEY=" + given
		case want["error"] != nil:
			return nil, &session.ServerError{Code: -32000, Message: "with " + given, Data: json.RawMessage(`{"given":"` + given + `","why":"` + strings.Repeat("y", 1200) + `!"}`),
				Raw: json.RawMessage(`{"code":-32000,"message":"m","data":{"given":"` + given + `"}}`)}
		case want["structured"] != nil:
			r.Content, r.Structured = []session.Content{{Type: "text"}}, json.RawMessage(`{"key":"`+given+`"}`)
		case want["block"] != nil:
			return block(ctx, c)
		}
		return r, nil
	}
}

// TestServerError: a server's error is in the answer as it has sent it, without values that it
// was given.
func TestServerError(t *testing.T) {
	bubble(t, settings, func(w *world) {
		f := w.fakes.server("a")
		f.tools, f.call = []catalog.Tool{tool("x", "Fails.")}, answers("hunter22-secret")
		w.configure(map[string]definition{"a": {"command": "./server", "args": []string{"a"}, "env": map[string]string{"TOKEN": "hunter22-secret"}}})
		synctest.Wait()
		body := `{"tool_name":"a__x","arguments":{"error":true}}`
		for _, accept := range []string{"application/json", "text/event-stream"} {
			_, text := w.text("POST", agentapi.PathMCPCallTool, body, "Accept", accept)
			if !strings.Contains(text, `"cause":{"code":-32000,"message":"m","data":{"given":"`) || strings.Contains(text, "hunter22") {
				t.Errorf("%s: %s", accept, text)
			}
		}
	})
}

// TestLongResult: the beginning and the end are answered, and the whole is read in
// pages that end on a character.
func TestLongResult(t *testing.T) {
	with := settings
	with.ResultBytes, with.ResultSpool = 4<<10, 8<<20
	bubble(t, with, func(w *world) {
		long := "begin " + strings.Repeat("früh ", 40_000) + "end"
		image := bytes.Repeat([]byte{7}, 4<<20)
		content := []session.Content{{Type: "text", Text: long}}
		var structured json.RawMessage
		w.fakes.server("a").call = func(context.Context, *session.Call) (*session.Result, error) {
			return &session.Result{Content: content, Structured: structured}, nil
		}
		w.configure(map[string]definition{"a": stdio("a")})
		synctest.Wait()
		called := func() *agentapi.MCPToolResult {
			code, text := w.say("a", "x")
			r := new(agentapi.MCPToolResult)
			if err := json.Unmarshal([]byte(text), r); err != nil || code != 200 || !utf8.ValidString(text) {
				t.Fatalf("%d %v %.200s", code, err, text)
			}
			if r.Truncated == nil || len(text) > 6<<10 {
				t.Fatalf("%d bytes, truncated %+v", len(text), r.Truncated)
			}
			return r
		}
		whole := func(r *agentapi.MCPToolResult) *agentapi.MCPToolResult {
			var b strings.Builder
			for offset := int64(0); ; {
				page := get[agentapi.MCPResultPage](w, fmt.Sprintf("%s/%s?offset=%d&limit=1000", agentapi.PathMCPResults, r.Truncated.ResultID, offset))
				b.WriteString(page.Text)
				if !utf8.ValidString(page.Text) || len(page.Text) > 1000 || page.Length != r.Truncated.OriginalBytes {
					t.Fatalf("a page of %d bytes of %d", len(page.Text), page.Length)
				}
				if page.NextOffset == page.Length {
					break
				}
				if page.NextOffset <= offset {
					t.Fatalf("after %d comes %d", offset, page.NextOffset)
				}
				offset = page.NextOffset
			}
			all := new(agentapi.MCPToolResult)
			if err := json.Unmarshal([]byte(b.String()), all); err != nil {
				t.Fatal(err)
			}
			return all
		}
		r := called()
		if s := r.Content[0].Text; !strings.HasPrefix(s, "begin früh") || !strings.HasSuffix(s, " end") || !strings.Contains(s, "... [omitted 2") {
			t.Errorf("shown: %.50s … %s", s, s[len(s)-20:])
		}
		if got := whole(r); got.Content[0].Text != long {
			t.Error("the pages aren't the result")
		}
		first := r.Truncated.ResultID
		content = []session.Content{{Type: "text", Text: "see:"}, {Type: "image", Data: image, MediaType: "image/png"}, {Type: "text", Text: "that was it"}}
		r = called()
		if len(r.Content) != 3 || r.Content[0].Text != "see:" || !strings.Contains(r.Content[1].Text, "piece 2, image/png image of 4194304 bytes, is left out: a piece may have 3932160") || r.Content[2].Text != "that was it" {
			t.Errorf("shown: %+v", r.Content)
		}
		if got := whole(r); len(got.Content[1].Data) < len(image) {
			t.Error("the image isn't kept")
		}
		// An object of which the content doesn't say the same is shown as far as it fits.
		content, structured = []session.Content{{Type: "text", Text: "done"}}, json.RawMessage(`{"rows":["`+strings.Repeat("r", 9000)+`"]}`)
		if r = called(); r.Structured != nil || len(r.Content) != 2 || r.Content[0].Text != "done" || !strings.HasPrefix(r.Content[1].Text, `{"rows":["rrr`) {
			t.Errorf("shown: %+v", r.Content)
		}
		structured = nil
		// The oldest ones go.
		content = []session.Content{{Type: "text", Text: strings.Repeat("x", 7_900_000)}}
		called()
		if code, _ := w.text("GET", agentapi.PathMCPResults+"/"+first, ""); code != http.StatusNotFound {
			t.Errorf("the oldest result: %d", code)
		}
		content[0].Text = strings.Repeat("x", 9<<20)
		code, text := w.say("a", "x")
		if code != 200 || strings.Contains(text, "result_id") || !strings.Contains(text, "truncated") {
			t.Errorf("one too long to be kept: %d %.100s", code, text)
		}
		// Thousands of pieces.
		content = slices.Repeat([]session.Content{{Type: "text", Text: "x"}}, 5000)
		if r := called(); len(r.Content) > 200 {
			t.Errorf("%d pieces are shown", len(r.Content))
		}
	})
}

// TestMedia: images and audio have limits of their own, so that a text that is too long
// costs no image, and an image of some size isn't left out.
func TestMedia(t *testing.T) {
	with := settings
	with.ResultBytes = 4 << 10
	bubble(t, with, func(w *world) {
		piece := func(kind string, size int) session.Content {
			return session.Content{Type: kind, MediaType: kind + "/x", Data: bytes.Repeat([]byte{7}, size)}
		}
		long := session.Content{Type: "text", Text: strings.Repeat("x", 9<<10)}
		for name, c := range map[string]struct {
			content   []session.Content
			kept      int // pieces with data
			truncated bool
		}{
			"an image of 1 MiB":      {[]session.Content{piece("image", 1<<20)}, 1, false},
			"audio of 3 MiB":         {[]session.Content{piece("audio", 3<<20)}, 1, false},
			"with a long text":       {[]session.Content{long, piece("image", 100<<10), long}, 1, true},
			"one that is too large":  {[]session.Content{piece("image", 4<<20), piece("image", 5)}, 1, true},
			"too many":               {slices.Repeat([]session.Content{piece("image", 3<<20)}, 5), 4, true},
			"a blob of other things": {[]session.Content{{Type: "resource", URI: "x://y", MediaType: "application/pdf", Data: make([]byte, 9<<10)}}, 0, true},
			"a blob that is one":     {[]session.Content{{Type: "resource", URI: "x://y", MediaType: "image/png", Data: make([]byte, 9<<10)}}, 1, false},
		} {
			w.fakes.server("a").set(func(f *fakeServer) {
				f.call = func(context.Context, *session.Call) (*session.Result, error) {
					return &session.Result{Content: c.content}, nil
				}
			})
			w.configure(map[string]definition{"a": stdio("a")})
			synctest.Wait()
			code, text := w.say("a", "x")
			r := new(agentapi.MCPToolResult)
			if err := json.Unmarshal([]byte(text), r); err != nil || code != 200 {
				t.Fatalf("%s: %d %v %.200s", name, code, err, text)
			}
			kept := 0
			for _, c := range r.Content {
				if c.Data != "" {
					kept++
				}
			}
			if kept != c.kept || (r.Truncated != nil) != c.truncated {
				t.Errorf("%s: %d pieces with data, truncated %+v", name, kept, r.Truncated)
			}
		}
	})
}

// TestProgress: events, the last of which is the result or an error.
func TestProgress(t *testing.T) {
	bubble(t, settings, func(w *world) {
		a := w.fakes.server("a")
		a.call = func(_ context.Context, c *session.Call) (*session.Result, error) {
			for i := range 3 {
				time.Sleep(10 * time.Second)
				c.Progress(session.Progress{Progress: float64(i + 1), Total: 3, Message: "step"})
			}
			if strings.Contains(string(c.Arguments), "fail") {
				return nil, errors.New("out of cheese")
			}
			return &session.Result{}, nil
		}
		w.configure(map[string]definition{"a": stdio("a")})
		synctest.Wait()
		code, text := w.say("a", "x", "Accept", "text/event-stream")
		want := `event: progress
data: {"progress":1,"total":3,"message":"step"}

: alive

event: progress
data: {"progress":2,"total":3,"message":"step"}

event: progress
data: {"progress":3,"total":3,"message":"step"}

event: result
data: {"content":[],"is_error":false}

`
		if code != 200 || strings.ReplaceAll(text, ": alive\n\n", "") != strings.ReplaceAll(want, ": alive\n\n", "") || !strings.Contains(text, ": alive") {
			t.Errorf("%d %s", code, text)
		}
		_, text = w.say("a", "fail", "Accept", "text/event-stream")
		if !strings.HasSuffix(text, "event: error\ndata: {\"code\":502,\"message\":\"the tool was not called\",\"detail\":\"out of cheese\"}\n\n") {
			t.Errorf("%s", text)
		}
		if code, _ := w.say("x", "x", "Accept", "text/event-stream"); code != http.StatusNotFound {
			t.Errorf("what is known before it begins: %d", code)
		}
	})
}

// TestProgressKeepsAlive: a server that reports progress may take longer than the timeout,
// by whatever call, but not for ever; one that stops reporting is given up. The reason says
// whose time it was.
func TestProgressKeepsAlive(t *testing.T) {
	for name, c := range map[string]struct {
		every   time.Duration
		reports int
		took    time.Duration
		want    string
	}{
		"reports":       {50 * time.Second, 6, 5 * time.Minute, `"is_error":false`},
		"stops":         {50 * time.Second, 2, 100*time.Second + time.Minute, "has neither answered nor reported progress within 1m0s (call_timeout in [mcp] of the configuration)"},
		"goes on":       {time.Second, 1e6, 10 * time.Minute, "has reported progress, and not answered within 10m0s"},
		"never reports": {time.Second, 0, time.Minute, "hasn't answered within 1m0s (call_timeout in [mcp] of the configuration)"},
	} {
		for _, accept := range []string{"application/json", "text/event-stream"} {
			t.Run(name+" "+accept, func(t *testing.T) {
				bubble(t, settings, func(w *world) {
					w.fakes.server("a").call = func(ctx context.Context, call *session.Call) (*session.Result, error) {
						for i := range c.reports {
							select {
							case <-time.After(c.every):
								call.Progress(session.Progress{Progress: float64(i)})
							case <-ctx.Done():
								return nil, ctx.Err()
							}
						}
						if strings.Contains(c.want, "is_error") {
							return &session.Result{}, nil
						}
						<-ctx.Done()
						return nil, ctx.Err()
					}
					w.configure(map[string]definition{"a": stdio("a")})
					synctest.Wait()
					begun := time.Now()
					if _, text := w.say("a", "x", "Accept", accept); !strings.Contains(text, c.want) || time.Since(begun) != c.took {
						t.Errorf("after %s: %.2000s", time.Since(begun), text[max(0, len(text)-2000):])
					}
				})
			})
		}
	}
}

// TestGone: a call ends with its client, and more than the server may answer wait.
func TestGone(t *testing.T) {
	bubble(t, settings, func(w *world) {
		a := w.fakes.server("a")
		begun, ended := make(chan bool, 100), make(chan bool, 100)
		a.call = func(ctx context.Context, c *session.Call) (*session.Result, error) {
			begun <- true
			defer func() { ended <- true }()
			return block(ctx, c)
		}
		w.configure(map[string]definition{"a": stdio("a")})
		synctest.Wait()
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan bool, 100)
		for i := range 20 {
			r := httptest.NewRequest("POST", agentapi.PathMCPCallTool, strings.NewReader(`{"tool_name":"a__echo"}`))
			r.Header.Set("Content-Type", "application/json")
			if i%2 == 0 {
				r.Header.Set("Accept", "text/event-stream")
			}
			go func() {
				defer func() { done <- true }()
				w.serve(r.WithContext(ctx))
			}()
		}
		synctest.Wait()
		if n := len(begun); n != 16 {
			t.Errorf("%d calls at the same time, want 16", n)
		}
		time.Sleep(11 * time.Minute / 20)
		cancel()
		synctest.Wait()
		if len(done) != 20 || len(ended) != len(begun) {
			t.Errorf("%d have ended, %d of %d calls", len(done), len(ended), len(begun))
		}
		// One that goes on for long isn't idle.
		if _, running, _ := a.counts(); running != 1 {
			t.Errorf("%d run", running)
		}
	})
}

// serve answers a request as it comes over the socket, and drops what is said.
func (w *world) serve(r *http.Request) {
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, overSocket(r))
	_, _ = io.Copy(io.Discard, rec.Result().Body)
}

// TestTrimmed: rows hold as many tools as fit, all of them together too, and say what
// they leave out; the list has all.
func TestTrimmed(t *testing.T) {
	bubble(t, settings, func(w *world) {
		servers := map[string]definition{}
		for i := range 20 {
			name := fmt.Sprintf("s%02d", i)
			servers[name] = stdio(name)
			f := w.fakes.server(name)
			f.tools = nil
			for j := range 20 {
				f.tools = append(f.tools, tool(fmt.Sprint("t", j), strings.Repeat("\"<é\n", 1000)))
			}
		}
		w.fakes.server("s00").tools = w.fakes.server("s00").tools[:2]
		with := settings
		with.Bytes = 16 << 20
		w.service.SetSettings(with)
		w.configure(servers)
		w.row("s00")
		total := 0
		rows := w.service.Resources()
		for _, c := range rows {
			total += len(c.Payload)
			var payload struct{ Tools []catalog.Tool }
			if n := convert.BodyJSON(&c.Resource); c.Kind != abi.KindMCPServer || len(c.Payload) > 64<<10 || n > 64<<10 {
				t.Errorf("%s: %d bytes, %d encoded", c.Key, len(c.Payload), n)
			}
			if c.Payload == nil {
				continue
			}
			if err := json.Unmarshal(c.Payload, &payload); err != nil {
				t.Errorf("%s: %v", c.Key, err)
			}
			want := 20
			if c.Key == "s00" {
				want = 2
			}
			if trimmed := c.Attributes["tools_trimmed"].Text; trimmed != fmt.Sprint(want-len(payload.Tools)) && (trimmed != "" || len(payload.Tools) != want) {
				t.Errorf("%s: %d tools, and %q are trimmed", c.Key, len(payload.Tools), trimmed)
			}
		}
		if len(rows) != 20 || total > 1<<20 || total < 1<<19 {
			t.Errorf("%d rows of %d bytes", len(rows), total)
		}
		if _, tools, _ := w.tools(""); len(strings.Fields(tools)) != 19*20+2 {
			t.Errorf("%d tools are listed", len(strings.Fields(tools)))
		}
	})
}

// TestPublished: rows and outcomes change together, and a call changes neither.
func TestPublished(t *testing.T) {
	bubble(t, settings, func(w *world) {
		servers := map[string]definition{}
		for i := range 20 {
			servers[fmt.Sprint("s", i)] = stdio(fmt.Sprint("s", i))
		}
		changes := 0
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() {
			for {
				changed := w.service.Changed()
				if d := w.service.Discovery(); d.Phase == snapshot.PhaseComplete && len(d.Sources) != len(w.service.Resources()) {
					t.Errorf("%d sources, %d rows", len(d.Sources), len(w.service.Resources()))
				}
				select {
				case <-changed:
					changes++
				case <-ctx.Done():
					return
				}
			}
		}()
		w.configure(servers)
		if d := w.service.Discovery(); d.Phase != snapshot.PhasePending {
			t.Error("it is complete before the servers are known")
		}
		w.row("s0")
		if d := w.service.Discovery(); d.Phase != snapshot.PhaseComplete || len(d.Sources) != 20 {
			t.Errorf("%+v", d)
		}
		if changes > 4 {
			t.Errorf("twenty servers make %d changes", changes)
		}
		changes = 0
		for range 5 {
			w.say("s3", "hi")
			time.Sleep(time.Second)
		}
		if changes != 0 {
			t.Errorf("calls make %d changes", changes)
		}
	})
}

// TestSearch: what matches better comes first.
func TestSearch(t *testing.T) {
	bubble(t, settings, func(w *world) {
		f := w.fakes.server("hub")
		f.tools = []catalog.Tool{
			tool("create_issue", "Open an issue in a repository."), tool("searchIssues", "Find issues."), tool("get_file", "Read a file of a repository."),
			{Name: "merge", Description: "Merge a pull request.", InputSchema: json.RawMessage(`{"properties":{"repository":{"description":"owner/name"},"any":true}}`)},
			{Name: "odd", InputSchema: json.RawMessage(`true`)}, // it is held back
		}
		w.configure(map[string]definition{"hub": stdio("hub")})
		synctest.Wait()
		for query, want := range map[string]string{
			"create+issue": "create_issue searchIssues", "ISSUES": "create_issue searchIssues", "read+file": "get_file",
			"repository": "create_issue get_file merge", "owner": "merge", "hub": "create_issue get_file merge searchIssues", "": "create_issue get_file merge searchIssues",
			"zzz": "", "search": "searchIssues",
		} {
			found := get[agentapi.MCPSearch](w, agentapi.PathMCPSearch+"?q="+query)
			var names []string
			for _, t := range found.Tools {
				names = append(names, strings.TrimPrefix(t.Name, "hub__"))
			}
			if got := strings.Join(names, " "); got != want {
				t.Errorf("%q: %s, want %s", query, got, want)
			}
		}
	})
}

// TestPatterns: who may call some tools is shown those, in a list and in a search, and
// calls no others, by whichever of the agent's own tools that came.
func TestPatterns(t *testing.T) {
	bubble(t, settings, func(w *world) {
		for _, name := range []string{"a", "b"} {
			f := w.fakes.server(name)
			f.tools, f.call = []catalog.Tool{tool("echo", "Say it."), tool("edit", "Change it.")}, answers("")
		}
		w.configure(map[string]definition{"a": stdio("a"), "b": stdio("b")})
		synctest.Wait()
		all := "a__echo a__edit b__echo b__edit"
		for patterns, want := range map[string]string{
			"": all, "*": all, "a__*": "a__echo a__edit", "*__echo": "a__echo b__echo", "b__edit read_file": "b__edit",
			"call_tool": "", "find_tools read_file": "", "call_tool find_tools a__e[c]*": "a__echo", "echo": "", "a": "", "A__*": "",
		} {
			w.grant = &access.Grant{ID: "narrow", Scopes: access.Scopes(), Tools: strings.Fields(patterns)}
			_, listed, _ := w.tools("")
			var found, called []string
			for _, t := range get[agentapi.MCPSearch](w, agentapi.PathMCPSearch+"?q=").Tools {
				found = append(found, t.Name)
			}
			for _, name := range strings.Fields(all) {
				switch code, text := w.text("POST", agentapi.PathMCPCallTool, fmt.Sprintf(`{"tool_name":%q}`, name)); {
				case code == http.StatusOK:
					called = append(called, name)
				case code != http.StatusForbidden:
					w.t.Errorf("%q, %s: %d %s", patterns, name, code, text)
				}
			}
			for way, got := range map[string]string{"listed": listed, "found": strings.Join(found, " "), "called": strings.Join(called, " ")} {
				if got != want {
					w.t.Errorf("%q, %s: %q, want %q", patterns, way, got, want)
				}
			}
		}
	})
}

// TestRequests: a server is asked about what it offers besides tools, by who may use all of it.
func TestRequests(t *testing.T) {
	bubble(t, settings, func(w *world) {
		w.fakes.server("a").offers = []string{catalog.OffersResources}
		w.fakes.server("b").tools = []catalog.Tool{tool("echo", "Say it.")}
		w.configure(map[string]definition{"a": stdio("a"), "b": stdio("b")})
		synctest.Wait()
		for _, s := range get[agentapi.MCPServers](w, agentapi.PathMCPServers).Servers {
			if got := strings.Join(s.Offers, " "); s.Name == "a" && got != "resources" || s.Name == "b" && got != "" {
				t.Errorf("%s offers %q", s.Name, got)
			}
		}
		for _, c := range []struct {
			body, tools string
			code        int
			says        string
		}{
			{`{"server":"a","method":"resources/read","params":{"uri":"a:b"}}`, "", 200, `{"result":{"method":"resources/read","params":{"uri":"a:b"}}}`},
			{`{"server":"a","method":"resources/list"}`, "a__* b__echo", 200, "resources/list"},
			{`{"server":"a","method":"resources/list"}`, "a__echo call_tool", 403, "not good for the server"},
			{`{"server":"a","method":"prompts/list"}`, "", 502, "offers no prompts"},
			{`{"server":"b","method":"resources/list"}`, "", 502, "offers no resources"},
			{`{"server":"c","method":"resources/list"}`, "", 404, "no configuration"},
			{`{"server":"a","method":"tools/call","params":{"name":"x"}}`, "", 400, "isn't relayed"},
			{`{"server":"a","method":"resources/list","params":[]}`, "", 400, "object"},
		} {
			w.grant = &access.Grant{ID: "narrow", Scopes: access.Scopes(), Tools: strings.Fields(c.tools)}
			if code, text := w.text("POST", agentapi.PathMCPRequest, c.body, "Content-Type", "application/json"); code != c.code || !strings.Contains(text, c.says) {
				t.Errorf("%s for %q: %d %s", c.body, c.tools, code, text)
			}
		}
	})
	narrowed := settings
	narrowed.Allow = []string{"a__list"}
	bubble(t, narrowed, func(w *world) {
		w.fakes.server("a").offers = []string{catalog.OffersResources}
		w.configure(map[string]definition{"a": stdio("a")})
		synctest.Wait()
		if code, text := w.text("POST", agentapi.PathMCPRequest, `{"server":"a","method":"resources/list"}`, "Content-Type", "application/json"); code != 403 {
			t.Errorf("of a server of which one tool is left: %d %s", code, text)
		}
	})
}

// TestAuthorization: a server that wants to be signed in to says so, and is not tried
// again and again.
func TestAuthorization(t *testing.T) {
	bubble(t, mcp.Settings{Trust: mcp.TrustWorkspace}, func(w *world) {
		r := w.fakes.server("r")
		r.refuse = session.ErrNeedsAuthorization
		w.configure(map[string]definition{"r": remote("r")})
		w.expect("asked for", snapshot.PhaseComplete, "", "r needs_authorization")
		time.Sleep(time.Hour)
		if starts, _, _ := r.counts(); starts != 1 {
			t.Errorf("%d tries", starts)
		}
		if code, text := w.text("POST", agentapi.PathMCPCallTool, `{"tool_name":"r__echo"}`); code != 403 || !strings.Contains(text, "agent mcp login r") {
			t.Errorf("%d %s", code, text)
		}
		r.set(func(f *fakeServer) { f.refuse = nil })
		w.tools("?refresh=true")
		w.expect("signed in", snapshot.PhaseComplete, "r__echo", "r connected")
	})
}

// TestFull: what waits, and what is called, is bounded, and says that it may be asked
// again later.
func TestFull(t *testing.T) {
	bubble(t, settings, func(w *world) {
		w.configure(map[string]definition{"a": stdio("a")})
		synctest.Wait()
		w.fakes.server("a").call = block
		var calls sync.WaitGroup
		for range 16 { // as many as one server answers
			calls.Go(func() { w.say("a", "x") })
		}
		synctest.Wait()
		calls.Go(func() {
			code, text := w.say("a", "x")
			if code != http.StatusTooManyRequests || !strings.Contains(text, "call again later") {
				t.Errorf("%d %s", code, text)
			}
		})
		code, text := w.say("a", "x", "Accept", "text/event-stream")
		if code != http.StatusOK || !strings.Contains(text, `"code":429`) || !strings.Contains(text, "call again later") {
			t.Errorf("as events: %d %s", code, text)
		}
		calls.Wait()
	})
}

// TestFullWaits is the same for those that wait.
func TestFullWaits(t *testing.T) {
	bubble(t, settings, func(w *world) {
		w.fakes.server("h").hang = true
		w.configure(map[string]definition{"h": stdio("h")})
		synctest.Wait()
		var waits sync.WaitGroup
		for range 64 {
			waits.Go(func() { w.text("GET", agentapi.PathMCPServers+"/h/logs?offset=1000000&wait_ms=20000", "") })
		}
		synctest.Wait()
		for _, target := range []string{
			agentapi.PathMCPTools + "?wait=1s", agentapi.PathMCPTools + "?refresh=true", agentapi.PathMCPServers + "?wait=1s", agentapi.PathMCPServers + "/h/logs?wait_ms=10",
		} {
			resp := w.call("GET", target, "")
			if resp.StatusCode != http.StatusTooManyRequests {
				t.Errorf("%s: %d", target, resp.StatusCode)
			}
		}
		if code, _ := w.text("GET", agentapi.PathMCPTools, ""); code != http.StatusOK {
			t.Errorf("without waiting: %d", code)
		}
		waits.Wait()
	})
}
