package wasmtest

import "strings"

// immediate says what follows an opcode.
type immediate byte

const (
	immNone     immediate = iota
	immLocal              // index or name of a local
	immGlobal             // of a global
	immFunc               // of a function
	immTable              // of a table; 0 when it is left out
	immLabel              // of an enclosing block
	immLabels             // of several, the default last
	immMemarg             // offset=N align=N
	immI32                // constants
	immI64                //
	immF32                //
	immF64                //
	immZero               // a byte 0, for the one memory
	immZeros              // two of them
	immRefType            // func or extern
	immData               // a data segment, and the one memory
	immDataOnly           // a data segment
	immElem               // an element segment, and the table (named first)
	immElemOnly           // an element segment
	immTables             // two tables
	immIndirect           // a table and (type …)
)

type opcode struct {
	code []byte
	imm  immediate
}

// opcodes are all instructions that aren't blocks: the core specification's
// appendix A.6, without vectors but for moving them about.
var opcodes = func() map[string]opcode {
	ops := map[string]opcode{}
	// list names instructions of consecutive opcodes.
	list := func(first byte, imm immediate, names string) {
		for i, name := range strings.Fields(names) {
			ops[name] = opcode{[]byte{first + byte(i)}, imm}
		}
	}
	prefixed := func(second byte, imm immediate, names string) {
		for i, name := range strings.Fields(names) {
			ops[name] = opcode{[]byte{0xfc, second + byte(i)}, imm}
		}
	}
	list(0x00, immNone, "unreachable nop")
	list(0x0c, immLabel, "br br_if")
	list(0x0e, immLabels, "br_table")
	list(0x0f, immNone, "return")
	list(0x10, immFunc, "call")
	list(0x11, immIndirect, "call_indirect")
	list(0x1a, immNone, "drop select")
	list(0x20, immLocal, "local.get local.set local.tee")
	list(0x23, immGlobal, "global.get global.set")
	list(0x25, immTable, "table.get table.set")
	list(0x28, immMemarg, `i32.load i64.load f32.load f64.load i32.load8_s i32.load8_u i32.load16_s i32.load16_u
		i64.load8_s i64.load8_u i64.load16_s i64.load16_u i64.load32_s i64.load32_u
		i32.store i64.store f32.store f64.store i32.store8 i32.store16 i64.store8 i64.store16 i64.store32`)
	list(0x3f, immZero, "memory.size memory.grow")
	list(0x41, immI32, "i32.const")
	list(0x42, immI64, "i64.const")
	list(0x43, immF32, "f32.const")
	list(0x44, immF64, "f64.const")
	compare := " eqz eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u"
	list(0x45, immNone, strings.ReplaceAll(compare, " ", " i32.")+strings.ReplaceAll(compare, " ", " i64."))
	compare = " eq ne lt gt le ge"
	list(0x5b, immNone, strings.ReplaceAll(compare, " ", " f32.")+strings.ReplaceAll(compare, " ", " f64."))
	integer := " clz ctz popcnt add sub mul div_s div_u rem_s rem_u and or xor shl shr_s shr_u rotl rotr"
	list(0x67, immNone, strings.ReplaceAll(integer, " ", " i32.")+strings.ReplaceAll(integer, " ", " i64."))
	float := " abs neg ceil floor trunc nearest sqrt add sub mul div min max copysign"
	list(0x8b, immNone, strings.ReplaceAll(float, " ", " f32.")+strings.ReplaceAll(float, " ", " f64."))
	list(0xa7, immNone, `i32.wrap_i64 i32.trunc_f32_s i32.trunc_f32_u i32.trunc_f64_s i32.trunc_f64_u
		i64.extend_i32_s i64.extend_i32_u i64.trunc_f32_s i64.trunc_f32_u i64.trunc_f64_s i64.trunc_f64_u
		f32.convert_i32_s f32.convert_i32_u f32.convert_i64_s f32.convert_i64_u f32.demote_f64
		f64.convert_i32_s f64.convert_i32_u f64.convert_i64_s f64.convert_i64_u f64.promote_f32
		i32.reinterpret_f32 i64.reinterpret_f64 f32.reinterpret_i32 f64.reinterpret_i64
		i32.extend8_s i32.extend16_s i64.extend8_s i64.extend16_s i64.extend32_s`)
	list(0xd0, immRefType, "ref.null")
	list(0xd1, immNone, "ref.is_null")
	list(0xd2, immFunc, "ref.func")
	prefixed(0, immNone, `i32.trunc_sat_f32_s i32.trunc_sat_f32_u i32.trunc_sat_f64_s i32.trunc_sat_f64_u
		i64.trunc_sat_f32_s i64.trunc_sat_f32_u i64.trunc_sat_f64_s i64.trunc_sat_f64_u`)
	prefixed(8, immData, "memory.init")
	prefixed(9, immDataOnly, "data.drop")
	prefixed(10, immZeros, "memory.copy")
	prefixed(11, immZero, "memory.fill")
	prefixed(12, immElem, "table.init")
	prefixed(13, immElemOnly, "elem.drop")
	prefixed(14, immTables, "table.copy")
	prefixed(15, immTable, "table.grow table.size table.fill")
	for name, second := range map[string]byte{"v128.load": 0x00, "v128.store": 0x0b} {
		ops[name] = opcode{[]byte{0xfd, second}, immMemarg}
	}
	return ops
}()

var valueTypes = map[string]byte{
	"i32": 0x7f, "i64": 0x7e, "f32": 0x7d, "f64": 0x7c, "v128": 0x7b, "funcref": 0x70, "externref": 0x6f,
	"func": 0x70, "extern": 0x6f,
}
