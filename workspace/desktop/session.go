package desktop

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/sys/unix"

	"waymark/internal/text"
	"waymark/workspace/launch"
	"waymark/workspace/supervisor"
)

const (
	// startTime is how long an X server may take to start on a busy machine.
	startTime = time.Minute
	// niceness lowers the priority of what belongs to the desktop below the agent's.
	niceness = 5
	// maxSaid is how much is kept of what a program says before it fails, in bytes.
	maxSaid = 1 << 10
	// cookieName is how X calls a shared secret.
	cookieName = "MIT-MAGIC-COOKIE-1"
)

// program is one that the desktop consists of, with the package that has it.
type program struct{ name, pkg string }

// programs are the X server, the window manager and the recorder.
func (s Settings) programs() [3]program {
	return [3]program{{cmp.Or(s.Server, "Xvnc"), "tigervnc-standalone-server"}, {cmp.Or(s.Manager, "openbox"), "openbox"}, {cmp.Or(s.Recorder, "ffmpeg"), "ffmpeg"}}
}

// missingError says what has to be installed.
type missingError string

func (e missingError) Error() string { return string(e) }

// find returns the path of a program.
func (p program) find() (string, error) {
	path, err := exec.LookPath(p.name)
	if err != nil {
		return "", missingError(fmt.Sprintf("there is no %s: install the package %s, or name the program in [desktop] of the agent's configuration", p.name, p.pkg))
	}
	return filepath.Abs(path)
}

// Missing says what of the desktop's programs has to be installed.
func Missing(s Settings) (list []string) {
	for _, p := range s.programs() {
		if _, err := p.find(); err != nil {
			list = append(list, err.Error())
		}
	}
	return list
}

// session is a running X server with its window manager.
type session struct {
	svc     *Service
	display string
	server  *started
	manager *started
	// turn orders actions; it guards client.
	turn   *semaphore.Weighted
	client *display // nil after an error
	// cookie opens the display.
	cookie []byte
	// ended is closed when the server has ended; why says how, and is set before.
	ended chan struct{}
	why   error
}

func (s *Service) socket() string { return filepath.Join(s.opts.Run, "vnc.sock") }

// Xauthority is the file that opens the display.
func (s *Service) xauthority() string { return filepath.Join(s.opts.Run, "Xauthority") }

// keymapFits reports why the X server can't compile its keymap. That of a user who isn't root
// lies in /tmp itself, where a confined process may write only if nothing there is hidden.
func (s *Service) keymapFits() error {
	if !s.opts.HideSecrets() || unix.Access("/var/lib/xkb", unix.W_OK) == nil {
		return nil
	}
	for _, dir := range s.opts.Places().Own {
		if rel, err := filepath.Rel("/tmp", dir); err == nil && filepath.IsLocal(rel) {
			return fmt.Errorf("the X server needs /tmp for its keymap, and may not write there, because the agent's own %s lies in it: set XDG_RUNTIME_DIR to another place", dir)
		}
	}
	return nil
}

