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
	"waymark/internal/await"
	"waymark/internal/credential"
	"waymark/internal/errtext"
	"waymark/internal/text"
	"waymark/snapshot"
	"waymark/workspace/mcp/entry"
	"waymark/workspace/mcp/serverlog"
	"waymark/workspace/mcp/session"
	"waymark/workspace/mcp/trust"
)

const (
	// Pauses between attempts to start a server. The longest one still notices within
	// minutes that a problem, such as a missing network, is solved.
	shortestRetry = time.Second
	longestRetry  = 5 * time.Minute
	// patience is how long a call waits for a server that will be retried soon.
	patience = 5 * time.Second
	// refetchPause is the minimum time between two catalogues from a server that reports
	// changes of its tools.
	refetchPause = time.Second
	// maxCalls limits the concurrent calls of one server.
	maxCalls = 16
	// drain is how long calls may continue on a connection that was replaced.
	drain = 10 * time.Second
	// probeTime is how long a server that hasn't answered a call in time may take for a
	// ping. A server that is only busy answers the ping; one that doesn't can't answer any
	// call.
	probeTime = 5 * time.Second
	// lookEvery is the interval of comparing the files that an approval covers, if the
	// system doesn't report changes. The pause is also at least lookShare times as long as
	// the comparison took, because large files may change all the time.
	lookEvery = 5 * time.Second
	lookShare = 20
	// logSize is the size of a server's log, in bytes.
	logSize = 256 << 10
	// maxError limits the text of an error, in bytes; maxCallError that of a call, which has
	// what the server says about it.
	maxError     = 1000
	maxCallError = 5000
)

// server is the life of one server name: its current entry, its connection, and an attempt
// to connect. Its goroutine, run, makes all decisions. Others register what they want and
// read the view.
//
// There is at most one attempt. There is at most one connection, except while the
// connection for a changed entry replaces the previous one.
type server struct {
	svc     *Service
	name    string
	log     *serverlog.Log
	wake    await.Wake    // holds a token when there is something to do
	changed await.Signal  // signals changes of the fields that mu guards
	slots   chan struct{} // holds a token for each call
	cancel  context.CancelFunc
	done    chan struct{} // closed when run and everything that it started have ended

	// The fields below belong to run's goroutine.
	backoff  await.Backoff
	attempt  *attempt
	results  chan *attempt
	ending   int // number of connections that are being ended
	ended    chan struct{}
	ends     sync.WaitGroup
	full     atomic.Bool // it was ended because of its disk usage
	probing  bool
	probed   chan *connection // the connection that doesn't answer; nil for one that does
	demanded bool             // a connection is wanted even if nobody waits for it
	stale    bool             // the catalogue must be fetched again
	fetched  time.Time
	files    *trust.Watch // watches the files of the judgement
	told     bool         // a change of them was reported but not checked yet
	lookAt   time.Time    // don't check them again before this time

	mu     sync.Mutex // guards the fields below
	wanted wants
	view
	secrets      map[string]bool // all values that it was ever given
	hidden       *serverlog.Redactor
	fallback     string // the protocol that it must be started with
	attempts     int    // number of failed attempts
	disconnected bool   // Close or removal has begun
}

// wants is what others want from run.
type wants struct {
	entry                   *entry.Entry
	judge, refresh, restart bool
	waiting                 int         // number of callers that need a connection
	asked                   int         // counts requests that wait for run's result
	probe                   *connection // hasn't answered a call in time
}

// view is what others may see of a server. Everything that it points to is immutable,
// except the connection, of which the server's mu guards a part.
type view struct {
	entry   *entry.Entry
	shadows []string
	judged  *judgement // nil at the beginning
	conn    *connection
	cached  *known // for the current judgement, without a connection
	trying  bool
	failure string // why the last attempt failed; empty if it didn't
	note    string // what happened to the last connection
	signIn  bool   // it requires a sign-in
	retryAt time.Time
	starts  int
	calls   int
	problem string // why an older version of its file is used

	busy bool // the state will change soon
	upTo int  // requests up to this number have been started; see wants.asked
}

// attempt is an attempt to connect, or to fetch the catalogue again.
type attempt struct {
	judged *judgement
	on     *connection // the connection to fetch the catalogue from; nil for an attempt to connect
	cancel context.CancelFunc
	// dropped says that the result isn't wanted any more.
	dropped bool

	conn  *connection
	known *known
	err   error
}

