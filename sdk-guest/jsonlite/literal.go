package jsonlite

import "unicode/utf8"

func (p *parser) number() error {
	if p.peek() == '-' {
		p.pos++
	}
	if p.peek() == '0' {
		p.pos++
	} else if err := p.digits(); err != nil {
		return err
	}
	if p.peek() == '.' {
		p.pos++
		if err := p.digits(); err != nil {
			return err
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.pos++
		if c := p.peek(); c == '+' || c == '-' {
			p.pos++
		}
		return p.digits()
	}
	return nil
}

func (p *parser) digits() error {
	if !isDigit(p.peek()) {
		return p.fail("a digit is expected")
	}
	for isDigit(p.peek()) {
		p.pos++
	}
	return nil
}

func (p *parser) text() error {
	p.pos++ // the opening quote
	for p.pos < len(p.data) {
		switch c := p.data[p.pos]; {
		case c == '"':
			p.pos++
			return nil
		case c == '\\':
			if err := p.escape(); err != nil {
				return err
			}
		case c < ' ':
			return p.fail("a control character in a string")
		case c < utf8.RuneSelf:
			p.pos++
		default:
			r, size := utf8.DecodeRune(p.data[p.pos:])
			if r == utf8.RuneError && size == 1 && !p.opts.AllowInvalidUTF8 {
				return p.fail("not valid UTF-8")
			}
			p.pos += size
		}
	}
	return p.fail("unexpected end")
}

func (p *parser) escape() error {
	rest := p.data[p.pos+1:]
	if len(rest) == 0 {
		return p.fail("unexpected end")
	}
	switch rest[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		p.pos += 2
		return nil
	case 'u':
	default:
		return p.fail("an unknown escape")
	}
	u, ok := hex4(rest[1:])
	if !ok {
		return p.fail("four hexadecimal digits are expected")
	}
	size := 6
	if u >= surrogateMin && u <= surrogateMax {
		if _, ok := surrogatePair(p.data[p.pos:]); ok {
			size = 12
		} else if !p.opts.AllowInvalidUTF8 {
			return p.fail("a lone surrogate")
		}
	}
	p.pos += size
	return nil
}
