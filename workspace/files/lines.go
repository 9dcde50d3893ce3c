package files

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
	"waymark/workspace"
)

const (
	defaultFileSize  = 1 << 20
	defaultLineBytes = 1024
	defaultLines     = 2000
	defaultBytes     = 32 << 10
	// mostBytes bounds what a caller may ask an answer to hold.
	mostBytes = 16 << 20
	truncated = "... [truncated]"
)

// readFileLines answers GET /api/v0/read-file-lines: with 200, whatever the file
// is, and success or an error in it.
func (s *Service) readFileLines(c *httpapi.Call) error {
	path, want, err := lineRange(c)
	if err != nil {
		return err
	}
	a, err := s.asker(c.Context())
	if err != nil {
		return err
	}
	lines, err := a.lines(c.Context(), path, want)
	if err != nil {
		r, ok := errors.AsType[*refusal](err)
		if !ok {
			return err
		}
		lines = workspace.FileLines{Error: r.text}
	}
	return c.JSON(http.StatusOK, lines)
}

// lineRange reads the query.
func lineRange(c *httpapi.Call) (path string, want workspace.LineRange, err error) {
	numbers := []struct {
		name      string
		value     *int64
		otherwise int64
	}{
		{"offset", &want.Offset, 1}, {"limit", &want.Limit, 0}, {"max_file_size", &want.MaxFileSize, defaultFileSize},
		{"max_line_bytes", &want.MaxLineBytes, defaultLineBytes}, {"max_response_lines", &want.MaxResponseLines, defaultLines},
		{"max_response_bytes", &want.MaxResponseBytes, defaultBytes},
	}
	known := []string{"path"}
	for _, n := range numbers {
		known = append(known, n.name)
	}
	if err := onlyParameters(c, known...); err != nil {
		return "", want, err
	}
	for _, n := range numbers {
		value, err := number(c, n.name, 0)
		if err != nil {
			return "", want, err
		}
		*n.value = cmp.Or(value, n.otherwise)
	}
	want.MaxResponseBytes = min(want.MaxResponseBytes, mostBytes)
	if path, err = c.Text("path"); err == nil && path == "" {
		err = &problem.Error{Code: http.StatusBadRequest, Message: c.Failed(), Detail: "a path is needed"}
	}
	return path, want, err
}

func (a *asker) lines(ctx context.Context, path string, want workspace.LineRange) (workspace.FileLines, error) {
	f, err := a.open(path)
	if err != nil {
		return workspace.FileLines{}, err
	}
	defer f.close()
	if f.st.Size > want.MaxFileSize {
		return workspace.FileLines{}, refuse(http.StatusOK, "the file has %d bytes, and at most %d are read: find what you need with grep, sed or awk, "+
			"or raise max_file_size and use offset and limit", f.st.Size, want.MaxFileSize)
	}
	if f.st.Size == 0 {
		return workspace.FileLines{Success: true}, nil
	}
	n := numberer{want: want}
	r := bufio.NewReaderSize(io.NewSectionReader(f, 0, f.st.Size), chunk)
	for more := true; more && n.refused == nil; {
		if more, err = n.line(ctx, r); err != nil {
			return workspace.FileLines{}, refuseFor(path, err)
		}
	}
	switch {
	case n.refused != nil:
		return workspace.FileLines{}, n.refused
	case want.Offset > n.total:
		return workspace.FileLines{}, refuse(http.StatusOK, "offset %d is beyond the file's end: it has %d lines", want.Offset, n.total)
	}
	return workspace.FileLines{Success: true, FileSize: f.st.Size, TotalLines: int(n.total), LinesRead: int(n.read), Content: n.text.String()}, nil
}

// numberer numbers the lines of a file that are wanted, and counts all.
type numberer struct {
	want        workspace.LineRange
	total, read int64
	text        strings.Builder
	refused     error
	kept        []byte // scratch
}

// line goes one line further. It reports whether another one follows: a final
// newline is followed by an empty one.
func (n *numberer) line(ctx context.Context, r *bufio.Reader) (more bool, err error) {
	n.total++
	wanted := n.total >= n.want.Offset && (n.want.Limit == 0 || n.total-n.want.Offset < n.want.Limit)
	n.kept = n.kept[:0]
	length := int64(0)
	for {
		part, err := r.ReadSlice('\n')
		more = err == nil
		length += int64(len(bytes.TrimSuffix(part, []byte("\n"))))
		if room := n.want.MaxLineBytes - int64(len(n.kept)); wanted && room > 0 {
			n.kept = append(n.kept, part[:min(int64(len(part)), room)]...)
		}
		switch {
		case err == nil, errors.Is(err, io.EOF):
			if wanted {
				n.add(length)
			}
			return more, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return false, err
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		}
	}
}

// add takes the line in kept, of so many bytes, into the answer.
func (n *numberer) add(length int64) {
	if n.read++; n.read > n.want.MaxResponseLines {
		n.refused = refuse(http.StatusOK, "output would exceed %d lines. Read less at a time using offset and limit parameters.", n.want.MaxResponseLines)
		return
	}
	line, end := bytes.TrimSuffix(n.kept, []byte("\n")), ""
	if length > n.want.MaxLineBytes {
		line, end = wholeRunes(line), truncated
	}
	number := strconv.FormatInt(n.total, 10)
	size := n.text.Len() + len(number) + 1 + len(line) + len(end)
	if n.read > 1 {
		size++
	}
	if int64(size) > n.want.MaxResponseBytes {
		n.refused = refuse(http.StatusOK, "output would exceed %d bytes. Read less at a time using offset and limit parameters.", n.want.MaxResponseBytes)
		return
	}
	if n.read > 1 {
		n.text.WriteByte('\n')
	}
	fmt.Fprintf(&n.text, "%s\t%s%s", number, line, end)
}

// wholeRunes drops a rune at the end of which only the beginning is there.
func wholeRunes(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}
