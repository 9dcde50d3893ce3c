package hostile

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"waymark/host/sandbox"
	"waymark/test/testenv"
)

// Host calls: whatever a module may import, called with random and extreme
// arguments, in any order, from any export.

// callCases are, for every import, endless loops of it alone, and random
// sequences of all of them in each place where guest code runs.
func callCases() []Case {
	seed := callSeed()
	var list []Case
	add := func(name, moment string, n uint64, imports []sandbox.Symbol) {
		want := ends(Ready, Crashed, Answer, Guest, Limit, Deadline)
		if moment != "resolve" {
			want = ends(append(want.Outcomes, Rejected)...)
		}
		list = append(list, Case{
			Name: "calls/" + name + "/" + moment, Class: ClassCalls, Limits: limits(deadline), Want: want,
			Module: func() []byte {
				numbers := testenv.RandOf(seed, n)
				return callProgram(numbers.IntN, moment, imports, len(imports) == 1 || numbers.IntN(2) == 0).build()
			},
		})
	}
	imports := sandbox.Imports()
	for i, imp := range imports {
		for k := range 2 {
			add(fmt.Sprintf("only-%s-%d", imp.Name, k), "resolve", uint64(1000+2*i+k), imports[i:i+1])
		}
	}
	for i := range 25 {
		for k, moment := range moments {
			add(fmt.Sprintf("random-%02d", i), moment, uint64(4*i+k), imports)
		}
	}
	return list
}

// callSeed is which programs there are; WAYMARK_SEED chooses others.
func callSeed() uint64 {
	seed, err := strconv.ParseUint(os.Getenv("WAYMARK_SEED"), 10, 64)
	if err != nil {
		return 1
	}
	return seed
}

// CallModule is the module of a random program of host calls, and its text. The
// program is made of the bytes: equal ones give equal modules, and any will do.
func CallModule(data []byte) (wasm []byte, text string) {
	next := func(n int) int {
		if len(data) == 0 {
			return 0
		}
		v := int(data[0])
		data = data[1:]
		return v % n
	}
	m := callProgram(next, moments[next(len(moments))], sandbox.Imports(), next(4) == 3)
	return m.build(), m.wat()
}

// Where the program's own things lie in memory: a path, some buffers.
const (
	callPaths   = 65536
	callVectors = 80000
)

// callProgram makes a program of host calls, which may begin again for ever.
// next gives numbers below n.
func callProgram(next func(n int) int, moment string, imports []sandbox.Symbol, forever bool) module {
	var body strings.Builder
	body.WriteString(`
    (local.set $n (call $text (i32.const 65536) (i32.const 9)))
    (local.set $m (call $alloc (i64.const 1048576)))
    (loop $v
      (i32.store (i32.add (i32.const 80000) (i32.mul (local.get $i) (i32.const 8))) (i32.const 100000))
      (i32.store (i32.add (i32.const 80004) (i32.mul (local.get $i) (i32.const 8))) (i32.const 64))
      (br_if $v (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 1024))))
    (local.set $i (i32.const 4))
    (drop (call $path_open (i32.const 3) (i32.const 1) (i32.const 65536) (i32.const 9) (i32.const 0) (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 79000)))
`)
	if forever {
		body.WriteString("    (loop $again\n")
	}
	for range 1 + next(12) {
		body.WriteString("      " + callStep(next, imports) + "\n")
	}
	if forever {
		body.WriteString("      (br $again))\n")
	}
	m := module{
		Imports: declareAll(), Pages: next(2) * 200,
		Fields: `(data (i32.const 65536) "VICTIM.md\00` + strings.Repeat("sub/", 1030) + `")`,
	}
	switch moment {
	case "resolve":
		m.Resolve = body.String()
	case "describe":
		m.Describe = body.String()
	case "initialize":
		m.Initialize = body.String()
	default:
		m.Start = body.String()
	}
	return m
}

