package session_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"waymark/workspace/mcp/session"
)

// server is a server on standard streams that a test plays. Lines that the client
// sends come to handle, one after the other.
type server struct {
	t      *testing.T
	out    *io.PipeWriter
	handle func(s *server, m message)

	stdin  io.WriteCloser // the client's ends
	stdout io.ReadCloser
	ended  chan struct{}

	mu   sync.Mutex
	seen []message
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func play(t *testing.T, handle func(s *server, m message)) *server {
	t.Helper()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	s := &server{t: t, out: outWrite, handle: handle, stdin: inWrite, stdout: outRead, ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		defer func() { _ = outWrite.Close() }()
		lines := bufio.NewReader(inRead)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			var m message
			if err := json.Unmarshal(line, &m); err != nil {
				t.Errorf("the client sends %q: %v", line, err)
				return
			}
			s.mu.Lock()
			s.seen = append(s.seen, m)
			s.mu.Unlock()
			s.handle(s, m)
		}
	}()
	t.Cleanup(func() {
		_ = inRead.Close()
		_ = outRead.Close()
		<-s.ended
	})
	return s
}

// say writes lines as they are.
func (s *server) say(lines ...string) {
	for _, line := range lines {
		if _, err := io.WriteString(s.out, line+"\n"); err != nil {
			return // the client has closed it
		}
	}
}

// result answers a request.
func (s *server) result(m message, result string) {
	s.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result))
}

func (s *server) refuse(m message, code int, text string) {
	quoted, _ := json.Marshal(text)
	s.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, m.ID, code, quoted))
}

// sent returns what the client has sent of a method.
func (s *server) sent(method string) []message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []message
	for _, m := range s.seen {
		if m.Method == method {
			found = append(found, m)
		}
	}
	return found
}

const hello = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"logging":{}},
	"serverInfo":{"name":"odd","title":"Odd one","version":"1.2"},"instructions":"Be kind."}`

// ordinary is a server of 2025-11-25 that knows what it must; call handles tools/call.
func ordinary(tools string, call func(s *server, m message)) func(s *server, m message) {
	return func(s *server, m message) {
		switch m.Method {
		case "initialize":
			s.result(m, strings.ReplaceAll(hello, "\n", " "))
		case "notifications/initialized", "notifications/cancelled", "":
		case "tools/list":
			s.result(m, `{"tools":`+tools+`}`)
		case "tools/call":
			call(s, m)
		case "ping":
			s.result(m, `{}`)
		default:
			s.refuse(m, -32601, "method not found")
		}
	}
}

func (s *server) connect(opts session.Options) (session.Session, error) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel() // it bounds connecting alone
	return session.Stdio(ctx, s.stdin, s.stdout, opts)
}

// open connects, and closes with the test.
func (s *server) open(opts session.Options) session.Session {
	s.t.Helper()
	got, err := s.connect(opts)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = got.Close() })
	return got
}

func codes(t *testing.T, findings any) string {
	t.Helper()
	encoded, err := json.Marshal(findings)
	if err != nil {
		t.Fatal(err)
	}
	var list []struct{ Code, Tool string }
	if err := json.Unmarshal(encoded, &list); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, f := range list {
		fmt.Fprintf(&b, "%s(%s) ", f.Code, f.Tool)
	}
	return strings.TrimSpace(b.String())
}
