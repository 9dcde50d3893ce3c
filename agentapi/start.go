package agentapi

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	// MaxStartArgs limits the command, the arguments and the variables of a start together,
	// in bytes. It is half of Linux's limit with the usual stack size, which leaves room
	// for the agent's environment.
	MaxStartArgs = 1 << 20
	// maxArg limits the command, each argument, and each variable with its name, in bytes.
	// It is Linux's limit of 32 pages for each, including a NUL.
	maxArg = 128<<10 - 1
	// maxToken limits a client token, in bytes.
	maxToken = 1024
	// maxTimeout limits the requested timeout. Without one a process may run longer.
	maxTimeout = 30 * 24 * time.Hour
)

// Check returns the first reason why no machine could start this process. It ignores the
// fields of tracked starts.
func (p *StartProcess) Check() error {
	size := len(p.Command)
	switch {
	case p.Command == "" && len(p.Argv) == 0:
		return errors.New("Command is required: name a command for sh -c, or an argv") //nolint:staticcheck // the first words are those of Coder's agent
	case p.Command != "" && len(p.Argv) > 0:
		return errors.New("command and argv exclude each other")
	case len(p.Argv) > 0 && p.Argv[0] == "":
		return errors.New("argv begins with the name of a program")
	case len(p.ClientToken) > maxToken:
		return fmt.Errorf("client_token is longer than %d bytes", maxToken)
	case p.TimeoutMS < 0 || p.TimeoutMS > maxTimeout.Milliseconds():
		return fmt.Errorf("timeout_ms is from 0, which is none, to %d, which is 30 days", maxTimeout.Milliseconds())
	case p.PTY != nil && (p.PTY.Rows == 0) != (p.PTY.Cols == 0):
		return errors.New("pty needs rows and cols; both 0 are 24 and 80")
	}
	texts := append([]string{p.Command, p.WorkDir}, p.Argv...)
	for name, value := range p.Env {
		if name == "" || strings.Contains(name, "=") {
			return fmt.Errorf("env: %q is not the name of a variable", name)
		}
		texts = append(texts, name+"="+value)
	}
	for _, text := range texts {
		size += len(text) + 1
		switch {
		case strings.ContainsRune(text, 0):
			return errors.New("command, argv, workdir and env have no NUL byte")
		case len(text) > maxArg:
			return fmt.Errorf("a command, an argument or a variable is longer than %d bytes: put it into a file", maxArg)
		}
	}
	if size > MaxStartArgs {
		return fmt.Errorf("arguments and variables are larger than %d bytes together: put them into files", MaxStartArgs)
	}
	return nil
}
