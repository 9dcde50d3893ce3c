package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"waymark/internal/mcpserving"
	"waymark/internal/text"
	"waymark/workspace/launch"
	"waymark/workspace/mcp/catalog"
	"waymark/workspace/mcp/serverlog"
	"waymark/workspace/mcp/session"
	"waymark/workspace/mcp/trust"
	"waymark/workspace/supervisor"
)

// dialer connects to servers; package session implements it.
type dialer interface {
	Stdio(ctx context.Context, in io.WriteCloser, out io.ReadCloser, opts session.Options) (session.Session, error)
	HTTP(ctx context.Context, url string, header http.Header, opts session.Options) (session.Session, error)
	SSE(ctx context.Context, url string, header http.Header, opts session.Options) (session.Session, error)
}

// sessions is the dialer of package session.
type sessions struct{}

func (sessions) Stdio(ctx context.Context, in io.WriteCloser, out io.ReadCloser, opts session.Options) (session.Session, error) {
	return session.Stdio(ctx, in, out, opts)
}

func (sessions) HTTP(ctx context.Context, url string, header http.Header, opts session.Options) (session.Session, error) {
	return session.HTTP(ctx, url, header, opts)
}

func (sessions) SSE(ctx context.Context, url string, header http.Header, opts session.Options) (session.Session, error) {
	return session.SSE(ctx, url, header, opts)
}

// connection is a running or dialed server.
type connection struct {
	judged  *judgement
	session session.Session
	owned   supervisor.Owned // nil for a dialed server
	stderr  *tail
	noise   noise
	hide    func(string) string   // removes the server's secrets
	profile *launch.Profile       // nil for one without
	copied  chan struct{}         // closed when its standard error has ended
	full    atomic.Pointer[error] // set when the server was ended because of its disk usage
	watch   func()                // stops the goroutine that checks the disk usage, and waits for it; nil for a dialed server
	started time.Time
	files   *trust.Watch // what it was started from; nil for a dialed server and for one that nobody has approved

	// over is closed when the connection begins to end or has ended. Then why has the
	// reason.
	over chan struct{}
	why  string

	// Guarded by the server's mu.
	known    *known
	inflight int
	used     time.Time // end of the last call
}

// errNotAllowed says that what was about to be started isn't what is allowed.
var errNotAllowed = errors.New("it may not run as it is now")

// connect connects to the server that an entry currently describes. If a file that the
// digests cover changes between taking the digests and receiving the catalogue, the
// connection is discarded: an interpreter may open its script long after its start.
func (s *server) connect(ctx context.Context, from *judgement, set *Settings) (*connection, error) {
	if from.entry.Transport == transportStdio {
		settled, err := s.svc.turn(ctx)
		if err != nil {
			return nil, err
		}
		defer settled()
	}
	var files *trust.Watch
	if from.verdict.By != trust.ByWorkspace && !from.verdict.Developing { // otherwise nobody has approved the files
		files = s.svc.opts.Trust.Watch(from.digests)
	}
	c, err := s.connectHeld(ctx, from, set, files)
	if files.Release(); err != nil {
		files.Close()
		return nil, err
	}
	c.files = files
	return c, nil
}

