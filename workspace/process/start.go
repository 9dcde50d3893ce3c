package process

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"waymark/agentapi"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
	"waymark/workspace/access"
	"waymark/workspace/supervisor"
)

const (
	// maxStartBody limits the body of a start, in bytes: MaxStartArgs, for which JSON may
	// need two bytes each.
	maxStartBody = 2*agentapi.MaxStartArgs + 64<<10
)

// usualSize is the default size of a terminal.
var usualSize = agentapi.TerminalSize{Rows: 24, Cols: 80}

// start answers POST /api/v0/processes/start.
func (s *Service) start(c *httpapi.Call) error {
	who, err := caller(c)
	if err != nil {
		return err
	}
	var body agentapi.StartProcess
	if err := c.Decode(&body); err != nil {
		return err
	}
	instance, err := s.opts.Supervisor.Instance(c.Context())
	if err != nil {
		return err
	}
	s.starting.RLock()
	spec, err := s.spec(c, who, &body)
	if err != nil {
		s.starting.RUnlock()
		return err
	}
	info, attached, err := s.started(c, spec)
	s.starting.RUnlock()
	if err != nil || attached {
		s.removeTmp(spec.ID)
	}
	switch {
	case errors.Is(err, supervisor.ErrExpired):
		return gone(c, instance, &body, info)
	case err != nil:
		return notStarted(c, err)
	}
	if !attached {
		access.Note(c.Context(), info.ID)
		s.opts.Touched(who, spec.Dir)
		s.watch(who, info.ID, spec.Dir)
	}
	return c.JSON(http.StatusOK, agentapi.StartedProcess{
		ID: info.ID, Started: !attached, ClientToken: body.ClientToken, Attached: attached, AgentInstanceID: instance,
	})
}

// watch reports the working directory again when the process has ended, because its changes
// are complete then.
func (s *Service) watch(who agentapi.Caller, id, dir string) {
	s.watches.Go(func() {
		if _, err := s.opts.Supervisor.Wait(s.ctx, id); err == nil {
			s.removeTmp(id)
			s.opts.Touched(who, dir)
		}
	})
}

// spec converts a request for the supervisor.
func (s *Service) spec(c *httpapi.Call, who agentapi.Caller, body *agentapi.StartProcess) (*supervisor.Spec, error) {
	if err := check(c, body); err != nil {
		return nil, err
	}
	tracked, id, err := trackedStart(c, who, body)
	if err != nil {
		return nil, err
	}
	dir, err := s.workDir(c, body.WorkDir)
	if err != nil {
		return nil, err
	}
	grant := access.From(c.Context())
	kind, err := s.kindFor(c, grant, body.Profile)
	if err != nil {
		return nil, err
	}
	if id == "" {
		id = uuid.NewString()
	}
	display, readable := s.opts.Display(grant)
	spec := &supervisor.Spec{
		ID: id, Argv: body.Argv, Dir: dir, Env: s.environ(who, dir, body, display), Stdin: body.Stdin || body.PTY != nil, PTY: body.PTY,
		Timeout: time.Duration(body.TimeoutMS) * time.Millisecond, Nice: niceness, OOMScore: s.score,
		Command: body.Command, Background: body.Background, Chat: who.Chat,
		Token: body.ClientToken, Tracked: tracked,
	}
	if len(body.Argv) == 0 {
		spec.Argv = []string{"sh", "-c", body.Command}
	} else if spec.Command == "" {
		spec.Command = quoted(body.Argv)
	}
	if body.PTY != nil && *body.PTY == (agentapi.TerminalSize{}) {
		spec.PTY = &usualSize
	}
	if spec.Token != "" {
		spec.Input = input(who, body, fence(kind, grant, false))
	}
	return spec, s.confine(c, spec, kind, grant, readable)
}

// check refuses what can't be started.
func check(c *httpapi.Call, body *agentapi.StartProcess) error {
	if body.Command == "" && len(body.Argv) == 0 {
		return &problem.Error{Code: http.StatusBadRequest, Message: "Command is required", Detail: "name a command for sh -c, or an argv"}
	}
	if err := body.Check(); err != nil {
		return refused(c, err.Error())
	}
	return nil
}

// input identifies the input of a start, which must be the same for all starts with a
// token. It contains no text of the request.
func input(who agentapi.Caller, body *agentapi.StartProcess, fence string) string {
	data, _ := json.Marshal(struct { // can't fail; maps are sorted
		Chat  uuid.UUID
		Body  agentapi.StartProcess
		Fence string
	}{who.Chat, *body, fence})
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// quoted returns an argv quoted for a shell, for lists.
func quoted(argv []string) string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		words[i] = arg
		if arg == "" || strings.Trim(arg, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789%+,-./:=@_^") != "" {
			words[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
