package client

import (
	"context"
	"iter"
	"net/http"
	"time"

	"waymark/internal/httpapi/apiclient"
	"waymark/snapshot"
)

// watchWait is how long one request of Watch waits: long enough to be cheap, short enough
// to detect a dead connection soon.
const watchWait = 30 * time.Second

func (a *agent) Watch(ctx context.Context, after uint64) iter.Seq2[*snapshot.Snapshot, error] {
	return func(yield func(*snapshot.Snapshot, error) bool) {
		w := watcher{api: a.api, after: after}
		apiclient.Follow(ctx, a.opts.Retry, w.next)(yield)
	}
}

// watcher is the state of a Watch.
type watcher struct {
	api *apiclient.Server
	// after and etag identify the snapshot that was yielded last. The ETag also identifies
	// the life of the agent, which the version doesn't.
	after uint64
	etag  string
}

// next waits for the next snapshot. It may return without one, even at once if the agent
// doesn't wait.
func (w *watcher) next(ctx context.Context, c *apiclient.Connection[*snapshot.Snapshot]) error {
	r := newest(SnapshotOptions{Wait: watchWait, After: w.after})
	r.ETag = w.etag
	answer, err := w.api.Do(ctx, r)
	if err != nil || answer.Code == http.StatusNotModified {
		return err
	}
	s, err := apiclient.Decode[snapshot.Snapshot](w.api, answer)
	if err != nil {
		return err
	}
	old := answer.ETag == w.etag
	if w.etag == "" || answer.ETag == "" {
		old = s.Version == w.after
	}
	if s.Version > 0 && !old {
		w.after, w.etag = s.Version, answer.ETag
		c.Yield(s)
	}
	return nil
}
