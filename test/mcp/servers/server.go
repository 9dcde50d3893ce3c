package servers

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// message is any message of JSON-RPC.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   any             `json:"error,omitempty"`
}

// canceled is the notification that a request is.
const canceled = "notifications/cancelled"

type object = map[string]any

// tool is a tool as tools/list has it.
type tool struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	InputSchema any    `json:"inputSchema,omitempty"`
}

// call is a request of tools/call.
type call struct {
	*message
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Meta      struct {
		ProgressToken json.RawMessage `json:"progressToken"`
	} `json:"_meta"`
}

// server answers as it should, but for what a mode has replaced.
type server struct {
	// args are the program's after the mode.
	args []string
	in   *bufio.Reader

	writing sync.Mutex // guards out
	out     *bufio.Writer

	// info is the answer to initialize.
	info object
	// on has what replaces the answer to a method.
	on map[string]func(*message)
	// seen, if not nil, is called for every message before anything else; false
	// means that there is nothing else.
	seen func(*message) bool
	// pages returns a page of tools.
	pages func(cursor string) any
	// calls has what tools do. The name "" is for all others.
	calls map[string]func(*call)
	// ended is what it does at the end of its input; nil ends it.
	ended func()
	// inline does calls one after the other.
	inline bool
}

// plainSchema is one that nobody minds.
func plainSchema() object {
	return object{"type": "object", "properties": object{"text": object{"type": "string"}}}
}

// echo is the tool that every server has which lists any.
func echoTool() tool {
	return tool{Name: "echo", Description: "Gives back a text.", InputSchema: plainSchema()}
}

func newServer(in io.Reader, out io.Writer, args []string) *server {
	s := &server{args: args, in: bufio.NewReaderSize(in, 64<<10), out: bufio.NewWriter(out)}
	s.info = object{
		"protocolVersion": "2025-06-18",
		"capabilities":    object{"tools": object{"listChanged": true}, "logging": object{}},
		"serverInfo":      object{"name": "hostile", "version": "1.0.0"},
	}
	s.on = map[string]func(*message){
		"initialize": func(m *message) { s.answer(m, s.info) },
		"ping":       func(m *message) { s.answer(m, object{}) },
		"tools/list": func(m *message) {
			var p struct {
				Cursor string `json:"cursor"`
			}
			_ = json.Unmarshal(m.Params, &p)
			s.answer(m, s.pages(p.Cursor))
		},
		"tools/call": func(m *message) {
			c := &call{message: m}
			if err := json.Unmarshal(m.Params, c); err != nil {
				s.refuse(m, -32602, err.Error())
				return
			}
			f := s.calls[c.Name]
			if f == nil {
				f = s.calls[""]
			}
			if s.inline {
				f(c)
				return
			}
			go f(c)
		},
	}
	s.list(echoTool())
	s.calls = map[string]func(*call){
		"echo": func(c *call) {
			var a struct {
				Text string `json:"text"`
			}
			_ = json.Unmarshal(c.Arguments, &a)
			s.text(c, a.Text)
		},
		"": func(c *call) { s.refuse(c.message, -32602, "unknown tool: "+c.Name) },
	}
	return s
}

// list makes these all of its tools, on one page.
func (s *server) list(tools ...tool) {
	s.pages = func(string) any { return object{"tools": tools} }
}

// add adds a tool to those that it has.
func (s *server) add(name string, f func(*call)) {
	before := s.pages
	s.pages = func(cursor string) any {
		page, _ := before(cursor).(object)
		list, _ := page["tools"].([]tool)
		page["tools"] = append(list[:len(list):len(list)], tool{Name: name, Description: "Does it.", InputSchema: object{"type": "object"}})
		return page
	}
	s.calls[name] = f
}

// serve reads until its input ends.
func (s *server) serve() error {
	for {
		line, err := s.in.ReadBytes('\n')
		if len(line) > 1 {
			m := new(message)
			if json.Unmarshal(line, m) == nil {
				s.handle(m)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			if s.ended != nil {
				s.ended()
			}
			return nil
		case err != nil:
			return err
		}
	}
}

func (s *server) handle(m *message) {
	if s.seen != nil && !s.seen(m) {
		return
	}
	if f := s.on[m.Method]; f != nil {
		f(m)
	} else if len(m.ID) > 0 && m.Method != "" {
		s.refuse(m, -32601, "method not found: "+m.Method)
	}
}

// send sends a message.
func (s *server) send(m *message) {
	m.JSONRPC = "2.0"
	line, err := json.Marshal(m)
	if err != nil {
		panic(err) // only what is here is sent
	}
	s.raw(string(line) + "\n")
}

// raw writes whatever it is to standard output, at once.
func (s *server) raw(text string) {
	s.writing.Lock()
	defer s.writing.Unlock()
	_, _ = s.out.WriteString(text)
	_ = s.out.Flush()
}

// big writes a text with much in the middle.
func (s *server) big(before string, piece string, times int, after string) {
	s.writing.Lock()
	defer s.writing.Unlock()
	_, _ = s.out.WriteString(before)
	for range times {
		if _, err := s.out.WriteString(piece); err != nil {
			return
		}
	}
	_, _ = s.out.WriteString(after)
	_ = s.out.Flush()
}

func (s *server) answer(m *message, result any) { s.send(&message{ID: m.ID, Result: result}) }

func (s *server) refuse(m *message, code int, text string) {
	s.send(&message{ID: m.ID, Error: object{"code": code, "message": text}})
}

// tell sends a notification.
func (s *server) tell(method string, params object) {
	raw, err := json.Marshal(params)
	if err != nil {
		panic(err)
	}
	s.send(&message{Method: method, Params: raw})
}

// text answers a call.
func (s *server) text(c *call, text string) {
	s.answer(c.message, object{"content": []object{{"type": "text", "text": text}}})
}

// number is the id of a request as a number; 0 for any other.
func (m *message) number() (n int64) {
	_ = json.Unmarshal(m.ID, &n)
	return n
}

// lasting is how long something lives that nobody ends: longer than any test
// waits.
const lasting = 10 * time.Minute

// HostileMain is the program that breaks rules: the name of a mode, and its arguments.
func HostileMain(args []string) int {
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: hostile MODE [NAME=VALUE]…")
		return 2
	}
	for _, m := range Modes() {
		if m.Name == args[0] {
			s := newServer(os.Stdin, os.Stdout, args[1:])
			m.set(s)
			if err := s.serve(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			return 0
		}
	}
	fmt.Fprintf(os.Stderr, "there is no mode %q\n", args[0])
	return 2
}
