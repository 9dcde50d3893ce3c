package postgres

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"waymark/hub/store"
)

const (
	// pushCommitters is how many groups of pushes a hub stores at a time: enough that the server
	// has work while one commit waits for its disk, and few enough that pushes meet in a group.
	// With those of other groups the pool has connections left.
	pushCommitters, uploadCommitters, beginCommitters, lookupCommitters = 3, 2, 2, 1
	// maxGroup and maxGroupBytes limit a group. Payloads cost the server more than what
	// they save by being together: of full pushes without a limit none ended in seconds.
	maxGroup      = 64
	maxGroupBytes = 512 << 10
	// rowBytes is roughly what a resource costs beside its payload.
	rowBytes = 1 << 10
	// minGroup and slowGroup: groups become smaller, but not smaller than this, while one
	// takes longer than that.
	minGroup  = 8
	slowGroup = 250 * time.Millisecond
)

// groups does what comes at the same time in one transaction, because a commit costs as much as
// a small push, and asking as much as an answer. A group is what came while a committer was
// busy, of different agents: nobody waits for others to come. Another committer begins when
// enough wait. No caller is answered before the commit.
//
// What is refused has written nothing, so that the others of its group go on. After an error
// of the database each member gets its own transaction.
type groups[T grouped] struct {
	db *DB
	// together does what members want, and sets their results and errors, anew with each call.
	// An error is the database's, and of all of them.
	together   func(ctx context.Context, db *DB, conn *pgx.Conn, list ...T) error
	committers int

	mu      sync.Mutex // guards the rest
	waiting []T
	// busy are the keys of members that are in a group.
	busy    map[string]bool
	running int // committers
	limit   int
	closed  bool
	runs    sync.WaitGroup
}

// grouped is what can be in a group: it embeds a member.
type grouped interface {
	comparable
	base() *member
}

// member waits for its group.
type member struct {
	// key is what no other member that is under way may have; "" if any may be.
	key string
	// bytes is roughly how much it writes.
	bytes int64

	// ctx is the waiting caller's. answered is closed once the result and err are set.
	ctx      context.Context //nolint:containedctx // of a caller
	answered chan struct{}
	err      error
}

func (m *member) base() *member { return m }

func newGroups[T grouped](db *DB, committers int, together func(context.Context, *DB, *pgx.Conn, ...T) error) *groups[T] {
	return &groups[T]{db: db, together: together, committers: committers, busy: make(map[string]bool), limit: maxGroup}
}

// do has p done. If ctx ends before a group has it, it isn't; after that it may be.
func (g *groups[T]) do(ctx context.Context, p T) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m := p.base()
	m.ctx, m.answered = ctx, make(chan struct{})
	if err := g.add(p); err != nil {
		return err
	}
	select {
	case <-m.answered:
		return m.err
	case <-ctx.Done():
		g.leave(p)
		return ctx.Err()
	}
}

func (g *groups[T]) add(p T) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return store.ErrClosed
	}
	g.waiting = append(g.waiting, p)
	// One more at a time would be a group of one for each that comes.
	if g.running == 0 || g.running < g.committers && len(g.waiting) >= minGroup {
		g.running++
		g.runs.Go(g.commit)
	}
	return nil
}

// leave removes a member that still waits.
func (g *groups[T]) leave(p T) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.waiting, p); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
}

// close waits for what came, and refuses later ones.
func (g *groups[T]) close() {
	if g == nil {
		return
	}
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.runs.Wait()
}

// commit does groups as long as there are members.
func (g *groups[T]) commit() {
	for list := g.take(nil); list != nil; list = g.take(list) {
		begun := time.Now()
		g.store(list)
		g.learn(len(list), time.Since(begun))
		for _, p := range list {
			close(p.base().answered)
		}
	}
}

// take frees the keys of the group before, and takes the first waiting members whose keys
// are free, which may be none although some wait: those who have their keys take
// them. nil says that this committer has nothing to do.
func (g *groups[T]) take(before []T) (list []T) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range before {
		delete(g.busy, p.base().key)
	}
	bytes := int64(0)
	g.waiting = slices.DeleteFunc(g.waiting, func(p T) bool {
		m := p.base()
		if g.busy[m.key] || len(list) >= g.limit || len(list) > 0 && bytes+m.bytes > maxGroupBytes {
			return false
		}
		bytes += m.bytes
		if m.key != "" {
			g.busy[m.key] = true
		}
		list = append(list, p)
		return true
	})
	if list == nil {
		g.running--
	}
	return list
}

// learn adjusts the size of groups to how long one took.
func (g *groups[T]) learn(size int, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case took > slowGroup && size > minGroup:
		g.limit = max(minGroup, size/2)
	case took < slowGroup/2:
		g.limit = min(maxGroup, g.limit+minGroup)
	}
}

// store does a group, and sets the results.
func (g *groups[T]) store(list []T) {
	ctx := context.Background() // a caller that leaves doesn't end what others wait for
	err := g.db.try(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		return g.together(ctx, g.db, conn.Conn(), list...)
	})
	if err == nil {
		return
	}
	for _, p := range list {
		m := p.base()
		if len(list) == 1 || code(err) == "" { // the database isn't there for any of them
			m.err = err
			continue
		}
		if m.err = m.ctx.Err(); m.err != nil {
			continue
		}
		err := g.db.try(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
			return g.together(ctx, g.db, conn.Conn(), p)
		})
		if err != nil { // otherwise m.err is its refusal, if it was refused
			m.err = err
		}
	}
}
