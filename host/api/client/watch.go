package client

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"time"

	"waymark/host/api"
	"waymark/snapshot"
)

// watchWait is how long one request of Watch waits: long enough to cost
// nothing, and short enough to notice within it that the line is dead.
const watchWait = 30 * time.Second

// watcher is where one Watch stands.
type watcher struct {
	agent *agent
	// after and etag tell the snapshot that was yielded last. The ETag says
	// from which life of the agent it is, which the version doesn't.
	after uint64
	etag  string

	reached bool // somebody has answered
	lost    bool // and doesn't any more, which has been said
	pause   time.Duration
}

func (a *agent) Watch(ctx context.Context, after uint64) iter.Seq2[*snapshot.Snapshot, error] {
	return func(yield func(*snapshot.Snapshot, error) bool) {
		w := watcher{agent: a, after: after}
		for ctx.Err() == nil {
			s, err := w.next(ctx)
			if ctx.Err() != nil || !w.step(ctx, s, err, yield) {
				return
			}
		}
	}
}

// step works one answer off, and reports whether to go on.
func (w *watcher) step(ctx context.Context, s *snapshot.Snapshot, err error, yield func(*snapshot.Snapshot, error) bool) bool {
	if err == nil {
		w.reached, w.lost, w.pause = true, false, 0
		if s != nil {
			return yield(s, nil)
		}
	} else {
		code := statusOf(err)
		w.reached = w.reached || code != 0
		if !w.reached || isFinal(code) {
			yield(nil, err)
			return false
		}
		if !w.lost && !yield(nil, err) {
			return false
		}
		w.lost = true
	}
	w.rest(ctx)
	return true
}

// next waits for the next snapshot; nil is none yet.
func (w *watcher) next(ctx context.Context) (*snapshot.Snapshot, error) {
	c := newest(SnapshotOptions{Wait: watchWait, After: w.after})
	c.etag = w.etag
	ans, err := w.agent.do(ctx, c)
	if err != nil || ans.code == http.StatusNotModified {
		return nil, err
	}
	s, err := decode[snapshot.Snapshot](ans)
	if err != nil {
		return nil, err
	}
	old := ans.etag == w.etag
	if w.etag == "" || ans.etag == "" {
		old = s.Version == w.after
	}
	if s.Version == 0 || old {
		return nil, nil
	}
	w.after, w.etag = s.Version, ans.etag
	return s, nil
}

// rest pauses, longer with each failure. It does so even where the agent has
// answered that there is nothing new, since it might not have waited.
func (w *watcher) rest(ctx context.Context) {
	longest := w.agent.opts.Retry
	w.pause = min(max(2*w.pause, longest/16), longest)
	timer := time.NewTimer(w.pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// statusOf returns the code of the agent's refusal, 0 when it is none.
func statusOf(err error) int {
	var refused *api.Error
	if errors.As(err, &refused) {
		return refused.Code
	}
	return 0
}

// isFinal tells of a refusal that repeating doesn't change.
func isFinal(code int) bool {
	return code/100 == 4 && code != http.StatusTooManyRequests && code != http.StatusRequestTimeout
}
