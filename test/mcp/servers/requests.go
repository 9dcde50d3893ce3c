package servers

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
)

// requestModes are servers that send what nobody has asked for.
func requestModes() []Mode {
	return []Mode{
		{"floods-notifications", "sends notifications without an end", "works", func(s *server) {
			s.on["notifications/initialized"] = func(*message) {
				go func() {
					for i := range 100_000 {
						s.tell("notifications/message", object{"level": "info", "data": fmt.Sprint("note ", i)})
					}
				}()
			}
		}},
		{"foreign-progress", "tells of the progress of what nobody asked for", "works", func(s *server) {
			s.calls["echo"] = func(c *call) {
				for _, token := range []any{"nobody's", 99, -1, 1.5, nil, object{}} {
					s.tell("notifications/progress", object{"progressToken": token, "progress": 1})
				}
				s.text(c, "done")
			}
		}},
		{"cancels", "cancels the requests that it was sent", "works", func(s *server) {
			s.calls["echo"] = func(c *call) {
				s.tell(canceled, object{"requestId": c.ID, "reason": "no"})
				s.tell(canceled, object{"requestId": "nobody's"})
				s.text(c, "done")
			}
		}},
		{"asks", "asks for sampling, elicitation, roots and what there isn't", "works, and is refused", func(s *server) {
			answers := newAnswers(s)
			s.calls["echo"] = func(c *call) {
				var said []string
				for _, method := range []string{"sampling/createMessage", "elicitation/create", "roots/list", "tools/call", "no/such"} {
					said = append(said, method+": "+answers.ask(method, object{"messages": []any{}, "maxTokens": 1, "message": "your password?", "requestedSchema": plainSchema()}))
				}
				s.text(c, strings.Join(said, "\n"))
			}
		}},
		{"pings", "sends ten thousand pings in a call", "the call works, or costs the server; the next one works", func(s *server) {
			s.add("do", func(c *call) {
				for i := range 10_000 {
					s.send(&message{ID: fmt.Appendf(nil, "%d", 1000+i), Method: "ping"})
				}
				s.text(c, "done")
			})
		}},
		{"unknown-notifications", "sends notifications that there aren't, and odd ones", "works", func(s *server) {
			s.calls["echo"] = func(c *call) {
				s.tell("notifications/no/such", object{"a": 1})
				s.raw(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":[1,2]}` + "\n")
				s.raw(`{"jsonrpc":"2.0","method":"notifications/progress","params":"text"}` + "\n")
				s.raw(`{"jsonrpc":"2.0","method":"` + canceled + `"}` + "\n")
				s.text(c, "done")
			}
		}},
	}
}

// answers are those to requests of the server's own.
type answers struct {
	s *server

	mu      sync.Mutex // guards both
	next    int64
	waiting map[int64]chan string
}

func newAnswers(s *server) *answers {
	a := &answers{s: s, waiting: map[int64]chan string{}}
	s.seen = func(m *message) bool {
		if m.Method != "" {
			return true
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if c := a.waiting[m.number()]; c != nil {
			text, _ := json.Marshal(m.Error)
			if m.Error == nil {
				text = []byte("granted")
			}
			c <- string(text)
			delete(a.waiting, m.number())
		}
		return false
	}
	return a
}

// ask sends a request and returns the error that answers it, or "granted".
func (a *answers) ask(method string, params object) string {
	raw, _ := json.Marshal(params)
	a.mu.Lock()
	a.next++
	id, c := a.next, make(chan string, 1)
	a.waiting[id] = c
	a.mu.Unlock()
	a.s.send(&message{ID: fmt.Appendf(nil, "%d", id), Method: method, Params: raw})
	select {
	case text := <-c:
		return text
	case <-time.After(time.Minute):
		return "no answer"
	}
}
