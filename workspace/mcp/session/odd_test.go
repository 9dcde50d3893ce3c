package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"waymark/agentapi"
	"waymark/workspace/mcp/session"
)

// TestDiscover: a server that ignores methods that it doesn't know is found out, and
// works when it is started again. One that takes its time to start isn't taken for it.
func TestDiscover(t *testing.T) {
	t.Parallel()
	ignoring := func(s *server, m message) {
		if m.Method == "server/discover" {
			return
		}
		ordinary(`[]`, nil)(s, m)
	}
	silent := func(s *server, m message) {
		if m.Method != "server/discover" && m.Method != "ping" {
			ordinary(`[]`, nil)(s, m)
		}
	}
	for _, c := range []struct {
		name    string
		handle  func(s *server, m message)
		within  time.Duration
		restart bool
	}{
		{"ignores unknown methods", ignoring, 4 * time.Second, true},
		{"ignores pings, too", silent, 11 * time.Second, true},
		{"starts slowly", slowly(8*time.Second, ordinary(`[]`, nil)), 9 * time.Second, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				got, err := play(t, c.handle).connect(session.Options{})
				if took := time.Since(start); took > c.within {
					t.Errorf("it took %s", took)
				}
				if errors.Is(err, session.ErrDiscover) != c.restart {
					t.Errorf("got %v", err)
				}
				if err == nil {
					_ = got.Close()
				}
				if !c.restart {
					return
				}
				got, err = play(t, c.handle).connect(session.Options{Protocol: session.Fallback})
				if err != nil || got.Protocol() != session.Fallback {
					t.Fatalf("started again: %v", err)
				}
				if err := got.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func slowly(d time.Duration, handle func(s *server, m message)) func(s *server, m message) {
	var once sync.Once
	return func(s *server, m message) {
		once.Do(func() { time.Sleep(d) }) // the bubble's time
		handle(s, m)
	}
}

// TestConnectFails: whatever a server does instead of answering is an error in time.
func TestConnectFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		handle func(s *server, m message)
		want   string
	}{
		{"says nothing", func(*server, message) {}, "hasn't answered within 30s"},
		{"ends", func(s *server, _ message) { _ = s.out.Close() }, "the server has closed it"},
		{"refuses", func(s *server, m message) { s.refuse(m, -32000, "not\x1b[31m today"+strings.Repeat("x", 9000)) }, "the server answers with an error (-32000): not[31m todayxxx"},
		{"writes a line without an end", func(s *server, _ message) {
			for range 17 {
				if _, err := io.WriteString(s.out, strings.Repeat("x", 1<<20)); err != nil {
					return
				}
			}
		}, "more than 16777216 bytes"},
		{"answers with nonsense", func(s *server, m message) { s.result(m, `[1,2]`) }, ""},
		{"answers another question", func(s *server, m message) { s.say(`{"jsonrpc":"2.0","id":99,"result":{}}`) }, "hasn't answered within 30s"},
		{"speaks of the future", func(s *server, m message) {
			s.result(m, `{"protocolVersion":"2099-01-01","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`)
		}, "2099-01-01"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := play(t, c.handle)
				got, err := s.connect(session.Options{Protocol: session.Fallback})
				if err == nil {
					_ = got.Close()
					t.Fatal("it is connected")
				}
				if !strings.Contains(err.Error(), c.want) || len(err.Error()) > 4096 {
					t.Errorf("got %v, want %q", err, c.want)
				}
			})
		})
	}
}

// TestCancelConnect: whoever no longer wants to connect doesn't wait.
func TestCancelConnect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := play(t, func(*server, message) {})
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		if _, err := session.Stdio(ctx, s.stdin, s.stdout, session.Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// TestNotReading: a server that doesn't read holds up nobody but itself.
func TestNotReading(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		s := play(t, ordinary(`[]`, func(*server, message) { <-stuck }))
		got := s.open(session.Options{Protocol: session.Fallback})
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			start := time.Now()
			if _, err := got.Call(ctx, &session.Call{Tool: "x"}); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > time.Minute {
				t.Errorf("after %s: %v", time.Since(start), err)
			}
			cancel()
		}
		if err := got.Close(); err != nil {
			t.Error(err)
		}
		close(stuck)
	})
}

