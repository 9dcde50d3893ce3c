package redact

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// reach is how far back in a text a window can begin, in the longest of its
// encodings. Longer ones, which nobody's program makes, are found from there on.
const reach = 512

// scanner finds values in a text that comes piece by piece. It looks at the text
// itself and at what that would be if it were escaped or encoded, all at once.
type scanner struct {
	set   *set
	at    int64 // how much of the text it has seen
	found []span
	// escapes and percents say whether the text may have such.
	escapes, percents bool

	plain   window
	escape  decoder
	inner   window
	escaped stream
	url     [2]decoder // the second takes a plus for a blank
	outer   [2]window
	encoded [2]stream
	forms   bool
	hex     digits
	base64  digits
}

func newScanner(r *Redactor) *scanner {
	s := &scanner{set: r.set, escapes: true, percents: true, forms: r.spaces, hex: digits{bits: 4, layers: new(layers)}, base64: digits{bits: 6, layers: new(layers)}}
	s.escape = decoder{lead: '\\', decode: unescape}
	for i := range s.url {
		s.url[i] = decoder{lead: '%', decode: unpercent, form: i == 1}
	}
	return s
}

func (s *scanner) feed(text []byte) {
	for _, c := range text {
		in := symbol{c, s.at, s.at + 1}
		s.at++
		s.look(&s.plain, in)
		s.nibble(&s.hex, in)
		s.sextet(&s.base64, in)
		switch {
		case !s.escapes:
		case s.escape.plain(in):
			s.look(&s.inner, in)
			s.below(&s.escaped, in)
		default:
			s.unescaped(s.escape.push(in))
		}
		if s.percents {
			s.unpercent(in)
		}
	}
}

// end says that nothing follows what was fed.
func (s *scanner) end() {
	s.unescaped(s.escape.end())
	for i := range s.url {
		s.unpercented(i, s.url[i].end())
	}
	s.ended(s.escaped.layer, s.encoded[0].layer, s.encoded[1].layer)
	s.ended(s.hex.layers.of[:]...)
	s.ended(s.base64.layers.of[:]...)
}

func (s *scanner) unescaped(list []symbol) {
	for _, out := range list {
		s.look(&s.inner, out)
		s.below(&s.escaped, out)
	}
}

func (s *scanner) unpercented(i int, list []symbol) {
	for _, out := range list {
		s.look(&s.outer[i], out)
		s.below(&s.encoded[i], out)
	}
}

func (s *scanner) unpercent(in symbol) {
	for i := range s.url {
		if i == 1 && !s.forms {
			return
		}
		if s.url[i].plain(in) {
			s.look(&s.outer[i], in)
			s.below(&s.encoded[i], in)
		} else {
			s.unpercented(i, s.url[i].push(in))
		}
	}
}

// symbol is a byte that a piece of the text stands for.
type symbol struct {
	c        byte
	from, to int64
}

// window is the last MinPart bytes of a text or of what it stands for.
type window struct {
	bytes uint64
	from  [MinPart]int64 // where each begins, in a ring
	n     int
}

func (s *scanner) look(w *window, in symbol) {
	w.bytes = w.bytes<<8 | uint64(in.c)
	w.from[w.n%MinPart] = in.from
	w.n++
	if w.n >= MinPart && s.set.has(w.bytes) {
		s.hit(w.from[w.n%MinPart], in.to)
	}
}

func (s *scanner) hit(from, to int64) {
	if n := len(s.found); n > 0 && from >= s.found[n-1].from && from <= s.found[n-1].to {
		s.found[n-1].to = max(s.found[n-1].to, to)
		return
	}
	s.found = append(s.found, span{from, to})
}

// digits are a run of digits of which several make a byte, wherever the first byte
// begins.
type digits struct {
	bits   uint // of each
	hi, lo uint64
	from   [16]int64 // where each begins, in a ring
	n      int
	gap    int     // how many characters between two were passed over
	layers *layers // of what they stand for; nil where that isn't looked into
}

// push takes a digit; then it looks at all windows that end in it.
func (s *scanner) push(d *digits, digit byte, in symbol) {
	d.hi, d.lo = d.hi<<d.bits|d.lo>>(64-d.bits), d.lo<<d.bits|uint64(digit)
	d.from[d.n%len(d.from)] = in.from
	d.n++
	d.gap = 0
	// Bytes of base64 end at every second bit, those of hexadecimal with a digit.
	step := uint(2)
	if d.bits == 4 {
		step = d.bits
	}
	for spare := uint(0); spare < d.bits; spare += step {
		digits := int((64 + spare + d.bits - 1) / d.bits)
		if d.n < digits {
			return
		}
		w := d.lo
		if spare > 0 {
			w = d.lo>>spare | d.hi<<(64-spare)
		}
		if s.set.has(w) {
			s.hit(d.from[(d.n-digits)%len(d.from)], in.to)
		}
		if d.layers != nil && (isText(w) || d.layers.any) {
			s.decoded(d, w, spare, in)
		}
	}
}

// pass takes a character that isn't a digit, which may stand between two.
func (d *digits) pass(between bool, most int) {
	if d.gap++; !between || d.gap > most {
		d.n, d.gap = 0, 0
		if d.layers != nil && d.layers.any {
			d.layers.any, d.layers.live = false, [alignments]bool{}
		}
	}
}

func (s *scanner) nibble(d *digits, in symbol) {
	if v := nibbles[in.c]; v >= 0 {
		s.push(d, byte(v), in)
	} else if d.n > 0 {
		d.pass(in.c == ' ' || in.c == ':', 1) // as programs that print bytes have it
	}
}

