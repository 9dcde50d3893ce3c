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
	// commandTime limits a git command. A diff of 20,000 files takes a second, but a file
	// system may be slow.
	commandTime = time.Minute
	// killDelay is how long to wait for git's pipes after its end.
	killDelay = 5 * time.Second
	// maxComplaint limits the stored standard error, in bytes.
	maxComplaint = 4 << 10
	// maxList limits the output of commands that list something, in bytes.
	maxList = 16 << 20
)

// runner runs git, always hardened, and confined if possible.
type runner struct {
	program  string // absolute path of git
	launcher *launch.Program
	home     string
	config   string // XDG_CONFIG_HOME; "" if it isn't set
}

// options precede the arguments of every git command. They override any configuration.
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

// environment returns git's complete environment. It contains nothing from the agent's,
// which may run in a git hook.
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

// command is a single git command.
type command struct {
	dir     string
	env     []string
	args    []string
	profile *launch.Profile
	stdin   io.Reader // nil means empty
}

// failure is a failed git command.
type failure struct {
	code int    // exit code
	text string // first line of its error
}

func (f *failure) Error() string { return f.text }

// run runs git, and read reads its output. An error of read ends git.
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

// firstLine returns git's error, which follows any warnings.
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

// errTooMuch says that git's output is too long.
var errTooMuch = fmt.Errorf("git lists more than %d MiB", maxList>>20)

// output runs git and returns its output.
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

// system are the places that git needs to run, wherever a repository is.
var system = []string{
	"/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/nix/store", "/gnu/store",
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/gitconfig", "/etc/gitattributes", "/etc/localtime",
	"/dev/zero", "/dev/urandom",
}

// profile returns git's profile: it may read the repository and the user's git
// configuration, and write to at most one directory.
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
	// The kernel requires paths without links.
	for i, path := range p.Read {
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			p.Read[i] = resolved
		}
	}
	slices.Sort(p.Read)
	p.Read = slices.Compact(p.Read)
	return p
}
