package meter

// An element segment begins with three flags, core specification 2.0, section
// 5.5.12.
const (
	elemNotActive = 1 << iota // passive, or, with the next, declarative
	elemTable                 // has a table index; declarative
	elemExprs                 // entries are expressions, not function indices
	elemFlags
)

func (m *module) readElements(r *reader) {
	m.elements = r.count("element segments", m.limits.MaxElementSegments)
	left := m.limits.MaxElements
	for range m.elements {
		m.readElement(r, &left)
		if r.err != nil {
			return
		}
	}
}

// readElement appends one segment to the new section.
func (m *module) readElement(r *reader, left *int) {
	flags := r.u32()
	if flags >= elemFlags && r.err == nil {
		r.fail(r.pos-1, hintFeatures, "unknown kind of element segment %d", flags)
		return
	}
	b := appendU32(m.elementBody, flags)
	if flags&elemNotActive == 0 {
		if flags&elemTable != 0 {
			b = appendU32(b, r.index("table", m.tables))
		} else if m.tables == 0 {
			r.damaged(r.pos, "an element segment without a table")
		}
		b, _, _ = m.constExpr(r, b)
	}
	if flags&(elemNotActive|elemTable) != 0 {
		b = append(b, m.readElementType(r, flags))
	}
	n := r.count("elements", *left)
	*left -= n
	b = appendLen(b, n)
	for range n {
		if flags&elemExprs != 0 {
			b, _, _ = m.constExpr(r, b)
		} else {
			b = appendU32(b, m.shiftFunc(r.index("function", len(m.funcs))))
		}
		if r.err != nil {
			return
		}
	}
	m.elementBody = b
}

func (m *module) readElementType(r *reader, flags uint32) byte {
	if flags&elemExprs != 0 {
		return r.refType()
	}
	kind := r.u8()
	if kind != 0 && r.err == nil {
		r.fail(r.pos-1, hintFeatures, "unknown kind of elements 0x%02x", kind)
	}
	return kind
}
