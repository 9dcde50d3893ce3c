package meter

// wazero 1.12.0 compiles integer remainders wrongly on arm64: it writes the result
// register twice, first with the quotient, and where no register is free it reads the
// quotient back from a place on the stack that nothing was stored into (upstream's
// #2508, fixed after that release). Quotients, products and differences it compiles
// well, so x%y is written as x - x/y*y there.

const (
	opI32RemS = 0x6f
	opI32RemU = 0x70
	opI64RemS = 0x81
	opI64RemU = 0x82

	opI32Eq   = 0x46
	opI32Sub  = 0x6b
	opI32Mul  = 0x6c
	opI32DivS = 0x6d
	opI32DivU = 0x6e
	opI64Eq   = 0x51
	opI64Mul  = 0x7e
	opI64DivS = 0x7f
	opI64DivU = 0x80

	minusOne = 0x7f // as an operand of a constant
)

// noRemainders says for which processors, as GOARCH names them, no remainder is left
// to the engine.
func noRemainders(arch string) bool { return arch == "arm64" }

func isRemainder(op byte) bool {
	return op == opI32RemS || op == opI32RemU || op == opI64RemS || op == opI64RemU
}

// remainder reads a remainder that is to be replaced. What takes its place costs the
// same fuel, and is seen by the estimate of the frame.
func (b *body) remainder() {
	if b.err != nil {
		return
	}
	if b.op == opI32RemS || b.op == opI32RemU {
		b.rem32 = true
	} else {
		b.rem64 = true
	}
	b.edits = append(b.edits, edit{pos: b.at, skip: 1, kind: editRem, arg: uint32(b.op)})
	if b.op == opI32RemS || b.op == opI64RemS { // whether the divisor is -1, and the one to take
		b.track(flowPlain, 0, 0, 1)
		b.track(flowPlain, 0, 2, 1)
	}
	b.track(flowPlain, 0, 0, 1) // the quotient
	b.track(flowPlain, 0, 2, 1) // times the divisor
	b.track(flowPlain, 0, 2, 1)
}

// appendRem writes what takes the place of a remainder. It traps where the remainder
// does, for a divisor of 0. The least number can't be divided by -1, so a divisor of -1
// becomes 1: either leaves a remainder of 0.
func (b *body) appendRem(c []byte, op byte) []byte {
	x, y := b.budgetLocal(), b.secondLocal() // the budget isn't needed between two heads
	constant, equal, div, mul, sub := byte(opI64Const), byte(opI64Eq), byte(opI64DivU), byte(opI64Mul), byte(opI64Sub)
	if op == opI32RemS || op == opI32RemU {
		x, y = b.sizeLocal(), b.sizeLocal()+1
		constant, equal, div, mul, sub = opI32Const, opI32Eq, opI32DivU, opI32Mul, opI32Sub
	}
	c = appendU32(append(c, opLocalSet), y)
	c = appendU32(append(c, opLocalTee), x)
	c = appendU32(append(c, opLocalGet), x)
	if op == opI32RemS || op == opI64RemS {
		div-- // the signed one
		c = appendU32(append(c, constant, 1, opLocalGet), y)
		c = appendU32(append(c, opLocalGet), y)
		c = appendU32(append(c, constant, minusOne, equal, opSelect, opLocalTee), y)
	} else {
		c = appendU32(append(c, opLocalGet), y)
	}
	c = appendU32(append(c, div, opLocalGet), y)
	return append(c, mul, sub)
}
