package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"waymark/agentapi"
	"waymark/internal/backoff"
	"waymark/internal/credential"
	"waymark/internal/errtext"
	"waymark/internal/notify"
	"waymark/internal/text"
	"waymark/snapshot"
	"waymark/workspace/mcp/entry"
	"waymark/workspace/mcp/redact"
	"waymark/workspace/mcp/serverlog"
	"waymark/workspace/mcp/session"
	"waymark/workspace/mcp/trust"
)

const (
	// Pauses between tries to start a server. Something that a person mends, such
	// as a network that is away, is noticed within minutes.
	shortestRetry = time.Second
	longestRetry  = 5 * time.Minute
	// patience is how long a call waits for a server that is tried again soon.
	patience = 5 * time.Second
	// refetchPause is the least time between two catalogues of a server that says
	// that its tools have changed.
	refetchPause = time.Second
	// maxCalls bounds the calls that one server answers at the same time.
	maxCalls = 16
	// drain is how long calls may go on with a connection that was replaced.
	drain = 10 * time.Second
	// probeTime is how long a server that hasn't answered a call in time has for a ping.
	// One that is busy with something long answers that, or it can't answer anybody.
	probeTime = 5 * time.Second
	// lookEvery is how often the files are looked at that an approval covers, where the
	// system doesn't tell of changes, and lookShare how many times as long as looking at
	// them took is left between, where that is longer: one that changes all the time can
	// be large.
	lookEvery = 5 * time.Second
	lookShare = 20
	// logSize is how much of a server's log is kept, in bytes.
	logSize = 256 << 10
	// maxError bounds what is told of an error.
	maxError = 1000
)

// server is one name with its life: what it is now, the connection that there may
// be, and the attempt to make one. Its own goroutine, run, decides; others tell it
// what they want and look at what there is.
//
// There is at most one attempt, and at most one connection but for a moment in
// which a changed entry takes the place of the one before.
type server struct {
	svc     *Service
	name    string
	log     *serverlog.Log
	wake    notify.Wake   // holds a token when somebody wants something
	changed notify.Signal // of what mu guards
	slots   chan struct{} // holds a token for each call
	cancel  context.CancelFunc
	done    chan struct{} // run has ended, and so has all that it had begun

	// These are of run's goroutine.
	backoff  backoff.Backoff
	attempt  *attempt
	results  chan *attempt
	ending   int // connections that are being ended
	ended    chan struct{}
	ends     sync.WaitGroup
	full     atomic.Bool // it was ended for what it held on the disk
	probing  bool
	probed   chan *connection // that which doesn't answer; nil for one that does
	demanded bool             // a connection is wanted whoever waits
	stale    bool             // the catalogue is to be asked for again
	fetched  time.Time
	files    *trust.Watch // of what was judged
	told     bool         // a change of them, which isn't looked at yet
	lookAt   time.Time    // before that they aren't looked at again

	mu     sync.Mutex // guards the fields below
	wanted wants
	view
	secrets      map[string]bool // all values that it was ever given
	hidden       *redact.Redactor
	fallback     string // the protocol that it has to be asked with
	attempts     int    // that have failed
	disconnected bool   // Close or removal has begun
}

// wants is what others want of run.
type wants struct {
	entry                   *entry.Entry
	judge, refresh, restart bool
	waiting                 int         // callers that need a connection
	asked                   int         // counts those who wait for what run finds out
	probe                   *connection // hasn't answered a call in time
}

// view is what others may know of a server. What it points to is immutable, but for
// the connection, of which the server's mu guards a part.
type view struct {
	entry   *entry.Entry
	shadows []string
	judged  *judgement // nil at the very beginning
	conn    *connection
	cached  *known // of what was judged, without a connection
	trying  bool
	failure string // why the last attempt has failed; empty when it hasn't
	note    string // what happened to the last connection
	signIn  bool   // it wants to be signed in to
	retryAt time.Time
	starts  int
	calls   int
	problem string // why its file is taken as it was before

	busy bool // there will be something else soon
	upTo int  // what was asked up to this has been begun; see wants.asked
}

