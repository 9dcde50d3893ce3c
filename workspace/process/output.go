package process

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"waymark/agentapi"
	"waymark/internal/httpapi"
	"waymark/workspace/output"
	"waymark/workspace/supervisor"
)

const (
	// pageBytes is the default size of a page. maxPage is the maximum, which takes both
	// ends some milliseconds.
	pageBytes, maxPage = 64 << 10, 4 << 20
	// readBytes is how much is requested from the supervisor at once.
	readBytes = 1 << 20
)

// wanted is a parsed request for output.
type wanted struct {
	page   bool
	raw    bool // bytes instead of text
	shown  bool // what a terminal shows instead of what was written
	wait   bool // until the process ends
	offset int64
	limit  int
	within time.Duration // maximum time of the wait
}

// output answers GET /api/v0/processes/{id}/output.
func (s *Service) output(c *httpapi.Call) error {
	who, err := caller(c)
	if err != nil {
		return err
	}
	w, err := want(c)
	if err != nil {
		return err
	}
	if err := s.sameInstance(c); err != nil {
		return err
	}
	work := func(ctx context.Context) error {
		info, err := s.own(ctx, c, who)
		if err != nil {
			return err
		}
		if w.wait {
			if info, err = s.ended(ctx, info, w.within); err != nil {
				return err
			}
			w.within = 0
		}
		if w.page {
			return s.outputPage(ctx, c, info.ID, &w)
		}
		return s.outputView(ctx, c, info, w.shown)
	}
	if w.within == 0 {
		return c.Within(actWithin, work)
	}
	// The waits inside have their own limits; the rest of the time is for reading.
	return s.waiting(c, w.within+actWithin, work)
}

// sameInstance refuses a call that names another instance than the current one, as Coder's
// newest clients do.
func (s *Service) sameInstance(c *httpapi.Call) error {
	asked, err := c.Text("agent_instance_id")
	if err != nil || asked == "" {
		return err
	}
	instance, err := s.opts.Supervisor.Instance(c.Context())
	if err == nil && instance != asked {
		err = supervisor.ErrInstance
	}
	return err
}

// want parses the query.
func want(c *httpapi.Call) (w wanted, err error) {
	offset, hasOffset, err := number(c, "offset")
	if err != nil {
		return w, err
	}
	limit, hasLimit, err := number(c, "limit")
	if err != nil {
		return w, err
	}
	waitMS, hasWait, err := number(c, "wait_ms")
	if err != nil {
		return w, err
	}
	wait, err := c.Text("wait")
	if err != nil {
		return w, err
	}
	encoding, err := c.Text("encoding")
	if err != nil {
		return w, err
	}
	if encoding != "" && encoding != "raw" && encoding != "terminal" {
		return w, httpapi.BadQuery(`encoding is "raw" or "terminal", or not there`)
	}
	w.wait, w.raw, w.shown = wait == "true", encoding == "raw", encoding == "terminal"
	w.page = hasOffset || hasLimit || w.raw || hasWait && !w.wait
	if w.page && w.shown {
		return w, httpapi.BadQuery(`encoding "terminal" is for head and tail, and not for a page`)
	}
	w.offset, w.limit = offset, int(min(limit, maxPage))
	w.limit = cmp.Or(w.limit, pageBytes)
	w.within = time.Duration(min(waitMS, maxWait.Milliseconds())) * time.Millisecond
	if w.wait && w.within == 0 {
		w.within = maxWait
	}
	return w, nil
}

// number parses a parameter that is a count.
func number(c *httpapi.Call, name string) (n int64, given bool, err error) {
	text, err := c.Text(name)
	if err != nil || text == "" {
		return 0, false, err
	}
	if n, err = strconv.ParseInt(text, 10, 64); err != nil || n < 0 {
		return 0, false, httpapi.BadQuery(name + " is not a whole number from 0, such as 3")
	}
	return n, true, nil
}

// ended waits at most within until a process has ended, and returns its state.
func (s *Service) ended(ctx context.Context, info supervisor.Info, within time.Duration) (supervisor.Info, error) {
	if !info.Running {
		return info, nil
	}
	waiting, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	now, err := s.opts.Supervisor.Wait(waiting, info.ID)
	if ctx.Err() == nil && (waiting.Err() != nil && err != nil || errors.Is(err, supervisor.ErrLost)) {
		// It is still running, or the supervisor is gone and the next one knows its state.
		return s.opts.Supervisor.Get(ctx, info.ID)
	}
	return now, err
}