func (s *scanner) sextet(d *digits, in symbol) {
	if v := sextets[in.c]; v >= 0 {
		s.push(d, byte(v), in)
	} else if d.n > 0 {
		d.pass(in.c == '\n' || in.c == '\r', 2)
	}
}

// nibbles and sextets are the digits of hexadecimal, and of base64 in both
// alphabets; -1 is none.
var nibbles, sextets = tables()

func tables() (hex, base64 [256]int8) {
	for i := range hex {
		hex[i], base64[i] = -1, -1
	}
	for i, c := range "0123456789abcdef" {
		hex[c] = int8(i) //nolint:gosec // a digit
	}
	for i, c := range "ABCDEF" {
		hex[c] = int8(10 + i) //nolint:gosec // a digit
	}
	for i, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/" {
		base64[c] = int8(i) //nolint:gosec // a digit
	}
	base64['-'], base64['_'] = 62, 63
	return hex, base64
}

// decoder undoes escapes in a text that comes byte by byte.
type decoder struct {
	// lead begins an escape. decode appends what one stands for; it appends nothing,
	// with more when that depends on what follows, and without where it is none.
	lead   byte
	decode func(to, escape []byte) (out []byte, more bool)
	form   bool // a plus is a blank

	held []symbol // the beginning of an escape
	text []byte   // of held
	out  []symbol // reused, like made
	made [utf8.UTFMax]byte
}

// plain reports whether a byte stands for itself, as most do.
func (d *decoder) plain(in symbol) bool {
	return len(d.held) == 0 && in.c != d.lead && (!d.form || in.c != '+')
}

// push takes a byte, and returns those that are certain now.
func (d *decoder) push(in symbol) []symbol {
	d.out = d.out[:0]
	d.take(in)
	return d.out
}

func (d *decoder) take(in symbol) {
	if len(d.held) == 0 && in.c != d.lead {
		if d.form && in.c == '+' {
			in.c = ' '
		}
		d.out = append(d.out, in)
		return
	}
	d.held, d.text = append(d.held, in), append(d.text, in.c)

	out, more := d.decode(d.made[:0], d.text)
	for _, c := range out {
		d.out = append(d.out, symbol{c, d.held[0].from, in.to})
	}
	switch {
	case more:
	case len(out) > 0:
		d.held, d.text = d.held[:0], d.text[:0]
	default:
		d.giveUp()
	}
}

// giveUp takes the first byte held for itself, and the others again.
func (d *decoder) giveUp() {
	var rest [16]symbol
	n := copy(rest[:], d.held[1:])
	d.out = append(d.out, d.held[0])
	d.held, d.text = d.held[:0], d.text[:0]
	for _, in := range rest[:n] {
		d.take(in)
	}
}

// end returns what is left when nothing follows.
func (d *decoder) end() []symbol {
	d.out = d.out[:0]
	for len(d.held) > 0 {
		d.giveUp()
	}
	return d.out
}

// simple are the escapes of one letter; 0 is none.
var simple = [256]byte{
	'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f', 'a': '\a', 'v': '\v', 'e': 0x1b, '"': '"', '\'': '\'', '\\': '\\', '/': '/',
}

// unescape undoes the escapes of JSON, Go and C.
func unescape(to, text []byte) (out []byte, more bool) {
	if len(text) == 1 {
		return nil, true
	}
	c := text[1]
	if simple[c] != 0 {
		return append(to, simple[c]), false
	}
	switch {
	case c == 'x':
		return number(to, text, 2, 2, 16)
	case c == 'u' && len(text) > 6:
		return surrogates(to, text)
	case c == 'u':
		return number(to, text, 2, 4, 16)
	case c == 'U':
		return number(to, text, 2, 8, 16)
	case c >= '0' && c <= '3':
		return number(to, text, 1, 3, 8)
	}
	return nil, false
}

// number is the rune, or with two or three digits the byte, of the digits behind
// some characters of an escape.
func number(to, text []byte, from, digits int, base uint32) (out []byte, more bool) {
	var n uint32
	for _, c := range text[from:] {
		v := nibbles[c]
		if v < 0 || uint32(v) >= base {
			return nil, false
		}
		n = n*base + uint32(v)
	}
	switch {
	case len(text) < from+digits:
		return nil, true
	case digits <= 3:
		return append(to, byte(n)), false
	case digits == 4 && n >= 0xd800 && n < 0xdc00: // of a pair
		return nil, true
	}
	return utf8.AppendRune(to, rune(n)), false
}

// surrogates takes the second half of a pair. It is no escape where that is
// something else.
func surrogates(to, text []byte) (out []byte, more bool) {
	second := text[6:]
	if second[0] != '\\' || len(second) > 1 && second[1] != 'u' {
		return nil, false
	}
	if len(second) < 6 {
		return nil, true
	}
	hi, err1 := strconv.ParseUint(string(text[2:6]), 16, 16)
	lo, err2 := strconv.ParseUint(string(second[2:]), 16, 16)
	r := utf16.DecodeRune(rune(hi), rune(lo))
	if err1 != nil || err2 != nil || r == utf8.RuneError {
		return nil, false
	}
	return utf8.AppendRune(to, r), false
}

// unpercent undoes the escapes of URLs.
func unpercent(to, text []byte) (out []byte, more bool) {
	var n byte
	for _, c := range text[1:] {
		if nibbles[c] < 0 {
			return nil, false
		}
		n = n<<4 | byte(nibbles[c])
	}
	if len(text) < 3 {
		return nil, true
	}
	return append(to, n), false
}
