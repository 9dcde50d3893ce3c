package process

import (
	"context"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/google/uuid"

	"waymark/agentapi"
	"waymark/internal/httpapi"
	"waymark/workspace/supervisor"
)

// digestBytes is the length of an input digest, a SHA-256.
const digestBytes = 32

// trackedStart returns the identity and the process id of a tracked start; nil and "" for
// another start. Coder's clients send zero values for absent fields.
func trackedStart(c *httpapi.Call, who agentapi.Caller, body *agentapi.StartProcess) (*supervisor.Tracked, string, error) {
	zero := uuid.Nil.String()
	if (body.ProcessID == "" || body.ProcessID == zero) && (body.AgentInstanceID == "" || body.AgentInstanceID == zero) && body.InputDigest == "" {
		return nil, "", nil
	}
	return tracked(c, who, body.ProcessID, body.AgentInstanceID, body.InputDigest, body.Deadline)
}

// tracked checks the identity of a tracked start.
func tracked(c *httpapi.Call, who agentapi.Caller, process, instance, digest, deadline string) (*supervisor.Tracked, string, error) {
	id, err := uuid.Parse(process)
	if err != nil || id == uuid.Nil {
		return nil, "", refused(c, "process_id is not a UUID")
	}
	if _, err := uuid.Parse(instance); err != nil {
		return nil, "", refused(c, "agent_instance_id is not a UUID")
	}
	if sum, err := hex.DecodeString(digest); err != nil || len(sum) != digestBytes {
		return nil, "", refused(c, "input_digest is not a SHA-256 in hexadecimal")
	}
	t := &supervisor.Tracked{InstanceID: instance}
	// The chat is part of the identity, so that another chat's start is a conflict.
	t.InputDigest = digest + " " + who.Chat.String()
	if deadline != "" {
		if t.Deadline, err = time.Parse(time.RFC3339Nano, deadline); err != nil {
			return nil, "", refused(c, "deadline is not a time as in RFC 3339, such as 2006-01-02T15:04:05Z")
		}
	}
	return t, id.String(), nil
}

// expiredStart answers 410 for a start that can't happen any more: an error with what is
// known about the process.
type expiredStart struct {
	// Message says what failed.
	Message string `json:"message" minLength:"1"`
	// Detail says why.
	Detail string `json:"detail"`
	// AgentInstanceID identifies the supervisor that holds the processes. It outlives the
	// agent.
	AgentInstanceID string `json:"agent_instance_id"`
	// InputDigest is the request's.
	InputDigest string `json:"input_digest"`
	// OutputUnavailable says that Process is all that is known.
	OutputUnavailable bool `json:"output_unavailable"`
	// Process is how the process ended; absent if it never started.
	Process *agentapi.Process `json:"process,omitempty"`
}

// gone answers a start whose deadline has passed, with how the process ended if that is
// known.
func gone(c *httpapi.Call, instance string, body *agentapi.StartProcess, info supervisor.Info) error {
	e := expiredStart{
		Message: c.Failed(), Detail: "its deadline has passed, or it was canceled before",
		AgentInstanceID: instance, InputDigest: body.InputDigest,
	}
	if info.ID != "" {
		p := info.Process
		e.Process, e.OutputUnavailable = &p, true
		e.Detail = "it has run already, and its output is no longer there"
	}
	return c.JSON(http.StatusGone, e)
}

// cancelTracked answers POST /api/v0/processes/cancel-tracked.
func (s *Service) cancelTracked(c *httpapi.Call) error {
	who, err := caller(c)
	if err != nil {
		return err
	}
	var body agentapi.CancelTracked
	if err := c.Decode(&body); err != nil {
		return err
	}
	t, id, err := tracked(c, who, body.ProcessID, body.AgentInstanceID, body.InputDigest, body.Deadline)
	if err != nil {
		return err
	}
	if body.WaitMS < 0 {
		return refused(c, "wait_ms is negative")
	}
	wait := time.Duration(min(body.WaitMS, maxWait.Milliseconds())) * time.Millisecond
	return s.waiting(c, wait+actWithin, func(ctx context.Context) error {
		fenced, info, err := s.opts.Supervisor.Cancel(ctx, id, *t, wait)
		if err != nil {
			return err
		}
		// For Coder's servers, fenced means that it never started.
		answer := agentapi.CancelledTracked{AgentInstanceID: t.InstanceID, Fenced: fenced && info == nil}
		if info != nil {
			answer.Process = &info.Process
		}
		return c.JSON(http.StatusOK, answer)
	})
}

// token answers GET /api/v0/processes/tokens/{token}, always with 200.
func (s *Service) token(c *httpapi.Call) error {
	who, err := caller(c)
	if err != nil {
		return err
	}
	id, found, pending, age, err := s.opts.Supervisor.Token(c.Context(), c.Arg("token"))
	if err != nil {
		return err
	}
	if found && who.Scoped() {
		info, err := s.opts.Supervisor.Get(c.Context(), id)
		found = err == nil && who.Owns(info.Chat)
	}
	if !found {
		id, pending = "", false
	}
	return c.JSON(http.StatusOK, agentapi.TokenStatus{Found: found, ProcessID: id, Pending: pending, TokenIndexAgeMS: age.Milliseconds()})
}
