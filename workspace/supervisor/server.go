package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// server holds the processes.
type server struct {
	dir      string
	limits   Limits
	instance string
	began    time.Time
	logger   *slog.Logger
	reaper   *reaper
	budget   *budget
	boot     string

	// stop is closed to end the server with everything that it holds.
	stop     chan struct{}
	stopOnce sync.Once
	runs     sync.WaitGroup // goroutines of held processes

	mu       sync.Mutex // guards the fields below
	held     map[string]*held
	tokens   map[string]*held
	receipts map[string]*receipt
	ending   bool // no more starts
	agents   int  // number of connections
}

func newServer(dir string, limits Limits, logger *slog.Logger) *server {
	s := &server{
		dir: dir, limits: limits, logger: logger, instance: uuid.NewString(), began: time.Now(), boot: bootID(),
		reaper: newReaper(), stop: make(chan struct{}),
		held: map[string]*held{}, tokens: map[string]*held{}, receipts: map[string]*receipt{},
	}
	s.reaper.starters = newStarters()
	s.budget = &budget{limit: limits.Spools, room: s.makeRoom}
	return s
}

// start starts a process, only once for each token and each tracked id.
func (s *server) start(ctx context.Context, spec *Spec) (Info, bool, error) {
	if err := checkSpec(spec); err != nil {
		return Info{}, false, err
	}
	h, attached, err := s.admit(spec)
	if err != nil {
		return Info{}, false, err
	}
	if attached {
		select {
		case <-h.ready:
		case <-ctx.Done():
			return Info{}, false, context.Cause(ctx)
		}
		if h.failed != nil {
			return Info{}, false, h.failed
		}
		return h.info(), true, nil
	}
	if err := h.begin(spec); err != nil {
		s.giveUp(h, err)
		return Info{}, false, err
	}
	close(h.ready)
	s.runs.Go(func() { h.run(spec.Timeout) })
	s.runs.Done()
	return h.info(), false, nil
}

// giveUp forgets a process that couldn't be started, so that another attempt is possible.
func (s *server) giveUp(h *held, err error) {
	s.mu.Lock()
	if r := s.receipts[h.ID]; r != nil && r.process == h && !r.fenced {
		delete(s.receipts, h.ID)
	}
	s.forget(h)
	s.mu.Unlock()
	h.failed = err
	h.spool.seal()
	close(h.ready)
	close(h.done)
	s.runs.Done()
	if err := h.spool.remove(); err != nil {
		s.logger.Warn("what a start has left can't be removed", slog.Any("error", err))
	}
}

func checkSpec(spec *Spec) error {
	switch {
	case len(spec.Argv) == 0 || spec.Argv[0] == "":
		return errors.New("there is no program to start")
	case !filepath.IsAbs(spec.Dir):
		return fmt.Errorf("the working directory %q is not an absolute path", spec.Dir)
	case spec.ID != "" && !validID(spec.ID):
		return fmt.Errorf("%q can't be an id: use at most 128 letters, digits, and . _ -, no dot first", spec.ID)
	case spec.Tracked != nil && spec.ID == "":
		return errors.New("a tracked start needs an id")
	case spec.Timeout < 0:
		return errors.New("the timeout is negative")
	}
	for _, v := range slices.Concat(spec.Argv, spec.Env) {
		if strings.ContainsRune(v, 0) {
			return errors.New("an argument or a variable has a NUL character")
		}
	}
	return nil
}

// validID reports whether an id can be the name of a directory.
func validID(id string) bool {
	return len(id) <= 128 && id != "" && id[0] != '.' && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
	})
}

// admit returns the process that an earlier start with the same token or id has started, or
// adds a new one, which the caller must start or give up.
func (s *server) admit(spec *Spec) (h *held, attached bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return nil, false, ErrLost
	}
	if spec.Tracked != nil {
		if h, err := s.admitTracked(spec); h != nil || err != nil {
			return h, true, err
		}
	}
	if h := s.tokens[spec.Token]; h != nil && spec.Token != "" {
		if h.Input != spec.Input || h.Chat != spec.Chat || spec.Tracked != nil && h.ID != spec.ID {
			return nil, false, fmt.Errorf("the token: %w", ErrConflict)
		}
		return h, true, nil
	}
	id := cmp.Or(spec.ID, uuid.NewString())
	if s.held[id] != nil {
		return nil, false, fmt.Errorf("the id: %w", ErrConflict)
	}
	// Old processes take little memory, but drop them long before the limit is reached.
	dropped := len(s.held) >= s.limits.Processes/4 && s.dropOldest()
	if len(s.held) >= s.limits.Processes && !dropped {
		return nil, false, fmt.Errorf("%d processes run or have just ended: %w", len(s.held), ErrFull)
	}
	h = newHeld(record{
		ID: id, Command: spec.Command, Dir: spec.Dir, Background: spec.Background, Chat: spec.Chat, Fence: spec.Fence,
		Token: spec.Token, Input: spec.Input, Tracked: spec.Tracked, Boot: s.boot, Started: time.Now(),
	}, filepath.Join(s.dir, heldDir, id), s.limits, s.budget, s.reaper, s.logger)
	s.held[id] = h
	if spec.Token != "" {
		s.tokens[spec.Token] = h
	}
	if spec.Tracked != nil {
		s.receipts[id] = &receipt{Tracked: *spec.Tracked, process: h}
	}
	s.runs.Add(1) // until it runs or is given up
	return h, false, nil
}