// connectHeld connects while the files are held.
func (s *server) connectHeld(ctx context.Context, from *judgement, set *Settings, files *trust.Watch) (*connection, error) {
	if err := files.Hold(); err != nil {
		return nil, err
	}
	j := s.judge(ctx, from.entry, set)
	if j.outcome != "" || j.verdict.By != from.verdict.By || files != nil && !j.sameDigests(from.digests) {
		return nil, errNotAllowed
	}
	if s.full.Load() { // otherwise it would be ended again
		if err := s.lookAtDisk(ctx); err != nil {
			return nil, err
		}
		s.full.Store(false)
	}
	protocol := s.protocol()
	timeout := set.connectTimeout(j.entry)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("it hasn't answered within %s (%s)", timeout, set.connectKey(j.entry)))
	defer cancel()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	go func() {
		select {
		case <-files.Changed():
			giveUp(files.Err())
		case <-ctx.Done():
		}
	}()
	c, err := s.open(ctx, j, set, protocol, files)
	if errors.Is(err, session.ErrDiscover) && protocol == "" && files.Err() == nil {
		s.log.Event("it doesn't answer server/discover: it is asked the older way from now on")
		protocol = session.Fallback
		s.setProtocol(protocol)
		c, err = s.open(ctx, j, set, protocol, files)
	}
	var got *catalog.Catalogue
	if err == nil {
		got, err = s.list(ctx, c)
	}
	// Don't report what other content than the approved one has said, not even its error.
	if changed := files.Err(); changed != nil {
		err = changed
	}
	if err == nil && files != nil {
		var again *trust.Digests
		again, err = s.svc.opts.Trust.Digest(ctx, j.entry, j.expanded, s.environment(j, launch.Widening{}))
		if err == nil && (!j.sameDigests(again) || files.Err() != nil) {
			err = errNotAllowed
		}
	}
	if err == nil {
		c.known, err = s.keep(j, got)
	}
	if err != nil {
		if c != nil {
			c.close()
		}
		return nil, because(ctx, err)
	}
	return c, nil
}

// busyFor is how long a server that starts keeps others waiting: it uses the CPU at first, and
// one that hangs mustn't delay the others by its whole connect_timeout.
const busyFor = 5 * time.Second

