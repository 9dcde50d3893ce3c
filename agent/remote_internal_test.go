package agent

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"waymark/agentapi"
	"waymark/host/config"
	"waymark/internal/httpapi"
	"waymark/wire"
	"waymark/wire/reverse"
	"waymark/wire/waymark"
	"waymark/workspace/access"
	"waymark/workspace/mcpserver/tools"
)

// hubSide is what a hub can ask of the services of a workspace, with the whole API
// behind them.
type hubSide struct {
	*services
	t testing.TB
}

func newHubSide(t *testing.T) *hubSide {
	t.Helper()
	s, handler := newTestServices(t)
	c := config.Default().Services
	c.Hub = true
	s.configureServices(&c)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	server := &httpapi.Server{Handler: handler}
	go func() { served <- server.Serve(ctx, s.inside) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return &hubSide{s, t}
}

func (h *hubSide) mint(want agentapi.NewToken) *agentapi.MintedToken {
	h.t.Helper()
	if want.Hub == nil {
		want.Hub = &agentapi.Capability{}
	}
	made, err := h.tokens.Mint(h.t.Context(), &access.Grant{ID: access.ControlID, Scopes: access.Scopes()}, true, want)
	if err != nil {
		h.t.Fatal(err)
	}
	return made
}

// ask makes a request as a hub does.
func (h *hubSide) ask(kind string, request proto.Message) (*waymark.ToolsAnswer, error) {
	h.t.Helper()
	body, err := proto.Marshal(request)
	if err != nil {
		h.t.Fatal(err)
	}
	body, err = h.remote.Handlers()[kind](h.t.Context(), body)
	if err != nil {
		return nil, err
	}
	answer := new(waymark.ToolsAnswer)
	if err := proto.Unmarshal(body, answer); err != nil {
		h.t.Fatal(err)
	}
	return answer, nil
}

// call calls a tool and returns what a model sees; failed says that it is told so.
func (h *hubSide) call(capability, name, arguments string) (text string, failed bool, err error) {
	h.t.Helper()
	answer, err := h.ask(reverse.KindToolsCall, &waymark.ToolsCall{Capability: capability, Name: name, Arguments: []byte(arguments)})
	if err != nil {
		return "", false, err
	}
	whole := answer.GetJson()
	for len(whole) < int(answer.GetSize()) {
		more, err := h.ask(reverse.KindToolsMore, &waymark.ToolsMore{Capability: capability, Rest: answer.GetRest(), Offset: uint32(len(whole))})
		if err != nil {
			return "", false, err
		}
		whole = append(whole, more.GetJson()...)
	}
	var result struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(whole, &result); err != nil {
		h.t.Fatalf("%v: %.200q", err, whole)
	}
	for _, c := range result.Content {
		text += c.Text
	}
	return text, result.IsError, nil
}

// listed are the names of the tools that a capability is offered.
func (h *hubSide) listed(capability string) (names []string) {
	h.t.Helper()
	answer, err := h.ask(reverse.KindToolsList, &waymark.ToolsList{Capability: capability})
	if err != nil {
		h.t.Fatal(err)
	}
	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(answer.GetJson(), &list); err != nil {
		h.t.Fatal(err)
	}
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	return names
}

func codeOf(err error) uint64 {
	var no *reverse.Error
	if errors.As(err, &no) {
		return no.Code
	}
	return 0
}

// acting are arguments with which each tool that acts would do so.
func acting(root string) map[string]string {
	file := filepath.Join(root, "made")
	return map[string]string{
		"execute":        `{"command":"touch ` + file + `"}`,
		"write_file":     `{"path":"` + file + `","content":"x"}`,
		"edit_files":     `{"files":[{"path":"` + root + `/kept","edits":[{"search":"kept","replace":"changed"}]}]}`,
		"process_signal": `{"process_id":"x"}`,
		"process_output": `{"process_id":"x"}`, // these look at what others started
		"process_list":   `{}`,
		"find_tools":     `{"query":"x"}`, // and these call tools of servers
		"call_tool":      `{"name":"server__tool","arguments":{}}`,
		"tool_result":    `{"id":"x"}`,
	}
}

// TestReadingCapability: a chat whose capability only reads can't act, whatever it
// names: no tool that needs a scope, no tool of a server, no route.
func TestReadingCapability(t *testing.T) {
	h := newHubSide(t)
	root := h.d.workspace.root
	kept := filepath.Join(root, "kept")
	if err := os.WriteFile(kept, []byte("kept\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	made := h.mint(agentapi.NewToken{})
	all := tools.All()
	reading := new(tools.Offer).Tools()
	var want []string
	for i := range reading {
		want = append(want, reading[i].Name)
	}
	if got := h.listed(made.Secret); !slices.Equal(got, want) {
		t.Errorf("it is offered %q, want %q", got, want)
	}
	names := []string{"", "server__tool", "x__", "__", "EXECUTE", "execute ", "execute\x00", "POST /api/v0/stop", "../execute", "tools.call", "find_tools", "call_tool"}
	for _, tool := range all.Tools() {
		if tool.Scope != "" {
			names = append(names, tool.Name, tool.Name+"__x", "x__"+tool.Name)
			if acting(root)[tool.Name] == "" {
				t.Errorf("nothing is known of what %s does: say with what it would act", tool.Name)
			}
		}
	}
	for route := range guards { // as a name, and as an argument
		names = append(names, route, strings.TrimPrefix(route, "POST "))
	}
	for _, name := range names {
		if _, _, err := h.call(made.Secret, name, acting(root)[name]); codeOf(err) != reverse.CodeDenied {
			t.Errorf("%q: %v", name, err)
		}
	}
	data, err := os.ReadFile(kept)
	if err != nil || string(data) != "kept\n" {
		t.Errorf("%q, %v", data, err)
	}
	if list, err := os.ReadDir(root); err != nil || len(list) != 1 {
		t.Errorf("the workspace has %v, %v", list, err)
	}
	if text, failed, err := h.call(made.Secret, "read_file", `{"path":"`+kept+`"}`); err != nil || failed || !strings.Contains(text, "kept") {
		t.Errorf("read_file: %q, %v, %v", text, failed, err)
	}
}

// TestCapabilityBounds: files outside of the workspace and on the secret list aren't
// there, a fence and a list of tools hold, and what is allowed is done.
func TestCapabilityBounds(t *testing.T) {
	h := newHubSide(t)
	root := h.d.workspace.root
	for name, text := range map[string]string{"a.txt": "inside\n", ".env": "KEY=1\n", "../outside": "outside\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plan := filepath.Join(root, "PLAN.md")
	reader := h.mint(agentapi.NewToken{}).Secret
	fenced := h.mint(agentapi.NewToken{Scopes: []string{"files", "mcp"}, Plan: plan}).Secret
	writer := h.mint(agentapi.NewToken{Scopes: []string{"files", "mcp"}, Hub: &agentapi.Capability{Tools: []string{"write_file", "tracker__*"}}}).Secret
	through := h.mint(agentapi.NewToken{Scopes: []string{"mcp"}, Hub: &agentapi.Capability{Tools: []string{"call_tool", "tracker__*"}}}).Secret
	for _, c := range []struct {
		name, capability, tool, arguments string
		code                              uint64
		refused                           string // what the model is told; "" where it is done
	}{
		{"inside", reader, "read_file", `{"path":"` + root + `/a.txt"}`, 0, ""},
		{"outside", reader, "read_file", `{"path":"` + filepath.Join(root, "../outside") + `"}`, 0, "workspace"},
		{"passwords", reader, "read_file", `{"path":"/etc/passwd"}`, 0, "workspace"},
		{"a secret", reader, "read_file", `{"path":"` + root + `/.env"}`, 0, "secret"},
		{"a list outside", reader, "list_directory", `{"path":"/"}`, 0, "workspace"},
		{"the plan", fenced, "write_file", `{"path":"` + root + `/PLAN.md","content":"x"}`, 0, ""},
		{"beside the plan", fenced, "write_file", `{"path":"` + root + `/a.txt","content":"x"}`, 0, "one file only"},
		{"a server behind a fence", fenced, "tracker__list", `{}`, reverse.CodeDenied, ""},
		{"not on the list", writer, "read_file", `{"path":"` + root + `/a.txt"}`, reverse.CodeDenied, ""},
		{"on the list", writer, "write_file", `{"path":"` + root + `/b.txt","content":"x"}`, 0, ""},
		{"on the list, outside", writer, "write_file", `{"path":"` + filepath.Join(root, "../made") + `","content":"x"}`, 0, "workspace"},
		{"no such server", writer, "tracker__list", `{}`, 0, "tracker"},
		{"another server", writer, "other__list", `{}`, reverse.CodeDenied, ""},
		{"by another tool", through, "call_tool", `{"name":"other__list"}`, 0, "not good for"},
		{"by another tool, on the list", through, "call_tool", `{"name":"tracker__list"}`, 0, "tracker"},
		{"no arguments", reader, "read_file", ``, 0, "needs path"},
		{"not JSON", reader, "read_file", `{`, 0, "no JSON"},
		{"large", reader, "read_file", `{"path":"` + strings.Repeat("x", 600<<10) + `"}`, wire.CodeTooLarge, ""},
	} {
		text, failed, err := h.call(c.capability, c.tool, c.arguments)
		switch {
		case codeOf(err) != c.code || c.code == 0 && err != nil:
			t.Errorf("%s: %v, want %d", c.name, err, c.code)
		case failed != (c.refused != "") || !strings.Contains(text, c.refused):
			t.Errorf("%s: %q, %v, want %q", c.name, text, failed, c.refused)
		}
	}
}

// TestNoCapability: whatever isn't a valid capability of this agent starts nothing.
func TestNoCapability(t *testing.T) {
	h := newHubSide(t)
	other := newHubSide(t)
	control := readFile(t, ControlFile(h.d.workspace.places.State).Path())
	soon := time.Now().Add(time.Millisecond)
	expired := h.mint(agentapi.NewToken{ExpiresAt: &soon, Scopes: []string{"processes"}})
	<-time.After(time.Until(soon.Add(time.Millisecond)))
	revoked := h.mint(agentapi.NewToken{Scopes: []string{"processes"}})
	if got := h.listed(revoked.Secret); !slices.Contains(got, "execute") {
		t.Fatalf("it is offered %q", got)
	}
	if err := h.tokens.Revoke(t.Context(), &access.Grant{ID: access.ControlID}, revoked.ID); err != nil {
		t.Fatal(err)
	}
	token, err := h.tokens.Mint(t.Context(), &access.Grant{ID: access.ControlID, Scopes: access.Scopes()}, true, agentapi.NewToken{})
	if err != nil {
		t.Fatal(err)
	}
	lent, end := h.tokens.Lend(&access.Grant{ID: "x", Scopes: access.Scopes()})
	defer end()
	for name, secret := range map[string]string{
		"none": "", "forged": "wmc_AAAAAAAAAAAAAAAAAAAAAAAAAA", "foreign": other.mint(agentapi.NewToken{Scopes: []string{"processes"}}).Secret,
		"expired": expired.Secret, "revoked": revoked.Secret, "the control token": control, "a token": token.Secret, "lent": lent,
		"an id": h.mint(agentapi.NewToken{}).ID,
	} {
		for kind, request := range map[string]proto.Message{
			reverse.KindToolsList: &waymark.ToolsList{Capability: secret},
			reverse.KindToolsCall: &waymark.ToolsCall{Capability: secret, Name: "execute", Arguments: []byte(`{"command":"true"}`)},
			reverse.KindToolsMore: &waymark.ToolsMore{Capability: secret},
		} {
			if _, err := h.ask(kind, request); codeOf(err) != wire.CodeUnauthorized || secret != "" && strings.Contains(err.Error(), secret) {
				t.Errorf("%s, %s: %v", name, kind, err)
			}
		}
	}
	good := h.mint(agentapi.NewToken{}).Secret
	h.configureServices(&config.Default().Services)
	for kind := range h.remote.Handlers() {
		if _, err := h.ask(kind, &waymark.ToolsList{Capability: good}); codeOf(err) != reverse.CodeDenied || !strings.Contains(err.Error(), "services.hub is false") {
			t.Errorf("switched off, %s: %v", kind, err)
		}
	}
}

// TestLongAnswers: an answer that no frame has room for comes in parts, for who has
// asked for it and nobody else.
func TestLongAnswers(t *testing.T) {
	h := newHubSide(t)
	path := filepath.Join(h.d.workspace.root, "long")
	line := strings.Repeat("\x01", 900) // of which JSON makes more than a frame has room for
	if err := os.WriteFile(path, []byte(strings.Repeat(line+"\n", 30)), 0o600); err != nil {
		t.Fatal(err)
	}
	one, two := h.mint(agentapi.NewToken{}).Secret, h.mint(agentapi.NewToken{}).Secret
	request := &waymark.ToolsCall{Capability: one, Name: "read_file", Arguments: []byte(`{"path":"` + path + `"}`)}
	first, err := h.ask(reverse.KindToolsCall, request)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.GetJson()) > reverse.MaxToHub-512 {
		t.Errorf("a part has %d bytes", len(first.GetJson()))
	}
	if text, failed, err := h.call(one, "read_file", `{"path":"`+path+`"}`); err != nil || failed || strings.Count(text, `\u0001`) != 27000 {
		t.Errorf("%d bytes, %v, %v", len(text), failed, err)
	}
	if int(first.GetSize()) <= len(first.GetJson()) {
		t.Fatalf("it has %d bytes, which are all in the first part", first.GetSize())
	}
	for name, request := range map[string]*waymark.ToolsMore{
		"another's": {Capability: two, Rest: first.GetRest()},
		"guessed":   {Capability: one, Rest: []byte("x")},
		"beyond":    {Capability: one, Rest: first.GetRest(), Offset: first.GetSize() + 1},
		"far":       {Capability: one, Rest: first.GetRest(), Offset: 1<<32 - 1},
	} {
		if _, err := h.ask(reverse.KindToolsMore, request); codeOf(err) != reverse.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRemoteAudit: the log says for whom what was called, and has neither the capability
// nor what was asked.
func TestRemoteAudit(t *testing.T) {
	h := newHubSide(t)
	made := h.mint(agentapi.NewToken{Scopes: []string{"files"}})
	for _, name := range []string{"write_file", "execute"} {
		_, _, _ = h.call(made.Secret, name, `{"path":"`+h.d.workspace.root+`/a.txt","content":"the content"}`)
	}
	list, _, err := access.ReadLog(h.d.workspace.places.State.Path())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range list {
		if r.Token != made.ID || r.Chat != made.Hub.Chat {
			t.Errorf("a line for %s, %s", r.Token, r.Chat)
		}
		got = append(got, r.Action+" "+http.StatusText(r.Code))
	}
	want := []string{"tools.call OK", "POST /api/v0/write-file OK", "tools.call Forbidden"}
	if !slices.Equal(got, want) {
		t.Errorf("the log has %q, want %q", got, want)
	}
	log := string(auditText(t, h.d.workspace.places.State.Path()))
	for _, secret := range []string{made.Secret, "the content", "wml_"} {
		if strings.Contains(log, secret) {
			t.Errorf("the log has %q", secret)
		}
	}
}

// TestSkillFileForAHub: a file of a skill takes a capability that reads skills, and a request
// that names one; what isn't what was pinned is told apart from the rest.
func TestSkillFileForAHub(t *testing.T) {
	h := newHubSide(t)
	digest := "sha256:" + strings.Repeat("0", 64)
	reads, narrow := h.mint(agentapi.NewToken{}), h.mint(agentapi.NewToken{Hub: &agentapi.Capability{Tools: []string{"read_file"}}})
	for name, c := range map[string]struct {
		capability, path, digest string
		want                     uint64
	}{
		"forged":            {"wmc_forged", "x.md", digest, wire.CodeUnauthorized},
		"without the tool":  {narrow.Secret, "x.md", digest, reverse.CodeDenied},
		"out of the skill":  {reads.Secret, "../x.md", digest, reverse.CodeInvalid},
		"an absolute path":  {reads.Secret, "/etc/passwd", digest, reverse.CodeInvalid},
		"without a digest":  {reads.Secret, "x.md", "", reverse.CodeInvalid},
		"of no skill there": {reads.Secret, "x.md", digest, reverse.CodeChanged},
	} {
		arguments, err := json.Marshal(reverse.SkillFile{Path: c.path, Digest: c.digest})
		if err != nil {
			t.Fatal(err)
		}
		_, err = h.ask(reverse.KindSkillFile, &waymark.ToolsCall{Capability: c.capability, Name: "skill:/none", Arguments: arguments})
		if codeOf(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
