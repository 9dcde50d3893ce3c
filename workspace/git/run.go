package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"waymark/internal/text"
	"waymark/workspace/launch"
)

const (
	// commandTime bounds one git command. A diff of 20,000 files takes a
	// second, and a file system may be slow.
	commandTime = time.Minute
	// killDelay is how long git's pipes are waited for after its end.
	killDelay = 5 * time.Second
	// maxComplaint bounds what is kept of what git says is wrong, in bytes.
	maxComplaint = 4 << 10
	// maxList bounds what the commands that list something may print, in bytes.
	maxList = 16 << 20
)

// runner starts git: hardened always, confined where that can be had.
type runner struct {
	program  string // of git, absolute
	launcher *launch.Program
	home     string
	config   string // XDG_CONFIG_HOME; "" where it isn't set
}

// options are what every command of git gets first. They are repeated in the
// configuration of no repository: what stands here wins.
var options = []string{
	"--no-pager",
	"-c", "core.fsmonitor=false",
	"-c", "core.hooksPath=/dev/null",
	"-c", "core.untrackedCache=false",
	"-c", "core.splitIndex=false",
	"-c", "core.quotePath=false",
	"-c", "safe.bareRepository=explicit",
	"-c", "protocol.allow=never",
}

// environment is all that git gets of one: nothing of the agent's, which may run
// in a hook, or under git itself.
func (r *runner) environment(more ...string) []string {
	env := []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + r.home, "LC_ALL=C",
		"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_ALLOW_PROTOCOL=none",
		"GIT_PAGER=cat", "GIT_EDITOR=false", "GIT_SEQUENCE_EDITOR=false", "GIT_ASKPASS=false", "SSH_ASKPASS=false", "GIT_SSH_COMMAND=false",
		"GIT_TRACE2=0", "GIT_TRACE2_EVENT=0", "GIT_TRACE2_PERF=0", "GIT_ADVICE=0",
	}
	if r.config != "" {
		env = append(env, "XDG_CONFIG_HOME="+r.config)
	}
	return append(env, more...)
}

// command is one start of git.
type command struct {
	dir     string
	env     []string
	args    []string
	profile *launch.Profile
	stdin   io.Reader // nil is nothing
}

// failure is a git that didn't succeed.
type failure struct {
	code int    // its exit code
	text string // what it said, its first line
}

func (f *failure) Error() string { return f.text }

// run runs git, and read reads what it prints. An error of read ends git.
func (r *runner) run(ctx context.Context, c *command, read func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	complaint := &text.Head{Max: maxComplaint}
	in, out := io.Pipe()
	finished := make(chan error, 1)
	go func() {
		err := read(in)
		if err != nil {
			cancel()
		}
		_ = in.CloseWithError(err)
		finished <- err
	}()
	err := r.start(ctx, c, out, complaint)
	_ = out.Close()
	if readErr := <-finished; readErr != nil {
		return readErr
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("git has not ended within %s", commandTime)
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &exit):
		return &failure{exit.ExitCode(), firstLine(complaint.String(), exit)}
	}
	return fmt.Errorf("git can't be run: %w", err)
}

// start runs git to its end.
func (r *runner) start(ctx context.Context, c *command, stdout, stderr io.Writer) error {
	args := slices.Concat(options, c.args)
	if r.launcher != nil {
		cmd, err := r.launcher.Command(ctx, &launch.Spec{
			Argv: append([]string{r.program}, args...), Dir: c.dir, Env: c.env, Profile: c.profile,
		})
		if err != nil {
			return err
		}
		cmd.Cmd.Stdin, cmd.Cmd.Stdout, cmd.Cmd.Stderr, cmd.Cmd.WaitDelay = c.stdin, stdout, stderr, killDelay
		return cmd.Run()
	}
	cmd := exec.CommandContext(ctx, r.program, args...) //nolint:gosec // git itself
	cmd.Dir, cmd.Env = c.dir, c.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = c.stdin, stdout, stderr, killDelay
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd.Run()
}

// firstLine is what git says is wrong. Warnings come before it.
func firstLine(complaint string, exit *exec.ExitError) string {
	for line := range strings.Lines(complaint) {
		if line, ok := strings.CutPrefix(line, "fatal: "); ok {
			return text.Line(line, 512)
		}
	}
	if line := text.Line(complaint, 512); line != "" {
		return line
	}
	return "git ended with " + exit.String()
}

// errTooMuch says that git lists more than anybody would read.
var errTooMuch = fmt.Errorf("git lists more than %d MiB", maxList>>20)

// output runs git and returns what it prints.
func (r *runner) output(ctx context.Context, c *command) ([]byte, error) {
	var buf bytes.Buffer
	err := r.run(ctx, c, func(in io.Reader) error {
		n, err := buf.ReadFrom(io.LimitReader(in, maxList+1))
		if err == nil && n > maxList {
			err = errTooMuch
		}
		return err
	})
	return buf.Bytes(), err
}

// system is what git needs to run, wherever a repository is.
var system = []string{
	"/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/nix/store", "/gnu/store",
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/gitconfig", "/etc/gitattributes", "/etc/localtime",
	"/dev/zero", "/dev/urandom",
}

// profile is what git may do: read the repository and the user's configuration of
// git, and write one directory, if any.
func (r *runner) profile(write string, read ...string) *launch.Profile {
	p := &launch.Profile{Name: "git", NoTCP: true, NoUnix: true, KeepModes: true, Write: []string{"/dev/null"}}
	if write != "" {
		p.Write = append(p.Write, write)
	}
	program := r.program
	if resolved, err := filepath.EvalSymlinks(program); err == nil {
		program = resolved
	}
	p.Read = slices.Concat(system, []string{r.program, program, filepath.Join(r.home, ".gitconfig")}, read)
	config := r.config
	if config == "" {
		config = filepath.Join(r.home, ".config")
	}
	p.Read = append(p.Read, filepath.Join(config, "git"))
	// What the kernel is told of has no links, and nothing is told twice.
	for i, path := range p.Read {
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			p.Read[i] = resolved
		}
	}
	slices.Sort(p.Read)
	p.Read = slices.Compact(p.Read)
	return p
}