// TestCancel: a call that is given up ends at once and the server is told; its late
// answer harms nothing.
func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var first message
		s := play(t, func(s *server, m message) {
			if m.Method == "notifications/cancelled" {
				s.result(first, `{"content":[{"type":"text","text":"late"}]}`)
				return
			}
			ordinary(`[]`, func(s *server, m message) {
				if first.Method == "" {
					first = m
					return
				}
				s.result(m, `{"content":[{"type":"text","text":"second"}]}`)
			})(s, m)
		})
		got := s.open(session.Options{Protocol: session.Fallback})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if _, err := got.Call(ctx, &session.Call{Tool: "x", Progress: func(session.Progress) {}}); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > time.Second {
			t.Errorf("after %s: %v", time.Since(start), err)
		}
		synctest.Wait()
		told := s.sent("notifications/cancelled")
		if len(told) != 1 || !strings.Contains(string(told[0].Params), `"requestId":`+string(first.ID)) {
			t.Errorf("the server is told %s", told)
		}
		r, err := got.Call(t.Context(), &session.Call{Tool: "x"})
		if err != nil || r.Content[0].Text != "second" {
			t.Errorf("the next call: %+v, %v", r, err)
		}
	})
}

// TestProgress: it comes in order, and before the result, however fast the server is
// and however slow the one who is told.
func TestProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := play(t, ordinary(`[]`, func(s *server, m message) {
			var params struct {
				Meta struct {
					Token json.RawMessage `json:"progressToken"`
				} `json:"_meta"`
			}
			if err := json.Unmarshal(m.Params, &params); err != nil {
				t.Error(err)
			}
			for i := range 20 {
				s.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":20,"message":"step"}}`, params.Meta.Token, i))
				s.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":77,"progress":1}}`)
			}
			s.result(m, `{"content":[]}`)
		}))
		got := s.open(session.Options{Protocol: session.Fallback})
		var told []float64
		if _, err := got.Call(t.Context(), &session.Call{Tool: "x", Progress: func(p session.Progress) {
			time.Sleep(time.Second) // the bubble's
			if p.Total != 20 || p.Message != "step" {
				t.Errorf("told %+v", p)
			}
			told = append(told, p.Progress)
		}}); err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			if i >= len(told) || told[i] != float64(i) {
				t.Fatalf("told %v", told)
			}
		}
		if len(told) != 20 {
			t.Errorf("told %v", told)
		}
	})
}

// TestAsked: what a server asks is refused, and it is told that nothing is offered; one
// that asks without reading loses the session.
func TestAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answers := make(chan message, 10)
		s := play(t, func(s *server, m message) {
			if m.Method == "" {
				answers <- m
				return
			}
			ordinary(`[]`, nil)(s, m)
		})
		s.open(session.Options{Protocol: session.Fallback})
		for i, method := range []string{"ping", "roots/list", "sampling/createMessage", "elicitation/create", "no/such"} {
			s.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":"q%d","method":%q,"params":{}}`, i, method))
			answer := <-answers
			if got := len(answer.Error) > 0; got != (i > 1) || string(answer.ID) != fmt.Sprintf(`"q%d"`, i) {
				t.Errorf("%s is answered with %s %s", method, answer.Result, answer.Error)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		s := play(t, func(s *server, m message) {
			if m.Method == "" {
				<-stuck
			}
			ordinary(`[]`, nil)(s, m)
		})
		got := s.open(session.Options{Protocol: session.Fallback})
		go func() {
			for i := range 1000 {
				s.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i))
			}
		}()
		<-got.Done()
		if err := got.Err(); !strings.Contains(err.Error(), "without reading") {
			t.Errorf("it has ended with %v", err)
		}
		close(stuck)
	})
}

