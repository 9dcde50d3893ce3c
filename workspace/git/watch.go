package git

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"waymark/agentapi"
	"waymark/internal/await"
)

const (
	// pollEvery is the interval of scans without a reason, because other tools may change a
	// repository.
	pollEvery = 30 * time.Second
	// pause is the minimum time between two scans of a repository. It is at least as long
	// as the last scan took.
	pause = time.Second
	// gather is how long a subscriber's first message waits for repositories that are still
	// being scanned.
	gather = time.Second
	// maxRepositories limits the repositories of a subscriber.
	maxRepositories = 256
	// maxMessage limits an encoded message, in bytes, because clients read no more.
	maxMessage = 4 << 20
)

// repository is a watched repository. Its goroutine runs while it has users.
type repository struct {
	top  string
	want await.Wake // holds a token when a scan is requested
	stop context.CancelFunc

	// Guarded by Service.mu.
	users int
	asked uint64 // number of requested scans
	seen  uint64 // number of the last request that the newest result covers
	at    time.Time
	result
}

// keep scans the repository on request, and at intervals.
func (s *Service) keep(ctx context.Context, r *repository) {
	defer s.running.Done()
	poll := time.NewTimer(s.opts.poll)
	defer poll.Stop()
	for {
		select {
		case <-r.want:
		case <-poll.C:
		case <-ctx.Done():
			return
		}
		began := time.Now()
		if !s.lookAt(ctx, r) {
			return
		}
		select {
		case <-time.After(max(s.opts.pause, time.Since(began))):
		case <-ctx.Done():
			return
		}
		poll.Reset(s.opts.poll)
	}
}

// lookAt scans a repository and publishes the result. It returns false when ctx has ended.
func (s *Service) lookAt(ctx context.Context, r *repository) bool {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-s.slots }()
	s.mu.Lock()
	asked := r.asked
	s.mu.Unlock()
	at := time.Now()
	result := s.scanner.scan(ctx, r.top)
	if ctx.Err() != nil {
		return false
	}
	s.mu.Lock()
	if result.warning != "" {
		// keep the last known state
		result.GitRepository = r.GitRepository
	}
	if result.warning != r.warning && result.warning != "" {
		s.log.Warn("a repository can't be compared", slog.String("path", r.top), slog.String("error", result.warning))
	}
	r.result, r.seen, r.at = result, asked, at
	s.mu.Unlock()
	s.changed.Notify()
	return true
}

// acquire adds a user to a repository.
func (s *Service) acquire(top string) *repository {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.repositories[top]
	if r == nil {
		ctx, stop := context.WithCancel(s.ctx)
		r = &repository{top: top, want: await.NewWake(), stop: stop}
		s.repositories[top] = r
		s.running.Add(1)
		go s.keep(ctx, r)
	}
	r.users++
	return r
}

// release undoes acquire.
func (s *Service) release(r *repository) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.users--; r.users == 0 {
		r.stop()
		delete(s.repositories, r.top)
	}
}

// ask requests a scan of a repository, and returns the value that its field seen will at
// least have after it.
func (s *Service) ask(r *repository) uint64 {
	s.mu.Lock()
	r.asked++
	asked := r.asked
	s.mu.Unlock()
	r.want.Set()
	return asked
}

// subscriber is a client of the watch.
type subscriber struct {
	s    *Service
	chat uuid.UUID // uuid.Nil means the workspace's own repository
	seq  uint64    // number of the last known touch

	watched map[string]*subscription // by the repository's directory
	// owed is set until the answer to a subscription or a refresh has been sent, which is
	// sent even if nothing has changed.
	owed bool
	// held is until when that answer may wait for all repositories.
	held time.Time
}

// subscription is a repository of a subscriber.
type subscription struct {
	*repository
	until uint64 // the value of seen to wait for
	told  bool   // sent is what the subscriber knows
	sent  agentapi.GitRepository
	said  string // the last warning that was sent
}

