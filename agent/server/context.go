package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"waymark/agentapi/status"
	"waymark/host/applicability"
	"waymark/host/codingagents"
	"waymark/host/why"
	"waymark/internal/httpapi"
	"waymark/snapshot"
)

// getSnapshot answers GET /api/v0/context/snapshot.
func (h *API) getSnapshot(c *httpapi.Call) error {
	wait, _, err := c.Duration("wait", h.opts.MaxWait)
	if err != nil {
		return err
	}
	after, _, err := c.Number("after", 64)
	if err != nil {
		return err
	}
	discovery, err := c.Word("discovery", "complete")
	if err != nil {
		return err
	}
	if wait > 0 {
		if err := h.wait(c, wait, after, discovery != ""); err != nil {
			return err
		}
	}
	s := h.opts.Backend.Current()
	if c.Known(h.etag(s.Version)) {
		return nil
	}
	return h.sendSnapshot(c, s)
}

// wait returns when there is a snapshot that the client doesn't have, or after d. If
// complete is set, a snapshot with pending discovery doesn't end the wait.
func (h *API) wait(c *httpapi.Call, d time.Duration, after uint64, complete bool) error {
	return h.waiting(c, d, func(ctx context.Context) error {
		for held := h.held(c, after); ; {
			s, err := h.opts.Backend.Wait(ctx, held)
			switch {
			case err != nil && ctx.Err() != nil && c.Context().Err() == nil:
				return nil // the time is up
			case err != nil:
				return err
			case !complete || !s.Discovery.Pending():
				return nil
			}
			held = s.Version
		}
	})
}

// waiting runs do, which may wait up to d. At most Options.MaxWaits requests wait at a
// time.
func (h *API) waiting(c *httpapi.Call, d time.Duration, do func(context.Context) error) error {
	select {
	case h.waits <- struct{}{}:
		defer func() { <-h.waits }()
		return c.Within(d, do)
	default:
		return &Error{Code: http.StatusTooManyRequests, Message: "too many requests wait already",
			Detail: "end some of them, or ask without ?wait="}
	}
}

// held returns the version that the client has, or 0 if it is one of an earlier life of the
// agent: then everything is newer. An ETag says so; a plain number does if it is above the
// current version.
func (h *API) held(c *httpapi.Call, after uint64) uint64 {
	current := h.opts.Backend.Current().Version
	if tags := c.Tags(); len(tags) > 0 {
		after = 0
		for _, tag := range tags {
			if tag == "*" {
				return current
			}
			text, ok := strings.CutPrefix(strings.Trim(tag, `"`), h.instance+"-")
			if n, err := strconv.ParseUint(text, 10, 64); ok && err == nil {
				after = max(after, n)
			}
		}
	}
	if after > current {
		return 0
	}
	return after
}

// etag identifies a version together with the life of the agent.
func (h *API) etag(version uint64) string {
	return h.instance + "-" + strconv.FormatUint(version, 10)
}

// sendSnapshot sends a snapshot. Each version is encoded once, because all waiting clients
// get it at the same time.
func (h *API) sendSnapshot(c *httpapi.Call, s *snapshot.Snapshot) error {
	body, err := h.encoded.get(s)
	if err != nil {
		return err
	}
	c.SendEncoded(http.StatusOK, body)
	return nil
}

// encoded caches the newest snapshot as JSON.
type encoded struct {
	mu      sync.Mutex // guards the fields below, also during encoding
	version uint64
	body    []byte // nil while there is none; never modified
}

// get returns the JSON of a snapshot. It keeps only the last result, and not the snapshot,
// whose payloads are larger.
func (e *encoded) get(s *snapshot.Snapshot) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.body == nil || e.version != s.Version {
		body, err := httpapi.Encode(s)
		if err != nil {
			return nil, err
		}
		e.version, e.body = s.Version, body
	}
	return e.body, nil
}

// resync answers POST /api/v0/context/resync.
func (h *API) resync(c *httpapi.Call) error {
	timeout, given, err := c.Duration("timeout", h.opts.MaxWait)
	if err != nil {
		return err
	}
	if !given {
		timeout = h.opts.Timeout
	}
	if err := c.DecodeNothing(); err != nil {
		return err
	}
	var s *snapshot.Snapshot
	err = h.waiting(c, timeout, func(ctx context.Context) (err error) {
		s, err = h.opts.Backend.Resync(ctx)
		return err
	})
	if err != nil {
		return err
	}
	c.Writer().Header().Set("ETag", `"`+h.etag(s.Version)+`"`)
	return h.sendSnapshot(c, s)
}

// getResource answers GET /api/v0/context/resources/{id}.
func (h *API) getResource(c *httpapi.Call) error {
	r := h.opts.Backend.Current().Find(c.Arg("id"))
	if r == nil {
		return &Error{Code: http.StatusNotFound, Message: "no such resource", Detail: "the snapshot has no resource of this id", See: "GET /api/v0/context/snapshot"}
	}
	body, hash := r.Payload, r.ContentHash
	if body == nil {
		var err error
		if body, err = h.unlisted(c, r); err != nil {
			return err
		}
		sum := sha256.Sum256(body)
		hash = sum[:]
	}
	if len(hash) > 0 && c.Known(hash.String()) {
		return nil
	}
	c.SendPayload(body)
	return nil
}

