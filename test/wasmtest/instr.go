package wasmtest

import (
	"slices"
	"strings"
)

// funcBody assembles the instructions of one function.
type funcBody struct {
	m      *assembler
	locals map[string]uint32
	labels []string // of the blocks around, the innermost last
	out    []byte
}

// instrs assembles a sequence. Instructions may be flat, with their operands
// before them, or folded, with their operands in the same parentheses.
func (f *funcBody) instrs(list []node) error {
	for len(list) > 0 {
		n := list[0]
		if n.isList() {
			if err := f.folded(n); err != nil {
				return err
			}
			list = list[1:]
			continue
		}
		rest, err := f.flat(n, list[1:])
		if err != nil {
			return err
		}
		list = rest
	}
	return nil
}

// flat assembles one instruction and returns what comes after its immediates.
func (f *funcBody) flat(n node, rest []node) ([]node, error) {
	switch n.atom {
	case "block", "loop", "if":
		label, rest := takeLabel(rest)
		return f.open(n, label, rest)
	case "else":
		f.out = append(f.out, 0x05)
		return rest, nil
	case "end":
		if len(f.labels) == 0 {
			return nil, n.errorf("end without a block")
		}
		f.close()
		return rest, nil
	}
	return f.plain(n, rest)
}

// folded assembles (op immediates… operands…).
func (f *funcBody) folded(n node) error {
	if len(n.list) == 0 || n.list[0].isList() {
		return n.errorf("an instruction is missing")
	}
	op, rest := n.list[0], n.list[1:]
	switch op.atom {
	case "block", "loop":
		label, rest := takeLabel(rest)
		rest, err := f.open(op, label, rest)
		if err != nil {
			return err
		}
		if err := f.instrs(rest); err != nil {
			return err
		}
		f.close()
		return nil
	case "if":
		return f.foldedIf(op, rest)
	}
	// The immediates come first in the text and last in the code.
	mark := len(f.out)
	operands, err := f.plain(op, rest)
	if err != nil {
		return err
	}
	code := slices.Clone(f.out[mark:])
	f.out = f.out[:mark]
	if err := f.instrs(operands); err != nil {
		return err
	}
	f.out = append(f.out, code...)
	return nil
}

// foldedIf assembles (if $label (result t) condition… (then …) (else …)).
func (f *funcBody) foldedIf(op node, rest []node) error {
	label, rest := takeLabel(rest)
	types := rest
	for len(rest) > 0 && slices.Contains([]string{"param", "result", "type"}, rest[0].head()) {
		rest = rest[1:]
	}
	types = types[:len(types)-len(rest)]
	for len(rest) > 0 && rest[0].head() != "then" {
		if err := f.instrs(rest[:1]); err != nil {
			return err
		}
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return op.errorf("if without then")
	}
	if _, err := f.open(op, label, types); err != nil {
		return err
	}
	for i, part := range rest {
		switch {
		case part.head() == "else" && i == 1:
			f.out = append(f.out, 0x05)
		case i > 0:
			return part.errorf("then, and perhaps else, end an if")
		}
		if err := f.instrs(part.list[1:]); err != nil {
			return err
		}
	}
	f.close()
	return nil
}

// open begins a block; rest starts with its type.
func (f *funcBody) open(op node, label string, rest []node) ([]node, error) {
	sig, rest, err := f.m.signature(rest)
	if err != nil {
		return nil, err
	}
	f.out = append(f.out, map[string]byte{"block": 0x02, "loop": 0x03, "if": 0x04}[op.atom])
	switch {
	case sig.explicit == nil && len(sig.params) == 0 && len(sig.results) == 0:
		f.out = append(f.out, 0x40)
	case sig.explicit == nil && len(sig.params) == 0 && len(sig.results) == 1:
		f.out = append(f.out, sig.results[0])
	default:
		f.out = append(f.out, sleb(int64(f.m.typeOf(sig)))...)
	}
	f.labels = append(f.labels, label)
	return rest, nil
}

func (f *funcBody) close() {
	f.labels = f.labels[:len(f.labels)-1]
	f.out = append(f.out, 0x0b)
}

func takeLabel(rest []node) (string, []node) {
	if len(rest) > 0 && strings.HasPrefix(rest[0].atom, "$") {
		return rest[0].atom, rest[1:]
	}
	return "", rest
}

// label finds the depth of a label.
func (f *funcBody) label(n node) (uint32, error) {
	for i := range f.labels {
		if name := f.labels[len(f.labels)-1-i]; name != "" && name == n.atom {
			return uint32(i), nil
		}
	}
	return f.m.number(n)
}
