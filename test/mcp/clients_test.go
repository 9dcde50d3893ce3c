package mcp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"waymark/test/testenv"
)

// oddTools are the members of tools beside their names.
var oddTools = []string{
	`"inputSchema":{"type":"object"}`, ``, `"inputSchema":null`, `"inputSchema":[]`, `"inputSchema":"x"`, `"inputSchema":true`, `"inputSchema":{}`,
	`"inputSchema":{"type":["object"]}`, `"inputSchema":{"type":["object","null"]}`, `"inputSchema":{"type":"string"}`, `"inputSchema":{"type":null}`, `"inputSchema":{"Type":"object"}`,
	`"inputSchema":{"type":"object","type":"array"}`, `"inputSchema":{"type":"\u006fbject"}`,
	`"inputSchema":{"type":"object","properties":null}`, `"inputSchema":{"type":"object","properties":[]}`, `"inputSchema":{"type":"object","properties":"x"}`,
	`"inputSchema":{"type":"object","properties":{"a":true,"b":false,"c":null,"d":"x","e":7,"f":[],"g":{"type":"string"}}}`,
	`"inputSchema":{"type":"object","properties":{"a":{},"a":true}}`, `"inputSchema":{"type":"object","properties":{},"properties":[]}`, `"inputSchema":{"type":"object","properties":{"__proto__":true,"constructor":null}}`,
	`"inputSchema":{"type":"object","required":null}`, `"inputSchema":{"type":"object","required":true}`, `"inputSchema":{"type":"object","required":"a"}`,
	`"inputSchema":{"type":"object","required":[1,"a",null]}`, `"inputSchema":{"type":"object","required":{"a":true}}`, `"inputSchema":{"type":"object","properties":{"a":{"type":"string","required":true}}}`,
	`"inputSchema":{"$schema":7,"type":"object"}`, `"inputSchema":{"$schema":"http://json-schema.org/draft-03/schema#","type":"object"}`,
	`"inputSchema":{"type":"object","properties":{"a":{"$ref":"#/nowhere"},"b":{"$ref":"https://example.com/s.json"},"c":{"$ref":"#"}}}`,
	`"inputSchema":{"type":"object","properties":{"a":{"type":"string","pattern":"([","format":"nothing"}},"additionalProperties":[]}`,
	`"inputSchema":{"type":"object","properties":{"a":{"type":"number","maximum":1e400}}}`, `"inputSchema":{"type":"object","properties":{"a":{"default":12345678901234567890123}}}`,
	`"inputSchema":{"type":"object","properties":{"a":{"type":"object","x-mcp-header":""}}}`, `"inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A b"}}}`,
	`"inputSchema":{"type":"object","oneOf":[1],"anyOf":{},"allOf":null,"not":7}`, `"inputSchema":{"type":"object","properties":{"a":` + strings.Repeat(`{"items":`, 50) + `{}` + strings.Repeat(`}`, 50) + `}}`,
	`"inputSchema":` + strings.Repeat(`{"properties":`, 300) + `{}` + strings.Repeat(`}`, 300), `"inputSchema":{"type":"object","description":"` + strings.Repeat("x", 300<<10) + `"}`,
	`"inputSchema":{"type":"object"},"outputSchema":{"type":"array"}`, `"inputSchema":{"type":"object"},"outputSchema":7`, `"inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"a":{"pattern":"(["}}}`,
	`"inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"a":{"$ref":"#/nowhere"}}}`, `"inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"a":{"type":"nothing"}}}`,
	`"inputSchema":{"type":"object"},"outputSchema":{"type":"object","$schema":"http://json-schema.org/draft-03/schema#"}`, `"inputSchema":{"type":"object"},"outputSchema":{"type":"object","$id":"x","$ref":"https://example.com/s.json"}`,
	`"inputSchema":{"type":"object"},"description":7`, `"inputSchema":{"type":"object"},"description":null`, `"inputSchema":{"type":"object"},"title":{}`,
	`"inputSchema":{"type":"object"},"annotations":7`, `"inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"yes"}`, `"inputSchema":{"type":"object"},"annotations":{"title":7,"destructiveHint":null}`,
	`"inputSchema":{"type":"object"},"annotations":{"READONLYHINT":"yes","x":1e400}`, `"inputSchema":{"type":"object"},"_meta":7`, `"inputSchema":{"type":"object"},"icons":"x"`, `"inputSchema":{"type":"object"},"execution":{"taskSupport":"x"}`,
}

