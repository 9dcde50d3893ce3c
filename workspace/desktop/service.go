// Package desktop gives chats a screen in the workspace: an X server with a window manager,
// which they drive, which people can watch, and which can be recorded.
//
// The programs are those that every distribution has: Xvnc of TigerVNC, openbox, and ffmpeg
// for recordings. They are started when somebody first needs them, confined as processes of
// chats are, and end with the agent, or when nobody has used them for a while. A client of X
// in this package presses keys, moves the pointer and takes pictures; watchers have RFB
// connections of their own to the server.
//
// # Guarantees
//
//   - The display takes no connection from the network. Its socket and the file that opens it are
//     in a directory of the agent, which only processes with the scope "desktop" can read.
//   - What was started ends with the agent, however that ends.
//   - Actions are made one after the other. One that has returned has reached the server.
//   - A watcher without the scope "desktop" can't act: what would is dropped from what it sends.
//   - What is on the screen, or typed, is in no log and no error.
//
// # Concurrency
//
// A Service serves any number of requests at the same time. Close ends everything.
//
// # Limits
//
// There is one desktop for all chats of an agent. When an action returns, the program that it
// was for may not have reacted yet.
package desktop

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/sync/semaphore"

	"waymark/agentapi"
	"waymark/internal/defaults"
	"waymark/internal/errtext"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
	"waymark/workspace/access"
	"waymark/workspace/launch"
	"waymark/workspace/supervisor"
)

const (
	// maxWatchers is how many may watch at a time.
	maxWatchers = 16
	// actionTime limits an action: the longest pause, and a busy machine.
	actionTime = agentapi.MaxDesktopDuration*time.Millisecond + time.Minute
)

// Starter starts processes that end with the agent. A supervisor.Client is one.
type Starter interface {
	StartOwned(ctx context.Context, spec *supervisor.Spec) (supervisor.Owned, error)
}

// Options configure a Service. Supervisor, Places, Run and Dir are required.
type Options struct {
	Supervisor Starter
	// Root, Places, HideSecrets and Environ are as for processes.
	Root        func() string
	Places      func() launch.Places
	HideSecrets func() bool
	Environ     func() []string
	// Run is a directory only for the socket, which takes a short path, and Dir one for
	// recordings. They are made when they are needed, and only for this user.
	Run, Dir string
	// Settings returns the settings for what is started next. Nil means the zero Settings.
	Settings func() Settings
	// Logger receives what belongs to no request. Nil means no log.
	Logger *slog.Logger
}

// Settings are what an operator may choose. The zero value has the defaults.
type Settings struct {
	// Server, Manager and Recorder are programs in the place of Xvnc, openbox and ffmpeg.
	Server, Manager, Recorder string
	// Width and Height are the size of the screen, in pixels; default 1280 × 800.
	Width, Height int
	// Idle is after which time without use the desktop ends; default an hour. RecordIdle is
	// that of a recording, default 10 minutes.
	Idle, RecordIdle time.Duration
	// MaxRecording bounds a recording, in bytes; default 100 MB.
	MaxRecording int64
}

// Service is the API of the desktop.
type Service struct {
	opts Options
	// starting orders starts of the desktop, recording those of recordings.
	starting, recording *semaphore.Weighted
	watching            *semaphore.Weighted

	mu         sync.Mutex // guards the fields below
	session    *session   // nil if there is none
	failure    string     // why the last one ended
	users      int        // actions, watchers and recordings at work
	used       time.Time
	idle       *time.Timer
	closed     bool
	recordings map[string]*recording
}