// TestAsksCaller: what a server may ask goes to its only caller, if that takes it, and so does
// what it logs; with two callers nobody is asked.
func TestAsksCaller(t *testing.T) {
	t.Parallel()
	form := `{"jsonrpc":"2.0","id":"f","method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object"}}}`
	answers := make(chan message, 10)
	begun := make(chan message, 10)
	s := play(t, func(s *server, m message) {
		if m.Method == "" {
			answers <- m
			return
		}
		ordinary(`[{"name":"a","inputSchema":{"type":"object"}}]`, func(_ *server, m message) { begun <- m })(s, m)
	})
	got := s.open(session.Options{Protocol: session.Fallback, Asks: []string{agentapi.MCPAskForm, agentapi.MCPAskRoots}})
	s.say(`{"jsonrpc":"2.0","id":"r","method":"roots/list"}`)
	if answer := <-answers; answer.Error == nil {
		t.Errorf("without a caller it is answered %s", answer.Result)
	}
	if sent := s.sent("initialize"); len(sent) != 1 || !strings.Contains(string(sent[0].Params), `"capabilities":{"elicitation":{"form":{}},"roots":{}}`) {
		t.Errorf("it is told %s", sent[0].Params)
	}
	var asked, logged []string
	call := &session.Call{
		Tool: "a", Asks: []string{agentapi.MCPAskForm, agentapi.MCPAskSampling},
		Ask: func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			asked = append(asked, method+" "+string(params))
			return json.RawMessage(`{"action":"decline"}`), nil
		},
		Log: func(level, logger string, data json.RawMessage) {
			logged = append(logged, level+" "+logger+" "+string(data))
		},
	}
	start := func(call *session.Call) (m message, done chan error) {
		done = make(chan error, 1)
		go func() {
			_, err := got.Call(t.Context(), call)
			done <- err
		}()
		return <-begun, done
	}
	first, firstDone := start(call)
	s.say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","logger":"l","data":{"x":1}}}`, form)
	if answer := <-answers; string(answer.Result) != `{"action":"decline"}` {
		t.Errorf("it is answered %s %s", answer.Result, answer.Error)
	}
	for _, method := range []string{"sampling/createMessage", "roots/list"} { // not in the options, and not in the call
		s.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":"s","method":%q,"params":{}}`, method))
		if answer := <-answers; answer.Error == nil {
			t.Errorf("%s is answered %s %s", method, answer.Result, answer.Error)
		}
	}
	second, secondDone := start(&session.Call{Tool: "a", Asks: call.Asks, Ask: call.Ask})
	s.say(form)
	if answer := <-answers; answer.Error == nil {
		t.Errorf("with two callers it is answered %s", answer.Result)
	}
	for m, done := range map[*message]chan error{&first: firstDone, &second: secondDone} {
		s.result(*m, `{"content":[]}`)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if want := []string{`elicitation/create {"message":"who?","requestedSchema":{"type":"object"}}`}; !slices.Equal(asked, want) {
		t.Errorf("asked %q", asked)
	}
	if want := []string{`warning l {"x":1}`}; !slices.Equal(logged, want) {
		t.Errorf("logged %q", logged)
	}
}

