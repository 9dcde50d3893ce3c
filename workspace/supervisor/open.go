package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sync/semaphore"

	"waymark/internal/reexec"
	"waymark/internal/text"
	"waymark/workspace/launch"
)

// Roles are the roles that a program must support as a child to hold processes.
func Roles() []reexec.Role {
	return []reexec.Role{{Name: RoleSupervise, Main: Main}, {Name: RoleGuard, Main: Guard}, {Name: RoleStarter, Main: Starter}, launch.Role()}
}

// Program returns the command line that holds processes: the small helper program if it is
// installed, otherwise this program, which is larger.
func Program(self *reexec.Program) ([]string, error) {
	if h, err := launch.FindHelper(); err == nil {
		return []string{h.Run, RoleSupervise}, nil
	}
	return self.CommandLine(RoleSupervise)
}

// Left reports whether a supervisor runs for a state directory, or one has left processes
// there that the next one must list.
func Left(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, runningFile)); err == nil {
		return true
	}
	held, err := os.ReadDir(filepath.Join(dir, heldDir))
	return err == nil && len(held) > 0
}

// openTimeout limits how long starting a supervisor may take on a slow machine.
const openTimeout = 30 * time.Second

// Open connects to the supervisor of a state directory, and starts one if none runs. If the
// connection ends, open calls return ErrLost, and the next call connects again. A new
// supervisor lists what an earlier one held as lost.
func Open(ctx context.Context, o Options) (Client, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	c := &client{opts: o, turn: semaphore.NewWeighted(1)}
	if _, err := c.connected(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

func isLost(err error) bool { return errors.Is(err, ErrLost) }

// connect connects to the supervisor of a directory, and starts one if necessary.
func connect(ctx context.Context, o *Options) (*peer, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	started := false
	for {
		conn, h, err := dial(ctx, o.Dir, roleCalls)
		if err == nil {
			return newPeer(newLink(conn), h.Instance), nil
		}
		if !nobodyThere(err) {
			return nil, err
		}
		if started { // another one has the lock, and isn't listening yet or any more
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
				return nil, fmt.Errorf("what holds the processes of %s doesn't answer: %w", o.Dir, err)
			}
		}
		if err := start(ctx, o); err != nil {
			return nil, err
		}
		started = true
	}
}

// nobodyThere reports whether an error of dial means that no supervisor runs, or that it is
// ending.
func nobodyThere(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// dial connects to a running supervisor.
func dial(ctx context.Context, dir, role string) (*net.UnixConn, *hello, error) {
	conn, err := dialRunning(dir)
	if err != nil {
		return nil, nil, err
	}
	key, err := readKey(dir)
	if err != nil {
		_ = conn.Close()
		return nil, nil, err
	}
	deadline := time.Now().Add(helloTimeout)
	if at, ok := ctx.Deadline(); ok && at.Before(deadline) {
		deadline = at
	}
	_ = conn.SetDeadline(deadline)
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	h, err := introduce(conn, key, role)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = fmt.Errorf("what holds the processes of %s doesn't answer; it may be stopped (SIGCONT lets it go on): %w", dir, err)
		}
		return nil, nil, err
	}
	return conn, h, nil
}

// start starts a supervisor. It returns when that listens, or another one has the lock.
func start(ctx context.Context, o *Options) error {
	if err := privateDir(o.Dir); err != nil {
		return err
	}
	if err := writeJSON(filepath.Join(o.Dir, optionsFile), startOptions{Socket: o.Socket, Limits: o.Limits}); err != nil {
		return err
	}
	if o.Unit != "" && isService() {
		err := startUnit(ctx, o)
		if err == nil {
			return nil
		}
		o.Logger.Warn("systemd doesn't start what holds processes; they end with the agent's service, and have its restrictions",
			slog.String("unit", o.Unit), slog.Any("error", err))
	}
	return startDetached(ctx, o)
}

// startDetached starts a supervisor in its own session.
func startDetached(ctx context.Context, o *Options) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	cmd := exec.Command(o.Program[0], append(o.Program[1:len(o.Program):len(o.Program)], o.Dir)...) //nolint:gosec // the caller's program
	cmd.Dir, cmd.Env = "/", []string{}
	cmd.Stdout, cmd.Stderr = w, w
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = w.Close()
	if err != nil {
		return fmt.Errorf("start what holds processes: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = r.SetReadDeadline(time.Unix(1, 0)) })
	said, _ := io.ReadAll(io.LimitReader(r, 4<<10))
	stop()
	if string(said) == readyLine {
		go func() { _ = cmd.Wait() }() // reap it if it ends before the agent
		return nil
	}
	if ctx.Err() != nil {
		go func() { _ = cmd.Wait() }()
		return fmt.Errorf("what holds processes doesn't get ready: %w", context.Cause(ctx))
	}
	err = cmd.Wait()
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == exitRunning {
		return nil
	}
	return fmt.Errorf("what holds processes has ended at once (%w): %s", err, text.Line(string(said), 1<<10))
}
