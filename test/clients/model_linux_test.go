package clients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// modelAt is where the model of a test listens: each program has a network namespace of its
// own, so that the port is free and settings can name it.
const modelAt = "127.0.0.1:4321"

// modelScript has the tools that the model calls, as JSON.
const modelScript = "WAYMARK_TEST_CLIENT_SCRIPT"

// toolCall is one that the model makes. A name that begins with "*" stands for the tool of the
// server waymark whose name ends so, under the name that the program gives it.
type toolCall struct {
	Name string `json:"name"`
	Args any    `json:"args"`
}

func jsonOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and maps of them
	}
	return string(text)
}

// answerer is a model that speaks the APIs of Anthropic, Google and OpenAI (chat completions
// and responses). It makes the calls of its script, one for each request with tools, and then
// says "ok". It keeps the requests.
type answerer struct {
	mu       sync.Mutex // guards what follows
	script   []toolCall
	requests []json.RawMessage
}

// runAsked runs a command with such a model, and prints the requests.
func runAsked(args []string) error {
	m := &answerer{}
	if err := json.Unmarshal([]byte(os.Getenv(modelScript)), &m.script); err != nil {
		return err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", modelAt)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: m} // in a namespace of its own
	go func() { _ = server.Serve(l) }()
	defer func() { _ = server.Close() }()
	cmd := exec.CommandContext(context.Background(), args[0], args[1:]...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.requests) == 0 { // some programs end with an error after the model's last word
		return fmt.Errorf("the program has asked its model nothing: %w\n%s", err, out.Bytes())
	}
	return json.NewEncoder(os.Stdout).Encode(m.requests)
}

func (m *answerer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var asked struct {
		Tools  []json.RawMessage `json:"tools"`
		Stream bool              `json:"stream"`
	}
	if r.Method != http.MethodPost || err != nil || json.Unmarshal(body, &asked) != nil {
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"m","object":"model"}]}`)
		return
	}
	m.mu.Lock()
	m.requests = append(m.requests, body)
	var call *toolCall
	if len(asked.Tools) > 0 && len(m.script) > 0 {
		next := m.script[0]
		if next.Name = offered(next.Name, asked.Tools); next.Name != "" {
			call, m.script = &next, m.script[1:]
		}
	}
	m.mu.Unlock()
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/messages"):
		events(w, anthropic(call), true)
	case strings.HasSuffix(path, "/responses"):
		events(w, responses(call), true)
	case strings.Contains(path, ":streamGenerateContent"):
		events(w, google(call), false)
	case strings.Contains(path, ":generateContent"):
		_, _ = io.WriteString(w, google(call)[0])
	case strings.Contains(path, ":countTokens"):
		_, _ = io.WriteString(w, `{"totalTokens":1}`)
	case strings.HasSuffix(path, "/chat/completions") && !asked.Stream:
		_, _ = io.WriteString(w, `{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
	case strings.HasSuffix(path, "/chat/completions"):
		events(w, append(completions(call), "[DONE]"), false)
	default:
		_, _ = io.WriteString(w, "{}")
	}
}

var toolName = regexp.MustCompile(`"name":\s*"([^"]*)"`)

// offered returns the name under which a tool is offered; empty if it isn't.
func offered(name string, tools []json.RawMessage) string {
	suffix, found := strings.CutPrefix(name, "*")
	if !found {
		return name
	}
	plain := ""
	for _, tool := range tools {
		for _, m := range toolName.FindAllStringSubmatch(string(tool), -1) {
			switch {
			case strings.Contains(m[1], "waymark") && strings.HasSuffix(m[1], suffix):
				return m[1]
			case m[1] == suffix: // Continue says no server's name
				plain = suffix
			}
		}
	}
	return plain
}