// start starts a session.
func (s *Service) start(ctx context.Context) (_ *session, err error) {
	now := s.opts.Settings()
	programs := now.programs()
	server, err1 := programs[0].find()
	manager, err2 := programs[1].find()
	if err := cmp.Or(err1, err2, s.keymapFits()); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	d := &session{svc: s, turn: semaphore.NewWeighted(1), ended: make(chan struct{}), cookie: make([]byte, 16)}
	_, _ = rand.Read(d.cookie)
	if err := d.prepare(); err != nil {
		return nil, err
	}
	// With -displayfd the server takes a display that is free, by its sockets, and makes no
	// lock files. Nobody reaches it over the network, or may change the screen's size.
	d.server, err = s.run(ctx, "the X server", nil, server, "-displayfd", "1", "-auth", s.xauthority(), "-geometry", fmt.Sprintf("%dx%d", now.Width, now.Height),
		"-depth", "24", "-nolisten", "tcp", "-noreset", "-rfbport", "-1", "-rfbunixpath", s.socket(), "-rfbunixmode", "384",
		"-SecurityTypes", "None", "-AlwaysShared", "-AcceptSetDesktopSize=0", "-IdleTimeout", "0", "-desktop", "Waymark")
	if err != nil {
		return nil, err
	}
	d.display = ":" + d.server.line
	go d.watch() //nolint:gosec // G118: it outlives the request that starts the screen
	if d.client, err = dial(ctx, d.server.line, d.cookie); err == nil {
		// What is shown before it is ready would be shown anew, and lose the focus.
		d.manager, err = s.run(ctx, "the window manager", d, manager, "--startup", "echo ready")
	}
	if err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// prepare makes the directories, without what an earlier session has left there, and the
// file that opens the display.
func (d *session) prepare() error {
	s := d.svc
	for _, dir := range []string{s.opts.Run, s.opts.Dir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	// X servers make this directory themselves, where they may write to /tmp.
	const sockets = "/tmp/.X11-unix"
	if os.Mkdir(sockets, 0o700) == nil {
		if err := os.Chmod(sockets, 0o777|os.ModeSticky); err != nil {
			return err
		}
	}
	for _, file := range []string{s.socket(), s.xauthority()} {
		if err := os.RemoveAll(file); err != nil {
			return err
		}
	}
	// One entry, for all displays of all hosts (FamilyWild): name and value of a cookie.
	entry := []byte{0xff, 0xff, 0, 0, 0, 0}
	for _, part := range [][]byte{[]byte(cookieName), d.cookie} {
		entry = append(binary.BigEndian.AppendUint16(entry, uint16(len(part))), part...) //nolint:gosec // short
	}
	return os.WriteFile(s.xauthority(), entry, 0o600)
}

// started is a program of the desktop.
type started struct {
	supervisor.Owned

	line string        // the first that it has written
	said func() string // the last of its errors, once it has ended
}

// run starts a program, confined as processes of chats are, and returns when it has written a
// line. d, if not nil, is the session whose display it gets. All but the window manager, whose
// menus start programs, are kept from the network.
func (s *Service) run(ctx context.Context, what string, d *session, argv ...string) (*started, error) {
	o, err := s.own(ctx, d, d == nil || d.manager != nil, argv)
	if err != nil {
		return nil, fmt.Errorf("%s doesn't start: %w", what, err)
	}
	p := &started{Owned: o, said: last(o.Stderr())}
	stop := context.AfterFunc(ctx, func() { _ = o.Close() })
	defer stop()
	out := bufio.NewReader(o.Stdout())
	if p.line, err = out.ReadString('\n'); err != nil {
		_ = o.Close()
		return nil, fmt.Errorf("%s doesn't start: %s", what, cmp.Or(p.said(), "it has said nothing"))
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	p.line = strings.TrimSpace(p.line)
	return p, nil
}

func (s *Service) own(ctx context.Context, d *session, closed bool, argv []string) (supervisor.Owned, error) {
	places := s.opts.Places()
	spec := &supervisor.Spec{Argv: argv, Dir: places.Home, Stdin: true, Nice: niceness, Command: "desktop " + filepath.Base(argv[0])}
	for _, have := range s.opts.Environ() {
		switch name, _, _ := strings.Cut(have, "="); name {
		case "DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY":
		default:
			if !launch.AgentVariable(name) {
				spec.Env = append(spec.Env, have)
			}
		}
	}
	if d != nil {
		spec.Env = append(spec.Env, s.environ(d)...)
	}
	if root := s.opts.Root(); root != "" && !closed {
		spec.Dir = root
	}
	if info, err := os.Stat(spec.Dir); err != nil || !info.IsDir() {
		spec.Dir = "/"
	}
	if s.opts.HideSecrets() {
		places.Root, places.Tmp = s.opts.Root(), s.opts.Run
		profile, err := launch.HideSecrets(places)
		if err != nil {
			return nil, err
		}
		if profile.NoTCP = closed; closed {
			profile.Write = append(profile.Write, s.opts.Dir)
		}
		spec.Profile = profile
	}
	o, err := s.opts.Supervisor.StartOwned(ctx, spec)
	if errors.Is(err, launch.ErrUnsupported) && spec.Profile != nil { // as for processes: the list is advisory then
		s.opts.Logger.Warn("the desktop's programs are not kept from secrets here", slog.Any("error", err))
		spec.Profile = nil
		o, err = s.opts.Supervisor.StartOwned(ctx, spec)
	}
	return o, err
}

// environ returns the variables of programs that show something.
func (s *Service) environ(d *session) []string {
	return []string{"DISPLAY=" + d.display, "XAUTHORITY=" + s.xauthority()}
}

// watch waits for the end of the server, and ends the rest.
func (d *session) watch() {
	code, err := d.server.Wait(context.Background())
	d.why = fmt.Errorf("the X server has ended with code %d", code)
	if err != nil {
		d.why = fmt.Errorf("the X server has ended: %w", err)
	}
	close(d.ended)
	d.svc.over(d, d.why, d.server.said())
	d.close()
}

// close ends everything of the session. It may be called twice.
func (d *session) close() {
	if d.manager != nil {
		_ = d.manager.Close()
	}
	_ = d.server.Close()
}

// do runs an exchange with the server, one at a time.
func (d *session) do(ctx context.Context, what func(x *display) error) (err error) {
	if d.turn.Acquire(ctx, 1) != nil {
		return context.Cause(ctx)
	}
	defer d.turn.Release(1)
	if d.client == nil {
		d.client, err = dial(ctx, d.display[1:], d.cookie)
	}
	if err == nil {
		err = d.client.within(ctx, func() error { return what(d.client) })
	}
	if err != nil {
		d.client = nil
		return d.explain(err)
	}
	return nil
}

// explain returns why the server has ended, if it has, in place of what that led to.
func (d *session) explain(err error) error {
	if !errors.Is(err, context.Canceled) {
		select {
		case <-d.ended:
			return d.why
		case <-time.After(time.Second): // the end of a process is told after that of its sockets
		}
	}
	return err
}

// last reads to the end of a stream, and returns a function for the last line of it, which is
// called once.
func last(r io.Reader) func() string {
	found := make(chan string, 1)
	go func() {
		last := ""
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			last = cmp.Or(strings.TrimSpace(strings.ReplaceAll(lines.Text(), "(EE)", "")), last) // X marks errors so
		}
		_, _ = io.Copy(io.Discard, r) // behind a line that is too long
		found <- text.Line(last, maxSaid)
	}()
	return func() string {
		select {
		case line := <-found:
			return line
		case <-time.After(time.Second): // others have the stream open
			return ""
		}
	}
}