// newServer makes a server. It starts after the previous server of this name has ended.
func (s *Service) newServer(ctx context.Context, name string, before <-chan struct{}) *server {
	ctx, cancel := context.WithCancel(ctx)
	srv := &server{
		svc: s, name: name, log: serverlog.New(logSize), wake: await.NewWake(), slots: make(chan struct{}, maxCalls),
		cancel: cancel, done: make(chan struct{}), results: make(chan *attempt, 1), ended: make(chan struct{}, 1), probed: make(chan *connection, 1), secrets: make(map[string]bool), hidden: serverlog.NewRedactor(),
		backoff: await.Backoff{Shortest: shortestRetry, Longest: longestRetry, Jitter: true},
	}
	go srv.run(ctx, before)
	return srv
}

// want registers a wish and wakes run.
func (s *server) want(change func(w *wants)) {
	s.mu.Lock()
	change(&s.wanted)
	s.mu.Unlock()
	s.poke()
}

func (s *server) poke() {
	s.wake.Set()
}

// run makes the decisions of a server until ctx ends.
func (s *server) run(ctx context.Context, before <-chan struct{}) {
	defer close(s.done)
	defer s.shut()
	if before != nil {
		<-before // it is ending already
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

// shut ends everything, including calls in progress.
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

// step does everything that is due.
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
		w.refresh = false // the attempt in progress serves it, too
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

// update changes what others see. Only run's goroutine may call it.
func (s *server) update(change func()) {
	s.mu.Lock()
	change()
	s.mu.Unlock()
	s.changed.Notify()
	s.svc.touched.Notify()
}

// judgeAgain judges the entry, and ends what isn't allowed any more.
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
		case changed != nil: // it may have loaded other content, even if everything is as before now
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
	// If only the content of a file has changed, wait for the retry time: otherwise a file
	// that changes all the time would start servers endlessly. A new approval or new
	// settings are tried at once.
	anew := fresh && (before == nil || before.outcome != "" || !reflect.DeepEqual(before.entry.Server, e.Server) || !reflect.DeepEqual(before.widening, j.widening))
	var cached *known
	switch {
	case s.conn != nil && s.conn.judged.same(j):
		cached, _ = s.pin(j, s.conn.known.catalogue) // the approved tools may have changed
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

// watched reports whether the files of a judgement are watched. Changes of approved files
// need a new approval at once, not only with the next start. Without an approval, changes
// just apply to the next start.
func watched(j *judgement) bool {
	switch {
	case j == nil || j.entry.Transport != transportStdio || j.verdict.By == trust.ByWorkspace:
		return false
	case j.digests == nil:
		return j.broken && j.expanded != nil // a file is missing
	}
	return j.verdict.Allowed || len(j.verdict.Changes) > 0 // approved content may be restored
}

// suspect reports whether it is time to check the files, and one may have changed.
func (s *server) suspect() bool {
	now := time.Now()
	if !watched(s.judged) || now.Before(s.lookAt) || !s.told && s.files.Told() {
		return false
	}
	s.lookAt = now.Add(lookEvery)
	return s.judged.digests == nil || s.files.Stale()
}

// begin starts an attempt to connect if that is wanted and due.
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

// needed reports whether a connection must be made, now or later.
func (s *server) needed(waited bool) bool {
	switch {
	case s.attempt != nil || s.ending > 0 || s.judged == nil || s.judged.outcome != "" || s.signIn:
		return false
	case s.conn != nil:
		return !s.conn.judged.same(s.judged)
	}
	return waited || s.demanded || s.cached == nil || s.failure != ""
}

// try runs an attempt in the background.
func (s *server) try(ctx context.Context, a *attempt, do func(ctx context.Context, a *attempt)) {
	ctx, a.cancel = context.WithCancel(ctx)
	s.attempt = a
	s.update(func() { s.trying = a.on == nil })
	go func() {
		do(ctx, a)
		s.results <- a
	}()
}

// finish handles the result of an attempt.
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

// connected takes over a new connection. It replaces the existing one, if any.
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

// failed handles a failed attempt, and schedules the next one.
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

// lost handles a connection that has ended by itself.
func (s *server) lost(ctx context.Context) {
	c := s.conn
	err := c.explain(ctx, c.session.Err())
	if errors.Is(err, session.ErrSessionLost) {
		s.demanded = true // at once: the server is there
		s.end(c, s.describe(err), 0)
		return
	}
	why := cmp.Or(s.describe(err), "it has ended the connection")
	full := errors.Is(err, errDisk)
	if full {
		s.full.Store(true)
	}
	s.drop(c, why, full)
}

// drop ends a useless connection. After a pause, the next call makes a new one; if failed
// is true, a new one is made even without a call.
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

// probe pings a server that hasn't answered a call in time. It skips HTTP, where requests
// are independent and there is nothing to restart.
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

// unanswered ends a connection that doesn't respond any more; c may be nil.
func (s *server) unanswered(c *connection) {
	if c == nil || c != s.conn {
		return
	}
	select {
	case <-c.session.Done():
		return // it has ended for a reason of its own
	default:
	}
	s.drop(c, fmt.Sprintf("it answered neither a call in time nor a ping within %s", probeTime), false)
}

// end ends a connection in the background. Calls in progress may continue for grace.
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

// drained waits until a connection has no calls, at most for grace.
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

// idle ends a connection that hasn't been used for a while.
func (s *server) idle() {
	if s.conn == nil {
		return
	}
	set := s.svc.current()
	c := s.conn
	s.mu.Lock()
	idle := c.inflight == 0 && s.wanted.waiting == 0 && time.Since(c.used) >= set.Idle && s.attempt == nil
	if idle {
		s.conn = nil // no new calls from here on
	}
	s.mu.Unlock()
	if idle {
		s.end(c, fmt.Sprintf("it wasn't called for %s", set.Idle), 0)
	}
}

// fetch fetches the catalogue again if that is due.
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

// fetchedAnew takes over a new catalogue. If there is none, the last one stays.
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

// next returns when step has something to do by itself; zero means never.
func (s *server) next() time.Time {
	var next time.Time
	at := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	if until := s.judged.until(); !until.IsZero() {
		at(time.Now().Add(max(until.Sub(s.svc.opts.Now()), time.Second))) // clocks may differ slightly
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

// later returns t, or now if that is later.
func later(t time.Time) time.Time {
	if now := time.Now(); t.Before(now) {
		return now
	}
	return t
}

// notRunning says why a server can't be called.
type notRunning struct {
	outcome snapshot.Outcome
	why     string
}

func (e *notRunning) Error() string { return e.why }

// forbidden reports whether the server may not be called, as opposed to a server that
// doesn't answer.
func (e *notRunning) forbidden() bool {
	switch e.outcome {
	case snapshot.OutcomeNeedsApproval, snapshot.OutcomeNeedsAuthorization, snapshot.OutcomeSwitchedOff, snapshot.OutcomeListed:
		return true
	}
	return false
}

// use returns a connection, and makes one if there is none. The caller counts as a user of
// the connection until release.
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

// take returns the connection if there is one, and an error if waiting for one is useless.
// from is the number of failed attempts when the caller arrived.
func (s *server) take(from int) (*connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	outcome, why := s.outcome()
	switch {
	case s.disconnected:
		return nil, &notRunning{snapshot.OutcomeFailed, "the server is no longer configured"}
	case s.conn != nil && errors.Is(s.conn.session.Err(), session.ErrSessionLost):
		return nil, nil // run makes a new one
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

// outcome returns the outcome and its reason. The caller holds mu.
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

// state returns the state. The caller holds mu.
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

// offered returns what is known about its tools; nil if nothing is. The caller holds mu.
func (v *view) offered() *known {
	switch {
	case v.conn != nil:
		return v.conn.known
	case v.judged != nil && v.judged.outcome == "":
		return v.cached
	}
	return nil
}

// facts are what is shown of a server at one time. They are immutable.
type facts struct {
	name    string
	entry   *entry.Entry
	judged  *judgement // nil at the beginning
	known   *known     // what it offers; nil if that is unknown
	outcome snapshot.Outcome
	why     string
	state   agentapi.MCPServerState
	shadows []string
	problem string
	free    []string // files that were without a lease when it was started

	startedAt, retryAt time.Time
	calls, restarts    int
}

// look returns the current facts.
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

// judgeNow judges the server again, with new digests, and waits for the result.
func (s *server) judgeNow(ctx context.Context) error {
	var asked int
	s.want(func(w *wants) {
		w.judge = true
		w.asked++
		asked = w.asked
	})
	return s.await(ctx, func() bool { return s.upTo >= asked })
}

// ask registers a wish, and waits until run has nothing in progress any more.
func (s *server) ask(ctx context.Context, change func(w *wants)) error {
	var asked int
	s.want(func(w *wants) {
		change(w)
		w.asked++
		asked = w.asked
	})
	return s.await(ctx, func() bool { return s.upTo >= asked && !s.busy })
}

// await waits until is returns true. It calls is with mu held.
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

// hide redacts values from now on.
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

func (s *server) redact() *serverlog.Redactor {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hidden
}

// describe returns the text of an error for people, without values.
func (s *server) describe(err error) string {
	if err == nil {
		return ""
	}
	return s.describeUpTo(err, maxError)
}

func (s *server) describeUpTo(err error, limit int) string {
	said, r := errtext.Of(err), s.redact()
	if e := (*session.ServerError)(nil); errors.As(err, &e) { // values within JSON have its escapes
		clean := *e
		clean.Data = r.JSON(e.Data)
		said = strings.ReplaceAll(said, e.Error(), clean.Error())
	}
	return text.Line(r.String(said), limit)
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