// watch calls send with what has changed, until ctx ends or send fails. A token in refresh
// requests a scan of everything.
func (s *Service) watch(ctx context.Context, chat uuid.UUID, refresh <-chan struct{}, send func(*agentapi.GitMessage) error) error {
	w := &subscriber{s: s, chat: chat, watched: make(map[string]*subscription)}
	defer func() {
		for _, r := range w.watched {
			s.release(r.repository)
		}
	}()
	poll := time.NewTicker(s.opts.poll)
	defer poll.Stop()
	w.all()
	for {
		changed := s.changed.Changed()
		w.follow()
		message, wait := w.news(time.Now())
		if message != nil {
			if err := send(message); err != nil {
				return err
			}
			continue
		}
		var held <-chan time.Time
		if wait > 0 {
			held = time.After(wait)
		}
		select {
		case <-changed:
		case <-held:
		case <-refresh:
			w.all()
		case <-poll.C:
			w.find() // there may be new repositories; known ones are polled anyway
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// all requests a scan of all repositories. It will be answered even if nothing has changed.
func (w *subscriber) all() {
	for _, r := range w.watched {
		r.until = w.s.ask(r.repository)
	}
	w.find() // requests scans of new ones
	w.owed, w.held = true, time.Now().Add(gather)
}

// find adds repositories that are new.
func (w *subscriber) find() {
	_, w.seq = w.s.touches.since(w.chat, 0)
	for _, top := range w.s.topsOf(w.chat) {
		w.add(top)
	}
}

// topsOf returns the repositories of a chat, or the workspace's.
func (s *Service) topsOf(chat uuid.UUID) []string {
	paths, _ := s.touches.since(chat, 0)
	if chat == uuid.Nil {
		paths = nil
		if root := s.opts.Root(); root != "" {
			paths = []string{root}
		}
	}
	return s.tops(paths)
}

// follow handles new touches.
func (w *subscriber) follow() {
	paths, seq := w.s.touches.since(w.chat, w.seq)
	if w.seq = seq; len(paths) == 0 {
		return
	}
	for _, top := range w.s.tops(paths) {
		if r := w.watched[top]; r != nil {
			w.s.ask(r.repository)
		} else if w.chat != uuid.Nil {
			w.add(top)
		}
	}
}

// add adds a repository to the watched ones, unless the limit is reached.
func (w *subscriber) add(top string) {
	if w.watched[top] == nil && len(w.watched) < maxRepositories {
		r := &subscription{repository: w.s.acquire(top)}
		r.until = w.s.ask(r.repository)
		w.watched[top] = r
	}
}

// tops returns the distinct repositories of paths.
func (s *Service) tops(paths []string) []string {
	found := make(map[string]bool)
	for _, path := range paths {
		if top := s.find(path); top != "" {
			found[top] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// news returns what has changed since the last message; nil if there is nothing to send
// yet. Then wait, if it isn't 0, is when to call it again at the latest.
func (w *subscriber) news(now time.Time) (message *agentapi.GitMessage, wait time.Duration) {
	m := &agentapi.GitMessage{Type: agentapi.GitChanges}
	var warnings []string
	var gone []*repository
	w.s.mu.Lock()
	for _, top := range slices.Sorted(maps.Keys(w.watched)) {
		if r := w.watched[top]; r.seen < r.until {
			m.Pending = append(m.Pending, valid(top))
		}
	}
	if w.owed && len(m.Pending) > 0 && now.Before(w.held) {
		w.s.mu.Unlock()
		return nil, w.held.Sub(now)
	}
	at := now
	for _, top := range slices.Sorted(maps.Keys(w.watched)) {
		r := w.watched[top]
		switch {
		case r.seen == 0, r.gone && r.seen < r.until:
			continue
		case r.gone:
			gone = append(gone, r.repository)
			delete(w.watched, top)
		}
		if told, warning := r.news(); told != nil {
			m.Repositories = append(m.Repositories, *told)
			at = r.at
		} else if warning != "" {
			warnings = append(warnings, valid(top)+": "+warning)
			at = r.at
		}
	}
	w.s.mu.Unlock()
	for _, r := range gone {
		w.s.release(r)
	}
	m.Message = strings.Join(warnings, "\n")
	complete := w.owed && len(m.Pending) == 0
	if len(m.Repositories) == 0 && m.Message == "" && !complete {
		return nil, 0
	}
	w.owed = w.owed && !complete
	at = at.UTC()
	m.ScannedAt = &at
	shrink(m.Repositories)
	return m, 0
}

// news returns what the subscriber doesn't know about a repository. The caller holds
// Service.mu.
func (r *subscription) news() (told *agentapi.GitRepository, warning string) {
	if r.gone {
		if !r.told {
			return nil, ""
		}
		return &agentapi.GitRepository{RepoRoot: r.sent.RepoRoot, Removed: true}, ""
	}
	recovered := r.said != "" && r.warning == ""
	if r.warning != r.said {
		r.said, warning = r.warning, r.warning
	}
	if r.RepoRoot == "" || r.warning != "" || r.told && r.sent == r.GitRepository && !recovered {
		return nil, warning
	}
	r.told, r.sent = true, r.GitRepository
	list := r.sent
	return &list, ""
}

// shrink makes the diffs of a message fit by replacing the largest.
func shrink(list []agentapi.GitRepository) {
	total, encoded := 0, 0
	for i := range list {
		total += len(list[i].UnifiedDiff)
		encoded += encodedSize(list[i].UnifiedDiff)
	}
	for total > maxDiff || encoded > maxMessage-maxFrame {
		largest := slices.MaxFunc(list, func(a, b agentapi.GitRepository) int {
			return cmp.Compare(encodedSize(a.UnifiedDiff), encodedSize(b.UnifiedDiff))
		})
		i := slices.Index(list, largest)
		size := len(largest.UnifiedDiff)
		list[i].UnifiedDiff = tooLarge(int64(size), false)
		total += len(list[i].UnifiedDiff) - size
		encoded += encodedSize(list[i].UnifiedDiff) - encodedSize(largest.UnifiedDiff)
	}
}

// maxFrame limits everything in a message except diffs, in bytes: paths, branches and
// remotes.
const maxFrame = 256 << 10

// encodedSize returns the length of a text in JSON, in bytes.
func encodedSize(s string) int {
	n := len(s)
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"', c == '\\', c == '\n', c == '\r', c == '\t', c == '\b', c == '\f':
			n++
		case c < 0x20:
			n += 5
		case c == 0xe2: // perhaps U+2028 or U+2029
			n += 3
		}
	}
	return n
}