// forget removes a process from what is held. The caller holds mu.
func (s *server) forget(h *held) {
	delete(s.held, h.ID)
	if s.tokens[h.Token] == h {
		delete(s.tokens, h.Token)
	}
	if r := s.receipts[h.ID]; r != nil && r.process == h {
		r.process = nil
	}
}

// oldest returns the process that ended first among those that may be forgotten. The caller
// holds mu.
func (s *server) oldest() *held {
	var oldest *held
	var at time.Time
	before := time.Now().Add(-s.limits.Retention)
	for _, h := range s.held {
		if e := h.ended(); !e.IsZero() && e.Before(before) && (oldest == nil || e.Before(at)) {
			oldest, at = h, e
		}
	}
	return oldest
}

// dropOldest forgets a process that has ended, with its output. The caller holds mu.
func (s *server) dropOldest() bool {
	h := s.oldest()
	if h == nil {
		return false
	}
	s.forget(h)
	s.runs.Go(func() { // don't remove files under the lock
		if err := h.spool.remove(); err != nil {
			s.logger.Warn("an old process can't be removed", slog.Any("error", err))
		}
	})
	return true
}

// makeRoom drops output: all of that of the process that ended first. If none may be
// forgotten yet, it drops the oldest output of the process with the most output, and
// finally whole outputs.
func (s *server) makeRoom() bool {
	s.mu.Lock()
	h := s.oldest()
	if h != nil {
		s.forget(h)
	}
	all := slices.Collect(maps.Values(s.held))
	s.mu.Unlock()
	if h != nil {
		return h.spool.remove() == nil
	}
	sizes := make(map[*held]int64, len(all))
	for _, h := range all {
		_, sizes[h] = h.spool.size()
	}
	slices.SortFunc(all, func(a, b *held) int { return int(max(-1, min(1, sizes[b]-sizes[a]))) })
	for head := range 2 {
		for _, h := range all {
			if h.spool.dropOldest(int64(1-head)) > 0 {
				return true
			}
		}
	}
	return false
}

