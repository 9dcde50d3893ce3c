package servers

import (
	"slices"
	"strings"
)

// Mode is one way to misbehave.
type Mode struct {
	// Name is the program's first argument.
	Name string
	// Does says what it does, Outcome what has to become of it.
	Does, Outcome string
	set           func(*server)
}

// Good is the name of the mode that behaves.
const Good = "good"

// Modes are all of them.
func Modes() []Mode {
	return slices.Concat(
		[]Mode{{Good, "answers", "works, whatever stands beside it", func(s *server) {
			for _, arg := range s.args { // a tool that tells it from others
				if name, ok := strings.CutPrefix(arg, "tool="); ok {
					s.add(name, func(c *call) { s.text(c, name) })
				}
			}
		}}},
		handshakeModes(), streamModes(), catalogueModes(), requestModes(), callModes(), processModes(), systemModes(),
	)
}
