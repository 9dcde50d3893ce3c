// This file numbers the lines of a file for a model to read, within bounds. The
// agent and the fake that stands in for it in tests answer with the same.
//
// # Concurrency
//
// It keeps nothing, and may be called by any number of goroutines.

package edit

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"waymark/agentapi"
)

const (
	defaultFileSize  = 1 << 20
	defaultLineBytes = 1024
	defaultLines     = 2000
	defaultBytes     = 32 << 10
	// mostBytes bounds what a caller may ask an answer to hold.
	mostBytes = 16 << 20
	truncated = "... [truncated]"
	// chunk is how much of a file is read at once.
	chunk = 64 << 10
)

// Number answers with those lines of a file of so many bytes that are wanted. Too much
// for an answer, or a line beyond the end, is in its Error; the error that it returns is
// one of reading, or that of a context that ends in the middle of a line.
func Number(ctx context.Context, file io.Reader, size int64, want agentapi.LineRange) (agentapi.FileLines, error) {
	want.Offset = cmp.Or(want.Offset, 1)
	want.MaxFileSize = cmp.Or(want.MaxFileSize, defaultFileSize)
	want.MaxLineBytes = cmp.Or(want.MaxLineBytes, defaultLineBytes)
	want.MaxResponseLines = cmp.Or(want.MaxResponseLines, defaultLines)
	want.MaxResponseBytes = min(cmp.Or(want.MaxResponseBytes, defaultBytes), mostBytes)
	switch {
	case size > want.MaxFileSize:
		return refuse("the file has %d bytes, and at most %d are read: find what you need with grep, sed or awk, "+
			"or raise max_file_size and use offset and limit", size, want.MaxFileSize), nil
	case size == 0:
		return agentapi.FileLines{Success: true}, nil
	}
	n := numberer{want: want}
	r := bufio.NewReaderSize(file, chunk)
	for more := true; more && n.refused == ""; {
		var err error
		if more, err = n.line(ctx, r); err != nil {
			return agentapi.FileLines{}, err
		}
	}
	switch {
	case n.refused != "":
		return agentapi.FileLines{Error: n.refused}, nil
	case want.Offset > n.total:
		return refuse("offset %d is beyond the file's end: it has %d lines", want.Offset, n.total), nil
	}
	return agentapi.FileLines{Success: true, FileSize: size, TotalLines: int(n.total), LinesRead: int(n.read), Content: n.text.String()}, nil
}

func refuse(format string, args ...any) agentapi.FileLines {
	return agentapi.FileLines{Error: fmt.Sprintf(format, args...)}
}

// numberer numbers the lines of a file that are wanted, and counts all.
type numberer struct {
	want        agentapi.LineRange
	total, read int64
	text        strings.Builder
	refused     string
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
		n.refused = fmt.Sprintf("output would exceed %d lines. Read less at a time using offset and limit parameters.", n.want.MaxResponseLines)
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
		n.refused = fmt.Sprintf("output would exceed %d bytes. Read less at a time using offset and limit parameters.", n.want.MaxResponseBytes)
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