// get returns a process after its start has succeeded or failed.
func (s *server) get(ctx context.Context, id string) (*held, error) {
	s.mu.Lock()
	h := s.held[id]
	s.mu.Unlock()
	if h == nil {
		return nil, ErrNotFound
	}
	select {
	case <-h.ready:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if h.failed != nil {
		return nil, ErrNotFound
	}
	return h, nil
}

// maxPage limits a page of the list.
const maxPage = 256

// list returns the processes with ids after the given one, ordered by id.
func (s *server) list(after string) (infos []Info, more bool) {
	s.mu.Lock()
	ids := make([]string, 0, len(s.held))
	for id := range s.held {
		if id > after {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	var page []*held
	size := 0
	for i, id := range ids {
		h := s.held[id]
		page = append(page, h)
		size += len(h.Command) + len(h.Dir)
		if (len(page) == maxPage || size > 1<<20) && i < len(ids)-1 {
			more = true
			break
		}
	}
	s.mu.Unlock()
	infos = make([]Info, len(page))
	for i, h := range page {
		infos[i] = h.info()
	}
	return infos, more
}

// maxRead limits a page of output, in bytes.
const maxRead = 1 << 20

func (s *server) read(ctx context.Context, id string, offset int64, limit int, wait time.Duration) (Page, error) {
	h, err := s.get(ctx, id)
	if err != nil {
		return Page{}, err
	}
	if offset < 0 {
		return Page{}, errors.New("the offset is negative")
	}
	if limit <= 0 || limit > maxRead {
		limit = maxRead
	}
	var over <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		over = timer.C
	}
	for {
		changed := h.spool.changed.Changed()
		p := Page{Info: h.info()}
		if p.Data, p.Offset, p.Length, err = h.spool.read(offset, limit); err != nil {
			return Page{}, err
		}
		if len(p.Data) > 0 || !p.Info.Running || wait <= 0 {
			return p, nil
		}
		select {
		case <-changed:
		case <-h.done:
		case <-over:
			wait = 0
		case <-ctx.Done():
			return Page{}, context.Cause(ctx)
		}
	}
}

func (s *server) wait(ctx context.Context, id string) (Info, error) {
	h, err := s.get(ctx, id)
	if err != nil {
		return Info{}, err
	}
	select {
	case <-h.done:
		return h.info(), nil
	case <-ctx.Done():
		return Info{}, context.Cause(ctx)
	}
}

func (s *server) token(token string) (id string, found, pending bool, age time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	age = time.Since(s.began)
	h := s.tokens[token]
	if h == nil {
		return "", false, false, age
	}
	select {
	case <-h.ready:
	default:
		pending = true
	}
	return h.ID, true, pending, age
}

// recover lists what an earlier supervisor held. It ends processes that still run, because
// their output is lost and nobody will learn their exit code.
func (s *server) recover() {
	base := filepath.Join(s.dir, heldDir)
	names, err := os.ReadDir(base)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.logger.Warn("the journal can't be read", slog.Any("error", err))
	}
	var left []proc
	for _, name := range names {
		dir := filepath.Join(base, name.Name())
		rec, err := loadRecord(dir)
		if err != nil || rec.ID != name.Name() || !validID(rec.ID) {
			s.logger.Warn("an entry of the journal isn't understood, and is removed", slog.String("path", dir))
			_ = os.RemoveAll(dir)
			continue
		}
		left = append(left, s.adopt(rec, dir)...)
	}
	if len(left) > 0 {
		s.logger.Warn("an earlier supervisor has ended and left processes, which are ended", slog.Int("processes", len(left)))
		s.runs.Go(func() { endAll(func() []proc { return stillThere(left) }, s.limits.Grace) })
	}
}

// adopt holds a process of an earlier supervisor, which has ended or is lost. It returns
// what still runs of it.
func (s *server) adopt(rec *record, dir string) (left []proc) {
	length := int64(-1)
	if rec.Usage != nil {
		length = rec.Usage.OutputLen
	}
	if rec.Code == nil && rec.Lost == "" {
		left = s.lose(rec)
		if err := rec.save(dir); err != nil {
			s.logger.Warn("the journal can't be written", slog.Any("error", err))
		}
	}
	spool, err := openSpool(dir, s.limits, s.budget, length)
	if err != nil {
		s.logger.Warn("the output of a process can't be read", slog.Any("error", err))
		return left
	}
	h := newHeld(*rec, dir, s.limits, s.budget, s.reaper, s.logger)
	h.spool = spool
	close(h.ready)
	close(h.done)
	s.held[rec.ID] = h
	if rec.Token != "" {
		s.tokens[rec.Token] = h
	}
	return left
}

// lose records that it is unknown how a process ended.
func (s *server) lose(rec *record) (left []proc) {
	now := time.Now()
	rec.Exited = &now
	p, err := readProc(rec.PID)
	switch {
	case rec.PID == 0:
		rec.Lost = "what was to start it has ended; nobody knows whether it ran"
	case rec.Boot != s.boot:
		rec.Lost = "the system has been started anew since; nobody knows how it ended"
	case err == nil && p.start == rec.Start && !p.zombie:
		rec.Lost = "what held it has ended, so it was ended too; what it wrote meanwhile is gone"
		return inSession(p)
	default:
		rec.Lost = "what held it has ended, and so has it; nobody knows how"
	}
	return nil
}

func stillThere(all []proc) []proc {
	return slices.DeleteFunc(slices.Clone(all), func(p proc) bool {
		now, err := readProc(p.pid)
		return err != nil || now.start != p.start || now.zombie
	})
}

// endedSoon is how long endAll waits after the grace for the end of what it has killed.
const endedSoon = 5 * time.Second

// endAll ends processes with SIGTERM, and after grace with SIGKILL, until there are none.
// It gives up eventually, because another user's processes can't be ended.
func endAll(left func() []proc, grace time.Duration) bool {
	const often = 20 * time.Millisecond
	begin := time.Now()
	for asked := map[int]uint64{}; ; {
		all := left()
		if len(all) == 0 {
			return true
		}
		since := time.Since(begin)
		if since > grace+endedSoon {
			return false
		}
		for _, p := range all {
			switch {
			case since >= grace:
				_ = signalProc(p, syscall.SIGKILL)
			case asked[p.pid] != p.start:
				asked[p.pid] = p.start
				_ = signalProc(p, syscall.SIGTERM)
				_ = signalProc(p, syscall.SIGCONT) // a stopped process doesn't react otherwise
			}
		}
		<-time.After(often)
	}
}
