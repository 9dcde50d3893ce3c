package files

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"
)

// lockKey identifies a file by its directory and name, because the file itself is replaced.
type lockKey struct {
	dir  identity
	name string
}

func (k lockKey) compare(other lockKey) int {
	return cmp.Or(cmp.Compare(k.dir.dev, other.dir.dev), cmp.Compare(k.dir.ino, other.dir.ino), cmp.Compare(k.name, other.name))
}

// locks serialize calls that replace the same file. The zero value is ready to use.
type locks struct {
	mu   sync.Mutex // guards held
	held map[lockKey]*lock
}

// lock is one file's.
type lock struct {
	turn  *semaphore.Weighted
	users int // number of holders and waiters; guarded by locks.mu
}

// acquire takes the locks of files, in the same order for all callers. It fails when ctx
// ends.
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

// leave removes an unused lock.
func (l *locks) leave(key lockKey, k *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.users--; k.users == 0 {
		delete(l.held, key)
	}
}