// turn waits until few enough servers are starting. If all that a workspace has started at
// once, on a busy machine none would answer in time. The caller calls settled when the server
// has started or failed.
func (s *Service) turn(ctx context.Context) (settled func(), err error) {
	select {
	case s.starting <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	free := sync.OnceFunc(func() { <-s.starting })
	timer := time.AfterFunc(busyFor, free)
	return func() { timer.Stop(); free() }, nil
}

// because replaces an error by the cause of its context's end, if that caused it.
func because(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && !errors.Is(err, errNotAllowed) && !errors.Is(err, context.Cause(ctx)) {
		return context.Cause(ctx)
	}
	return err
}

// open starts or dials a server, and begins a session.
func (s *server) open(ctx context.Context, j *judgement, set *Settings, protocol string, files *trust.Watch) (*connection, error) {
	c := &connection{judged: j, started: s.svc.opts.Now(), used: time.Now(), over: make(chan struct{}), hide: func(said string) string { return s.redact().String(said) }, noise: noise{head: text.Head{Max: maxKept}}}
	opts := session.Options{
		// ctx ends before, and its reason is the one that is told.
		Timeout: set.connectTimeout(j.entry) + time.Second, Protocol: protocol, Logger: s.svc.log,
		Caps: session.Caps{Tools: set.ServerTools, Bytes: set.ServerBytes},
		Noise: func(line []byte) {
			c.noise.add(line)
			s.log.Line(serverlog.Noise, string(line))
		},
		Log:  func(level string, data json.RawMessage) { s.log.Line(level, session.LogText(s.redact().JSON(data))) },
		Asks: j.widening.Asks,
	}
	if j.entry.Transport == transportStdio {
		return s.start(ctx, c, opts, files)
	}
	dial := s.svc.opts.dialer.HTTP
	if j.entry.Transport == "sse" {
		dial = s.svc.opts.dialer.SSE
	}
	opts.OAuth = s.svc.oauth
	var err error
	c.session, err = dial(ctx, j.expanded.URL, j.header(), opts)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// start starts a server.
func (s *server) start(ctx context.Context, c *connection, opts session.Options, files *trust.Watch) (*connection, error) {
	spec, err := s.spec(c.judged)
	if err != nil {
		return nil, err
	}
	c.profile = spec.Profile
	if c.owned, err = s.svc.opts.Supervisor.StartOwned(ctx, spec); err != nil {
		return nil, err
	}
	s.log.Event("started")
	c.stderr, c.copied = &tail{}, make(chan struct{})
	go s.copyErrors(c)
	c.watched(s.watchDisk)
	if err = files.Err(); err == nil {
		c.session, err = s.svc.opts.dialer.Stdio(ctx, c.owned.Stdin(), c.owned.Stdout(), opts)
	}
	if err != nil {
		if !errors.Is(err, session.ErrDiscover) {
			err = c.explain(ctx, err)
		}
		c.close()
		return nil, err
	}
	return c, nil
}

// watched runs look until the connection is closed.
func (c *connection) watched(look func(ctx context.Context, c *connection)) {
	ctx, cancel := context.WithCancel(context.Background())
	var looking sync.WaitGroup
	looking.Go(func() { look(ctx, c) })
	c.watch = func() {
		cancel()
		looking.Wait()
	}
}

// copyErrors copies a server's standard error to its log, which redacts values.
func (s *server) copyErrors(c *connection) {
	defer close(c.copied)
	lines := s.log.Writer(serverlog.Stderr)
	_, _ = io.Copy(io.MultiWriter(lines, c.stderr), c.owned.Stderr()) // ends with the process
	_ = lines.Close()
}

// exitWait is how long to wait for a process that has closed its streams, so that its exit
// code can be reported.
const exitWait = 300 * time.Millisecond

// explain replaces an error that only says that the process has ended by the reason, and
// adds the reason to what the server has answered. For a server that was ended because it
// broke a limit, that limit is the reason.
func (c *connection) explain(ctx context.Context, err error) error {
	if full := c.full.Load(); full != nil {
		return *full
	}
	var refused *session.ServerError
	gone := errors.Is(err, session.ErrHungUp) || err == session.ErrClosed //nolint:errorlint // that alone
	switch {
	case c.owned == nil || !gone && !errors.As(err, &refused) && ctx.Err() == nil:
		return err
	case ctx.Err() != nil:
		return c.late(ctx, err)
	}
	ctx, cancel := context.WithTimeout(ctx, exitWait)
	defer cancel()
	code, waitErr := c.owned.Wait(ctx)
	if waitErr != nil {
		return err
	}
	select { // its output is complete with its end, or soon after
	case <-c.copied:
	case <-ctx.Done():
	}
	ended := strings.Join(append([]string{fmt.Sprintf("it ended with exit code %d", code)}, c.said()...), ": ")
	switch {
	case gone:
		return errors.New(ended)
	case code == 0:
		return err
	}
	return fmt.Errorf("%w; %s", err, ended)
}

// said is what a server has said that may explain why it doesn't speak. Secrets are removed from
// it before it is cut: parts of them would not be found.
func (c *connection) said() []string {
	stderr := c.stderr.said(c.hide)
	return slices.DeleteFunc([]string{lastWords(stderr), c.refusal(stderr), c.noise.said(c.hide)}, func(s string) bool { return s == "" })
}

// late adds what a server has said to a timeout. It may say that it waits for input, for
// example.
func (c *connection) late(ctx context.Context, err error) error {
	if said := c.said(); len(said) > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%w; the last that it said: %s", context.Cause(ctx), strings.Join(said, "; "))
	}
	return err
}

// close ends a connection, and returns when nothing of it runs any more. The supervisor
// closes standard input, sends SIGTERM to the group after 300 ms, and SIGKILL later.
func (c *connection) close() {
	var parts sync.WaitGroup
	if c.session != nil {
		parts.Go(func() { _ = c.session.Close() })
	}
	if c.owned != nil {
		parts.Go(func() { _ = c.owned.Close() })
		parts.Go(c.watch)
	}
	parts.Wait()
	if c.copied != nil {
		<-c.copied
	}
	c.files.Close()
}

// own returns the server's own directories, which never change.
func (s *server) own() (cache, tmp string) {
	sum := sha256.Sum256([]byte(s.name))
	dir := filepath.Join(s.svc.opts.CacheDir, "mcp", hex.EncodeToString(sum[:8]))
	return filepath.Join(dir, "cache"), filepath.Join(dir, "tmp")
}

// places returns the server's directories for a profile.
func (s *server) places(j *judgement) launch.ServerPlaces {
	cache, tmp := s.own()
	return launch.ServerPlaces{Dir: j.expanded.Cwd, Cache: cache, Tmp: tmp}
}

// spec returns the specification of the process.
func (s *server) spec(j *judgement) (*supervisor.Spec, error) {
	env := s.environment(j, j.widening)
	places := s.places(j)
	_ = os.RemoveAll(places.Tmp) // from the last run; what can't be removed does no harm
	for _, dir := range []string{places.Cache, places.Tmp} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	spec := &supervisor.Spec{
		Argv: append([]string{j.digests.Program}, j.expanded.Args...), Dir: j.expanded.Cwd, Env: env, Stdin: true,
		Nice: niceness, Limits: launch.ServerLimits(), Command: "mcp " + s.name,
	}
	if limit := uint64(max(s.svc.current().Disk, 0)); j.confined && len(j.widening.Write) == 0 {
		// It can't write a file that exceeds the limit before the next check.
		spec.Limits["fsize"] = min(spec.Limits["fsize"], limit)
	}
	if !j.confined {
		return spec, nil
	}
	var err error
	spec.Profile, err = s.profile(j, env)
	return spec, err
}

// profile returns the profile for a server that is started with env.
func (s *server) profile(j *judgement, env []string) (*launch.Profile, error) {
	places := s.places(j)
	places.Program = j.digests.Program
	for _, variable := range env {
		if path, ok := strings.CutPrefix(variable, "PATH="); ok {
			places.Path = path
		}
	}
	return launch.Server(s.around(), places, j.widening)
}

// around returns the workspace's places for a profile.
func (s *server) around() launch.Places {
	p := s.svc.opts.Places()
	p.Root = s.svc.opts.Root()
	return p
}

// niceness lowers a server's priority below the agent's.
const niceness = 5

// list fetches the catalogue of a server.
func (s *server) list(ctx context.Context, c *connection) (*catalog.Catalogue, error) {
	got, err := c.session.Catalogue(ctx)
	if err != nil {
		return nil, c.explain(ctx, err)
	}
	return got, nil
}

// keep stores a catalogue, without values that the server was given, and determines which
// of its tools may be called.
func (s *server) keep(j *judgement, got *catalog.Catalogue) (*known, error) {
	got = s.clean(got)
	got.At = s.svc.opts.Now()
	k, err := s.pin(j, got)
	if err != nil {
		return nil, err
	}
	s.save(j, k)
	return k, nil
}

// clean returns a catalogue without values that the server was given. A tool with such a
// value in its name is left out, because it can't be called by another name.
func (s *server) clean(got *catalog.Catalogue) *catalog.Catalogue {
	r := s.redact()
	c := *got
	c.ServerName, c.ServerTitle, c.ServerVersion = r.String(c.ServerName), r.String(c.ServerTitle), r.String(c.ServerVersion)
	c.Instructions = r.String(c.Instructions)
	c.Tools, c.Findings = nil, nil
	for _, f := range got.Findings {
		f.Tool, f.Text = r.String(f.Tool), r.String(f.Text)
		c.Findings = append(c.Findings, f)
	}
	for _, t := range got.Tools {
		if r.String(t.Name) != t.Name {
			c.Findings = append(c.Findings, catalog.Finding{Code: "secret_in_name", Text: "a tool has a value in its name that the server was given, and is left out"})
			continue
		}
		t.Title, t.Description = r.String(t.Title), r.String(t.Description)
		schema, wrong := mcpserving.Mend(r.JSON(t.InputSchema))
		said := strings.Join(wrong, "; ") + "."
		switch t.InputSchema, t.Annotations = schema, r.JSON(t.Annotations); {
		case schema == nil:
			c.Findings = append(c.Findings, catalog.Finding{Code: "bad_schema", Tool: t.Name, Text: "The tool's schema is one for which clients or models refuse all tools, and the tool is left out: " + said})
			continue
		case len(wrong) > 0:
			c.Findings = append(c.Findings, catalog.Finding{Code: "schema_mended", Tool: t.Name, Text: "The tool's schema is one for which clients or models refuse all tools, and it is mended: " + said})
		}
		if full := s.name + catalog.Separator + t.Name; mcpserving.Name(full) != full {
			c.Findings = append(c.Findings, catalog.Finding{Code: "tool_renamed", Tool: t.Name, Text: "Clients don't take the tool's name with that of the server: they are offered it as " + mcpserving.Name(full) + "."})
		}
		c.Tools = append(c.Tools, t)
	}
	return &c
}