// events sends server-sent events, with the type of each as its name if that is wanted.
func events(w http.ResponseWriter, list []string, named bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range list {
		if kind, _, ok := strings.Cut(strings.TrimPrefix(event, `{"type":"`), `"`); named && ok {
			_, _ = fmt.Fprintf(w, "event: %s\n", kind)
		}
		_, _ = fmt.Fprintf(w, "data: %s\n\n", event)
	}
}

func anthropic(call *toolCall) []string {
	block, delta, end := `{"type":"text","text":""}`, `{"type":"text_delta","text":"ok"}`, "end_turn"
	if call != nil {
		block = `{"type":"tool_use","id":"toolu_1","name":` + jsonOf(call.Name) + `,"input":{}}`
		delta, end = `{"type":"input_json_delta","partial_json":`+jsonOf(jsonOf(call.Args))+`}`, "tool_use"
	}
	return []string{
		`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":` + block + `}`,
		`{"type":"content_block_delta","index":0,"delta":` + delta + `}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"` + end + `"},"usage":{"output_tokens":1}}`, `{"type":"message_stop"}`,
	}
}

func responses(call *toolCall) []string {
	item := `{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"ok"}]}`
	if call != nil {
		item = `{"type":"function_call","id":"f1","call_id":"call1","name":` + jsonOf(call.Name) + `,"arguments":` + jsonOf(jsonOf(call.Args)) + `}`
	}
	return []string{
		`{"type":"response.created","response":{"id":"r"}}`, `{"type":"response.output_item.done","item":` + item + `}`,
		`{"type":"response.completed","response":{"id":"r","usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}}`,
	}
}

func google(call *toolCall) []string {
	part := `{"text":"ok"}`
	if call != nil {
		part = `{"functionCall":{"name":` + jsonOf(call.Name) + `,"args":` + jsonOf(call.Args) + `}}`
	}
	return []string{`{"candidates":[{"content":{"role":"model","parts":[` + part + `]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}`}
}

func completions(call *toolCall) []string {
	delta, finish := `{"role":"assistant","content":"ok"}`, "stop"
	if call != nil {
		delta = `{"role":"assistant","tool_calls":[{"index":0,"id":"call1","type":"function","function":{"name":` + jsonOf(call.Name) + `,"arguments":` + jsonOf(jsonOf(call.Args)) + `}}]}`
		finish = "tool_calls"
	}
	var list []string
	// Continue drops what comes in a chunk with a usage.
	const head = `{"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[`
	return append(list, head+`{"index":0,"delta":`+delta+`,"finish_reason":null}]}`,
		head+`{"index":0,"delta":{},"finish_reason":"`+finish+`"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
}

// noTools are empty lists of tools.
var noTools = regexp.MustCompile(`^(null|\[\s*\])?$`)

// requestsOf are the texts of the first request and of the last one, of those that offer
// tools: others are for titles and the like.
func requestsOf(t *testing.T, out []byte) (first, last string) {
	t.Helper()
	var all []json.RawMessage
	if err := json.Unmarshal(out, &all); err != nil {
		t.Errorf("%v: %s", err, brief(string(out)))
		return "", ""
	}
	found := false
	for _, request := range all {
		var asked struct {
			Tools  json.RawMessage `json:"tools"`
			System json.RawMessage `json:"systemInstruction"`
		}
		if json.Unmarshal(request, &asked) != nil || noTools.Match(asked.Tools) {
			continue
		}
		// A model has this first, wherever it stands.
		if last = texts(asked.System) + texts(request); !found {
			first, found = last, true
		}
	}
	if !found && len(all) > 0 {
		last = texts(all[len(all)-1])
		first = last
	}
	return first, last
}

// texts are all strings of a JSON text, in their order.
func texts(data []byte) string {
	var b strings.Builder
	d := json.NewDecoder(bytes.NewReader(data))
	for {
		token, err := d.Token()
		if err != nil {
			return b.String()
		}
		if text, ok := token.(string); ok {
			b.WriteString(text)
			b.WriteByte('\n')
		}
	}
}