// New makes a Service. It starts nothing.
func New(opts Options) *Service {
	opts = defaults.Or(opts, Options{
		Root: func() string { return "" }, HideSecrets: func() bool { return true }, Environ: os.Environ,
		Settings: func() Settings { return Settings{} }, Logger: slog.New(slog.DiscardHandler),
	})
	said := opts.Settings
	opts.Settings = func() Settings {
		return defaults.Or(said(), Settings{
			Width: defaults.DesktopWidth, Height: defaults.DesktopHeight, Idle: defaults.DesktopIdle, RecordIdle: 10 * time.Minute, MaxRecording: 100 << 20,
		})
	}
	s := &Service{opts: opts, starting: semaphore.NewWeighted(1), recording: semaphore.NewWeighted(1), watching: semaphore.NewWeighted(maxWatchers), recordings: map[string]*recording{}}
	s.idle = time.AfterFunc(time.Hour, s.unused) // release sets the time
	return s
}

// Close ends the desktop, and drops recordings that nobody has fetched.
func (s *Service) Close() error {
	s.mu.Lock()
	s.closed = true
	s.idle.Stop()
	s.mu.Unlock()
	s.end()
	if _, err := os.Lstat(s.opts.Dir); err == nil { // else nothing was recorded, or there can't be such a place
		return os.RemoveAll(s.opts.Dir)
	}
	return nil
}

// end ends the session, if there is one, and its recordings before, and waits for that.
func (s *Service) end() {
	s.mu.Lock()
	d := s.session
	s.session, s.failure = nil, ""
	var under []*recording
	for _, r := range s.recordings {
		if r.desktop == d {
			under = append(under, r)
		}
	}
	s.mu.Unlock()
	for _, r := range under {
		r.finish()
		<-r.ended
	}
	if d != nil {
		d.close()
		<-d.ended
	}
}

// acquire returns the session, which it starts if there is none, for something that ends
// with release.
func (s *Service) acquire(ctx context.Context) (*session, error) {
	if s.starting.Acquire(ctx, 1) != nil {
		return nil, context.Cause(ctx)
	}
	defer s.starting.Release(1)
	s.mu.Lock()
	d := s.session
	s.mu.Unlock()
	if d == nil {
		var err error
		if d, err = s.start(ctx); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		d.close()
		return nil, os.ErrClosed
	}
	s.session, s.failure = d, ""
	s.users++
	s.used = time.Now()
	return d, nil
}

// release ends a use. Some time after the last one the session ends.
func (s *Service) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = time.Now()
	s.users--
	s.idle.Reset(s.opts.Settings().Idle)
}

// unused ends the session if nobody has used it for a while.
func (s *Service) unused() {
	s.mu.Lock()
	unused := s.users == 0 && time.Since(s.used) >= s.opts.Settings().Idle
	s.mu.Unlock()
	if unused {
		s.end()
	}
}

// over is told that a session has ended.
func (s *Service) over(d *session, why error, said string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session != d {
		return // it was ended
	}
	s.session, s.failure = nil, errtext.Of(why)
	s.opts.Logger.Warn("the desktop has ended", slog.Any("error", why), slog.String("said", said))
}

// Environ returns the variables that let a process show something on the desktop, and the
// directory that it then has to read; nothing while there is no desktop, and for callers
// that may not use it.
func (s *Service) Environ(grant *access.Grant) (env []string, dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == nil || !grant.Has(access.ScopeDesktop) {
		return nil, ""
	}
	return s.environ(s.session), s.opts.Run
}

// failed returns the answer for an error.
func (s *Service) failed(c *httpapi.Call, err error) error {
	if c.Context().Err() != nil {
		return err
	}
	code := http.StatusInternalServerError
	if errors.As(err, new(missingError)) {
		code = http.StatusServiceUnavailable
	}
	return &problem.Error{Code: code, Message: c.Failed(), Detail: errtext.Of(err)}
}

// state answers GET /api/v0/desktop.
func (s *Service) state(c *httpapi.Call) error { return c.JSON(http.StatusOK, s.now()) }

func (s *Service) now() *agentapi.Desktop {
	settings := s.opts.Settings()
	answer := &agentapi.Desktop{Missing: Missing(settings), Width: settings.Width, Height: settings.Height}
	s.mu.Lock()
	defer s.mu.Unlock()
	if answer.Error = s.failure; s.session != nil {
		answer.Running, answer.Display, answer.Xauthority = true, s.session.display, s.xauthority()
	}
	return answer
}

