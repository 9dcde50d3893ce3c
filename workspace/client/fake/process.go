package fake

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"waymark/host/vfs"
	"waymark/internal/notify"
	"waymark/workspace"
)

// Process is a process as Options.Run sees it.
type Process struct {
	ID      string
	Command string
	// Argv is the program and its arguments; sh -c where there is a Command.
	Argv    []string
	WorkDir string
	// Env is all of its environment.
	Env    map[string]string
	Caller workspace.Caller
	// Stdin has nothing unless the start asked for it.
	Stdin io.Reader
	// Output takes what it writes, to standard output and standard error.
	Output io.Writer

	state *state
	held  *process
}

// Files is the tree that the process sees.
func (p *Process) Files() *Files { return p.state.files }

// Trap catches SIGTERM, as a program does: from now on it closes the channel that
// Trap returns, and ends nothing.
func (p *Process) Trap() <-chan struct{} {
	p.state.mu.Lock()
	defer p.state.mu.Unlock()
	if p.held.trap == nil {
		p.held.trap = make(chan struct{})
	}
	return p.held.trap
}

// Size is that of its terminal as it is now; zero without one.
func (p *Process) Size() workspace.TerminalSize {
	p.state.mu.Lock()
	defer p.state.mu.Unlock()
	if p.held.size == nil {
		return workspace.TerminalSize{}
	}
	return *p.held.size
}

// process is one that is held. The state's lock guards it.
type process struct {
	id         string
	command    string
	dir        string
	background bool
	chat       uuid.UUID
	token      string
	begun      time.Time
	over       time.Time // zero while it runs
	code       *int
	lost       string
	cancel     context.CancelFunc
	trap       chan struct{}
	size       *workspace.TerminalSize
	stdin      *pipe // nil without one
	kind       string
	plan       string

	output  []byte // what the spool has of it
	omitted int64  // how much it had before that
}

func (p *process) running() bool { return p.over.IsZero() }
func (p *process) length() int64 { return p.omitted + int64(len(p.output)) }

// started is what a client token has begun.
type started struct {
	id, input string
	at        time.Time
}

// receipt is a tracked start, begun or fenced off.
type receipt struct {
	digest string
	fenced bool
}

const (
	maxArg     = 128<<10 - 1
	maxTimeout = 30 * 24 * time.Hour
	maxWait    = 5 * time.Minute
	listed     = 10
	// maxReceipts is how many tracked starts are remembered.
	maxReceipts = 16384
)

const notStarted = "the process was not started"

// StartProcess implements client.Client.
func (a *Agent) StartProcess(ctx context.Context, start workspace.StartProcess) (*workspace.StartedProcess, error) {
	_, leave, err := a.act(ctx, scopeProcesses)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := checkStart(&start); err != nil {
		return nil, err
	}
	if err := a.allowProfile(start.Profile); err != nil {
		return nil, err
	}
	dir, err := a.workDir(start.WorkDir)
	if err != nil {
		return nil, err
	}
	s := a.state
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := &workspace.StartedProcess{ClientToken: start.ClientToken, AgentInstanceID: s.instance}
	if id, err := a.attach(&start); id != "" || err != nil {
		answer.ID, answer.Attached = id, true
		return answer, err
	}
	answer.ID, answer.Started = a.begin(&start, dir), true
	return answer, nil
}

// checkStart finds what can't be started.
func checkStart(start *workspace.StartProcess) error {
	no := func(detail string) error { return refuse(http.StatusBadRequest, notStarted, detail) }
	switch {
	case start.Command == "" && len(start.Argv) == 0:
		return refuse(http.StatusBadRequest, "Command is required", "name a command for sh -c, or an argv")
	case start.Command != "" && len(start.Argv) > 0:
		return no("command and argv exclude each other")
	case len(start.Argv) > 0 && start.Argv[0] == "":
		return no("argv begins with the name of a program")
	case start.TimeoutMS < 0 || start.TimeoutMS > maxTimeout.Milliseconds():
		return no("timeout_ms is negative, or over 30 days")
	case start.PTY != nil && (start.PTY.Rows == 0) != (start.PTY.Cols == 0):
		return no("pty needs rows and cols")
	}
	texts := append([]string{start.Command, start.WorkDir}, start.Argv...)
	for name, value := range start.Env {
		if name == "" || strings.Contains(name, "=") {
			return no(fmt.Sprintf("env: %q is not the name of a variable", name))
		}
		texts = append(texts, name+"="+value)
	}
	for _, text := range texts {
		switch {
		case strings.ContainsRune(text, 0):
			return no("command, argv, workdir and env have no NUL byte")
		case len(text) > maxArg:
			return no("a command, an argument or a variable is too long: put it into a file")
		}
	}
	return checkTracked(start)
}