// attempt is a try to connect, or to get the catalogue anew.
type attempt struct {
	judged *judgement
	on     *connection // of which the catalogue is asked for; nil for a try to connect
	cancel context.CancelFunc
	// dropped says that nobody wants its result any more.
	dropped bool

	conn  *connection
	known *known
	err   error
}

// newServer makes a server and lets it live when one that had its name before has
// ended.
func (s *Service) newServer(ctx context.Context, name string, before <-chan struct{}) *server {
	ctx, cancel := context.WithCancel(ctx)
	srv := &server{
		svc: s, name: name, log: serverlog.New(logSize), wake: notify.NewWake(), slots: make(chan struct{}, maxCalls),
		cancel: cancel, done: make(chan struct{}), results: make(chan *attempt, 1), ended: make(chan struct{}, 1), probed: make(chan *connection, 1), secrets: make(map[string]bool), hidden: redact.New(),
		backoff: backoff.Backoff{Shortest: shortestRetry, Longest: longestRetry, Jitter: true},
	}
	go srv.run(ctx, before)
	return srv
}

// want changes what is wanted, and has run look at it.
func (s *server) want(change func(w *wants)) {
	s.mu.Lock()
	change(&s.wanted)
	s.mu.Unlock()
	s.poke()
}

func (s *server) poke() {
	s.wake.Set()
}

// run is the life of a server.
func (s *server) run(ctx context.Context, before <-chan struct{}) {
	defer close(s.done)
	defer s.shut()
	if before != nil {
		<-before // it is ending
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		s.step(ctx)
		if next := s.next(); next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(max(time.Until(next), 0))
		}
		var lost, tools, changed <-chan struct{}
		if !s.told {
			changed = s.files.Changed()
		}
		if s.conn != nil {
			lost = s.conn.session.Done()
			if !s.stale {
				tools = s.conn.session.ToolsChanged()
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-timer.C:
		case a := <-s.results:
			s.finish(a)
		case <-s.ended:
			s.ending--
		case c := <-s.probed:
			s.probing = false
			s.unanswered(c)
		case <-lost:
			s.lost(ctx)
		case <-tools:
			s.stale = true
		case <-changed:
			s.told = true
		}
	}
}

// shut ends what there is. Calls that go on end with it.
func (s *server) shut() {
	s.cancel()
	s.mu.Lock()
	s.disconnected = true
	s.mu.Unlock()
	s.files.Close()
	if s.conn != nil {
		s.end(s.conn, "it was ended", 0)
	}
	if s.attempt != nil {
		s.attempt.cancel()
		if a := <-s.results; a.conn != nil {
			a.conn.close()
		}
	}
	for ; s.ending > 0; s.ending-- {
		<-s.ended
	}
	s.ends.Wait()
	s.changed.Notify()
}

// step does what is to be done now.
func (s *server) step(ctx context.Context) {
	s.mu.Lock()
	w := s.wanted
	s.wanted.judge, s.wanted.refresh, s.wanted.restart, s.wanted.probe = false, false, false, nil
	s.mu.Unlock()
	if w.entry == nil {
		return
	}
	until := s.judged.until()
	expired := credential.Expired(s.svc.opts.Now(), until)
	if s.judged == nil || s.entry != w.entry || w.judge || w.refresh || w.restart || expired || s.suspect() {
		s.judgeAgain(ctx, w.entry)
	}
	if w.restart && s.conn != nil {
		s.end(s.conn, "it was restarted", 0)
	}
	if w.refresh && s.attempt != nil && !s.attempt.dropped {
		w.refresh = false // what goes on is shared
	}
	if (w.restart || w.refresh) && s.judged.outcome == "" {
		s.backoff.Reset()
		s.update(func() { s.retryAt, s.signIn, s.failure = time.Time{}, false, "" })
		s.demanded, s.stale = true, true
	}
	s.probe(ctx, w.probe)
	s.idle()
	s.fetch(ctx)
	s.begin(ctx, w.waiting > 0)
	busy := s.attempt != nil || s.conn != nil && s.stale || s.ending > 0 && s.demanded || s.needed(false) && s.failure == ""
	if s.upTo != w.asked || s.busy != busy {
		s.update(func() { s.upTo, s.busy = w.asked, busy })
	}
}

