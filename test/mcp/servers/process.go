package servers

import (
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
)

// processModes are servers that don't want to end.
func processModes() []Mode {
	const gone = "works; nothing is left when the agent has ended"
	return []Mode{
		{"ignores-sigterm", "ignores the end of its input, and every signal that can be", gone, func(s *server) {
			signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE)
			s.ended = func() { wait(lasting) }
		}},
		{"ignores-eof", "ignores the end of its input", gone, func(s *server) {
			s.ended = func() { wait(lasting) }
		}},
		{"detaches", "leaves processes behind: in its group, in a session of their own, and forked twice", gone, func(s *server) {
			s.detach("stays", false)
			s.detach("stays", true)
			s.detach("forks", true)
		}},
		{"litters", "has twenty children that ignore signals", gone, func(s *server) {
			for range 20 {
				s.detach("stays", true)
			}
		}},
		{"stays", "lives, deaf to signals; is started by others", "", func(*server) {
			signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
			wait(lasting)
			os.Exit(0)
		}},
		{"forks", "starts one that stays, in a session of its own, and ends; is started by others", "", func(s *server) {
			s.detach("stays", true)
			os.Exit(0)
		}},
	}
}

// Helper reports whether a mode is only there for others.
func (m *Mode) Helper() bool { return m.Outcome == "" }

// detach starts this program in another mode.
func (s *server) detach(mode string, session bool) {
	cmd := exec.Command("/proc/self/exe", append([]string{mode}, s.args...)...)
	if self, err := os.Executable(); err == nil && !strings.HasPrefix(cmd.Path, self) {
		cmd.Path = self
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: session}
	if err := cmd.Start(); err != nil {
		s.raw("can't start: " + err.Error() + "\n")
		return
	}
	go func() { _ = cmd.Wait() }()
}
