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
	// role is what the shim is called, by helper and by re-execution.
	role = "launch"
	// waitDelay is how long output is read on after a program has ended: what it
	// left behind may hold the pipe for ever.
	waitDelay = 5 * time.Second
	// maxAnswer bounds what the shim can say.
	maxAnswer = 64 << 10
)

// Role is the shim as a role of a program that starts itself.
func Role() reexec.Role { return reexec.Role{Name: role, Main: Main} }

// Program is how the shim is started. It is immutable.
type Program struct {
	path string          // the helper's; empty means by self
	role string          // what it calls the shim
	self *reexec.Program // its roles include Role
}

// Find finds the shim: the helper program beside this one, or in
// ../libexec/waymark, or else this very program, which costs more time and memory
// at each start. self is what reexec.Main returned; nil, or one without Role, is
// an error where there is no helper.
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

// Command is one start of a program.
type Command struct {
	// Cmd has Stdin, Stdout, Stderr and WaitDelay for the caller to set before
	// Start, and Process and ProcessState to look at afterwards. Its own Start isn't
	// called, nor what calls that: Run, Output. Wait is.
	Cmd *exec.Cmd
	// Fork, unless it is nil, starts the shim in the place of Cmd.Start, with Cmd's three
	// streams and these two files as its descriptors 0 to 4, as a child of this process,
	// and returns its number.
	Fork func(spec, answer *os.File) (pid int, err error)

	spec []byte
}

// Command prepares a start. When ctx ends, the process is killed with its group.
// Standard input, output and error are the null device unless the caller says
// otherwise.
//
// # Errors
//
// ErrUnsupported where there is a profile and the kernel can't hold anything to
// it, and what is wrong with the specification.
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
	// A session of its own has no controlling terminal: the agent's, into which
	// input could be typed, isn't the program's.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: s.Terminal}
	cmd.Dir, cmd.Env = "/", []string{} // Go's runtime in the shim isn't to be told anything by the program's
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = waitDelay
	return &Command{Cmd: cmd, spec: spec}, nil
}

// Start starts the program, and returns when it runs.
//
// # Errors
//
// *Error says why the program doesn't run; nothing is left of the process then.
func (c *Command) Start() error {
	specR, specW, err := os.Pipe()
	if err != nil {
		return err
	}
	answerR, answerW, err := socketpair()
	if err != nil {
		return errors.Join(err, specR.Close(), specW.Close())
	}
	defer func() { _ = answerR.Close() }() // read to its end, or of no use
	err = c.fork(specR, answerW)
	_, _ = specR.Close(), answerW.Close() // the child's ends
	if err != nil {
		_ = specW.Close()
		return fmt.Errorf("the program that starts others: %w", err)
	}
	_, _ = specW.Write(c.spec) // if the shim doesn't take it, it says why
	_ = specW.Close()
	listener, err := readAnswer(answerR)
	if err != nil {
		_ = c.Kill() // a shim that has said no is about to end
		_ = c.Cmd.Wait()
		return err
	}
	if listener != nil {
		go decide(listener) // which ends with the last of the processes
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

// socketpair returns two connected sockets that no other program inherits.
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

// readAnswer reads what the shim says until it has become the program: a line when it
// has begun, another one with a listener, and an Error if it can't.
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
			break // without an answer, if it isn't the end
		}
		data = append(data, part[:n]...)
		if messages, err := unix.ParseSocketControlMessage(rights[:oob]); err == nil && len(messages) == 1 {
			if fds, err := unix.ParseUnixRights(&messages[0]); err == nil && len(fds) == 1 {
				_ = unix.SetNonblock(fds[0], true) // for Go to wait for it
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

// answered says what a shim's answer means.
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

// Run starts the program and waits until it has ended, as exec.Cmd's Run does.
// On Linux what is left of its group then is killed.
func (c *Command) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	endGroup(c.Cmd.Process.Pid)
	return c.Cmd.Wait()
}

// Output runs the program and returns what it has written to standard output.
func (c *Command) Output() ([]byte, error) {
	var out bytes.Buffer
	c.Cmd.Stdout = &out
	err := c.Run()
	return out.Bytes(), err
}

// Kill kills the program's group. It is for a program that has been started and
// not waited for: afterwards the number can be another's.
func (c *Command) Kill() error { return syscall.Kill(-c.Cmd.Process.Pid, syscall.SIGKILL) }