// update changes what others see. It is for run's goroutine.
func (s *server) update(change func()) {
	s.mu.Lock()
	change()
	s.mu.Unlock()
	s.changed.Notify()
	s.svc.touched.Notify()
}

// judgeAgain finds out what the entry is now, and ends what isn't allowed any more.
func (s *server) judgeAgain(ctx context.Context, e *entry.Entry) {
	set := s.svc.current()
	begun := time.Now()
	before, j := s.judged, s.judge(ctx, e, &set)
	if ctx.Err() != nil {
		return
	}
	s.files.Close()
	s.told, s.files = false, nil
	if watched(j) {
		s.files = s.svc.opts.Trust.Watch(j.digests)
	}
	pause := lookShare * time.Since(begun)
	if !s.files.Told() {
		pause = max(pause, lookEvery)
	}
	s.lookAt = time.Now().Add(pause)
	if s.attempt != nil && s.attempt.on == nil && !s.attempt.judged.same(j) {
		s.attempt.dropped = true
		s.attempt.cancel()
	}
	if s.conn != nil {
		changed := s.conn.files.Err()
		switch {
		case j.outcome != "" && !j.broken:
			s.end(s.conn, j.why, 0)
		case changed != nil: // what it has loaded isn't known, also where all is as it was
			s.end(s.conn, s.describe(changed), 0)
		}
	}
	if j.outcome != "" {
		s.demanded = false
		s.update(func() {
			s.entry, s.judged = e, j
			s.failure, s.signIn, s.retryAt = "", false, time.Time{}
			s.cached = nil
		})
		return
	}
	fresh := before == nil || before.outcome != "" || !before.same(j)
	// What only a file's content has changed for isn't tried at once, or a file that
	// never stays the same would start a server without end.
	// What somebody has said is: another approval, or the operator's settings.
	anew := fresh && (before == nil || before.outcome != "" || !reflect.DeepEqual(before.entry.Server, e.Server) || !reflect.DeepEqual(before.widening, j.widening))
	var cached *known
	switch {
	case s.conn != nil && s.conn.judged.same(j):
		cached, _ = s.pin(j, s.conn.known.catalogue) // what is approved of it may have changed
	case !fresh && s.cached != nil:
		cached, _ = s.pin(j, s.cached.catalogue)
	default:
		cached = s.load(j)
	}
	if anew {
		s.backoff.Reset()
		if before != nil && before.outcome == "" {
			s.setProtocol("")
		}
	}
	s.update(func() {
		s.entry, s.judged, s.cached = e, j, cached
		if s.conn != nil && s.conn.judged.same(j) {
			s.conn.judged = j
			if cached != nil {
				s.conn.known = cached
			}
		}
		if anew {
			s.failure, s.note, s.signIn, s.retryAt = "", "", false, time.Time{}
		}
	})
}

// watched reports whether the files of what was judged are watched: a change of what
// somebody has approved is asked about when it is made, and not with the next start. Where
// nobody has, it is taken with the next start.
func watched(j *judgement) bool {
	switch {
	case j == nil || j.entry.Transport != transportStdio || j.verdict.By == trust.ByWorkspace:
		return false
	case j.digests == nil:
		return j.broken && j.expanded != nil // a file is away
	}
	return j.verdict.Allowed || len(j.verdict.Changes) > 0 // or it may be put back
}

