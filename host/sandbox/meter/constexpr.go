package meter

// constExpr reads a constant expression of one instruction and appends it to
// b, with function indices shifted. If it is an i32 constant, that is returned
// too.
func (m *module) constExpr(r *reader, b []byte) (_ []byte, value int32, isI32 bool) {
	start := r.pos
	switch op := r.u8(); op {
	case opI32Const:
		value, isI32 = int32(r.signed(5)), true
	case opI64Const:
		r.signed(10)
	case opF32Const:
		r.skip(4)
	case opF64Const:
		r.skip(8)
	case opGlobalGet:
		r.index("global", m.globals)
	case opRefNull:
		r.refType()
	case opRefFunc:
		f := r.index("function", len(m.funcs))
		b = appendU32(append(b, opRefFunc), m.shiftFunc(f))
		start = r.pos
	case opVecPrefix:
		if r.u8() != vecConst && r.err == nil {
			r.fail(start, hintFeatures, "not a constant expression")
		}
		r.skip(16)
	default:
		r.fail(start, hintFeatures, "opcode 0x%02x is not allowed in a constant expression", op)
	}
	if end := r.u8(); end != opEnd && r.err == nil {
		r.fail(r.pos-1, hintFeatures, "a constant expression of more than one instruction")
	}
	if r.err != nil {
		return b, 0, false
	}
	return append(b, r.buf[start:r.pos]...), value, isI32
}