// TestAsksBefore: a server of 2026-07-28 asks in place of an answer, and is asked again with
// what the caller has said.
func TestAsksBefore(t *testing.T) {
	t.Parallel()
	var again []string
	s := play(t, func(s *server, m message) {
		switch {
		case m.Method == "server/discover":
			s.result(m, discovered)
		case m.Method == "tools/call" && !strings.Contains(string(m.Params), "requestState"):
			s.result(m, `{"resultType":"input_required","requestState":"st","inputRequests":{"k":{"method":"elicitation/create","params":{"mode":"form","message":"who?"}}}}`)
		case m.Method == "tools/call":
			var params struct{ InputResponses, RequestState json.RawMessage }
			_ = json.Unmarshal(m.Params, &params)
			again = append(again, string(params.InputResponses)+string(params.RequestState))
			s.result(m, `{"resultType":"complete","content":[{"type":"text","text":"thanks"}]}`)
		}
	})
	got := s.open(session.Options{Asks: []string{agentapi.MCPAskForm}})
	call := &session.Call{Tool: "a"}
	if r, err := got.Call(t.Context(), call); err == nil || !strings.Contains(err.Error(), "doesn't offer elicitation/create") {
		t.Errorf("for a caller that isn't asked: %+v, %v", r, err)
	}
	call.Asks = []string{agentapi.MCPAskForm}
	call.Ask = func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`{"action":"accept","content":{"name":"Alice"}}`), nil
	}
	r, err := got.Call(t.Context(), call)
	if err != nil || len(r.Content) != 1 || r.Content[0].Text != "thanks" {
		t.Errorf("%+v, %v", r, err)
	}
	if want := []string{`{"k":{"action":"accept","content":{"name":"Alice"}}}"st"`}; !slices.Equal(again, want) {
		t.Errorf("it is told %q", again)
	}
}

// TestEnds: Done and Err say when and why a session is over, and calls that wait end.
func TestEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		do   func(s *server)
		want string
	}{
		{"dies in the middle of a call", func(s *server) { _ = s.out.Close() }, "the server has closed it"},
		{"a line of 16 MiB", func(s *server) { s.say(`{"jsonrpc":"2.0","x":"` + strings.Repeat("x", 16<<20) + `"}`) }, "a line of more than 16777216 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := play(t, ordinary(`[]`, func(s *server, _ message) { c.do(s) }))
				got := s.open(session.Options{Protocol: session.Fallback})
				_, err := got.Call(t.Context(), &session.Call{Tool: "x"})
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("the call ends with %v", err)
				}
				<-got.Done()
				if err := got.Err(); !errors.Is(err, session.ErrClosed) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("it has ended with %v", err)
				}
				if _, err := got.Call(t.Context(), &session.Call{Tool: "x"}); !errors.Is(err, session.ErrClosed) {
					t.Errorf("the next call ends with %v", err)
				}
				_ = got.Close()
				_ = got.Close()
			})
		})
	}
}