// suspect reports whether it is time to look at the files, and one may have changed.
func (s *server) suspect() bool {
	now := time.Now()
	if !watched(s.judged) || now.Before(s.lookAt) || !s.told && s.files.Told() {
		return false
	}
	s.lookAt = now.Add(lookEvery)
	return s.judged.digests == nil || s.files.Stale()
}

// begin begins to connect where that is wanted and it is time.
func (s *server) begin(ctx context.Context, waited bool) {
	if !s.needed(waited) || time.Now().Before(s.retryAt) {
		return
	}
	s.demanded = false
	set := s.svc.current()
	s.try(ctx, &attempt{judged: s.judged}, func(ctx context.Context, a *attempt) {
		a.conn, a.err = s.connect(ctx, a.judged, &set)
	})
}

// needed reports whether a connection has to be made, sooner or later.
func (s *server) needed(waited bool) bool {
	switch {
	case s.attempt != nil || s.ending > 0 || s.judged == nil || s.judged.outcome != "" || s.signIn:
		return false
	case s.conn != nil:
		return !s.conn.judged.same(s.judged)
	}
	return waited || s.demanded || s.cached == nil || s.failure != ""
}

// try makes an attempt in the background.
func (s *server) try(ctx context.Context, a *attempt, do func(ctx context.Context, a *attempt)) {
	ctx, a.cancel = context.WithCancel(ctx)
	s.attempt = a
	s.update(func() { s.trying = a.on == nil })
	go func() {
		do(ctx, a)
		s.results <- a
	}()
}

// finish takes what has come of an attempt.
func (s *server) finish(a *attempt) {
	a.cancel()
	s.attempt = nil
	switch {
	case a.on != nil:
		s.fetchedAnew(a)
	case a.dropped:
		if a.conn != nil {
			s.end(a.conn, "it has changed", 0)
		}
	case a.err == nil:
		s.connected(a.conn)
	default:
		s.failed(a)
	}
	s.update(func() { s.trying = s.attempt != nil && s.attempt.on == nil })
}

// connected takes a new connection, in the place of the one that there may be.
func (s *server) connected(c *connection) {
	if s.conn != nil {
		s.end(s.conn, "its entry has changed", drain)
	}
	s.backoff.Worked()
	s.stale, s.fetched = false, time.Now()
	s.log.Event("connected: " + text.Count(len(c.known.catalogue.Tools), "tool", "tools"))
	s.update(func() {
		s.conn, s.judged, s.cached = c, c.judged, c.known
		s.failure, s.note, s.signIn, s.retryAt = "", "", false, time.Time{}
		s.starts++
	})
}

// failed notes that an attempt has failed, and when the next one is.
func (s *server) failed(a *attempt) {
	if errors.Is(a.err, errNotAllowed) || errors.Is(a.err, trust.ErrChanged) {
		s.mu.Lock()
		s.wanted.judge = true
		s.mu.Unlock()
		s.poke()
	}
	pause := s.backoff.Next()
	why := s.describe(a.err)
	if errors.Is(a.err, errDisk) {
		s.full.Store(true)
	}
	s.log.Event("it can't be connected: " + why)
	s.update(func() {
		s.failure, s.retryAt = why, time.Now().Add(pause)
		s.signIn = errors.Is(a.err, session.ErrNeedsAuthorization)
		s.attempts++
	})
}

// lost notes that the connection has ended by itself.
func (s *server) lost(ctx context.Context) {
	c := s.conn
	err := c.explain(ctx, c.session.Err())
	why := cmp.Or(s.describe(err), "it has ended the connection")
	full := errors.Is(err, errDisk)
	if full {
		s.full.Store(true)
	}
	s.drop(c, why, full)
}

// drop ends a connection that is of no use any more. The next call makes another, not
// before its time; with failed that is tried without a call as well.
func (s *server) drop(c *connection, why string, failed bool) {
	pause := s.backoff.Next()
	s.end(c, why, 0)
	s.update(func() {
		s.note, s.retryAt = why, time.Now().Add(pause)
		if failed {
			s.failure = why
		}
		s.attempts++
	})
}