// answer returns an answer without output.
func answer(info *supervisor.Info) agentapi.ProcessOutput {
	return agentapi.ProcessOutput{Running: info.Running, ExitCode: info.ExitCode, Lost: info.Lost, Left: info.Left, TimedOutMS: info.TimedOutMS}
}

// outputView answers with head and tail, of what a terminal shows if shown is set.
func (s *Service) outputView(ctx context.Context, c *httpapi.Call, info supervisor.Info, shown bool) error {
	length := info.Length
	head, err := s.piece(ctx, info.ID, 0, min(length, output.HeadBytes))
	if err != nil {
		return err
	}
	tail, err := s.piece(ctx, info.ID, max(min(length, output.HeadBytes), length-output.TailBytes), length)
	if err != nil {
		return err
	}
	out := answer(&info)
	out.Output, out.Truncated = output.Show(head, tail, length, !info.Running)
	if shown && output.Controls(out.Output) {
		whole, err := s.piece(ctx, info.ID, max(0, length-output.MaxRendered), length)
		if err != nil {
			return err
		}
		out.Output, out.Truncated = output.ShowRendered(whole.Data, !info.Running)
	}
	return c.JSON(http.StatusOK, out)
}

// piece reads from one offset to another. It omits a beginning that is no longer stored.
func (s *Service) piece(ctx context.Context, id string, from, to int64) (output.Piece, error) {
	p := output.Piece{Offset: from}
	for p.End() < to {
		page, err := s.opts.Supervisor.Read(ctx, id, p.End(), int(min(to-p.End(), readBytes)), 0)
		if err != nil {
			return p, err
		}
		if page.Offset != p.End() {
			if page.Offset >= to {
				return output.Piece{Offset: to}, nil
			}
			p = output.Piece{Offset: page.Offset}
		}
		if len(page.Data) == 0 {
			break
		}
		p.Data = append(p.Data, page.Data...)
	}
	p.Data = p.Data[:min(int64(len(p.Data)), to-p.Offset)]
	return p, nil
}

// outputPage answers with the output at an offset.
func (s *Service) outputPage(ctx context.Context, c *httpapi.Call, id string, w *wanted) error {
	until := time.Now().Add(w.within)
	page, n, err := s.page(ctx, id, w, until)
	if err != nil {
		return err
	}
	out := answer(&page.Info)
	next := page.Offset + int64(n)
	out.NextOffset, out.OmittedBytes = &next, page.Offset-w.offset
	if w.raw {
		return sendRaw(c, &out, page.Data[:n])
	}
	out.Output = output.ToText(page.Data[:n])
	return c.JSON(http.StatusOK, out)
}

// sendRaw answers with raw bytes, and everything else in a header, so that a client that
// follows a process needn't decode its output.
func sendRaw(c *httpapi.Call, out *agentapi.ProcessOutput, data []byte) error {
	rest, err := json.Marshal(out)
	if err != nil {
		return err
	}
	c.Writer().Header().Set(agentapi.HeaderOutput, string(rest))
	c.Send(http.StatusOK, "application/octet-stream", data)
	return nil
}

// page reads the output at an offset, and returns how much of it to send. If there is none
// yet, or only an incomplete rune, it waits.
func (s *Service) page(ctx context.Context, id string, w *wanted, until time.Time) (supervisor.Page, int, error) {
	for {
		page, err := s.opts.Supervisor.Read(ctx, id, w.offset, w.limit+utf8.UTFMax-1, max(0, time.Until(until)))
		if err != nil {
			return page, 0, err
		}
		if page.Offset < w.offset { // the offset is beyond the end
			page.Offset, page.Data = w.offset, nil
		}
		if w.raw {
			return page, min(len(page.Data), w.limit), nil
		}
		if page.Offset > w.offset {
			rest := output.SkipHalfRune(page.Data)
			page.Offset, page.Data = page.Offset+int64(len(page.Data)-len(rest)), rest
		}
		last := !page.Info.Running && page.Offset+int64(len(page.Data)) >= page.Length
		n := output.RuneEnd(page.Data, w.limit, last)
		if n > 0 || len(page.Data) == 0 || last || time.Until(until) <= 0 {
			return page, n, nil
		}
		// Only an incomplete rune: wait for its rest.
		if _, err := s.opts.Supervisor.Read(ctx, id, page.Offset+int64(len(page.Data)), 1, time.Until(until)); err != nil {
			return page, 0, err
		}
	}
}
