package output

import (
	"bytes"
	"fmt"
	"strings"

	"waymark/agentapi"
)

const (
	// HeadBytes is what a view shows of the beginning of a long output, in bytes: as
	// much as a chat can use, and as Coder's agent shows.
	HeadBytes = 16 << 10
	// TailBytes is what it shows of its end.
	TailBytes = 16 << 10
	// maxLine bounds a line in a view, in bytes, its marker included: a minified
	// file would fill all of it otherwise.
	maxLine = 2048
	// cutMark ends a line that was cut, or begins one whose beginning was.
	cutMark = " ... [truncated]"
	cutLead = "[truncated] ... "
	// strategy is the name of the view.
	strategy = "head_tail"
)

// Piece is a part of an output.
type Piece struct {
	Offset int64 // in bytes, from the beginning of the output
	Data   []byte
}

// End is where what follows the piece begins.
func (p Piece) End() int64 { return p.Offset + int64(len(p.Data)) }

// Show returns the view of an output of length bytes of which head and tail are
// known: a piece from its beginning and one up to its end, of at most 16 KiB
// each. They may touch, but don't overlap; either may be empty. Between them a
// marker says how much is left out.
//
// Where something is left out the head ends, and the tail begins, with a whole
// line, unless that line is longer than a line in the view may be. Lines over
// 2,048 bytes are cut, and say so. What isn't UTF-8 becomes U+FFFD; last says
// whether the output's end is final, or half of a rune may be completed yet.
//
// The second result is nil when nothing is left out.
func Show(head, tail Piece, length int64, last bool) (string, *agentapi.OutputTruncated) {
	newest := &tail
	if len(tail.Data) == 0 {
		newest = &head
	}
	if newest.End() == length {
		newest.Data = newest.Data[:RuneEnd(newest.Data, len(newest.Data), last)]
		length = newest.End()
	}
	if len(tail.Data) == 0 {
		tail.Offset = length
	}
	if head.Offset == 0 && head.End() == tail.Offset {
		text, left := cutLines(append(head.Data[:len(head.Data):len(head.Data)], tail.Data...), false)
		return text, truncated(length, left)
	}
	if head.Offset > 0 { // the beginning is gone
		head.Data, head.Offset = nil, 0
	}
	head.Data = lineHead(head.Data)
	if start := lineTail(tail.Data); start > 0 {
		tail.Data, tail.Offset = tail.Data[start:], tail.Offset+int64(start)
	}
	gap := tail.Offset - head.End()
	var b strings.Builder
	text, left := cutLines(head.Data, false)
	b.WriteString(text)
	fmt.Fprintf(&b, "\n\n... [omitted %d bytes] ...\n\n", gap)
	text, more := cutLines(tail.Data, true)
	b.WriteString(text)
	return b.String(), truncated(length, gap+left+more)
}

func truncated(length, left int64) *agentapi.OutputTruncated {
	if left == 0 {
		return nil
	}
	return &agentapi.OutputTruncated{OriginalBytes: length, RetainedBytes: length - left, OmittedBytes: left, Strategy: strategy}
}

// lineHead returns data up to the end of its last line, or of its last rune where
// the line that is broken off is a long one.
func lineHead(data []byte) []byte {
	if i := bytes.LastIndexByte(data, '\n'); i >= 0 && len(data)-i-1 <= maxLine {
		return data[:i+1]
	}
	return data[:RuneEnd(data, len(data), false)]
}

// lineTail returns where in data its first whole line begins, or its first rune
// where the line whose beginning is missing is a long one.
func lineTail(data []byte) int {
	if i := bytes.IndexByte(data, '\n'); i >= 0 && i+1 <= maxLine {
		return i + 1
	}
	return len(data) - len(SkipHalfRune(data))
}

// cutLines makes text of data with its long lines cut, and says how many bytes of
// data it leaves out. Of a first line whose beginning is missing, which headless
// says, the end is kept if it is long.
func cutLines(data []byte, headless bool) (string, int64) {
	var b strings.Builder
	left := int64(0)
	for first := true; len(data) > 0; first = false {
		line, rest, found := bytes.Cut(data, []byte{'\n'})
		switch {
		case len(line) <= maxLine:
			b.WriteString(ToText(line))
		case first && headless:
			from := len(line) - (maxLine - len(cutLead))
			kept := SkipHalfRune(line[from:])
			left += int64(len(line) - len(kept))
			b.WriteString(cutLead + ToText(kept))
		default:
			n := RuneEnd(line, maxLine-len(cutMark), true)
			left += int64(len(line) - n)
			b.WriteString(ToText(line[:n]) + cutMark)
		}
		if found {
			b.WriteByte('\n')
		}
		data = rest
	}
	return b.String(), left
}