// probe asks a server that hasn't answered a call in time whether it is there. Over
// HTTP one request tells nothing of another, and nothing would be started again.
func (s *server) probe(ctx context.Context, c *connection) {
	if c == nil || c != s.conn || s.probing || c.judged.entry.Transport == "http" {
		return
	}
	s.probing = true
	s.ends.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, probeTime)
		defer cancel()
		if c.session.Ping(ctx) == nil {
			s.probed <- nil
			return
		}
		s.probed <- c
	})
}

// unanswered ends a connection on which nobody answers any more; nil is none.
func (s *server) unanswered(c *connection) {
	if c == nil || c != s.conn {
		return
	}
	select {
	case <-c.session.Done():
		return // that has a reason of its own
	default:
	}
	s.drop(c, fmt.Sprintf("it answered neither a call in time nor a ping within %s", probeTime), false)
}

// end ends a connection in the background. Calls that go on with it get as long as
// grace.
func (s *server) end(c *connection, why string, grace time.Duration) {
	s.log.Event("ended: " + why)
	s.update(func() {
		if s.conn == c {
			s.conn = nil
		}
		c.why = why
	})
	if s.cached == nil && c.judged.same(s.judged) {
		s.update(func() { s.cached = c.known })
	}
	s.ending++
	s.ends.Go(func() {
		s.drained(c, grace)
		close(c.over)
		c.close()
		s.ended <- struct{}{}
	})
}