// oddResults are results of calls.
var oddResultsOfCalls = []string{
	`{"content":[{"type":"text","text":"x"}],"structuredContent":[1]}`, `{"structuredContent":"x"}`, `{"structuredContent":{"a":1}}`, `{"content":[],"structuredContent":7}`, `{}`,
	`{"content":[{"type":"hologram"},null,7,"x",{"type":7},{"type":"text","text":7},{"type":"image","data":"%%%"},{"type":"image","data":"AA=="},{"type":"audio"},{"type":"text","text":"last"}]}`,
	`{"content":[{"type":"resource_link"},{"type":"resource_link","uri":"x"},{"type":"resource"},{"type":"resource","resource":{}},{"type":"resource","resource":{"uri":"a:b","blob":"%"}}]}`,
	`{"content":[{"type":"text","text":"x","annotations":7,"_meta":[]}],"_meta":7,"isError":null}`, `{"content":7}`, `[]`, `{"content":[],"isError":"yes"}`,
}

// randomSchema is JSON that is nearly a schema.
func randomSchema(rnd *rand.Rand, depth int) string {
	scalars := []string{`null`, `true`, `false`, `0`, `-1`, `1e400`, `1e308`, `"object"`, `"string"`, `""`, `"\ud800"`, `[]`, `{}`, `["object"]`, `["a",1]`, `["a"]`}
	if depth == 0 || rnd.IntN(4) == 0 {
		return scalars[rnd.IntN(len(scalars))]
	}
	keys := []string{"type", "properties", "required", "$schema", "items", "a", "b", "x-mcp-header", "$ref", "additionalProperties", "enum", "Properties", "__proto__"}
	var b strings.Builder
	b.WriteString(`{"type":"object"`)
	for range rnd.IntN(5) {
		fmt.Fprintf(&b, `,%q:%s`, keys[rnd.IntN(len(keys))], randomSchema(rnd, depth-1))
	}
	return b.String() + "}"
}

// oddServer lists tools as they are, over HTTP.
func (w *world) oddServer(tools []string) string {
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Name string `json:"name"`
			} `json:"params"`
		}
		if body, _ := io.ReadAll(r.Body); r.Method != http.MethodPost || json.Unmarshal(body, &m) != nil {
			http.Error(rw, "no", http.StatusMethodNotAllowed)
			return
		}
		result := ""
		switch {
		case m.ID == nil:
			rw.WriteHeader(http.StatusAccepted)
			return
		case m.Method == "initialize":
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"}}`
		case m.Method == "tools/list":
			result = `{"tools":[` + strings.Join(tools, ",") + `]}`
		case m.Method == "tools/call":
			result = `{"content":[]}`
			for i, one := range oddResultsOfCalls {
				if m.Params.Name == fmt.Sprint("result", i) {
					result = one
				}
			}
		}
		rw.Header().Set("Content-Type", "application/json")
		if result == "" {
			_, _ = fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
			return
		}
		_, _ = fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	w.t.Cleanup(server.Close)
	return server.URL
}

// sdk runs testdata/sdk with one version of the official client.
func (w *world) sdk(modules, version string, input, output any, args ...string) {
	w.t.Helper()
	data, err := json.Marshal(input)
	w.must(err)
	script, err := filepath.Abs("testdata/sdk/sdk.mjs")
	w.must(err)
	cmd := exec.CommandContext(w.ctx, "node", append([]string{script, modules, version}, args...)...)
	cmd.Env, cmd.Dir, cmd.Stdin = append(w.home.Environ(), "PATH="+os.Getenv("PATH")), w.root, bytes.NewReader(data)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, output)
	}
	if err != nil {
		w.t.Fatalf("%s %v: %v\n%.2000s\n%.4000s", version, args, err, out, said.String())
	}
}