// unlisted reads the text of a resource that is listed without its text.
func (h *API) unlisted(c *httpapi.Call, r *snapshot.Resource) (body []byte, err error) {
	if r.Status == snapshot.StatusOversize || r.Status == snapshot.StatusExcluded {
		if body, err = h.opts.Backend.Body(c.Context(), r.ID()); err != nil {
			return nil, err
		}
	}
	if body == nil {
		return nil, &Error{Code: http.StatusNotFound, Message: "the resource has no payload", Detail: whyNoPayload(r)}
	}
	return body, nil
}

// whyNoPayload says why a resource has no payload.
func whyNoPayload(r *snapshot.Resource) string {
	switch {
	case r.Status != snapshot.StatusOK && r.Error != "":
		return string(r.Status) + ": " + r.Error
	case r.Status != snapshot.StatusOK:
		return "its status is " + string(r.Status)
	}
	return "a resource of kind " + string(r.Kind) + " need not have one, and an mcp_config never has, since such files hold tokens"
}

// getWhy answers GET /api/v0/context/why. The answers are in the order of the paths.
func (h *API) getWhy(c *httpapi.Call) error {
	query, err := c.Query()
	if err != nil {
		return err
	}
	paths := query["path"]
	if len(paths) == 0 || len(paths) > status.MaxWhyPaths {
		return httpapi.BadQuery("say ?path= for each file, at most 64 times")
	}
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			return httpapi.BadQuery("each path must be absolute: whose working directory would count?")
		}
	}
	client, err := clientOf(query, false)
	if err != nil {
		return err
	}
	answers := make([]why.Answer, len(paths))
	for i, path := range paths {
		if answers[i], err = h.opts.Backend.Why(c.Context(), path); err != nil {
			return err
		}
	}
	if client != nil {
		verdicts, err := h.opts.Backend.WhyClient(c.Context(), client, paths...)
		if err != nil {
			return err
		}
		for i := range verdicts {
			answers[i].Client = &verdicts[i]
		}
	}
	return c.JSON(http.StatusOK, answers)
}

// clientOf returns the client that a query names; nil if it names none and must is false.
func clientOf(query url.Values, must bool) (*codingagents.Client, error) {
	names := query["client"]
	switch {
	case len(names) == 0 && !must:
		return nil, nil //nolint:nilnil // none is asked for
	case len(names) == 1:
		if client := codingagents.Lookup(names[0]); client != nil {
			return client, nil
		}
	}
	return nil, httpapi.BadQuery("say ?client= once, with one of " + strings.Join(codingagents.IDs(), ", "))
}

// getClient answers GET /api/v0/context/client.
func (h *API) getClient(c *httpapi.Call) error {
	query, err := c.Query()
	if err != nil {
		return err
	}
	client, err := clientOf(query, true)
	if err != nil {
		return err
	}
	if len(query["dir"]) > 1 {
		return httpapi.BadQuery("say ?dir= once, with the absolute path of a directory")
	}
	view, err := h.opts.Backend.ClientContext(c.Context(), client, query.Get("dir"))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, view)
}

// getFor answers GET /api/v0/context/for.
func (h *API) getFor(c *httpapi.Call) error {
	query, err := c.Query()
	if err != nil {
		return err
	}
	paths := query["path"]
	if len(paths) != 1 {
		return httpapi.BadQuery("say ?path= once, with the absolute path of a file")
	}
	client, err := clientOf(query, false)
	if err != nil {
		return err
	}
	var answer *applicability.Answer
	if client == nil {
		answer, err = h.opts.Backend.For(c.Context(), paths[0])
	} else {
		answer, err = h.opts.Backend.ForClient(c.Context(), client, paths[0])
	}
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, answer)
}

// getSkillFiles answers GET /api/v0/context/skill-files.
func (h *API) getSkillFiles(c *httpapi.Call) error {
	query, err := c.Query()
	if err != nil {
		return err
	}
	if len(query["id"]) != 1 {
		return httpapi.BadQuery("say ?id= once, with the id of a skill")
	}
	files, err := h.opts.Backend.SkillFiles(c.Context(), query["id"][0])
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, files)
}

// getSkillFile answers GET /api/v0/context/skill-file.
func (h *API) getSkillFile(c *httpapi.Call) error {
	query, err := c.Query()
	if err != nil {
		return err
	}
	if len(query["id"]) != 1 || len(query["path"]) != 1 || len(query["digest"]) > 1 {
		return httpapi.BadQuery("say ?id= and &path= once, with the id of a skill and the path of one of its files; &digest= may say which content is meant")
	}
	body, err := h.opts.Backend.SkillFile(c.Context(), query["id"][0], query["path"][0])
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	if want := query.Get("digest"); want != "" && want != "sha256:"+hash {
		return &Error{Code: http.StatusConflict, Message: c.Failed(), Detail: "it has another content now than the one that is asked for: list the skill's files again"}
	}
	if c.Known(hash) {
		return nil
	}
	c.SendPayload(body)
	return nil
}

// getCoverage answers GET /api/v0/context/coverage.
func (h *API) getCoverage(c *httpapi.Call) error {
	report, err := h.opts.Backend.Coverage(c.Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, report)
}
