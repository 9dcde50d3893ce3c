package desktop

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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

var (
	xvnc    = program{"Xvnc", "tigervnc-standalone-server"}
	openbox = program{"openbox", "openbox"}
	ffmpeg  = program{"ffmpeg", "ffmpeg"}
)

// missingError says what has to be installed.
type missingError struct{ list []string }

func (e *missingError) Error() string { return strings.Join(e.list, "; ") }

// find returns the path of a program: named is what the configuration says.
func (p program) find(named string) (string, error) {
	path, err := exec.LookPath(cmp.Or(named, p.name))
	if err != nil {
		return "", &missingError{[]string{fmt.Sprintf("there is no %s: install the package %s, or name the program in [desktop] of the agent's configuration", cmp.Or(named, p.name), p.pkg)}}
	}
	return filepath.Abs(path)
}

// Missing says what of the desktop's programs has to be installed.
func Missing(s Settings) (list []string) {
	for _, p := range []struct {
		program
		named string
	}{{xvnc, s.Server}, {openbox, s.Manager}, {ffmpeg, s.Recorder}} {
		if _, err := p.find(p.named); err != nil {
			list = append(list, err.Error())
		}
	}
	return list
}

// session is a running X server with its window manager.
type session struct {
	svc     *Service
	display string
	server  supervisor.Owned
	manager supervisor.Owned
	// turn orders actions; it guards rfb and keys.
	turn *semaphore.Weighted
	rfb  *rfb // nil until it is needed, and after an error
	keys keymap
	// cookie opens the display.
	cookie []byte
	// ended is closed when the server has ended; why says how, and is set before.
	ended chan struct{}
	why   error

	mu      sync.Mutex // guards pointer
	pointer image.Point
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
	server, err1 := xvnc.find(now.Server)
	manager, err2 := openbox.find(now.Manager)
	if err := errors.Join(err1, err2); err != nil {
		return nil, cmp.Or(err1, err2)
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if err := s.keymapFits(); err != nil {
		return nil, err
	}
	d := &session{svc: s, turn: semaphore.NewWeighted(1), ended: make(chan struct{}), cookie: make([]byte, 16)}
	_, _ = rand.Read(d.cookie)
	if err := d.prepare(); err != nil {
		return nil, err
	}
	// With -displayfd the server takes a display that is free, by its sockets, and makes no
	// lock files. Nobody reaches it over the network, or may change the screen's size.
	d.server, err = s.own(ctx, true, nil, server, "-displayfd", "1", "-auth", s.xauthority(), "-geometry", fmt.Sprintf("%dx%d", now.Width, now.Height),
		"-depth", "24", "-nolisten", "tcp", "-noreset", "-rfbport", "-1", "-rfbunixpath", s.socket(), "-rfbunixmode", "384",
		"-SecurityTypes", "None", "-AlwaysShared", "-AcceptSetDesktopSize=0", "-IdleTimeout", "0", "-desktop", "Waymark")
	if err != nil {
		return nil, fmt.Errorf("the X server doesn't start: %w", err)
	}
	said := keep(d.server.Stderr())
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	line, err := firstLine(ctx, d.server)
	if err != nil {
		return nil, fmt.Errorf("the X server doesn't start: %s", cmp.Or(said(), "it has said nothing"))
	}
	d.display = ":" + line
	go d.watch(said) //nolint:gosec // G118: it outlives the request that starts the screen
	if d.rfb, err = dialRFB(ctx, s.socket(), d.moved); err != nil {
		return nil, err
	}
	d.pointer = d.rfb.size.Div(2) // where X puts it
	// What is shown before it is ready would be shown anew, and lose the focus.
	if d.manager, err = s.own(ctx, false, d, manager, "--startup", "echo ready"); err != nil {
		return nil, fmt.Errorf("the window manager doesn't start: %w", err)
	}
	said = keep(d.manager.Stderr())
	if _, err = firstLine(ctx, d.manager); err != nil {
		return nil, fmt.Errorf("the window manager doesn't start: %s", cmp.Or(said(), "it has said nothing"))
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

// own starts a program of the desktop, confined as processes of chats are. closed says that
// it needs no network. d, if not nil, is the session whose display it gets.
func (s *Service) own(ctx context.Context, closed bool, d *session, argv ...string) (supervisor.Owned, error) {
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
func (d *session) watch(said func() string) {
	code, err := d.server.Wait(context.Background())
	d.why = fmt.Errorf("the X server has ended with code %d", code)
	if err != nil {
		d.why = fmt.Errorf("the X server has ended: %w", err)
	}
	close(d.ended)
	d.svc.over(d, d.why, said())
	d.close()
}

// close ends everything of the session. It may be called twice.
func (d *session) close() {
	if d.manager != nil {
		_ = d.manager.Close()
	}
	_ = d.server.Close()
}

// moved keeps the pointer's position.
func (d *session) moved(p image.Point) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pointer = p
}

// at returns the pointer's position.
func (d *session) at() image.Point {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pointer
}

// do runs an exchange with the server, one at a time.
func (d *session) do(ctx context.Context, what func(c *rfb) error) (err error) {
	if d.turn.Acquire(ctx, 1) != nil {
		return context.Cause(ctx)
	}
	defer d.turn.Release(1)
	if d.rfb == nil {
		if d.rfb, err = dialRFB(ctx, d.svc.socket(), d.moved); err != nil {
			return d.explain(err)
		}
	}
	if err = d.rfb.within(ctx, func() error { return what(d.rfb) }); err != nil {
		d.rfb = nil
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

// keep reads to the end of a stream, and returns a function for the last line of it.
func keep(r io.Reader) func() string {
	var mu sync.Mutex
	var last []byte
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, maxSaid)
		for {
			n, err := r.Read(buf)
			mu.Lock()
			last = append(last, buf[:n]...)
			last = last[max(0, len(last)-maxSaid):]
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return func() string {
		select {
		case <-done:
		case <-time.After(time.Second): // others may have the stream open
		}
		mu.Lock()
		defer mu.Unlock()
		for _, line := range slices.Backward(strings.Split(string(last), "\n")) {
			if line = strings.TrimSpace(strings.ReplaceAll(line, "(EE)", "")); line != "" { // X marks errors so
				return text.Line(line, maxSaid)
			}
		}
		return ""
	}
}

// firstLine returns the first line that a program writes, which is ended if it is too slow,
// and drops the others.
func firstLine(ctx context.Context, o supervisor.Owned) (string, error) {
	stop := context.AfterFunc(ctx, func() { _ = o.Close() })
	defer stop()
	out := bufio.NewReader(o.Stdout())
	line, err := out.ReadString('\n')
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return strings.TrimSpace(line), err
}