// TestOddTools: whatever a server lists, the official clients take the list that 'agent mcp
// serve' makes of it, with the tools of all other servers. What they would have refused of
// a tool is a finding that names it, and what they take is passed on as it is.
func TestOddTools(t *testing.T) {
	t.Parallel()
	modules := fromNPM(t, "testdata/npm")
	rnd := testenv.Rand(t)
	w := newWorld(t, "")
	var tools []string
	add := func(name, members string) {
		if members != "" {
			members = "," + members
		}
		tools = append(tools, fmt.Sprintf(`{"name":%q%s}`, name, members))
	}
	for i, members := range oddTools {
		add(fmt.Sprintf("t%d-", i), members)
	}
	for i := range oddResultsOfCalls {
		add(fmt.Sprint("result", i), `"inputSchema":{"type":"object"}`)
	}
	for i := range testenv.Rounds(40, 100, 100) { // more aren't taken of one server
		add(fmt.Sprintf("r%d-", i), `"inputSchema":`+randomSchema(rnd, 4))
	}
	w.configure(config{"odd": {Type: "http", URL: w.oddServer(append(tools, `7`, `null`, `{"inputSchema":{}}`, `{"name":7}`, `{"name":""}`, tools[0]))}, "good": w.hostileEntry("good")})
	w.start()
	w.listed("odd", "good")
	w.approve("odd", "good")
	w.becomes("good", works...)
	detail := w.becomes("odd", works...)
	findings := map[string]string{}
	for _, f := range detail.Findings {
		findings[f.Tool] += f.Text
	}
	refused := 0
	for _, version := range []string{"sdk", "client"} {
		var verdicts []string
		w.sdk(modules, version, tools, &verdicts, "judge")
		var got struct {
			Tools map[string]any
			Calls map[string]string
		}
		w.sdk(modules, version, nil, &got, "ask", w.programs.Agent, "mcp", "serve", "--list-all", "--dir", w.root)
		if got.Tools["good__echo"] == nil {
			t.Errorf("%s: the tools of the other server are missing", version)
		}
		for i, raw := range tools {
			var tool struct {
				Name        string `json:"name"`
				InputSchema any    `json:"inputSchema"`
			}
			err := json.Unmarshal([]byte(raw), &tool)
			if tool.Name == "" {
				tool.Name = strings.Split(raw, `"`)[3]
			}
			served, listed := got.Tools["odd__"+tool.Name]
			switch finding := findings[tool.Name]; {
			case verdicts[i] != "":
				refused++
				// Nothing is said of what is passed on of no tool, or is as good as not there.
				if finding == "" && !slices.ContainsFunc([]string{`"outputSchema"`, `"_meta"`, `"icons"`, `"execution"`, `"description":null`}, func(s string) bool { return strings.Contains(raw, s) }) {
					t.Errorf("%s refuses %.200s, and nothing is said of it", version, raw)
				}
			case !listed && finding == "":
				t.Errorf("%s takes %.200s, and it isn't listed", version, raw)
			case err == nil && finding == "" && !strings.Contains(raw, "__proto__") && !reflect.DeepEqual(served, tool.InputSchema):
				t.Errorf("%s takes %.200s, and it is listed with %v", version, raw, served)
			}
		}
		if len(got.Calls) != len(oddResultsOfCalls) {
			t.Errorf("%s: %d calls", version, len(got.Calls))
		}
		for name, failure := range got.Calls {
			if failure != "" {
				t.Errorf("%s: %s: %s", version, name, failure)
			}
		}
	}
	if refused < 20 {
		t.Errorf("%d tools are refused at first: they aren't odd", refused)
	}
	out, err := w.run("mcp", "show", "odd")
	if w.must(err); !strings.Contains(out, "  t9-: The tool's schema is one for which clients or models refuse all tools, and the tool is left out: its type isn't \"object\"") {
		t.Errorf("show: %.3000s", out)
	}
	w.stop()
}
