package session_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"waymark/workspace/mcp/session"
)

// FuzzServer sends anything as a server's standard output. It may fail, and has to end.
func FuzzServer(f *testing.F) {
	hello := `{"jsonrpc":"2.0","id":1,"result":` + strings.ReplaceAll(hello, "\n", "") + "}\n"
	f.Add("")
	f.Add("Listening\n[1]\n{\n")
	f.Add(hello)
	f.Add(hello + `{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a","inputSchema":{"x":[[[{}]]]}},null],"nextCursor":"1"}}` + "\n" +
		`{"jsonrpc":"2.0","id":3,"result":{"tools":[]}}` + "\n" + `{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text"}]}}` + "\n")
	f.Add(hello + `{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"\u001b"}}` + "\n" +
		`{"jsonrpc":"2.0","id":3,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{}}}}}` + "\n")
	f.Add(hello + `[{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}},{"jsonrpc":"2.0","id":"x","method":"ping"}]`)
	f.Add(hello + `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":` + strings.Repeat("[", 3000) + "\n")
	f.Fuzz(func(t *testing.T, said string) {
		stdin, in := io.Pipe()
		out, stdout := io.Pipe()
		go func() { _, _ = io.Copy(io.Discard, stdin) }()
		go func() {
			_, _ = io.WriteString(stdout, said)
			_ = stdout.Close()
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s, err := session.Stdio(ctx, in, out, session.Options{Protocol: session.Fallback, Caps: session.Caps{Pages: 3, Line: 1 << 16}})
		if err == nil {
			_, _ = s.Catalogue(ctx)
			_, _ = s.Call(ctx, &session.Call{Tool: "a", Progress: func(session.Progress) {}})
			<-s.Done()
			_ = s.Close()
		}
		if ctx.Err() != nil {
			t.Fatal("it hasn't ended")
		}
		_ = stdin.Close()
	})
}
