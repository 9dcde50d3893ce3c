package servers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// systemModes are servers that reach for what isn't theirs.
func systemModes() []Mode {
	return []Mode{
		{"tries", "tries what it is asked to, one after the other", "is refused", func(s *server) {
			s.add("try", func(c *call) {
				var a struct {
					Attempts []Attempt `json:"attempts"`
				}
				if err := json.Unmarshal(c.Arguments, &a); err != nil {
					s.refuse(c.message, -32602, err.Error())
					return
				}
				var said []string
				for _, try := range a.Attempts {
					said = append(said, try.do())
				}
				text, _ := json.Marshal(said)
				s.text(c, string(text))
			})
		}},
		{"echoes", "gives back all that it was given, in many encodings, wherever a server can", "nothing shows any of it", echoes},
	}
}

// Attempt is something that a server tries.
type Attempt struct {
	// Does is one of the keys of attempts.
	Does string `json:"does"`
	// To is what it is done to: a path, an address, a pid.
	To string `json:"to"`
	// Needle is what is looked for.
	Needle string `json:"needle,omitempty"`
}

// Done is what an attempt answers that succeeded; what it got may follow.
const Done = "done"

func (a Attempt) do() string {
	f := attempts()[a.Does]
	if f == nil {
		return "no such attempt: " + a.Does
	}
	if err := f(a); err != nil {
		return err.Error()
	}
	return Done
}

// attempts are what Attempt.Does may be.
func attempts() map[string]func(Attempt) error {
	return map[string]func(Attempt) error{
		"read": func(a Attempt) error {
			_, err := os.ReadFile(a.To)
			return err
		},
		"list": func(a Attempt) error {
			_, err := os.ReadDir(a.To)
			return err
		},
		"write": func(a Attempt) error {
			return os.WriteFile(a.To, []byte("#!/bin/sh\ntouch owned\n"), 0o700) // as a hook is
		},
		"mkdir":   func(a Attempt) error { return os.MkdirAll(a.To, 0o700) },
		"symlink": func(a Attempt) error { return os.Symlink("/etc/passwd", a.To) },
		"remove":  func(a Attempt) error { return os.Remove(a.To) },
		"rename":  func(a Attempt) error { return os.Rename(a.To, a.To+".old") },
		"dial":    dial("unix"),
		"packet":  dial("unixgram"),
		"tcp":     dial("tcp"),
		"abstract": func(a Attempt) error {
			a.To = "@" + a.To
			return dial("unix")(a)
		},
		"listen":      listen("unix"),
		"listen-tcp":  listen("tcp"),
		"socketpair":  socketpair,
		"environ":     environ,
		"signal":      signalPID,
		"fill":        fill,
		"environment": ownEnviron,
	}
}

func dial(network string) func(Attempt) error {
	return func(a Attempt) error {
		c, err := net.DialTimeout(network, a.To, 5*time.Second)
		if err != nil {
			return err
		}
		return c.Close()
	}
}

func listen(network string) func(Attempt) error {
	return func(a Attempt) error {
		l, err := net.Listen(network, a.To) //nolint:noctx // it lives as long as the program
		if err != nil {
			return err
		}
		go func() {
			for {
				if _, err := l.Accept(); err != nil {
					return
				}
			}
		}()
		return nil
	}
}

// socketpair is what must go on working: pools and pipes of many a runtime need it.
func socketpair(Attempt) error {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return errors.Join(syscall.Close(fds[0]), syscall.Close(fds[1]))
}

// environ looks for a text in the environments, memories' maps and arguments of
// all other processes.
func environ(a Attempt) error {
	files, err := filepath.Glob("/proc/[0-9]*/" + a.To)
	if err != nil {
		return err
	}
	own := "/proc/" + strconv.Itoa(os.Getpid()) + "/"
	for _, file := range files {
		if strings.HasPrefix(file, own) {
			continue
		}
		if data, err := os.ReadFile(filepath.Clean(file)); err == nil && bytes.Contains(data, []byte(a.Needle)) {
			return nil
		}
	}
	return fmt.Errorf("not in any of %d files", len(files))
}

func signalPID(a Attempt) error {
	pid, err := strconv.Atoi(a.To)
	if err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGCONT)
}

// fillBytes is how much a server writes that fills the disk: more than one may,
// and less than there is.
const fillBytes = 20 << 30

// fill writes until it is stopped. The file is a hole, so that a machine which
// doesn't stop it isn't filled.
func fill(a Attempt) error {
	signal.Ignore(syscall.SIGXFSZ) // which would end it
	f, err := os.Create(filepath.Join(os.Getenv("TMPDIR"), a.To))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	_, err = f.WriteAt([]byte("end"), fillBytes)
	return err
}

// ownEnviron looks for a variable that it shouldn't have been given.
func ownEnviron(a Attempt) error {
	if a.Needle != "" && strings.Contains(strings.Join(os.Environ(), "\n"), a.Needle) {
		return nil
	}
	if _, ok := os.LookupEnv(a.To); ok && a.Needle == "" {
		return nil
	}
	return errors.New("it has no such variable")
}