func checkTracked(start *workspace.StartProcess) error {
	if start.ProcessID == "" && start.AgentInstanceID == "" && start.InputDigest == "" {
		return nil
	}
	return checkIdentity(notStarted, start.ProcessID, start.AgentInstanceID, start.InputDigest, start.Deadline)
}

func checkIdentity(message, process, instance, digest, deadline string) error {
	id, err := uuid.Parse(process)
	_, badInstance := uuid.Parse(instance)
	sum, badDigest := hex.DecodeString(digest)
	_, badDeadline := time.Parse(time.RFC3339Nano, cmp.Or(deadline, "2006-01-02T15:04:05Z"))
	switch {
	case err != nil || id == uuid.Nil:
		return refuse(http.StatusBadRequest, message, "process_id is not a UUID")
	case badInstance != nil:
		return refuse(http.StatusBadRequest, message, "agent_instance_id is not a UUID")
	case badDigest != nil || len(sum) != 32: // a SHA-256
		return refuse(http.StatusBadRequest, message, "input_digest is not a SHA-256 in hexadecimal")
	case badDeadline != nil:
		return refuse(http.StatusBadRequest, message, "deadline is not a time as in RFC 3339")
	}
	return nil
}

// kinds are those of confinement, from the widest to the narrowest. The fake
// confines nothing: it only knows who may ask for what.
var kinds = []string{"none", "secrets", "plan"}

// kind is what the token asks for.
func (g *grant) kind() string {
	switch {
	case g.plan != "":
		return "plan"
	case slices.Contains(g.list, vfs.AllSecrets):
		return "none"
	}
	return "secrets"
}

func (a *Agent) allowProfile(asked string) error {
	at := slices.Index(kinds, asked)
	switch {
	case asked == "":
		return nil
	case at < 0:
		return refuse(http.StatusBadRequest, notStarted, `profile is "none", "secrets" or "plan"`)
	case at < slices.Index(kinds, a.grant.kind()):
		return refuse(http.StatusForbidden, notStarted, "a profile can narrow what the token allows, not widen it")
	}
	return nil
}

// workDir is where a process runs.
func (a *Agent) workDir(asked string) (string, error) {
	dir := a.state.opts.Root
	if info, err := a.state.files.info(dir, true); err != nil || !info.IsDir() {
		dir = a.state.opts.Home
	}
	switch rest, home := strings.CutPrefix(asked, "~/"); {
	case asked == "":
	case home || asked == "~":
		dir = path.Join(a.state.opts.Home, strings.TrimPrefix(rest, "~"))
	case path.IsAbs(asked):
		dir = path.Clean(asked)
	default:
		dir = path.Join(dir, asked)
	}
	if info, err := a.state.files.info(dir, true); asked != "" && (err != nil || !info.IsDir()) {
		return "", refuse(http.StatusBadRequest, notStarted, "there is no working directory "+dir)
	}
	return dir, nil
}

// attach finds the process that an earlier start with the same token or id has
// begun; "" if this one is the first. The caller has the lock.
func (a *Agent) attach(start *workspace.StartProcess) (string, error) {
	s := a.state
	if start.ProcessID != "" {
		if id, err := a.attachTracked(start); id != "" || err != nil {
			return id, err
		}
	}
	if start.ClientToken == "" {
		return "", nil
	}
	t := s.starts[start.ClientToken]
	switch {
	case t == nil:
		return "", nil
	case t.input != a.input(start):
		return "", refuse(http.StatusConflict, notStarted, "it belongs to another start")
	}
	return t.id, nil
}

// input is what a token is bound to.
func (a *Agent) input(start *workspace.StartProcess) string {
	data, _ := json.Marshal(struct {
		Chat  uuid.UUID
		Start *workspace.StartProcess
		Kind  string
		Plan  string
	}{a.caller.Chat, start, a.grant.kind(), a.grant.plan}) // texts and numbers
	return string(data)
}

