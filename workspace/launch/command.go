package launch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"waymark/internal/reexec"
)

const (
	// role is the shim's name as a role, of the helper and of this program.
	role = "launch"
	// waitDelay is how long output is read after a program has ended. Processes that it
	// left behind may keep the pipe open forever.
	waitDelay = 5 * time.Second
	// maxAnswer limits the shim's answer, in bytes.
	maxAnswer = 64 << 10
)

// Role is the shim as a role of a program that executes itself.
func Role() reexec.Role { return reexec.Role{Name: role, Main: Main} }

// Program says how to start the shim. It is immutable.
type Program struct {
	path string          // path of the helper; empty means self
	role string          // the helper's role for the shim
	self *reexec.Program // its roles include Role
}

// Find finds the shim: the helper program next to this one or in ../libexec/waymark, or
// else this program, which takes more time and memory at each start. self is the result of
// reexec.Main. Without a helper, a self that is nil or lacks Role is an error.
func Find(self *reexec.Program) (*Program, error) {
	h, err := FindHelper()
	if err == nil {
		return &Program{path: h.Run, role: role}, nil
	}
	if !self.Has(role) {
		return nil, fmt.Errorf("this program can't do without another: %w", err)
	}
	return &Program{self: self}, nil
}

// Command is a single start of a program.
type Command struct {
	// Cmd has the fields Stdin, Stdout, Stderr and WaitDelay, which the caller may set
	// before Start, and Process and ProcessState for later. Don't call its Start, Run or
	// Output; call its Wait.
	Cmd *exec.Cmd
	// Fork, if not nil, starts the shim instead of Cmd.Start: as a child of this process,
	// with Cmd's three streams and these two files as its descriptors 0 to 4. It returns
	// the pid.
	Fork func(spec, answer *os.File) (pid int, err error)

	spec []byte
}

// Command prepares a start. When ctx ends, the process is killed with its group. Standard
// streams default to the null device.
//
// # Errors
//
// ErrUnsupported if there is a profile and the kernel can't enforce any; and errors in the
// specification.
func (p *Program) Command(ctx context.Context, s *Spec) (*Command, error) {
	if s.Profile != nil {
		if _, err := Supported(); err != nil {
			return nil, err
		}
	}
	spec, err := s.encode()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, p.path, p.role) //nolint:gosec // the helper program
	if p.self != nil {
		if cmd, err = p.self.Command(ctx, role); err != nil {
			return nil, err
		}
	}
	// A new session has no controlling terminal. Otherwise the program could inject input
	// into the agent's.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: s.Terminal}
	cmd.Dir, cmd.Env = "/", []string{} // the program's environment must not affect the shim's Go runtime
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = waitDelay
	return &Command{Cmd: cmd, spec: spec}, nil
}

// Start starts the program, and returns when it runs.
//
// # Errors
//
// An *Error says why the program doesn't run. Nothing is left of the process then.
func (c *Command) Start() error {
	specR, specW, err := os.Pipe()
	if err != nil {
		return err
	}
	answerR, answerW, err := socketpair()
	if err != nil {
		return errors.Join(err, specR.Close(), specW.Close())
	}
	defer func() { _ = answerR.Close() }() // it was read completely, or is useless
	err = c.fork(specR, answerW)
	_, _ = specR.Close(), answerW.Close() // the child has its own copies
	if err != nil {
		_ = specW.Close()
		return fmt.Errorf("the program that starts others: %w", err)
	}
	_, _ = specW.Write(c.spec) // if the shim doesn't read it, its answer says why
	_ = specW.Close()
	listener, err := readAnswer(answerR)
	if err != nil {
		_ = c.Kill() // a shim that has reported an error is about to end
		_ = c.Cmd.Wait()
		return err
	}
	if listener != nil {
		go decide(listener) // ends with the last process
	}
	return nil
}

func (c *Command) fork(spec, answer *os.File) error {
	if c.Fork == nil {
		c.Cmd.ExtraFiles = []*os.File{spec, answer}
		err := c.Cmd.Start()
		c.Cmd.ExtraFiles = nil
		return err
	}
	pid, err := c.Fork(spec, answer)
	if err != nil {
		return err
	}
	c.Cmd.Process, err = os.FindProcess(pid)
	return err
}

// socketpair returns two connected sockets that other programs don't inherit.
func socketpair() (a, b *os.File, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, err
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
	}
	return os.NewFile(uintptr(fds[0]), "answer"), os.NewFile(uintptr(fds[1]), "answer"), nil
}

// readAnswer reads the shim's answer until the shim has executed the program: a line at the
// beginning, another one with a listener, and an Error if it fails.
func readAnswer(f *os.File) (listener *os.File, err error) {
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	var data []byte
	for part, rights := make([]byte, 4<<10), make([]byte, unix.CmsgSpace(4)); len(data) < maxAnswer; {
		n, oob, _, _, err := conn.(*net.UnixConn).ReadMsgUnix(part, rights) //nolint:forcetypeassert // of socketpair
		if n <= 0 || err != nil {
			break // EOF means success, anything else no answer
		}
		data = append(data, part[:n]...)
		if messages, err := unix.ParseSocketControlMessage(rights[:oob]); err == nil && len(messages) == 1 {
			if fds, err := unix.ParseUnixRights(&messages[0]); err == nil && len(fds) == 1 {
				_ = unix.SetNonblock(fds[0], true) // so that Go's poller can wait for it
				listener = os.NewFile(uintptr(fds[0]), "listener")
			}
		}
	}
	if err := answered(data); err != nil {
		_ = listener.Close() // if there is one
		return nil, err
	}
	return listener, nil
}

// answered interprets a shim's answer.
func answered(data []byte) error {
	rest, ok := bytes.CutPrefix(data, []byte(hello))
	if !ok {
		return &Error{Message: "the program that starts others ended before it had begun: " +
			"see that " + helper + " is of the same version as this one", Code: CodeNotStarted}
	}
	if rest = bytes.TrimPrefix(rest, []byte(listens)); len(rest) == 0 {
		return nil
	}
	e := new(Error)
	if err := json.Unmarshal(rest, e); err != nil {
		return fmt.Errorf("the program that starts others says nonsense: %w", err)
	}
	return e
}

// Run starts the program and waits for its end, like exec.Cmd.Run. On Linux it then kills
// what is left of the program's group.
func (c *Command) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	endGroup(c.Cmd.Process.Pid)
	return c.Cmd.Wait()
}

// Output runs the program and returns its standard output.
func (c *Command) Output() ([]byte, error) {
	var out bytes.Buffer
	c.Cmd.Stdout = &out
	err := c.Run()
	return out.Bytes(), err
}

// Kill kills the program's group. Call it only before Wait has returned: after that, the
// number may belong to another group.
func (c *Command) Kill() error { return syscall.Kill(-c.Cmd.Process.Pid, syscall.SIGKILL) }
