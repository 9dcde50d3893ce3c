package output

import (
	"bytes"
	"fmt"
	"strings"

	"waymark/agentapi"
)

const (
	// HeadBytes is how much a view shows of the beginning of a long output, in bytes, as in
	// Coder's agent.
	HeadBytes = 16 << 10
	// TailBytes is how much it shows of the end, in bytes.
	TailBytes = 16 << 10
	// maxLine limits a line in a view with its marker, in bytes. Otherwise a minified file
	// would fill the view.
	maxLine = 2048
	// cutMark ends a line that was cut; cutLead begins one whose beginning was cut.
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

// End returns the offset after the piece.
func (p Piece) End() int64 { return p.Offset + int64(len(p.Data)) }

// Show returns the view of an output of length bytes, given its head and tail: a piece at
// the beginning and one at the end, of at most 16 KiB each. They may touch but not overlap,
// and may be empty. A marker between them says how much is omitted.
//
// If something is omitted, the head ends and the tail begins with a complete line, unless
// that line is longer than the limit. Lines over 2,048 bytes are cut with a marker. Invalid
// UTF-8 becomes U+FFFD. last says that the output is complete; otherwise an incomplete rune
// at the end may still be continued.
//
// The second result is nil if nothing is omitted.
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
	if head.Offset > 0 { // the beginning is missing
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

// lineHead returns data up to the end of its last complete line or, if the incomplete line
// after it is long, of its last rune.
func lineHead(data []byte) []byte {
	if i := bytes.LastIndexByte(data, '\n'); i >= 0 && len(data)-i-1 <= maxLine {
		return data[:i+1]
	}
	return data[:RuneEnd(data, len(data), false)]
}

// lineTail returns the offset of the first complete line in data or, if the incomplete line
// before it is long, of the first rune.
func lineTail(data []byte) int {
	if i := bytes.IndexByte(data, '\n'); i >= 0 && i+1 <= maxLine {
		return i + 1
	}
	return len(data) - len(SkipHalfRune(data))
}

// cutLines converts data to text with long lines cut, and returns how many bytes it omits.
// headless says that the beginning of the first line is missing; if that line is long, its
// end is kept.
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