// begin answers POST /api/v0/desktop/start.
func (s *Service) begin(c *httpapi.Call) error {
	if err := c.DecodeNothing(); err != nil {
		return err
	}
	if _, err := s.acquire(c.Context()); err != nil {
		return s.failed(c, err)
	}
	defer s.release()
	return c.JSON(http.StatusOK, s.now())
}

// stop answers POST /api/v0/desktop/stop.
func (s *Service) stop(c *httpapi.Call) error {
	if err := c.DecodeNothing(); err != nil {
		return err
	}
	s.end()
	return c.NoContent()
}

// action answers POST /api/v0/desktop/action.
func (s *Service) action(c *httpapi.Call) error {
	var body agentapi.DesktopAction
	if err := c.Decode(&body); err != nil {
		return err
	}
	step, err := understand(&body)
	if err != nil {
		return &problem.Error{Code: http.StatusBadRequest, Message: c.Failed(), Detail: errtext.Of(err)}
	}
	d, err := s.acquire(c.Context())
	if err != nil {
		return s.failed(c, err)
	}
	defer s.release()
	answer, err := d.act(c.Context(), step)
	if err != nil {
		return s.failed(c, err)
	}
	return c.JSON(http.StatusOK, answer)
}

// watch answers GET /api/v0/desktop/vnc.
func (s *Service) watch(c *httpapi.Call) error {
	if !s.watching.TryAcquire(1) {
		return &problem.Error{Code: http.StatusTooManyRequests, Message: c.Failed(), Detail: "too many watch already"}
	}
	defer s.watching.Release(1)
	if _, err := s.acquire(c.Context()); err != nil {
		return s.failed(c, err)
	}
	defer s.release()
	server, err := net.Dial("unix", s.socket())
	if err != nil {
		return s.failed(c, err)
	}
	defer func() { _ = server.Close() }()
	c.Stream()
	socket, err := c.Upgrade()
	if err != nil {
		return err
	}
	peer := websocket.NetConn(context.WithoutCancel(c.Context()), socket, websocket.MessageBinary)
	stop := context.AfterFunc(c.Context(), func() { _ = server.Close() })
	defer stop()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		// The end of either is no error.
		if access.From(c.Context()).Has(access.ScopeDesktop) {
			_, _ = io.Copy(server, peer)
		} else {
			_ = view(server, peer)
		}
		_ = server.Close()
	}()
	_, _ = io.Copy(peer, server)
	_ = socket.Close(websocket.StatusNormalClosure, "")
	<-sent
	return nil
}