func (a *Agent) attachTracked(start *workspace.StartProcess) (string, error) {
	s := a.state
	deadline, _ := time.Parse(time.RFC3339Nano, start.Deadline) // it was checked
	r := s.tracked[start.ProcessID]
	switch {
	case start.AgentInstanceID != s.instance:
		return "", refuse(http.StatusConflict, notStarted, "what holds the processes is another one now")
	case r != nil && r.digest != a.digest(start.InputDigest):
		return "", refuse(http.StatusConflict, notStarted, "it belongs to another start")
	case r != nil && r.fenced, r == nil && start.Deadline != "" && !time.Now().Before(deadline):
		return "", refuse(http.StatusGone, notStarted, "its deadline has passed, or it was canceled before")
	case r != nil:
		return start.ProcessID, nil
	case len(s.tracked) >= maxReceipts:
		return "", refuse(http.StatusTooManyRequests, notStarted, "no more can be held")
	}
	return "", nil
}

// digest makes the chat a part of a start's identity.
func (a *Agent) digest(of string) string { return of + " " + a.caller.Chat.String() }

// begin starts a process. The caller has the lock.
func (a *Agent) begin(start *workspace.StartProcess, dir string) string {
	s := a.state
	p := &process{
		id: cmp.Or(start.ProcessID, uuid.NewString()), command: start.Command, dir: dir, background: start.Background, chat: a.caller.Chat,
		token: start.ClientToken, begun: time.Now(), kind: cmp.Or(start.Profile, a.grant.kind()), plan: a.grant.plan,
	}
	argv := start.Argv
	if len(argv) == 0 {
		argv = []string{"sh", "-c", start.Command}
	} else {
		p.command = strings.Join(argv, " ")
	}
	if start.PTY != nil {
		size := *start.PTY
		if size == (workspace.TerminalSize{}) {
			size = workspace.TerminalSize{Rows: 24, Cols: 80}
		}
		p.size = &size
	}
	run := &Process{
		ID: p.id, Command: p.command, Argv: argv, WorkDir: dir, Env: a.environ(dir, start), Caller: a.caller,
		Stdin: strings.NewReader(""), Output: &outputWriter{s, p}, state: s, held: p,
	}
	if start.Stdin || start.PTY != nil {
		p.stdin = newPipe()
		run.Stdin = p.stdin
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	s.processes = append(s.processes, p)
	if start.ProcessID != "" {
		s.tracked[start.ProcessID] = &receipt{digest: a.digest(start.InputDigest)}
	}
	if start.ClientToken != "" {
		s.starts[start.ClientToken] = &started{id: p.id, input: a.input(start), at: p.begun}
	}
	s.touch(a.caller, dir)
	if d := time.Duration(start.TimeoutMS) * time.Millisecond; d > 0 {
		timer := time.AfterFunc(d, func() { s.signal(p, 15) })
		context.AfterFunc(ctx, func() { timer.Stop() })
	}
	s.work.Go(func() {
		code := s.opts.Run(ctx, run)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.end(p, &code)
		s.touch(run.Caller, dir)
	})
	return p.id
}

// environ is a process's environment.
func (a *Agent) environ(dir string, start *workspace.StartProcess) map[string]string {
	env := map[string]string{"HOME": a.state.opts.Home, "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "PWD": dir}
	if start.PTY != nil {
		env["TERM"] = "xterm-256color"
	}
	maps.Copy(env, start.Env)
	delete(env, "CODER_CHAT_ID")
	if a.caller.Scoped() {
		env["CODER_CHAT_ID"] = a.caller.Chat.String()
	}
	return env
}

// end says that a process has ended, unless it has. The caller has the lock.
func (s *state) end(p *process, code *int) {
	if !p.running() {
		return
	}
	p.over, p.code = time.Now(), code
	p.cancel()
	if p.stdin != nil {
		_ = p.stdin.Close()
	}
	s.changed.Notify()
}

// signal sends a signal to a process.
func (s *state) signal(p *process, number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number == 15 && p.trap != nil {
		select {
		case <-p.trap: // it has been told
		default:
			close(p.trap)
		}
		return
	}
	code := 128 + number
	s.end(p, &code)
}

// ListProcesses implements client.Client.
func (a *Agent) ListProcesses(ctx context.Context, limit int) (*workspace.ProcessList, error) {
	_, leave, err := a.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	s := a.state
	s.mu.Lock()
	defer s.mu.Unlock()
	list := &workspace.ProcessList{Processes: []workspace.Process{}, AgentInstanceID: s.instance}
	own := slices.DeleteFunc(slices.Clone(s.processes), func(p *process) bool { return !a.caller.Owns(p.chat) })
	slices.Reverse(own)
	slices.SortStableFunc(own, func(x, y *process) int {
		return cmp.Or(x.rank()-y.rank(), y.begun.Compare(x.begun))
	})
	for _, p := range own[:min(len(own), cmp.Or(max(limit, 0), listed))] {
		list.Processes = append(list.Processes, p.shown())
	}
	return list, nil
}

// rank puts what runs first.
func (p *process) rank() int {
	if p.running() {
		return 0
	}
	return 1
}

// shown is a process as it is listed.
func (p *process) shown() workspace.Process {
	w := workspace.Process{
		ID: p.id, Command: p.command, WorkDir: p.dir, Background: p.background, Running: p.running(), ExitCode: p.code,
		StartedAtUnix: p.begun.Unix(), Lost: p.lost,
	}
	if p.chat != uuid.Nil {
		w.ChatID = p.chat.String()
	}
	if !p.running() {
		exited := p.over.Unix()
		w.ExitedAtUnix = &exited
		w.Usage = &workspace.ProcessUsage{WallMS: p.over.Sub(p.begun).Milliseconds(), OutputLen: p.length()}
	}
	return w
}

// own returns a process that the caller may know of. The caller has the lock.
func (a *Agent) own(id, message string) (*process, error) {
	for _, p := range a.state.processes {
		if p.id == id && a.caller.Owns(p.chat) {
			return p, nil
		}
	}
	return nil, refuse(http.StatusNotFound, message, fmt.Sprintf("there is no process %q", id))
}

// SignalProcess implements client.Client.
func (a *Agent) SignalProcess(ctx context.Context, id, signal string) error {
	const message = "no signal was sent"
	_, leave, err := a.act(ctx, scopeProcesses)
	if err != nil {
		return err
	}
	defer leave()
	number := map[string]int{"kill": 9, "terminate": 15, "interrupt": 2, "hangup": 1}[signal]
	if number == 0 {
		return refuse(http.StatusBadRequest, message, `signal is "terminate", "kill", "interrupt" or "hangup"`)
	}
	p, err := a.live(id, message)
	if err == nil {
		a.state.signal(p, number)
	}
	return err
}

// live is own for one that must not have ended.
func (a *Agent) live(id, message string) (*process, error) {
	a.state.mu.Lock()
	defer a.state.mu.Unlock()
	p, err := a.own(id, message)
	switch {
	case err == nil && a.grant.plan != "" && (p.kind != "plan" || p.plan != a.grant.plan):
		return nil, refuse(http.StatusForbidden, message, "the process was not started with what this token allows")
	case err == nil && !p.running():
		return nil, refuse(http.StatusConflict, message, "the process has ended")
	}
	return p, err
}

// WriteStdin implements client.Client.
func (a *Agent) WriteStdin(ctx context.Context, id string, input workspace.ProcessStdin) error {
	const message = "nothing was written"
	_, leave, err := a.act(ctx, scopeProcesses)
	if err != nil {
		return err
	}
	defer leave()
	data := input.DataBase64
	switch {
	case len(data) > 0 && input.Data != "":
		return refuse(http.StatusBadRequest, message, "data and data_base64 exclude each other")
	case len(data) == 0:
		data = []byte(input.Data)
	}
	if len(data) == 0 && !input.Close {
		return refuse(http.StatusBadRequest, message, "there is nothing to write, and close is not asked for")
	}
	p, err := a.reach(id, message)
	if err != nil {
		return err
	}
	if p.stdin == nil || !p.stdin.write(data) {
		return refuse(http.StatusConflict, message, "its standard input is closed")
	}
	if input.Close {
		_ = p.stdin.Close()
	}
	return nil
}

// reach is live for a caller who acts through a process: one that may do more than
// the caller's token can't be told what to do.
func (a *Agent) reach(id, message string) (*process, error) {
	a.state.mu.Lock()
	p, err := a.own(id, message)
	kind := a.grant.kind()
	ok := err == nil && (kind == "none" || p.kind == kind && p.plan == a.grant.plan)
	a.state.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, refuse(http.StatusForbidden, message, "the process was not started with what this token allows: it may do more")
	}
	return a.live(id, message)
}

// ResizeProcess implements client.Client.
func (a *Agent) ResizeProcess(ctx context.Context, id string, size workspace.TerminalSize) error {
	const message = "the terminal has its old size"
	_, leave, err := a.act(ctx, scopeProcesses)
	if err != nil {
		return err
	}
	defer leave()
	if size.Rows == 0 || size.Cols == 0 {
		return refuse(http.StatusBadRequest, message, "rows and cols are from 1 to 65535")
	}
	p, err := a.live(id, message)
	if err != nil {
		return err
	}
	a.state.mu.Lock()
	defer a.state.mu.Unlock()
	if p.size == nil {
		return refuse(http.StatusConflict, message, "the process has no terminal")
	}
	p.size = &size
	return nil
}

// ProcessToken implements client.Client.
func (a *Agent) ProcessToken(ctx context.Context, token string) (*workspace.TokenStatus, error) {
	_, leave, err := a.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	a.state.mu.Lock()
	defer a.state.mu.Unlock()
	t := a.state.starts[token]
	if t == nil {
		return &workspace.TokenStatus{}, nil
	}
	if _, err := a.own(t.id, ""); err != nil { // another chat's
		return &workspace.TokenStatus{}, nil
	}
	return &workspace.TokenStatus{Found: true, ProcessID: t.id, TokenIndexAgeMS: time.Since(t.at).Milliseconds()}, nil
}

// CancelTracked implements client.Client.
func (a *Agent) CancelTracked(ctx context.Context, start workspace.CancelTracked) (*workspace.CancelledTracked, error) {
	const message = "the process was not canceled"
	ctx, leave, err := a.act(ctx, scopeProcesses)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := checkIdentity(message, start.ProcessID, start.AgentInstanceID, start.InputDigest, start.Deadline); err != nil {
		return nil, err
	}
	if start.WaitMS < 0 {
		return nil, refuse(http.StatusBadRequest, message, "wait_ms is negative")
	}
	p, err := a.fence(&start, message)
	if err != nil {
		return nil, err
	}
	answer := &workspace.CancelledTracked{AgentInstanceID: start.AgentInstanceID, Fenced: true}
	if p == nil {
		return answer, nil
	}
	a.state.signal(p, 15)
	wait := time.Duration(start.WaitMS) * time.Millisecond
	if err := a.state.await(ctx, min(wait, maxWait), func() bool { return !p.running() }); err != nil {
		return nil, err
	}
	a.state.mu.Lock()
	defer a.state.mu.Unlock()
	shown := p.shown()
	answer.Process = &shown
	return answer, nil
}

// fence keeps a tracked start from happening, and returns what has begun.
func (a *Agent) fence(start *workspace.CancelTracked, message string) (*process, error) {
	s := a.state
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.tracked[start.ProcessID]
	switch {
	case start.AgentInstanceID != s.instance:
		return nil, refuse(http.StatusConflict, message, "what holds the processes is another one now")
	case r != nil && r.digest != a.digest(start.InputDigest):
		return nil, refuse(http.StatusConflict, message, "it belongs to another start")
	case r == nil && len(s.tracked) >= maxReceipts:
		return nil, refuse(http.StatusTooManyRequests, message, "no more can be held")
	case r == nil:
		s.tracked[start.ProcessID] = &receipt{digest: a.digest(start.InputDigest), fenced: true}
		return nil, nil
	}
	for _, p := range s.processes {
		if p.id == start.ProcessID {
			return p, nil
		}
	}
	return nil, nil // it was fenced off before
}

// pipe is an unbounded one in memory.
type pipe struct {
	mu     sync.Mutex // guards the rest
	data   []byte
	closed bool
	more   notify.Wake
}

func newPipe() *pipe { return &pipe{more: notify.NewWake()} }

func (p *pipe) write(data []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.data = append(p.data, data...)
	p.more.Set()
	return true
}

// Read implements io.Reader.
func (p *pipe) Read(to []byte) (int, error) {
	for {
		p.mu.Lock()
		if n := copy(to, p.data); n > 0 || len(to) == 0 {
			p.data = p.data[n:]
			p.mu.Unlock()
			return n, nil
		}
		closed := p.closed
		p.mu.Unlock()
		if closed {
			p.more.Set() // for another reader
			return 0, io.EOF
		}
		<-p.more
	}
}

// Close implements io.Closer.
func (p *pipe) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.more.Set()
	return nil
}
