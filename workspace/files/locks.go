package files

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"
)

// lockKey names a file that is replaced: by its directory, since the file itself
// is another one afterwards.
type lockKey struct {
	dir  identity
	name string
}

func (k lockKey) compare(other lockKey) int {
	return cmp.Or(cmp.Compare(k.dir.dev, other.dir.dev), cmp.Compare(k.dir.ino, other.dir.ino), cmp.Compare(k.name, other.name))
}

// locks let one call at a time replace a file. The zero value works.
type locks struct {
	mu   sync.Mutex // guards held
	held map[lockKey]*lock
}

// lock is one file's.
type lock struct {
	turn  *semaphore.Weighted
	users int // who has it or waits; guarded by locks.mu
}

// acquire takes the locks of some files, in one order for all callers. It fails
// when ctx ends.
func (l *locks) acquire(ctx context.Context, keys ...lockKey) (release func(), err error) {
	keys = slices.Clone(keys)
	slices.SortFunc(keys, lockKey.compare)
	keys = slices.Compact(keys)
	var taken []lockKey
	release = func() {
		for _, key := range taken {
			l.release(key)
		}
	}
	for _, key := range keys {
		if err := l.take(ctx, key); err != nil {
			release()
			return nil, err
		}
		taken = append(taken, key)
	}
	return release, nil
}

func (l *locks) take(ctx context.Context, key lockKey) error {
	l.mu.Lock()
	if l.held == nil {
		l.held = make(map[lockKey]*lock)
	}
	k := l.held[key]
	if k == nil {
		k = &lock{turn: semaphore.NewWeighted(1)}
		l.held[key] = k
	}
	k.users++
	l.mu.Unlock()
	if k.turn.Acquire(ctx, 1) != nil {
		l.leave(key, k)
		return context.Cause(ctx)
	}
	return nil
}

func (l *locks) release(key lockKey) {
	l.mu.Lock()
	k := l.held[key]
	l.mu.Unlock()
	k.turn.Release(1)
	l.leave(key, k)
}

// leave forgets a lock that nobody uses any more.
func (l *locks) leave(key lockKey, k *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.users--; k.users == 0 {
		delete(l.held, key)
	}
}
