package servers

import (
	"fmt"
	"os"
	"strings"
)

// ProgressNotes is how often a server tells of the progress of a call that is over
// soon: many at once, and few enough for any machine to pass on in seconds.
const ProgressNotes = 500

// callModes are servers that can be called, with consequences.
func callModes() []Mode {
	const fails = "the call fails, and the next one works"
	return []Mode{
		{"dies-in-call", "ends in the middle of a call", fails, func(s *server) {
			s.add("do", func(*call) { os.Exit(1) })
		}},
		{"mute-call", "never answers a call", fails, func(s *server) {
			s.add("do", func(*call) {})
		}},
		{"deaf-call", "stops reading in the middle of a call", "calls fail in time, and it is started again", func(s *server) {
			s.seen = func(m *message) bool {
				if m.Method == "tools/call" && strings.Contains(string(m.Params), `"do"`) {
					wait(lasting)
				}
				return true
			}
			s.add("do", func(*call) {})
		}},
		{"closes-in-call", "closes its standard output in the middle of a call, and lives on", fails, func(s *server) {
			s.add("do", func(*call) { _ = os.Stdout.Close() })
		}},
		{"huge-result", "answers a call with 100 MB", fails, func(s *server) {
			s.add("do", func(c *call) {
				s.big(`{"jsonrpc":"2.0","id":`+string(c.ID)+`,"result":{"content":[{"type":"text","text":"`, strings.Repeat("r", 1<<20), 100, `"}]}}`+"\n")
			})
		}},
		{"long-result", "answers a call with 4 MiB", "the result is cut, and can be read whole", func(s *server) {
			s.add("do", func(c *call) { s.text(c, strings.Repeat("0123456789abcdef", 4<<20/16)) })
		}},
		{"many-pieces", "answers a call with 50,000 pieces", "the result is bounded", func(s *server) {
			s.add("do", func(c *call) {
				s.big(`{"jsonrpc":"2.0","id":`+string(c.ID)+`,"result":{"content":[`, `{"type":"text","text":"piece"},`, 50_000, `{"type":"text","text":"last"}]}}`+"\n")
			})
		}},
		{"odd-results", "answers a call with what isn't a result", "the calls fail, or have a result; the next one works", func(s *server) {
			for i, result := range OddResults() {
				s.add(fmt.Sprint("do", i), func(c *call) { s.raw(`{"jsonrpc":"2.0","id":` + string(c.ID) + `,` + result + "}\n") })
			}
		}},
		{"escapes-result", "answers a call with escapes and invisible characters", "commands show them as text", func(s *server) {
			s.add("do", func(c *call) { s.text(c, "\x1b[2J"+BidiText+"\x00") })
			s.add("fail", func(c *call) { s.refuse(c.message, -32000, "\x1b[2J"+BidiText+"\nsecond line\x00") })
		}},
		{"floods-progress", fmt.Sprintf("tells of a call's progress %d times", ProgressNotes), "works", func(s *server) {
			s.add("do", func(c *call) {
				for i := range ProgressNotes {
					if len(c.Meta.ProgressToken) > 0 {
						s.tell("notifications/progress", object{"progressToken": c.Meta.ProgressToken, "progress": i, "message": "going on"})
					}
				}
				s.text(c, "done")
			})
		}},
		{"ignores-cancel", "goes on when a call is canceled, and answers it then", "works", func(s *server) {
			var waiting []*call
			s.add("do", func(c *call) { waiting = append(waiting, c) })
			s.on[canceled] = func(*message) {
				for _, c := range waiting {
					s.text(c, "too late")
				}
			}
		}},
	}
}

// OddResults are fields of answers that aren't results; tool doN answers with the
// N-th.
func OddResults() []string {
	return []string{
		`"result":null`, `"result":"text"`, `"result":[]`, `"result":{}`, `"result":{"content":"text"}`, `"result":{"content":[null]}`,
		`"result":{"content":[{"type":"no-such","x":1}]}`, `"result":{"content":[{"type":"image","data":"not base64!","mimeType":"image/png"}]}`,
		`"result":{"content":[{"type":"text","text":7}]}`, `"result":{"content":[{"type":"resource"}]}`, `"error":"text"`, `"error":{"code":"x"}`,
		`"result":{"content":[]},"error":{"code":1,"message":"both"}`, `"x":1`,
	}
}