// drained waits until nobody calls a connection, for as long as grace.
func (s *server) drained(c *connection, grace time.Duration) {
	if grace == 0 {
		return
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	for {
		changed := s.changed.Changed()
		s.mu.Lock()
		calls, over := c.inflight, s.disconnected
		s.mu.Unlock()
		if calls == 0 || over {
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			return
		}
	}
}

// idle ends a connection that nobody has used for a while.
func (s *server) idle() {
	if s.conn == nil {
		return
	}
	set := s.svc.current()
	c := s.conn
	s.mu.Lock()
	idle := c.inflight == 0 && s.wanted.waiting == 0 && time.Since(c.used) >= set.Idle && s.attempt == nil
	if idle {
		s.conn = nil // from here on nobody calls it
	}
	s.mu.Unlock()
	if idle {
		s.end(c, fmt.Sprintf("it wasn't called for %s", set.Idle), 0)
	}
}

// fetch asks for the catalogue anew where that is due.
func (s *server) fetch(ctx context.Context) {
	if s.conn == nil || !s.stale || s.attempt != nil || time.Since(s.fetched) < refetchPause {
		return
	}
	s.stale, s.fetched, s.demanded = false, time.Now(), false
	set := s.svc.current()
	s.try(ctx, &attempt{judged: s.conn.judged, on: s.conn}, func(ctx context.Context, a *attempt) {
		ctx, cancel := context.WithTimeoutCause(ctx, set.ConnectTimeout, fmt.Errorf("it hasn't listed its tools within %s", set.ConnectTimeout))
		defer cancel()
		got, err := s.list(ctx, a.on)
		if changed := a.on.files.Err(); changed != nil {
			err = changed
		}
		if err == nil {
			a.known, err = s.keep(a.on.judged, got)
		}
		a.err = because(ctx, err)
	})
}

// fetchedAnew takes a newer catalogue. Without one, the last is kept.
func (s *server) fetchedAnew(a *attempt) {
	if s.conn != a.on {
		return
	}
	if a.err != nil {
		why := "its tools are not known anew: " + s.describe(a.err)
		s.log.Event(why)
		s.update(func() { s.note = why })
		return
	}
	s.update(func() {
		a.on.known = a.known
		if a.on.judged.same(s.judged) {
			s.cached, s.note = a.known, ""
		}
	})
}

// next is when step has something to do by itself; zero for never.
func (s *server) next() time.Time {
	var next time.Time
	at := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	if until := s.judged.until(); !until.IsZero() {
		at(time.Now().Add(max(until.Sub(s.svc.opts.Now()), time.Second))) // clocks may differ a little
	}
	if watched(s.judged) && (s.told || !s.files.Told()) {
		at(later(s.lookAt))
	}
	s.mu.Lock()
	waited := s.wanted.waiting > 0
	if s.conn != nil && s.conn.inflight == 0 && !waited && s.attempt == nil {
		at(s.conn.used.Add(s.svc.current().Idle))
	}
	s.mu.Unlock()
	if s.conn != nil && s.stale && s.attempt == nil {
		at(s.fetched.Add(refetchPause))
	}
	if s.needed(waited) {
		at(later(s.retryAt))
	}
	return next
}

// later is t, or now.
func later(t time.Time) time.Time {
	if now := time.Now(); t.Before(now) {
		return now
	}
	return t
}

// notRunning is why a server can't be called.
type notRunning struct {
	outcome snapshot.Outcome
	why     string
}

func (e *notRunning) Error() string { return e.why }

// forbidden reports whether it may not be called, which somebody has to change, rather
// than doesn't answer.
func (e *notRunning) forbidden() bool {
	switch e.outcome {
	case snapshot.OutcomeNeedsApproval, snapshot.OutcomeNeedsAuthorization, snapshot.OutcomeSwitchedOff, snapshot.OutcomeListed:
		return true
	}
	return false
}

// use returns a connection, which is started where there is none, and has the caller
// counted until release.
func (s *server) use(ctx context.Context) (c *connection, release func(), err error) {
	s.mu.Lock()
	from := s.attempts
	s.mu.Unlock()
	s.want(func(w *wants) { w.waiting++ })
	defer s.want(func(w *wants) { w.waiting-- })
	for {
		changed := s.changed.Changed()
		c, err := s.take(from)
		switch {
		case err != nil:
			return nil, nil, err
		case c != nil:
			return c, func() { s.release(c) }, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
}

// take returns the connection if there is one, and an error where it is of no use to
// wait for it. from is how many attempts had failed when the caller came.
func (s *server) take(from int) (*connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	outcome, why := s.outcome()
	switch {
	case s.disconnected:
		return nil, &notRunning{snapshot.OutcomeFailed, "the server is no longer configured"}
	case s.conn != nil:
		s.conn.inflight++
		s.calls++
		return s.conn, nil
	case s.judged == nil:
		return nil, nil
	case s.judged.outcome != "" || s.signIn:
		return nil, &notRunning{outcome, why}
	case s.attempts > from || time.Until(s.retryAt) > patience:
		if s.failure == "" {
			why = s.note
		}
		return nil, &notRunning{snapshot.OutcomeFailed, why}
	}
	return nil, nil
}

func (s *server) release(c *connection) {
	s.mu.Lock()
	c.inflight--
	c.used = time.Now()
	s.mu.Unlock()
	s.changed.Notify()
	s.poke()
}

// outcome says how a server is doing, and why; mu is held.
func (v *view) outcome() (snapshot.Outcome, string) {
	switch {
	case v.judged == nil:
		return snapshot.OutcomePending, ""
	case v.conn != nil && v.judged.broken:
		return snapshot.OutcomeConnected, "its entry can't be used any more (" + v.judged.why + "): the connection from before is kept"
	case v.judged.outcome != "":
		return v.judged.outcome, v.judged.why
	case v.conn != nil && !v.conn.judged.same(v.judged) && v.failure != "":
		return snapshot.OutcomeConnected, "its changed entry can't be connected (" + v.failure + "): the connection from before is kept"
	case v.conn != nil:
		return snapshot.OutcomeConnected, joined(v.note, v.problem)
	case v.signIn:
		return snapshot.OutcomeNeedsAuthorization, "sign in with 'agent mcp login " + v.entry.Name + "'"
	case v.failure != "":
		return snapshot.OutcomeFailed, v.failure
	case v.cached != nil:
		return snapshot.OutcomeCached, joined(v.note, v.problem)
	}
	return snapshot.OutcomePending, ""
}

func joined(parts ...string) string {
	var list []string
	for _, p := range parts {
		if p != "" {
			list = append(list, p)
		}
	}
	return strings.Join(list, "; ")
}

// state is how far a server is; mu is held.
func (v *view) state() agentapi.MCPServerState {
	switch {
	case v.conn != nil:
		return agentapi.MCPRunning
	case v.trying:
		return agentapi.MCPStarting
	case v.cached != nil:
		return agentapi.MCPKnown
	}
	return agentapi.MCPConfigured
}

// offered is what is known of it now; nil for nothing. mu is held.
func (v *view) offered() *known {
	switch {
	case v.conn != nil:
		return v.conn.known
	case v.judged != nil && v.judged.outcome == "":
		return v.cached
	}
	return nil
}

// facts are what is shown of a server at one moment. They are immutable.
type facts struct {
	name    string
	entry   *entry.Entry
	judged  *judgement // nil at the very beginning
	known   *known     // what is offered; nil for nothing
	outcome snapshot.Outcome
	why     string
	state   agentapi.MCPServerState
	shadows []string
	problem string
	free    []string // files that no lease held when it was started

	startedAt, retryAt time.Time
	calls, restarts    int
}

// look returns what there is to know.
func (s *server) look() facts {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := facts{
		name: s.name, entry: s.entry, judged: s.judged, known: s.offered(), state: s.state(), shadows: s.shadows, problem: s.problem,
		retryAt: s.retryAt, calls: s.calls, restarts: max(s.starts-1, 0),
	}
	f.entry = cmp.Or(f.entry, s.wanted.entry)
	if f.outcome, f.why = s.outcome(); s.conn != nil {
		f.startedAt, f.free = s.conn.started, s.conn.files.Free()
	}
	if s.failure == "" || s.judged == nil || s.judged.outcome != "" {
		f.retryAt = time.Time{}
	}
	return f
}

// judgeNow has the digests taken again, and waits for that.
func (s *server) judgeNow(ctx context.Context) error {
	var asked int
	s.want(func(w *wants) {
		w.judge = true
		w.asked++
		asked = w.asked
	})
	return s.await(ctx, func() bool { return s.upTo >= asked })
}

// ask has something done, and waits until nothing is under way any more.
func (s *server) ask(ctx context.Context, change func(w *wants)) error {
	var asked int
	s.want(func(w *wants) {
		change(w)
		w.asked++
		asked = w.asked
	})
	return s.await(ctx, func() bool { return s.upTo >= asked && !s.busy })
}

// await waits until something is so; is is called with mu held.
func (s *server) await(ctx context.Context, is func() bool) error {
	for {
		changed := s.changed.Changed()
		s.mu.Lock()
		so := is() || s.disconnected
		s.mu.Unlock()
		if so {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// hide has values never shown again.
func (s *server) hide(values ...string) {
	s.mu.Lock()
	values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return s.secrets[v] })
	for _, v := range values {
		s.secrets[v] = true
	}
	if len(values) > 0 {
		s.hidden = s.hidden.With(values...)
	}
	hidden := s.hidden
	s.mu.Unlock()
	if len(values) > 0 {
		s.log.Redact(hidden.String)
	}
}

func (s *server) redact() *redact.Redactor {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hidden
}

// describe says what an error says, for people, without values.
func (s *server) describe(err error) string {
	if err == nil {
		return ""
	}
	return text.Line(s.redact().String(errtext.Of(err)), maxError)
}

func (s *server) protocol() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fallback
}

func (s *server) setProtocol(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fallback = version
}
