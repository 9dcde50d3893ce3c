package process

import (
	"net/http"
	"os"
	"syscall"

	"waymark/agentapi"
	"waymark/internal/httpapi"
	"waymark/workspace/supervisor"
)

// maxStdinBody limits a write to a process: 1 MiB of data, which JSON or base64 makes
// longer.
const maxStdinBody = 2<<20 + 1024

// done is the answer of calls without a result, as in Coder's agent.
type done struct {
	// Message says what was done.
	Message string `json:"message"`
}

// signals are the supported signals.
var signals = map[string]os.Signal{"kill": syscall.SIGKILL, "terminate": syscall.SIGTERM, "interrupt": syscall.SIGINT, "hangup": syscall.SIGHUP}

// signal answers POST /api/v0/processes/{id}/signal.
func (s *Service) signal(c *httpapi.Call) error {
	who, err := caller(c)
	if err != nil {
		return err
	}
	var body agentapi.SignalProcess
	if err := c.Decode(&body); err != nil {
		return err
	}
	signal, known := signals[body.Signal]
	switch {
	case body.Signal == "":
		return refused(c, `signal is missing: "terminate", "kill", "interrupt" or "hangup"`)
	case !known:
		return refused(c, `signal is "terminate", "kill", "interrupt" or "hangup"`)
	}
	info, err := s.live(c, who)
	if err == nil {
		err = s.opts.Supervisor.Signal(c.Context(), info.ID, signal)
	}
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, done{"signal " + body.Signal + " was sent to process " + info.ID})
}

// stdin answers POST /api/v0/processes/{id}/stdin.
func (s *Service) stdin(c *httpapi.Call) error {
	who, err := caller(c)
	if err != nil {
		return err
	}
	var body agentapi.ProcessStdin
	if err := c.Decode(&body); err != nil {
		return err
	}
	data := body.DataBase64
	switch {
	case len(data) > 0 && body.Data != "":
		return refused(c, "data and data_base64 exclude each other")
	case len(data) == 0:
		data = []byte(body.Data)
	}
	if len(data) == 0 && !body.Close {
		return refused(c, "there is nothing to write, and close is not asked for")
	}
	info, err := s.own(c.Context(), c, who)
	if err != nil {
		return err
	}
	if err := s.reach(c, &info); err != nil {
		return err
	}
	if !info.Running {
		return supervisor.ErrExited
	}
	if err := s.opts.Supervisor.WriteStdin(c.Context(), info.ID, data, body.Close); err != nil {
		return err
	}
	return c.NoContent()
}

// resize answers POST /api/v0/processes/{id}/resize.
func (s *Service) resize(c *httpapi.Call) error {
	who, err := caller(c)
	if err != nil {
		return err
	}
	var size agentapi.TerminalSize
	if err := c.Decode(&size); err != nil {
		return err
	}
	if size.Rows == 0 || size.Cols == 0 {
		return refused(c, "rows and cols are from 1 to 65535")
	}
	info, err := s.live(c, who)
	if err == nil {
		err = s.opts.Supervisor.Resize(c.Context(), info.ID, size)
	}
	if err != nil {
		return err
	}
	return c.NoContent()
}
