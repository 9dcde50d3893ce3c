package redact

// layer looks at what a first encoding stands for as the scanner looks at the text:
// values may be encoded twice. It is made and fed only where the first encoding is
// really there, so that other text costs nothing more.
type layer struct {
	hex, base64 digits
	escape      decoder
	inner       window
	url         [2]decoder
	outer       [2]window
}

func newLayer() *layer {
	l := new(layer)
	l.reset()
	return l
}

// reset has it forget what it has seen. What comes next doesn't follow on that: a
// value put together of both would reach over all that is between them.
func (l *layer) reset() {
	*l = layer{hex: digits{bits: 4}, base64: digits{bits: 6}, escape: decoder{lead: '\\', decode: unescape}}
	for i := range l.url {
		l.url[i] = decoder{lead: '%', decode: unpercent, form: i == 1}
	}
}

// deeper looks at a byte of what an encoding stands for.
func (s *scanner) deeper(l *layer, in symbol) {
	s.nibble(&l.hex, in)
	s.sextet(&l.base64, in)
	if l.escape.plain(in) {
		s.look(&l.inner, in)
	} else {
		for _, out := range l.escape.push(in) {
			s.look(&l.inner, out)
		}
	}
	for i := range l.url {
		if i == 1 && !s.forms {
			return
		}
		if l.url[i].plain(in) {
			s.look(&l.outer[i], in)
			continue
		}
		for _, out := range l.url[i].push(in) {
			s.look(&l.outer[i], out)
		}
	}
}

// ended says that nothing follows in layers, those that there are.
func (s *scanner) ended(layers ...*layer) {
	for _, l := range layers {
		if l == nil {
			continue
		}
		for _, out := range l.escape.end() {
			s.look(&l.inner, out)
		}
		for i := range l.url {
			for _, out := range l.url[i].end() {
				s.look(&l.outer[i], out)
			}
		}
	}
}

const (
	// remembered is how many bytes before the first escape belong to what it is part of:
	// a window as base64, hexadecimal or in a URL, with something between.
	remembered = 32
	// followed is how many bytes behind the last escape do. A window takes up to 80 when
	// each of its bytes is escaped, and those escapes have escapes themselves.
	followed = 32
	// aLine is how many digits of base64 a line has at least that isn't the last one.
	aLine = 20
)

// stream is what the escapes of a text stand for.
type stream struct {
	last  [remembered]symbol // in a ring
	n     int
	left  int // how many bytes go to the layer still
	lines int // digits of base64 in a row
	layer *layer
}

// below hands a byte to the stream's layer where it, or one near to it, was escaped.
func (s *scanner) below(t *stream, out symbol) {
	if out.to-out.from > 1 && t.matters(out.c) {
		switch {
		case t.layer == nil:
			t.layer = newLayer()
		case t.left == 0:
			s.ended(t.layer)
			t.layer.reset()
		}
		for i := max(0, t.n-remembered); t.left == 0 && i < t.n; i++ {
			s.deeper(t.layer, t.last[i%remembered])
		}
		t.left = followed
	}
	if sextets[out.c] >= 0 {
		t.lines++
	} else {
		t.lines = 0
	}
	t.last[t.n%remembered] = out
	t.n++
	if t.left > 0 {
		t.left--
		s.deeper(t.layer, out)
	}
}

// matters reports whether an escaped byte may be part of another encoding. Line ends
// and quotes are escaped everywhere.
func (t *stream) matters(c byte) bool {
	switch c {
	case '\\', '%':
		return true
	case '\n', '\r':
		return t.lines >= aLine
	}
	return sextets[c] >= 0
}

// alignments are those that bytes may have in digits: of base64, four.
const alignments = 4

// layers are what digits stand for, by alignment.
type layers struct {
	live [alignments]bool // what came last in it is text
	any  bool
	of   [alignments]*layer
}

// decoded hands the last byte of a window that digits stand for to the layer of its
// alignment, as long as they stand for ASCII text: what is encoded twice does, and other
// digits hardly ever do. spare is how many bits of the
// last digit aren't the window's.
func (s *scanner) decoded(d *digits, w uint64, spare uint, in symbol) {
	alignment := (uint(d.n)*d.bits - spare) % 8 / 2
	if !isText(w) {
		d.layers.live[alignment] = false
		return
	}
	l := d.layers.of[alignment]
	if l == nil {
		l = newLayer()
		d.layers.of[alignment] = l
	}
	if !d.layers.live[alignment] {
		d.layers.live[alignment], d.layers.any = true, true
		s.ended(l)
		l.reset()
		for i := range MinPart - 1 {
			// The digit in which the byte begins.
			back := int((spare + 8*uint(MinPart-1-i) + 7) / d.bits)
			from := d.from[(d.n-1-back)%len(d.from)]
			s.deeper(l, symbol{byte(w >> (8 * (MinPart - 1 - i))), from, from + 1}) //nolint:gosec // one byte of it
		}
	}
	back := int((spare + 7) / d.bits)
	s.deeper(l, symbol{byte(w), d.from[(d.n-1-back)%len(d.from)], in.to}) //nolint:gosec // one byte of it
}

// isText reports whether a window is of printable ASCII, or nearly.
func isText(w uint64) bool {
	const ones = 0x0101010101010101
	return (w|(w-0x20*ones))&(0x80*ones) == 0
}
