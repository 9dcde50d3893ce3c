package meter

import (
	"slices"
	"unicode/utf8"
)

const (
	nameFunctions = 1

	// nameMax bounds a function's name: it appears in every line of a trace.
	nameMax = 1 << 10
)

// shiftNames rewrites the name section. Only the names of functions are kept,
// and of those only what is in order: names are for people, and nothing that
// is wrong with them makes a module wrong.
func (m *module) shiftNames(r *reader) []byte {
	for r.more() {
		id := r.u8()
		body := r.bytes()
		if r.err != nil {
			return nil
		}
		if id == nameFunctions {
			s := &reader{buf: r.buf, pos: r.pos - len(body), end: r.pos}
			return m.functionNames(s)
		}
	}
	return nil
}

func (m *module) functionNames(r *reader) []byte {
	var entries, guarding []byte // which come last
	count, next, kept := 0, uint32(0), 0
	for range r.u32() {
		if !r.more() {
			break
		}
		index := r.u32()
		name := r.bytes()
		if r.err != nil {
			break
		}
		if index < next || int(index) >= len(m.funcs) || len(name) > nameMax || !utf8.Valid(name) {
			continue
		}
		next = index + 1
		if kept += len(name); kept > m.limits.MaxNames {
			break
		}
		count++
		to := &entries
		if _, ok := m.guardOf[index]; ok {
			to = &guarding
		}
		*to = appendU32(*to, m.shiftFunc(index))
		*to = append(appendLen(*to, len(name)), name...)
	}
	if count == 0 {
		return nil
	}
	sub := slices.Concat(appendLen(nil, count), entries, guarding)
	sub = append(appendLen([]byte{nameFunctions}, len(sub)), sub...)
	content := append(appendName(nil, "name"), sub...)
	return append(appendLen([]byte{secCustom}, len(content)), content...)
}
