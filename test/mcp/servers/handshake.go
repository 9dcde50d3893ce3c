package servers

import (
	"fmt"
	"os"
	"time"
)

// handshakeModes are servers that can't be connected, or hardly.
func handshakeModes() []Mode {
	const failed = "it has failed, in time"
	return []Mode{
		{"mute", "never answers", failed, func(s *server) {
			s.seen = func(*message) bool { return false }
		}},
		{"late", "answers every request a second late", "works", func(s *server) {
			s.seen = func(*message) bool {
				wait(time.Second)
				return true
			}
		}},
		{"mute-list", "never answers tools/list", failed, func(s *server) {
			s.on["tools/list"] = func(*message) {}
		}},
		{"ignores-unknown", "never answers a method that it doesn't know", "works", func(s *server) {
			s.seen = func(m *message) bool { return s.on[m.Method] != nil }
		}},
		{"half-line", "sends half an answer", failed, func(s *server) {
			s.on["initialize"] = func(m *message) { s.raw(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"proto`) }
		}},
		{"wrong-version", "agrees on a version of the protocol that there isn't", failed, func(s *server) {
			s.info["protocolVersion"] = "1999-12-31"
		}},
		{"refuses", "answers initialize with an error", failed, func(s *server) {
			s.on["initialize"] = func(m *message) { s.refuse(m, -32000, "not today") }
		}},
		{"dies-at-start", "ends at once", "it has failed, and is started again with ever longer pauses", func(*server) {
			fmt.Fprintln(os.Stderr, "can't go on")
			os.Exit(3)
		}},
		{"dies-in-handshake", "ends in the middle of the handshake", failed, func(s *server) {
			s.on["initialize"] = func(*message) { os.Exit(0) }
		}},
		{"closes-stdout", "closes its standard output and lives on", "it has failed, and is gone", func(*server) {
			_ = os.Stdout.Close()
			go wait(lasting)
		}},
		{"never-reads", "reads nothing", failed, func(*server) { wait(lasting) }},
		{"spins", "uses a processor, and never answers", failed, func(*server) {
			for begun := time.Now(); time.Since(begun) < lasting; {
				_ = begun
			}
		}},
		{"wrong-ids", "answers with ids that nobody asked with", failed, func(s *server) {
			s.on["initialize"] = func(m *message) {
				s.send(&message{ID: fmt.Appendf(nil, "%d", m.number()+1_000_000), Result: s.info})
			}
		}},
		{"string-ids", "answers with its ids as strings", failed, func(s *server) {
			s.seen = func(m *message) bool {
				if len(m.ID) > 0 && m.ID[0] != '"' {
					m.ID = fmt.Appendf(nil, "%q", m.ID)
				}
				return true
			}
		}},
		{"asks-before", "sends requests before it has been initialized", "works, and they are refused", func(s *server) {
			s.on["initialize"] = func(m *message) {
				s.send(&message{ID: []byte("1"), Method: "roots/list"})
				s.send(&message{ID: []byte("2"), Method: "ping"})
				s.answer(m, s.info)
			}
		}},
	}
}

// wait is for what is late: these programs have nothing to wait for.
func wait(d time.Duration) { <-time.After(d) }
