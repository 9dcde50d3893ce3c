package api

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"waymark/snapshot"
)

// snapshot answers GET /api/v0/context/snapshot.
func (h *handler) snapshot(w http.ResponseWriter, r *http.Request, _ string) error {
	values, err := query(r)
	if err != nil {
		return err
	}
	wait, _, err := h.duration(values, "wait")
	if err != nil {
		return err
	}
	text, err := single(values, "after")
	if err != nil {
		return err
	}
	var after uint64
	if text != "" {
		if after, err = strconv.ParseUint(text, 10, 64); err != nil {
			return badQuery("after is not a version: it is a number, such as 3")
		}
	}
	if wait > 0 {
		if err := h.wait(w, r, wait, after); err != nil {
			return err
		}
	}
	return h.show(w, r, h.opts.Backend.Current())
}

// wait returns when there is a snapshot that the client doesn't have, or after
// that time.
func (h *handler) wait(w http.ResponseWriter, r *http.Request, d time.Duration, after uint64) error {
	return h.waiting(w, r, d, func(ctx context.Context) error {
		_, err := h.opts.Backend.Wait(ctx, h.held(r, after))
		if err == nil || ctx.Err() != nil && r.Context().Err() == nil {
			return nil // there is one, or the time is up
		}
		return err
	})
}

// held returns the version that the client has. An ETag says it better than
// the number: it tells that the version is one of an earlier life of the agent.
// So does a number that hasn't been reached. Everything is newer then.
func (h *handler) held(r *http.Request, after uint64) uint64 {
	current := h.opts.Backend.Current().Version
	if version, tagged := h.taggedVersion(r); tagged {
		if hasTag(r, "*") {
			return current
		}
		after = version
	}
	if after > current {
		return 0
	}
	return after
}

// show answers with a snapshot.
func (h *handler) show(w http.ResponseWriter, r *http.Request, s *snapshot.Snapshot) error {
	if isKnown(w, r, h.etag(s.Version)) {
		return nil
	}
	return h.sendSnapshot(w, s)
}

// sendSnapshot sends a snapshot. Each version is encoded once, since all who
// wait for one get it at the same time.
func (h *handler) sendSnapshot(w http.ResponseWriter, s *snapshot.Snapshot) error {
	body, err := h.encoded.get(s)
	if err != nil {
		return err
	}
	send(w, http.StatusOK, "application/json", body)
	return nil
}

// encoded is the newest snapshot in JSON.
type encoded struct {
	mu      sync.Mutex // guards what follows, and is held while it is made
	version uint64
	body    []byte // nil while there is none; never changed
}

// get encodes a snapshot, unless it is the one of the last call. The snapshot
// itself isn't kept, since its payloads are larger.
func (e *encoded) get(s *snapshot.Snapshot) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.body == nil || e.version != s.Version {
		body, err := encode(s)
		if err != nil {
			return nil, err
		}
		e.version, e.body = s.Version, body
	}
	return e.body, nil
}

// resync answers POST /api/v0/context/resync.
func (h *handler) resync(w http.ResponseWriter, r *http.Request, _ string) error {
	values, err := query(r)
	if err != nil {
		return err
	}
	timeout, ok, err := h.duration(values, "timeout")
	if err != nil {
		return err
	}
	if !ok {
		timeout = h.opts.Timeout
	}
	if err := decodeNothing(w, r); err != nil {
		return err
	}
	var s *snapshot.Snapshot
	err = h.waiting(w, r, timeout, func(ctx context.Context) (err error) {
		s, err = h.opts.Backend.Resync(ctx)
		return err
	})
	if err != nil {
		return err
	}
	w.Header().Set("ETag", h.etag(s.Version))
	return h.sendSnapshot(w, s)
}
