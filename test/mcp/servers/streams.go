package servers

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// streamModes are servers that write what they shouldn't.
func streamModes() []Mode {
	const works = "works"
	return []Mode{
		{"greets", "greets on standard output", works, func(s *server) {
			s.raw("Welcome to the server!\nListening on stdio…\n\n")
		}},
		{"noise", "writes lines between its messages that are none", works, func(s *server) {
			s.seen = func(m *message) bool {
				s.raw("[debug] got " + m.Method + "\nProgress: 10%\rProgress: 20%\n\n   \n")
				return true
			}
		}},
		{"binary-noise", "writes NUL bytes and what isn't UTF-8 between its messages", works, func(s *server) {
			s.seen = func(*message) bool {
				s.raw("\x00\x00\x00\n\xff\xfe\x80\x1b[2J\x1b]0;owned\x07\n")
				return true
			}
		}},
		{"brace-noise", "writes lines that begin like messages and are none", works, func(s *server) {
			s.seen = func(*message) bool {
				s.raw("{not json}\n[INFO] started\n{\"level\":\"info\",\"msg\":\"up\"}\n[1,2,3]\n{}\n[]\nnull\n42\n\"text\"\n")
				return true
			}
		}},
		{"crlf", "ends its lines as Windows does, behind a byte order mark", works, func(s *server) {
			s.raw("\ufeff\r\n")
			s.on["ping"] = func(m *message) { s.raw(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{}}` + "\r\n") }
		}},
		{"long-line", "answers tools/list with a line of more than 16 MiB", "it has failed", func(s *server) {
			s.on["tools/list"] = func(m *message) {
				s.big(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"tools":[{"name":"echo","description":"`,
					strings.Repeat("x", 1<<20), 17, `"}]}}`+"\n")
			}
		}},
		{"endless-line", "writes a line that doesn't end", "it has failed, in bounded memory", func(s *server) {
			s.on["initialize"] = func(m *message) {
				s.big(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":"`, strings.Repeat("x", 1<<20), 200, "")
			}
		}},
		{"endless-noise", "writes a line of noise that doesn't end", "it has failed, in bounded memory", func(s *server) {
			s.on["initialize"] = func(*message) { s.big("", strings.Repeat("noise ", 1<<17), 200, "") }
		}},
		{"deep-message", "answers with a message that is a million levels deep", "it has failed", func(s *server) {
			s.on["tools/list"] = func(m *message) {
				s.big(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`, strings.Repeat("[", 1000), 1000, "\n")
			}
		}},
		{"batches", "answers in arrays", "works, or has failed", func(s *server) {
			s.on["tools/list"] = func(m *message) {
				s.raw(`[{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}}]` + "\n")
			}
		}},
		{"answers-twice", "sends every answer twice", works, func(s *server) {
			s.seen = func(m *message) bool {
				if m.Method == "tools/list" {
					s.answer(m, s.pages(""))
				}
				return true
			}
		}},
		{"floods-stderr", "writes 64 MiB to its standard error", "works, and its log stays bounded", func(*server) {
			line := bytes.Repeat([]byte("e"), 1<<16)
			line[len(line)-1] = '\n'
			go func() {
				for range 1 << 10 {
					_, _ = os.Stderr.Write(line)
				}
			}()
		}},
		{"escapes-stderr", "writes to its standard error what changes terminals", "works, and its log shows that as text", func(*server) {
			fmt.Fprint(os.Stderr, "\x1b[2J\x1b]0;owned\x07\u202egnp.exe\x00\xff\r\n")
		}},
	}
}
