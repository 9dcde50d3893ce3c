package fake

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"waymark/workspace"
)

const (
	// viewBytes is how much of head and of tail a view has.
	viewBytes = 16 << 10
	// maxLine bounds a line in a view.
	maxLine = 2048
	cutMark = " ... [truncated]"
	cutLead = "[truncated] ... "
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
		rest := withoutHalfRune(data)
		from, data = from+int64(len(data)-len(rest)), rest
	}
	n := min(len(data), limit)
	if raw {
		out.Data = bytes.Clone(data[:n])
	} else {
		n = wholeRunes(data, limit, !p.running())
		out.Output = toText(data[:n])
	}
	next := from + int64(n)
	out.NextOffset, out.OmittedBytes = &next, from-offset
	return out
}

// wholeRunes returns how much of data, at most limit bytes but one rune at least,
// ends on a rune. last says that nothing follows data.
func wholeRunes(data []byte, limit int, last bool) int {
	n := 0
	for n < len(data) {
		if !utf8.FullRune(data[n:]) && !last {
			break
		}
		_, size := utf8.DecodeRune(data[n:])
		if n > 0 && n+size > limit {
			break
		}
		n += size
	}
	return n
}

// withoutHalfRune is data without the rest of a rune whose beginning is gone.
func withoutHalfRune(data []byte) []byte {
	for i := 0; i < utf8.UTFMax-1 && len(data) > 0 && !utf8.RuneStart(data[0]); i++ {
		data = data[1:]
	}
	return data
}

// toText replaces each byte that is no part of a rune.
func toText(data []byte) string { return string([]rune(string(data))) }

// view returns head and tail of what a process has written. The caller has the
// lock.
func (p *process) view() *workspace.ProcessOutput {
	out := &workspace.ProcessOutput{Running: p.running(), ExitCode: p.code, Lost: p.lost}
	data := p.output[:wholeRunes(p.output, len(p.output), !p.running())]
	length := p.omitted + int64(len(data))
	var left int64
	if p.omitted == 0 && len(data) <= 2*viewBytes {
		out.Output, left = cutLines(data, false)
	} else {
		var head []byte
		if p.omitted == 0 {
			head = firstLines(data[:viewBytes])
		}
		tail := lastLines(data[max(0, len(data)-viewBytes):])
		gap := length - int64(len(head)) - int64(len(tail))
		first, cutFirst := cutLines(head, false)
		second, cutSecond := cutLines(tail, true)
		out.Output = fmt.Sprintf("%s\n\n... [omitted %d bytes] ...\n\n%s", first, gap, second)
		left = gap + cutFirst + cutSecond
	}
	if left > 0 {
		out.Truncated = &workspace.OutputTruncated{
			OriginalBytes: length, RetainedBytes: length - left, OmittedBytes: left, Strategy: "head_tail",
		}
	}
	return out
}

// firstLines is data up to the end of its last line, unless that is long.
func firstLines(data []byte) []byte {
	if i := bytes.LastIndexByte(data, '\n'); i >= 0 && len(data)-i-1 <= maxLine {
		return data[:i+1]
	}
	return data[:wholeRunes(data, len(data), false)]
}

// lastLines is data from its first whole line on, unless the one before is long.
func lastLines(data []byte) []byte {
	if i := bytes.IndexByte(data, '\n'); i >= 0 && i+1 <= maxLine {
		return data[i+1:]
	}
	return withoutHalfRune(data)
}

// cutLines cuts long lines, and says how many bytes it leaves out. Of a first line
// whose beginning is missing, which headless says, the end is kept.
func cutLines(data []byte, headless bool) (string, int64) {
	var b strings.Builder
	left := 0
	for i, line := range bytes.SplitAfter(data, []byte{'\n'}) {
		text, ended := bytes.CutSuffix(line, []byte{'\n'})
		switch {
		case len(text) <= maxLine:
			b.WriteString(toText(text))
		case i == 0 && headless:
			kept := withoutHalfRune(text[len(text)-(maxLine-len(cutLead)):])
			left += len(text) - len(kept)
			b.WriteString(cutLead + toText(kept))
		default:
			n := wholeRunes(text, maxLine-len(cutMark), true)
			left += len(text) - n
			b.WriteString(toText(text[:n]) + cutMark)
		}
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String(), int64(left)
}
