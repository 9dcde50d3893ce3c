package mcp_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/agentapi"
	"waymark/agentapi/client"
	hostile "waymark/test/mcp/servers"
	"waymark/test/testenv"
)

// lastLetters is how many letters each secret ends with.
const lastLetters = 10

// secrets makes values as credentials are: of letters and digits, or of characters
// that encodings change, too.
func secrets(random *rand.Rand, n int) (list []string) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	const special = letters + `"\/+&%=<>;:@ '`
	for i := range n {
		from := letters
		if i%2 == 1 {
			from = special
		}
		b := make([]byte, 24+random.IntN(40))
		for j := range b {
			b[j] = from[random.IntN(len(from))]
		}
		// Blanks at an end are cut from headers. The last ones stay as they are in most encodings.
		b[0] = letters[random.IntN(26)]
		for j := len(b) - lastLetters; j < len(b); j++ {
			b[j] = letters[random.IntN(26)]
		}
		if i%2 == 1 {
			copy(b[4:], "&;<%") // what JSON and URLs write in different ways
		}
		list = append(list, string(b))
	}
	return list
}

// needles are texts that show a secret: it, and what is surely its own in each of its
// encodings.
func needles(secret string) (list []string) {
	for _, form := range hostile.Encodings(secret) {
		if text := strings.Trim(form, `"=`); !strings.Contains(form, secret) && !strings.HasSuffix(text, "\\") {
			// The first and the last digits of base64 stand for neighbors, too; of "user:" six do.
			list = append(list, text[min(7, len(text)/4):len(text)-2])
		}
	}
	return append(list, secret, secret[len(secret)-lastLetters:])
}

// seen are the texts in which secrets were looked for.
type seen struct {
	t       *testing.T
	needles map[string]string // the secret's name
	texts   int
	bytes   int64
}

// in requires that a text shows no secret.
func (s *seen) in(where string, text []byte) {
	s.t.Helper()
	s.texts++
	s.bytes += int64(len(text))
	if name, at := s.find(text); name != "" {
		s.t.Errorf("%s shows %s: …%q…", where, name, text[min(max(at-60, 0), len(text)):min(at+60, len(text))])
	}
}

// find returns which secret a text shows, and where; "" where it shows none.
func (s *seen) find(text []byte) (name string, at int) {
	for needle, name := range s.needles {
		if at := bytes.Index(text, []byte(needle)); at >= 0 {
			return name, at
		}
	}
	return "", 0
}

// TestSecrets: no value of an entry is seen anywhere, whatever its server gives back
// and where.
func TestSecrets(t *testing.T) {
	t.Parallel()
	random := testenv.Rand(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// It says the whole request, encoded in several ways, in errors.
		var all []string
		for _, values := range r.Header {
			for _, v := range values {
				all = append(all, hostile.Encodings(v)...)
			}
		}
		for _, values := range r.URL.Query() {
			all = append(all, hostile.Encodings(values[0])...)
		}
		http.Error(w, r.URL.String()+" "+strings.Join(all, " ; "), http.StatusBadRequest)
	}))
	t.Cleanup(server.Close)

	w := newWorld(t, "")
	values := map[string]string{}
	list := secrets(random, 10)
	take := func(name string) string {
		values[name], list = list[0], list[1:]
		return values[name]
	}
	literal := w.hostileEntry("echoes")
	literal.Env = map[string]string{hostile.SecretPrefix + "LITERAL": take("a literal variable"), hostile.SecretPrefix + "SPECIAL": take("a literal variable with special characters")}
	referred := w.hostileEntry("echoes", hostile.SecretPrefix+"ARG=${SECRET_ARGUMENT}", hostile.SecretPrefix+"TOO=${SECRET_ARGUMENT_TOO}")
	referred.Env = map[string]string{hostile.SecretPrefix + "REFERENCE": "${SECRET_VARIABLE}", hostile.SecretPrefix + "WITHIN": "Bearer ${SECRET_VARIABLE_TOO}"}
	w.env = []string{
		"SECRET_ARGUMENT=" + take("an argument"), "SECRET_ARGUMENT_TOO=" + take("an argument with special characters"),
		"SECRET_VARIABLE=" + take("a variable"), "SECRET_VARIABLE_TOO=" + take("a variable with special characters"),
		"SECRET_HEADER=" + take("a header"), "SECRET_QUERY=" + url.QueryEscape(take("a query with special characters")),
	}
	header := entry{
		Type: "http", URL: server.URL + "/mcp?key=${SECRET_QUERY}",
		Headers: map[string]string{"Authorization": "Bearer ${SECRET_HEADER}", "X-Api-Key": take("a literal header")},
	}
	dies := w.hostileEntry("dies-at-start")
	dies.Env = map[string]string{"TOKEN": take("a variable of one that dies")}
	w.configure(config{"literal": literal, "referred": referred, "header": header, "dies": dies})
	names := []string{"dies", "header", "literal", "referred"}

	s := &seen{t: t, needles: map[string]string{}}
	for name, value := range values {
		for _, needle := range needles(value) {
			s.needles[needle] = name
		}
	}
	w.start()
	w.listed(names...)
	s.outputs(w, names) // before anything is approved
	w.approve(names...)
	for _, name := range []string{"literal", "referred"} {
		w.becomes(name, works...)
		s.calls(w, name)
	}
	w.becomes("header", failed...)
	w.becomes("dies", failed...)
	s.outputs(w, names)
	s.hub(w)
	w.stop()
	s.in("the agent's log", []byte(w.agent.Output()))
	s.files(w)
	t.Logf("looked for %d values in %d texts, %d bytes", len(values), s.texts, s.bytes)
	s.canTell(w, values)
}