// callStep is one call, or something done to the memory that calls look at.
func callStep(next func(n int) int, imports []sandbox.Symbol) string {
	switch next(12) {
	case 0:
		return fmt.Sprintf("(i32.store (i32.const %d) (i32.const %s))", callVectors+8*next(64), callI32[next(len(callI32)-2)])
	case 1:
		return fmt.Sprintf("(memory.fill (i32.const %d) (i32.const %d) (i32.const %d))", callPaths+1000*next(30), next(256), next(4096))
	case 2:
		return fmt.Sprintf("(local.set $%s (call $alloc %s))", []string{"n", "m"}[next(2)], callArg('I', next))
	}
	imp := imports[next(len(imports))]
	params, results := letters(imp.Type)
	var call strings.Builder
	call.WriteString("(call $" + imp.Name)
	for _, p := range params {
		call.WriteString(" " + callArg(p, next))
	}
	call.WriteString(")")
	switch {
	case results == "":
		return call.String()
	case next(3) == 0:
		return "(drop " + call.String() + ")"
	case results == "I":
		return fmt.Sprintf("(local.set $%s %s)", []string{"n", "m"}[next(2)], call.String())
	}
	return fmt.Sprintf("(local.set $%s %s)", []string{"i", "j"}[next(2)], call.String())
}

// callI32 and callI64 are arguments that somebody might not have thought of,
// and some that are right.
var (
	callI32 = []string{
		"0", "1", "2", "3", "4", "5", "8", "9", "100", "1023", "1024", "1025", "4095", "4096", "4097", "16384", "16385",
		"65536", "80000", "90000", "131064", "1048576", "13000000", "0x1fffffff", "0x20000000", "0x20000001", "0x7fffffff",
		"0x80000000", "-1", "-2", "-8", "-16", "-65536", "$i", "$j",
	}
	callI64 = []string{
		"0", "1", "8", "64", "1000", "1048576", "13000000", "16777216", "65000000", "0x7fffffff", "0x80000000", "0xffffffff", "0x100000000",
		"0x7fffffffffffffff", "-0x8000000000000000", "-1", "-8", "-64", "$n", "$n", "$n", "$m", "$m", "$m",
	}
)

func callArg(letter rune, next func(n int) int) string {
	values, kind := callI32, "i32"
	if letter == 'I' {
		values, kind = callI64, "i64"
	}
	v := values[next(len(values))]
	if !strings.HasPrefix(v, "$") {
		return fmt.Sprintf("(%s.const %s)", kind, v)
	}
	switch next(4) {
	case 0:
		return fmt.Sprintf("(%s.add (local.get %s) (%s.const %d))", kind, v, kind, next(256))
	case 1:
		return fmt.Sprintf("(%s.sub (local.get %s) (%s.const %d))", kind, v, kind, next(256))
	}
	return "(local.get " + v + ")"
}

// declareAll declares every import but those that the template has.
func declareAll() string {
	var b strings.Builder
	for _, imp := range sandbox.Imports() {
		if slices.Contains([]string{"alloc", "store_u8", "store_u64", "output_set"}, imp.Name) {
			continue
		}
		params, results, _ := strings.Cut(imp.Type, " -> ")
		fmt.Fprintf(&b, "\n  (import %q %q (func $%s", imp.Module, imp.Name, imp.Name)
		if params != "()" {
			b.WriteString(" (param " + strings.Trim(params, "()") + ")")
		}
		if results != "()" {
			b.WriteString(" (result " + strings.Trim(results, "()") + ")")
		}
		b.WriteString("))")
	}
	return b.String()
}

// letters are the values of a function's type, i for an i32 and I for an i64.
func letters(functionType string) (params, results string) {
	short := strings.NewReplacer("i32", "i", "i64", "I", " ", "", "(", "", ")", "").Replace
	params, results, _ = strings.Cut(functionType, " -> ")
	return short(params), short(results)
}