// TestLog: what a server logs is told, bounded.
func TestLog(t *testing.T) {
	t.Parallel()
	var told []string
	s := play(t, ordinary(`[]`, func(s *server, m message) {
		s.say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","data":"careful"}}`,
			`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"odd\u001b","data":{"a":[1]}}}`,
			`{"jsonrpc":"2.0","method":"notifications/message"}`,
			`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"`+strings.Repeat("é", 9000)+`"}}`)
		s.result(m, `{"content":[]}`)
	}))
	got := s.open(session.Options{Protocol: session.Fallback, Log: func(level string, data json.RawMessage) {
		text := session.LogText(data)
		if len(text) > 4096 {
			t.Errorf("a text of %d bytes", len(text))
		}
		told = append(told, level+" "+text[:min(20, len(text))])
	}})
	if _, err := got.Call(t.Context(), &session.Call{Tool: "x"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"warning careful", `info {"a":[1]}`, "error éééééééééé"}, told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestContent: every kind of content comes through, and errors are the tool's or the
// server's.
func TestContent(t *testing.T) {
	t.Parallel()
	results := map[string]string{
		"all": `{"content":[{"type":"text","text":""},{"type":"image","data":"AAE=","mimeType":"image/png"},{"type":"audio","data":"AQ==","mimeType":"audio/wav"},
			{"type":"resource_link","uri":"file:///a","name":"a","mimeType":"text/plain"},{"type":"resource","resource":{"uri":"x://y","mimeType":"text/plain","text":"t"}},
			{"type":"resource","resource":{"uri":"x://z","blob":"AA=="}},{"type":"hologram","x":1}],"isError":true,"structuredContent":[1, 2]}`,
		"wrong":      `{"content":[{"type":"image","data":"%%%"},7,{"type":"text","text":"last"}]}`,
		"base64":     `{"content":[{"type":"image","data":"+/8=\r\n"},{"type":"image","data":"-_8"},{"type":"audio","data":"data:audio/wav;base64,+/8="}]}`,
		"no content": `{}`,
		"no result":  `"x"`,
		"too many":   `{"content":[` + strings.Repeat("{},", 10_000) + `{}]}`,
	}
	s := play(t, ordinary(`[]`, func(s *server, m message) {
		var params struct{ Name string }
		_ = json.Unmarshal(m.Params, &params)
		if result, ok := results[params.Name]; ok {
			s.result(m, strings.ReplaceAll(result, "\n", ""))
			return
		}
		s.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"unknown tool\n%s","data":{"known": ["all"]}}}`, m.ID, params.Name))
	}))
	got := s.open(session.Options{Protocol: session.Fallback})
	r, err := got.Call(t.Context(), &session.Call{Tool: "all"})
	if err != nil {
		t.Fatal(err)
	}
	want := &session.Result{IsError: true, Structured: json.RawMessage(`[1,2]`), Content: []session.Content{
		{Type: "text"},
		{Type: "image", Data: []byte{0, 1}, MediaType: "image/png"},
		{Type: "audio", Data: []byte{1}, MediaType: "audio/wav"},
		{Type: "resource_link", URI: "file:///a", Name: "a", MediaType: "text/plain"},
		{Type: "resource", URI: "x://y", Text: "t", MediaType: "text/plain"},
		{Type: "resource", URI: "x://z", Data: []byte{0}},
		{Type: "text", Text: `{"type":"hologram","x":1}`, MediaType: "application/json"},
	}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r, err := got.Call(t.Context(), &session.Call{Tool: "no content"}); err != nil || len(r.Content) != 0 {
		t.Errorf("no content: %+v, %v", r, err)
	}
	r, err = got.Call(t.Context(), &session.Call{Tool: "wrong"})
	want = &session.Result{Content: []session.Content{
		{Type: "text", Text: "[the server's image, data of 3 characters, isn't base64, and is left out]"}, {Type: "text", Text: "7", MediaType: "application/json"}, {Type: "text", Text: "last"},
	}}
	if diff := cmp.Diff(want, r); err != nil || diff != "" {
		t.Errorf("wrong pieces: %v (-want +got):\n%s", err, diff)
	}
	r, err = got.Call(t.Context(), &session.Call{Tool: "base64"})
	data := []byte{0xfb, 0xff}
	want = &session.Result{Content: []session.Content{{Type: "image", Data: data}, {Type: "image", Data: data}, {Type: "audio", Data: data}}}
	if diff := cmp.Diff(want, r); err != nil || diff != "" {
		t.Errorf("forms of base64: %v (-want +got):\n%s", err, diff)
	}
	for name, want := range map[string]string{
		"no result": "the server's result is none", "too many": "10001 pieces", "other": `(-32602): unknown tool other; its data: {"known": ["all"]}`,
	} {
		if _, err := got.Call(t.Context(), &session.Call{Tool: name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	var refused *session.ServerError
	if _, err := got.Call(t.Context(), &session.Call{Tool: "other"}); !errors.As(err, &refused) || refused.Code != -32602 {
		t.Errorf("got %v", err)
	} else if raw := string(refused.Raw); !strings.Contains(raw, `"code":-32602`) || !strings.Contains(raw, `"data":{"known":["all"]}`) {
		t.Errorf("its error is %s", raw)
	}
	for _, bad := range []string{`[]`, `{`, `null`, `"x"`} {
		if _, err := got.Call(t.Context(), &session.Call{Tool: "all", Arguments: json.RawMessage(bad)}); err == nil {
			t.Errorf("arguments %s are taken", bad)
		}
	}
}

// TestCatalogue: what servers list is bounded, and what is left out is told.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	page := 0
	pages := func(s *server, m message, body func(page int) string) {
		page++
		s.result(m, body(page))
	}
	for _, c := range []struct {
		name  string
		list  func(s *server, m message)
		caps  session.Caps
		tools int
		codes string
	}{
		{"endless cursor", func(s *server, m message) {
			pages(s, m, func(p int) string { return fmt.Sprintf(`{"tools":[{"name":"t%d"}],"nextCursor":"c%d"}`, p, p) })
		}, session.Caps{Pages: 7}, 7, "endless_tools()"},
		{"a cursor that stays", func(s *server, m message) {
			pages(s, m, func(p int) string { return fmt.Sprintf(`{"tools":[{"name":"t%d"}],"nextCursor":"same"}`, p) })
		}, session.Caps{}, 2, "endless_tools()"},
		{"a cursor of 1 MiB", func(s *server, m message) {
			s.result(m, `{"tools":[{"name":"a"}],"nextCursor":"`+strings.Repeat("c", 1<<20)+`"}`)
		}, session.Caps{}, 1, "endless_tools()"},
		{"no tools", func(s *server, m message) { s.result(m, `{"tools":[]}`) }, session.Caps{}, 0, ""},
		{"null tools", func(s *server, m message) { s.result(m, `{"tools":null}`) }, session.Caps{}, 0, ""},
		{"no list", func(s *server, m message) { s.result(m, `[]`) }, session.Caps{}, 0, "bad_page()"},
		{"no tools in it", func(s *server, m message) { s.result(m, `{"tools":[null,1,{"name":7},{"name":"ok"}]}`) }, session.Caps{}, 1, "bad_name() bad_tool() bad_tool()"},
		{"two of one name", func(s *server, m message) {
			s.result(m, `{"tools":[{"name":"a","description":"first"},{"name":"a","description":"second"}]}`)
		}, session.Caps{}, 1, "duplicate_tool(a)"},
		{"odd names", func(s *server, m message) {
			s.result(m, `{"tools":[{"name":""},{"name":"a\u200bb"},{"name":"a\u001b[31mb"},{"name":"a b"},{"name":"`+strings.Repeat("n", 200)+`"},{"name":"fine"}]}`)
		}, session.Caps{}, 2, "bad_name() invisible_characters(ab) terminal_escapes(a[31mb) unusual_name(a b) bad_name(" + strings.Repeat("n", 125) + "…)"},
		{"a schema of 4 MiB", func(s *server, m message) {
			s.result(m, `{"tools":[{"name":"a","inputSchema":{"type":"object","x":"`+strings.Repeat("x", 4<<20)+`"}},{"name":"b"}]}`)
		}, session.Caps{}, 2, "schema_too_large(a)"},
		{"a schema of depth 10,000", func(s *server, m message) {
			s.result(m, `{"tools":[{"name":"a","inputSchema":{"not":`+strings.Repeat(`{"not":`, 10_000)+`{}`+strings.Repeat(`}`, 10_000)+`}},{"name":"b"}]}`)
		}, session.Caps{}, 2, "schema_too_deep(a)"},
		{"too many", func(s *server, m message) {
			s.result(m, `{"tools":[{"name":"a"},{"name":"b"},{"name":"c"}],"nextCursor":"more"}`)
		}, session.Caps{Tools: 2}, 2, "tools_trimmed()"},
		{"too long", func(s *server, m message) {
			s.result(m, `{"tools":[{"name":"a"},{"name":"b","description":"`+strings.Repeat("d", 500)+`"}]}`)
		}, session.Caps{Bytes: 100}, 1, "tools_trimmed()"},
		{"seen by models alone", func(s *server, m message) {
			s.result(m, `{"tools":[{"name":"a","title":"T\u202e","description":"x\udb40\udc41\u001b]0;t\u0007y","inputSchema":{"type":"object","properties":{"p\u200b":{"description":"q\u2063"}}},"annotations":{"title":"\u2066"}}]}`)
		}, session.Caps{}, 1, "invisible_characters(a) invisible_characters(a) terminal_escapes(a) invisible_characters(a) invisible_characters(a) invisible_characters(a)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			page = 0
			s := play(t, func(s *server, m message) {
				if m.Method == "tools/list" {
					c.list(s, m)
					return
				}
				ordinary(`[]`, nil)(s, m)
			})
			got := s.open(session.Options{Protocol: session.Fallback, Caps: c.caps})
			made, err := got.Catalogue(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(made.Tools) != c.tools {
				t.Errorf("%d tools: %+v", len(made.Tools), made.Tools)
			}
			if diff := cmp.Diff(c.codes, codes(t, made.Findings)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			encoded, err := json.Marshal(made)
			if err != nil {
				t.Fatal(err)
			}
			for _, bad := range []string{"\u202e", "\u2063", `\u001b`, "\U000e0041"} {
				if strings.Contains(string(encoded), bad) {
					t.Errorf("the catalogue holds %q", bad)
				}
			}
		})
	}
}

// TestNoise: what isn't a message is told and dropped, and batches are taken apart.
func TestNoise(t *testing.T) {
	t.Parallel()
	var noise []string
	s := play(t, ordinary(`[]`, func(s *server, m message) {
		s.say("", "  ", "{", "[", "[1,2]", "[]", `{"hello":"you"}`, `{"jsonrpc":"2.0","id":{}}`, strings.Repeat("n", 10_000), "\xff\xfe")
		s.say(fmt.Sprintf("  \t[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"},{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}]\r", m.ID))
	}))
	got := s.open(session.Options{Protocol: session.Fallback, Noise: func(line []byte) {
		if len(line) > 4096 {
			t.Errorf("a line of %d bytes is told", len(line))
		}
		noise = append(noise, string(line[:min(5, len(line))]))
	}})
	if _, err := got.Call(t.Context(), &session.Call{Tool: "x"}); err != nil {
		t.Fatal(err)
	}
	<-got.ToolsChanged()
	if diff := cmp.Diff([]string{"{", "[", "[1,2]", "[]", `{"hel`, `{"jso`, "nnnnn", "\xff\xfe"}, noise); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPing: any answer says that a server is there, and one that says nothing isn't
// waited for.
// deaf is the input of a server that has ended.
type deaf struct{ written chan struct{} }

func (d deaf) Write([]byte) (int, error) {
	close(d.written) // nothing is written after a failure
	return 0, syscall.EPIPE
}

func (deaf) Close() error { return nil }

// TestLastWords: what a server has written just before it ended is read, even if writing to it
// fails first.
func TestLastWords(t *testing.T) {
	out, said := io.Pipe()
	in := deaf{make(chan struct{})}
	go func() {
		<-in.written
		_, _ = io.WriteString(said, "Usage: server\n")
		_ = said.Close()
	}()
	var noise []string
	_, err := session.Stdio(t.Context(), in, out, session.Options{Noise: func(line []byte) { noise = append(noise, string(line)) }})
	if !errors.Is(err, session.ErrHungUp) || !slices.Equal(noise, []string{"Usage: server"}) {
		t.Errorf("%v, it said %q", err, noise)
	}
}

func TestPing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ping func(s *server, m message)
		ok   bool
	}{
		"answers": {func(s *server, m message) { s.result(m, "{}") }, true},
		"refuses": {func(s *server, m message) { s.refuse(m, -32601, "method not found") }, true},
		"hangs":   {func(*server, message) {}, false},
	} {
		s := play(t, func(s *server, m message) {
			if m.Method == "ping" {
				c.ping(s, m)
				return
			}
			ordinary("[]", nil)(s, m)
		})
		got := s.open(session.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		if !c.ok {
			time.AfterFunc(50*time.Millisecond, cancel)
		}
		if err := got.Ping(ctx); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
		if err := got.Err(); err != nil {
			t.Errorf("%s has ended the session: %v", name, err)
		}
	}
}