// Service returns the routes and their description.
func (s *Service) Service() httpapi.Service {
	about := httpapi.AgentAbout("desktop", "A screen for chats: Xvnc with a window manager, which starts when it is first used. Paths, fields and codes are those of Coder's agent where it has an equivalent. Off, unless `services.desktop` is true.")
	about.Errors = map[int]string{
		http.StatusBadRequest:          "An unknown action, or a field that is missing or can't be right; `detail` says which.",
		http.StatusInternalServerError: "The desktop didn't start, or has ended meanwhile; `detail` says why.",
		http.StatusServiceUnavailable:  "A program is missing; `detail` names the package that has it.",
	}
	acting := []int{http.StatusInternalServerError, http.StatusServiceUnavailable}
	route := func(method, path, id string, scope access.Scope, handle httpapi.Handler, failed, summary, text string, answers ...httpapi.Answer) httpapi.Route {
		r := httpapi.Route{Method: method, Pattern: agentapi.PathDesktop + path, Scope: string(scope), Effect: httpapi.Acts, Handle: handle, Failed: failed, Untyped: true,
			Operation: &httpapi.Operation{ID: id, Summary: summary, Text: text, Answers: answers, Errors: acting}}
		if method == http.MethodPost {
			r.Timeout = actionTime
		}
		return r
	}
	state := route(http.MethodGet, "", "desktop", access.ScopeDesktopView, s.state, "the desktop isn't known", "Say whether the desktop runs, and what is missing",
		"Starts nothing. Needs the scope `desktop-view` or `desktop`.", httpapi.OK("Its state.", agentapi.Desktop{}))
	state.Operation.Errors = nil
	vnc := route(http.MethodGet, "/vnc", "desktopVNC", access.ScopeDesktopView, s.watch, "the desktop can't be watched", "Watch the desktop, or take part",
		"A WebSocket whose binary messages are a stream of RFB 3.8, without a password: what a VNC client speaks. Up to 16 at a time. With the scope `desktop-view` keys, pointer and clipboard of the client are dropped; with `desktop` they are passed on.",
		httpapi.Answer{Code: http.StatusSwitchingProtocols, Text: "The WebSocket."})
	vnc.MaxBody = 4 << 20
	vnc.Operation.Errors = append(vnc.Operation.Errors, http.StatusTooManyRequests)
	action := route(http.MethodPost, "/action", "desktopAction", access.ScopeDesktop, s.action, "the action wasn't made", "Press keys, move the pointer, take a picture",
		"`text` is needed by `key`, `key_down`, `key_up`, `hold_key` and `type`; `coordinate` by the clicks, `mouse_move`, `left_click_drag`, which needs `start_coordinate`, too, and `scroll`. Actions are made one after the other. Needs the scope `desktop`.",
		httpapi.OK("It was made.", agentapi.DesktopResult{}))
	action.MaxBody = 2 * agentapi.MaxDesktopText
	action.Operation.Body, action.Operation.Example = agentapi.DesktopAction{}, agentapi.DesktopAction{Action: "left_click", Coordinate: []int{640, 400}}
	start := route(http.MethodPost, "/recording/start", "startDesktopRecording", access.ScopeDesktop, s.startRecording, "nothing is recorded", "Record the desktop",
		"Pauses are shortened to half a second. A recording ends by itself after 10 minutes in which nobody acts, and can then still be fetched. One that is under way goes on. Needs the scope `desktop`.",
		httpapi.OK("It is being recorded.", agentapi.DesktopMessage{}))
	start.Operation.Errors = append(start.Operation.Errors, http.StatusTooManyRequests)
	stop := route(http.MethodPost, "/recording/stop", "stopDesktopRecording", access.ScopeDesktop, s.stopRecording, "there is no recording", "End a recording, and fetch it",
		"It is forgotten then. Needs the scope `desktop`.", httpapi.Answer{Code: http.StatusOK, Text: "Two parts: `video/mp4`, and a picture of the end as `image/jpeg`.", Body: httpapi.Content("multipart/mixed")},
		httpapi.Refuse(http.StatusRequestEntityTooLarge, "It had more than 100 MB, and was dropped.", "the recording has become too large: it was dropped"),
		httpapi.Refuse(http.StatusServiceUnavailable, "It is starting or ending.", "the recording is starting or ending: ask again"))
	stop.Operation.Errors = []int{http.StatusNotFound, http.StatusInternalServerError}
	for _, r := range []*httpapi.Route{&start, &stop} {
		r.Operation.Body = agentapi.DesktopRecording{}
	}
	return httpapi.Service{About: about, Routes: []httpapi.Route{state, vnc, action, start, stop,
		route(http.MethodPost, "/start", "startDesktop", access.ScopeDesktop, s.begin, "the desktop wasn't started", "Start the desktop",
			"Not needed: every action starts it. Needs the scope `desktop`.", httpapi.OK("It runs.", agentapi.Desktop{})),
		route(http.MethodPost, "/stop", "stopDesktop", access.ScopeDesktop, s.stop, "the desktop wasn't ended", "End the desktop, and what shows something on it",
			"Recordings end, and can still be fetched. Needs the scope `desktop`.", httpapi.Answer{Code: http.StatusNoContent, Text: "It doesn't run."}),
	}}
}