// calls calls every tool of a server, in all the ways in which it gives values back.
func (s *seen) calls(w *world, name string) {
	s.t.Helper()
	d, err := w.client.MCPServer(w.ctx, name)
	w.must(err)
	if len(d.Tools) < 10 {
		s.t.Errorf("%s has %d tools: %v", name, len(d.Tools), d.Findings)
	}
	for i, tool := range d.Tools {
		if i%3 != 0 && !strings.HasSuffix(tool.Name, "t0") { // some are enough
			continue
		}
		for _, arguments := range []string{"{}", `{"how":"error"}`} {
			call := agentapi.CallMCPTool{ToolName: tool.Name, Arguments: json.RawMessage(arguments)}
			r, err := w.client.CallMCPTool(w.ctx, call, func(p agentapi.MCPProgress) { s.in(name+"'s progress", fmt.Append(nil, p)) })
			text, _ := json.Marshal(r)
			s.in(name+"'s result", text)
			if r != nil {
				for _, c := range r.Content {
					data, _ := base64.StdEncoding.DecodeString(c.Data)
					s.in(name+"'s result, as text", []byte(c.Text+"\n"+c.Name+"\n"+c.URI+"\n"+string(data)))
				}
			}
			if err != nil {
				s.in(name+"'s error", []byte(err.Error()))
			}
		}
	}
	out, _ := w.run("mcp", "call", d.Tools[0].Name)
	s.in("mcp call", []byte(out))
	_, err = w.call(name+"__t0", `{"how":"die"}`)
	s.in(name+"'s end", fmt.Append(nil, err))
	w.becomes(name, works...)
}

// outputs are what people and programs can ask of the agent.
func (s *seen) outputs(w *world, names []string) {
	s.t.Helper()
	commands := [][]string{{"mcp", "list"}, {"mcp", "search", "it"}, {"status"}, {"snapshot"}, {"doctor"}, {"resolve"}}
	for _, name := range names {
		commands = append(commands, []string{"mcp", "show", name}, []string{"mcp", "logs", name})
	}
	for _, args := range commands {
		for _, more := range [][]string{nil, {"--json"}} {
			out, _ := w.run(slices.Concat(args, more)...)
			s.in("agent "+strings.Join(args, " "), []byte(out))
		}
	}
	snapshot, err := w.client.Snapshot(w.ctx, client.SnapshotOptions{})
	w.must(err)
	text, err := json.Marshal(snapshot)
	w.must(err)
	s.in("the snapshot", text)
	for i := range snapshot.Resources {
		payload, err := w.client.Resource(w.ctx, snapshot.Resources[i].ID())
		s.in("the payload of "+snapshot.Resources[i].Name, fmt.Append(payload, err))
	}
	metrics, err := w.client.Metrics(w.ctx)
	w.must(err)
	s.in("the metrics", metrics)
	tools, err := w.client.ListMCPTools(w.ctx, client.MCPToolOptions{})
	w.must(err)
	text, err = json.Marshal(tools)
	w.must(err)
	s.in("the tools", text)
}

// hub is what the hub that the agent has itself shows of it.
func (s *seen) hub(w *world) {
	s.t.Helper()
	hub := func(args ...string) []byte {
		cmd := exec.CommandContext(w.ctx, w.programs.Hub, args...)
		cmd.Env, cmd.Dir = w.home.Environ(), w.root
		out, err := cmd.CombinedOutput()
		if err != nil {
			s.t.Errorf("hub %v: %v\n%s", args, err, out)
		}
		s.in("hub "+strings.Join(args, " "), out)
		return out
	}
	var agents []struct {
		ID string `json:"id"`
	}
	w.await("that the hub has the servers", func() (any, bool) {
		if err := json.Unmarshal(hub("agents", "--json"), &agents); err != nil || len(agents) == 0 {
			return err, false
		}
		out := hub("context", agents[0].ID, "--json")
		return string(out), strings.Contains(string(out), "mcp_server") && strings.Contains(string(out), "referred")
	})
	hub("context", agents[0].ID)
	hub("agents")
}

// files are those that the agent keeps: state, cache, the hub's database.
func (s *seen) files(w *world) {
	s.t.Helper()
	n := 0
	for _, dir := range []string{"state", "cache", "run", "home"} {
		w.must(filepath.WalkDir(filepath.Join(w.home.Dir, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(filepath.Clean(path))
			s.in(path, data)
			n++
			return err
		}))
	}
	if n < 5 {
		s.t.Errorf("it keeps %d files", n)
	}
}

// canTell requires that secrets would have been seen.
func (s *seen) canTell(w *world, values map[string]string) {
	s.t.Helper()
	for name, value := range values {
		for _, form := range hostile.Encodings(value) {
			if found, _ := s.find([]byte(form)); found == "" {
				s.t.Errorf("%s could be shown as %q", name, form)
			}
		}
	}
	if text, err := os.ReadFile(filepath.Join(w.root, ".mcp.json")); err != nil || !strings.Contains(string(text), "SECRET_VARIABLE") {
		s.t.Errorf("%v: %s", err, text)
	}
}
