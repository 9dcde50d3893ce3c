package fake

import (
	"context"
	"errors"
	"iter"
	"maps"
	"net/http"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"waymark/workspace"
	"waymark/workspace/client"
)

// SetRepository sets what isn't committed in a repository, by its RepoRoot.
// Watches tell of it at once.
func (a *Agent) SetRepository(r workspace.GitRepository) {
	s := a.state
	s.mu.Lock()
	defer s.mu.Unlock()
	s.git = append(slices.DeleteFunc(s.git, func(old workspace.GitRepository) bool { return old.RepoRoot == r.RepoRoot }), r)
	s.changed.Notify()
}

// SetGitDiff sets what GitDiff says of a repository of SetRepository, by its RepoRoot.
func (a *Agent) SetGitDiff(d workspace.GitDiff) {
	s := a.state
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gitDiffs[d.RepoRoot] = d
}

// GitDiff implements client.Client: it answers what was set, with those of the files that lie
// at the paths.
func (a *Agent) GitDiff(ctx context.Context, asked workspace.GitQuestion) (*workspace.GitDiffs, error) {
	_, leave, err := a.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	s := a.state
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := &workspace.GitDiffs{}
	there := make(map[string]bool)
	for _, root := range slices.Sorted(maps.Keys(s.watched(a.caller))) {
		d := s.gitDiffs[root]
		d.Files = slices.DeleteFunc(slices.Clone(d.Files), func(f workspace.GitFile) bool {
			meant := len(asked.Paths) == 0
			for _, p := range asked.Paths {
				if below(path.Join(root, f.Path), path.Clean(p)) {
					meant, there[p] = true, true
				}
			}
			return !meant
		})
		answer.Repositories = append(answer.Repositories, d)
	}
	if len(answer.Repositories) == 0 {
		return nil, &client.Error{Code: http.StatusNotFound, Message: "there is no git repository"}
	}
	for _, p := range asked.Paths {
		if _, err := s.files.info(p, false); !path.IsAbs(p) {
			return nil, &client.Error{Code: http.StatusBadRequest, Message: "what has changed is not known", Detail: "paths are absolute, without NUL"}
		} else if err != nil && !there[p] {
			return nil, &client.Error{Code: http.StatusNotFound, Message: "there is no " + p}
		}
	}
	return answer, nil
}

// RemoveRepository removes a repository.
func (a *Agent) RemoveRepository(root string) {
	s := a.state
	s.mu.Lock()
	defer s.mu.Unlock()
	s.git = slices.DeleteFunc(s.git, func(old workspace.GitRepository) bool { return old.RepoRoot == root })
	s.changed.Notify()
}

// GitRefreshes is how often a watch has asked for another look.
func (a *Agent) GitRefreshes() int {
	a.state.mu.Lock()
	defer a.state.mu.Unlock()
	return a.state.gitAsked
}

// touch notes which paths a chat has worked on, for itself and those above it.
// The caller has the lock.
func (s *state) touch(who workspace.Caller, paths ...string) {
	if !who.Scoped() {
		return
	}
	for _, chat := range append([]uuid.UUID{who.Chat}, who.Ancestors...) {
		s.touched[chat] = append(s.touched[chat], paths...)
	}
	s.changed.Notify()
}

// watched returns the repositories that a caller sees. The caller of this has the
// lock.
func (s *state) watched(who workspace.Caller) map[string]workspace.GitRepository {
	paths := []string{s.opts.Root}
	if who.Scoped() {
		paths = s.touched[who.Chat]
	}
	seen := map[string]workspace.GitRepository{}
	for _, p := range paths {
		var inner *workspace.GitRepository
		for i := range s.git {
			if r := &s.git[i]; below(p, r.RepoRoot) && (inner == nil || len(r.RepoRoot) > len(inner.RepoRoot)) {
				inner = r
			}
		}
		if inner != nil {
			seen[inner.RepoRoot] = *inner
		}
	}
	return seen
}

// WatchGit implements client.Client.
func (a *Agent) WatchGit(ctx context.Context, opts client.GitOptions) iter.Seq2[*workspace.GitMessage, error] {
	return func(yield func(*workspace.GitMessage, error) bool) {
		for ctx.Err() == nil {
			err := a.watchGit(ctx, opts, yield)
			if err == nil || ctx.Err() != nil {
				return
			}
			if !yield(nil, err) || errors.Is(err, client.ErrNotRunning) || client.CodeOf(err) != 0 {
				return
			}
			if a.state.back(ctx) != nil {
				return
			}
		}
	}
}

// back waits until the agent is there again.
func (s *state) back(ctx context.Context) error {
	return s.await(ctx, time.Duration(1<<62), func() bool { return !s.stopped })
}

// watchGit follows one connection. It returns nil when the loop is left.
func (a *Agent) watchGit(ctx context.Context, opts client.GitOptions, yield func(*workspace.GitMessage, error) bool) error {
	s := a.state
	ctx, leave, err := a.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	var asked atomic.Int64
	var asking sync.WaitGroup
	defer asking.Wait()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	asking.Go(func() { s.ask(ctx, opts.Refresh, &asked) })
	told, answered := map[string]workspace.GitRepository{}, int64(-1)
	for {
		changed := s.changed.Changed()
		wanted := asked.Load()
		s.mu.Lock()
		now := s.watched(a.caller)
		s.mu.Unlock()
		m := gitNews(told, now)
		if len(m.Repositories) > 0 || wanted > answered {
			if told, answered = now, wanted; !yield(m, nil) {
				return nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ended(ctx)
		}
	}
}

// ask counts the values that come.
func (s *state) ask(ctx context.Context, refresh <-chan struct{}, asked *atomic.Int64) {
	for {
		select {
		case _, more := <-refresh:
			if !more {
				return
			}
		case <-ctx.Done():
			return
		}
		s.mu.Lock()
		s.gitAsked++
		s.mu.Unlock()
		asked.Add(1)
		s.changed.Notify()
	}
}

// gitNews is what has changed.
func gitNews(told, now map[string]workspace.GitRepository) *workspace.GitMessage {
	at := time.Now().UTC()
	m := &workspace.GitMessage{Type: workspace.GitChanges, ScannedAt: &at}
	for root, r := range now {
		if old, known := told[root]; !known || old != r {
			m.Repositories = append(m.Repositories, r)
		}
	}
	for root := range told {
		if _, there := now[root]; !there {
			m.Repositories = append(m.Repositories, workspace.GitRepository{RepoRoot: root, Removed: true})
		}
	}
	slices.SortFunc(m.Repositories, func(x, y workspace.GitRepository) int {
		if x.RepoRoot < y.RepoRoot {
			return -1
		}
		return 1
	})
	return m
}
