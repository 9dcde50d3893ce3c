package serverlog

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
)

// Mask replaces a value.
const Mask = "[redacted]"

// MinValue is the minimum length of a value, in bytes. Shorter ones are ignored.
const MinValue = 6

// MaxBytes limits the total length of the values of a Redactor.
const MaxBytes = 64 << 10

const (
	// minLine is the minimum length of a line that is searched for separately.
	minLine = 16
	// maxPiece limits the length of what is searched for at once, and with it the work for
	// each byte of a text.
	maxPiece = 256
)

// Redactor replaces values in text by Mask. The nil Redactor has no values.
//
// It is best effort against an approved program that reveals its secrets by mistake: in an
// error, in its log, in a dump of its environment. A program that wants to leak a secret has
// other ways.
//
//   - A value is found as it is; with the escapes of JSON (with or without those for HTML, for
//     non-ASCII characters and for slashes) or of a URL; in hexadecimal of either case; and in
//     base64 of either alphabet, at any offset in the encoded data. Of a value with several
//     lines, each line is found.
//   - Text without any of these stays unchanged, byte for byte.
//   - The cost is linear in the length of the text. Memory is about twenty times the values.
//
// The caller says what is secret; see package entry. Values shorter than MinValue bytes are
// ignored, and so are those beyond MaxBytes in total. Parts of a value aren't found, nor
// values that were encoded twice or in other ways: base32, UTF-16, quoted-printable, another
// case, compression.
type Redactor struct {
	values []string
	// forms are the encodings of all values. lengths are the lengths of forms by their
	// first four bytes, longest first.
	forms   map[string]bool
	lengths map[[4]byte][]int
	// begins has the first two bytes of each form.
	begins [1 << 16 / 64]uint64
}

// NewRedactor returns a Redactor of some values.
func NewRedactor(values ...string) *Redactor { return (*Redactor)(nil).With(values...) }

// With returns a Redactor with additional values, for example previous values of a
// variable.
func (r *Redactor) With(values ...string) *Redactor {
	n := &Redactor{forms: map[string]bool{}, lengths: map[[4]byte][]int{}}
	if r != nil {
		values = slices.Concat(r.values, values)
	}
	have, total := map[string]bool{}, 0
	for _, v := range values {
		v = v[:min(len(v), MaxBytes-total)]
		if len(v) < MinValue || have[v] {
			continue
		}
		have[v] = true
		total += len(v)
		n.values = append(n.values, v)
		for _, piece := range pieces(v) {
			for _, form := range forms(piece) {
				n.add(form)
			}
		}
	}
	return n
}

func (r *Redactor) add(form string) {
	r.forms[form] = true
	key := [4]byte([]byte(form))
	list := r.lengths[key]
	if i, have := slices.BinarySearchFunc(list, len(form), func(a, b int) int { return cmp.Compare(b, a) }); !have {
		r.lengths[key] = slices.Insert(list, i, len(form))
	}
	at := int(form[0])<<8 | int(form[1])
	r.begins[at/64] |= 1 << (at % 64)
}

// pieces returns what of a value to search for: its lines, each split into pieces of
// limited length.
func pieces(value string) (list []string) {
	lines := []string{value}
	if strings.Contains(value, "\n") {
		lines = strings.FieldsFunc(value, func(r rune) bool { return r == '\n' || r == '\r' })
		lines = slices.DeleteFunc(lines, func(line string) bool {
			return len(line) < minLine || strings.HasPrefix(line, "-----") // delimiters of PEM blocks aren't secret
		})
		if len(lines) == 0 {
			lines = []string{value}
		}
	}
	for _, line := range lines {
		for len(line) > maxPiece {
			list = append(list, line[:maxPiece])
			line = line[min(maxPiece, len(line)-MinValue):]
		}
		list = append(list, line)
	}
	return list
}

// forms returns the encodings of a value to search for. It may contain duplicates.
func forms(v string) []string {
	html, plain, ascii := inJSON(v)
	query, digits := url.QueryEscape(v), hex.EncodeToString([]byte(v))
	list := []string{
		v, html, plain, ascii, strings.ReplaceAll(plain, "/", `\/`), strings.ReplaceAll(ascii, "/", `\/`), digits, strings.ToUpper(digits),
	}
	component := strings.ReplaceAll(query, "+", "%20")
	component = strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(component)
	for _, escaped := range []string{query, strings.ReplaceAll(query, "+", "%20"), url.PathEscape(v), component, strings.ReplaceAll(component, "%2F", "/")} {
		list = append(list, escaped, lowerEscapes(escaped))
	}
	for before := range 3 {
		// The first and the last digit also depend on neighboring bytes.
		text := base64.RawStdEncoding.EncodeToString([]byte("\x00\x00"[:before] + v))
		text = text[(before*8+5)/6 : (before+len(v))*8/6]
		list = append(list, text, strings.NewReplacer("+", "-", "/", "_").Replace(text))
	}
	return list
}

// inJSON returns a text as in a JSON string, without quotes: with escapes for HTML, without
// them, and with escapes for non-ASCII characters.
func inJSON(v string) (html, plain, ascii string) {
	html = string(quote(v))
	html = html[1 : len(html)-1]
	plain = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(html)
	var b strings.Builder
	for _, r := range plain {
		if r < 0x80 {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return html, plain, b.String()
}

// lowerEscapes converts the hexadecimal digits in a URL's escapes to lower case.
func lowerEscapes(escaped string) string {
	b := []byte(escaped)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(escaped[i+1:i+3]))
		}
	}
	return string(b)
}

func (r *Redactor) empty() bool { return r == nil || len(r.forms) == 0 }

// span is a half-open range of offsets.
type span struct{ from, to int }

// find returns the spans of values in a text, in order. It joins adjacent ones.
func (r *Redactor) find(text string) (found []span) {
	if r.empty() {
		return nil
	}
	for i := 0; i+4 <= len(text); i++ {
		at := int(text[i])<<8 | int(text[i+1])
		if r.begins[at/64]&(1<<(at%64)) == 0 {
			continue
		}
		for _, n := range r.lengths[[4]byte{text[i], text[i+1], text[i+2], text[i+3]}] {
			if i+n > len(text) || !r.forms[text[i:i+n]] {
				continue
			}
			if last := len(found) - 1; last >= 0 && i <= found[last].to {
				found[last].to = max(found[last].to, i+n)
			} else {
				found = append(found, span{i, i + n})
			}
			break
		}
	}
	return found
}

// String replaces all values in s by Mask.
func (r *Redactor) String(s string) string {
	found := r.find(s)
	if len(found) == 0 {
		return s
	}
	var b strings.Builder
	at := 0
	for _, f := range found {
		b.WriteString(s[at:f.from])
		b.WriteString(Mask)
		at = f.to
	}
	b.WriteString(s[at:])
	return b.String()
}

// Bytes is like String, for bytes.
func (r *Redactor) Bytes(b []byte) []byte { return []byte(r.String(string(b))) }

// Format hides the values, like LogValue and MarshalText.
func (r *Redactor) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(r.describe())) }

// LogValue hides the values.
func (r *Redactor) LogValue() slog.Value { return slog.StringValue(r.describe()) }

// MarshalText hides the values.
func (r *Redactor) MarshalText() ([]byte, error) { return []byte(r.describe()), nil }

func (r *Redactor) describe() string {
	if r == nil {
		return "a redactor without values"
	}
	return fmt.Sprintf("a redactor of %d values", len(r.values))
}
