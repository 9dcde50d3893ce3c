// Package redact takes values that must not be shown out of text: those of the
// environment, headers and arguments that an MCP server was given, also where the
// server gives them back in parts or in another encoding.
//
// # Guarantees
//
//   - A run of MinPart bytes of a value, or more, is taken out wherever it stands:
//     as it is, in base64 (of either alphabet, at any alignment, in lines), in
//     hexadecimal, as a URL has it, or with the escapes of JSON, Go or C; also twice,
//     in any two of these, one within the other. What is escaped may be mixed with what
//     isn't.
//   - Text without values comes out as it went in, byte for byte.
//   - The cost is linear in the text, whatever the values are, and memory linear in
//     the values.
//   - A Redactor doesn't show its values when it is printed, logged or encoded.
//
// # Concurrency
//
// A Redactor is immutable and may be used by any number of goroutines; a Writer
// belongs to one.
//
// # Limits
//
// Values that are too short to be told from ordinary text, and parts shorter than
// MinPart, are left. So is what is ordinary in itself; see [Ordinary]. Of a URL only
// what may be secret counts (user, password, query, parts of the path that look
// random), and of a JSON document its strings and numbers, since every other text
// would be full of the rest. Not found are values that were changed: compressed,
// encrypted, reversed, in another case, with something between every few bytes, or
// encoded in ways that aren't named above or more than twice. Of what is encoded as
// base64 or in hexadecimal, and before that in another way, runs of less than MinPart
// bytes of ASCII aren't looked into. Of values beyond MaxBytes in all the rest isn't
// looked for.
package redact

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"unicode/utf8"
)

// Mask stands for what was taken out.
const Mask = "[redacted]"

// MinPart is the least length of a part of a value that is taken out, in bytes.
const MinPart = 8

// MaxBytes is how much of all values of a Redactor together is looked for. It is half
// of what Linux lets an environment and arguments have by default, and takes some
// 40 MiB of memory when it is used up.
const MaxBytes = 1 << 20

// Redactor takes values out of text. The nil Redactor has none.
type Redactor struct {
	values []string // distinct, and none of them ordinary
	set    *set
	// spaces says that a value has one, which forms send as a plus.
	spaces bool
}

// New returns a Redactor of some values. Those that are Ordinary are left.
func New(values ...string) *Redactor { return (*Redactor)(nil).With(values...) }

// With returns a Redactor that knows more values, earlier ones of a variable say.
func (r *Redactor) With(values ...string) *Redactor {
	var known []string
	var total int
	if r != nil {
		known = r.values
		for _, v := range known {
			total += len(v)
		}
	}
	have := make(map[string]bool, len(known)+len(values))
	for _, v := range known {
		have[v] = true
	}
	all := slices.Clip(known)
	for _, v := range values {
		v = v[:min(len(v), MaxBytes-total)]
		if have[v] || Ordinary(v) {
			continue
		}
		have[v] = true
		all = append(all, v)
		total += len(v)
	}
	if r != nil && len(all) == len(known) {
		return r
	}
	n := &Redactor{values: all}
	var windows []uint64
	for _, v := range all {
		windows = appendWindows(windows, v)
		n.spaces = n.spaces || strings.Contains(v, " ")
	}
	n.set = newSet(windows)
	return n
}

func (r *Redactor) empty() bool { return r == nil || r.set.len() == 0 }

// String returns the text with Mask in place of each run of values in it.
func (r *Redactor) String(s string) string {
	if r.empty() || len(s) < MinPart {
		return s
	}
	found := r.scan([]byte(s))
	if len(found) == 0 {
		return s
	}
	return string(render(nil, []byte(s), found))
}

// Bytes is String for bytes. What it returns may be what it was given.
func (r *Redactor) Bytes(b []byte) []byte {
	if r.empty() || len(b) < MinPart {
		return b
	}
	found := r.scan(b)
	if len(found) == 0 {
		return b
	}
	return render(nil, b, found)
}

// scan returns where the values are in a text, in order.
func (r *Redactor) scan(text []byte) []span {
	s := newScanner(r)
	s.escapes = slices.Contains(text, '\\')
	s.percents = slices.Contains(text, '%') || r.spaces && slices.Contains(text, '+')
	s.feed(text)
	s.end()
	return merge(s.found, text, 0)
}

// Error returns an error with that text redacted, for which errors.Is finds what it
// finds in err. What it wraps isn't given out, since that has the values; who needs
// it asks before.
func (r *Redactor) Error(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	clean := r.String(text)
	if clean == text {
		return err
	}
	return &redactedError{clean, func(target error) bool { return errors.Is(err, target) }}
}

type redactedError struct {
	text string
	is   func(error) bool
}

func (e *redactedError) Error() string        { return e.text }
func (e *redactedError) Is(target error) bool { return e.is(target) }

// Format keeps the values to itself, as LogValue and MarshalText do.
func (r *Redactor) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(r.describe())) }

// LogValue is Format's.
func (r *Redactor) LogValue() slog.Value { return slog.StringValue(r.describe()) }

// MarshalText is Format's.
func (r *Redactor) MarshalText() ([]byte, error) { return []byte(r.describe()), nil }

func (r *Redactor) describe() string {
	if r == nil {
		return "a redactor without values"
	}
	return fmt.Sprintf("a redactor of %d values", len(r.values))
}

// span is a piece of a text, from one offset to before another.
type span struct{ from, to int64 }

// merge sorts spans and joins those that touch, and widens them to whole runes of
// the text, which begins at base.
func merge(list []span, text []byte, base int64) []span {
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b span) int { return int(a.from - b.from) })
	var joined []span
	for _, s := range list {
		s.from, _ = around(text, s.from, base)
		_, s.to = around(text, s.to, base)
		if n := len(joined); n > 0 && s.from <= joined[n-1].to {
			joined[n-1].to = max(joined[n-1].to, s.to)
		} else {
			joined = append(joined, s)
		}
	}
	return joined
}

// around returns where the rune begins and ends in whose middle an offset is; the
// offset itself where it is in none.
func around(text []byte, offset, base int64) (from, to int64) {
	at := int(offset - base)
	for start := at; start >= max(0, at-utf8.UTFMax+1) && at < len(text); start-- {
		if utf8.RuneStart(text[start]) {
			if _, size := utf8.DecodeRune(text[start:]); start < at && start+size > at {
				return base + int64(start), base + int64(start+size)
			}
			break
		}
	}
	return offset, offset
}

// render appends a text with Mask in place of spans.
func render(to, text []byte, spans []span) []byte {
	var at int64
	for _, s := range spans {
		to = append(append(to, text[at:s.from]...), Mask...)
		at = s.to
	}
	return append(to, text[at:]...)
}
