package fake

import (
	"bytes"
	"context"
	"net/http"

	"waymark/workspace"
	"waymark/workspace/output"
)

const (
	// pageBytes is the size of a page for who doesn't say one, maxPage the largest.
	pageBytes, maxPage = 64 << 10, 4 << 20
)

// outputWriter takes what a process writes.
type outputWriter struct {
	state *state
	held  *process
}

// Write implements io.Writer. What comes after the process's end is lost.
func (w *outputWriter) Write(data []byte) (int, error) {
	w.state.mu.Lock()
	defer w.state.mu.Unlock()
	p := w.held
	if !p.running() {
		return len(data), nil
	}
	p.output = append(p.output, data...)
	if over := len(p.output) - w.state.opts.Spool; over > 0 {
		p.output = bytes.Clone(p.output[over:])
		p.omitted += int64(over)
	}
	w.state.changed.Notify()
	return len(data), nil
}

// ProcessOutput implements client.Client.
func (a *Agent) ProcessOutput(ctx context.Context, id string, opts workspace.OutputOptions) (*workspace.ProcessOutput, error) {
	const message = "there is no output to show"
	ctx, leave, err := a.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if opts.Offset != nil && *opts.Offset < 0 || opts.Limit < 0 || opts.WaitFor < 0 {
		return nil, refuse(http.StatusBadRequest, "the query is not what it should be", "offset and limit are whole numbers from 0")
	}
	s := a.state
	s.mu.Lock()
	p, err := a.own(id, message)
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	within := min(opts.WaitFor, maxWait)
	if opts.Wait {
		if within == 0 {
			within = maxWait
		}
		if err := s.await(ctx, within, func() bool { return !p.running() }); err != nil {
			return nil, err
		}
		within = 0
	}
	if opts.Offset == nil && opts.Limit == 0 && !opts.Raw && (opts.WaitFor == 0 || opts.Wait) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return p.view(), nil
	}
	offset := int64(0)
	if opts.Offset != nil {
		offset = *opts.Offset
	}
	limit := pageBytes
	if opts.Limit > 0 {
		limit = int(min(opts.Limit, maxPage))
	}
	var page *workspace.ProcessOutput
	err = s.await(ctx, within, func() bool {
		page = p.page(offset, limit, opts.Raw)
		return !p.running() || *page.NextOffset > offset
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}

// page returns what stands at an offset. The caller has the lock.
func (p *process) page(offset int64, limit int, raw bool) *workspace.ProcessOutput {
	out := &workspace.ProcessOutput{Running: p.running(), ExitCode: p.code, Lost: p.lost}
	from := max(offset, p.omitted)
	var data []byte
	if from <= p.length() {
		data = p.output[from-p.omitted:]
	}
	if !raw && from > offset {
		rest := output.SkipHalfRune(data)
		from, data = from+int64(len(data)-len(rest)), rest
	}
	n := min(len(data), limit)
	if raw {
		out.Data = bytes.Clone(data[:n])
	} else {
		n = output.RuneEnd(data, limit, !p.running())
		out.Output = output.ToText(data[:n])
	}
	next := from + int64(n)
	out.NextOffset, out.OmittedBytes = &next, from-offset
	return out
}

// view returns head and tail of what a process has written. The caller has the
// lock.
func (p *process) view() *workspace.ProcessOutput {
	out := &workspace.ProcessOutput{Running: p.running(), ExitCode: p.code, Lost: p.lost}
	piece := func(from, to int64) output.Piece {
		from = max(from, p.omitted)
		if from >= to {
			return output.Piece{Offset: to}
		}
		return output.Piece{Offset: from, Data: p.output[from-p.omitted : to-p.omitted]}
	}
	n := p.length()
	half := min(n, output.HeadBytes)
	out.Output, out.Truncated = output.Show(piece(0, half), piece(max(half, n-output.TailBytes), n), n, !p.running())
	return out
}
