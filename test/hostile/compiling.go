package hostile

import (
	"fmt"
	"strings"
	"time"

	"waymark/test/wasmtest"
)

func compilingCases() []Case {
	list := append(compileBombs(), exits()...)
	for _, c := range nameSections() {
		c.Name = "names-" + c.Name
		list = append(list, c)
	}
	for i := range list {
		list[i].Class, list[i].Name = ClassCompiling, "compiling/"+list[i].Name
	}
	return list
}

// compileBombs are small modules that take a compiler seconds and gigabytes.
// They are to be refused, or compiled somewhere else under limits; either way
// this process neither waits nor grows.
func compileBombs() []Case {
	bomb := func(name string, fields func() string, text string) Case {
		return Case{Name: name, Module: later(fields), Want: rejected(text), Within: time.Second, Memory: 64}
	}
	return []Case{
		// 50 KB took 14.6 s and 726 MB, 294 KB over 100 s, 2.5 MB in one body
		// 7.4 s and 2.7 GB.
		bomb("locals-times-ifs", func() string { return localsAndIfs(2000, 2000) }, `locals|blocks`),
		bomb("locals-times-ifs-large", func() string { return localsAndIfs(2000, 12000) }, `locals|blocks|large|bytes`),
		bomb("locals-times-br-tables", func() string {
			return `(func ` + strings.Repeat("(local i64) ", 1500) +
				`(block $a (block $b ` + strings.Repeat("(br_table "+strings.Repeat("$a $b ", 100)+"(i32.const 0)) ", 50) + `)))`
		}, `locals|blocks|branch`),
		bomb("body-of-2-mb", func() string {
			return `(func (param $n i64) ` + strings.Repeat("(local.set $n (i64.mul (i64.add (local.get $n) (i64.const 1)) (local.get $n)))\n", 250_000) + `)`
		},
			`body|function|bytes`),
		bomb("nested-30000", func() string {
			return `(func ` + strings.Repeat("block ", 30_000) + strings.Repeat("end ", 30_000) + `)`
		}, `nest|deep|block`),
		bomb("br-table-of-30000", func() string {
			return `(func (block $a (br_table ` + strings.Repeat("$a ", 30_000) + `(i32.const 0))))`
		}, `br_table|branch|target`),
		bomb("results-1000", func() string { return `(func (result ` + strings.Repeat("i64 ", 1000) + `) unreachable)` }, `type|results|values`),
		{
			Name: "stack-of-20000", Module: later(func() string {
				return `(func (result i64) ` + strings.Repeat("i64.const 7 ", 20_000) +
					strings.Repeat("(if (i32.const 1) (then)) ", 300) + strings.Repeat("i64.add ", 19_999) + `)`
			}),
			Within: time.Second, Memory: 64, Want: ends(Rejected, Ready),
		},
		{
			Name: "functions-100000", Module: later(func() string { return strings.Repeat("(func)\n", 100_000) }),
			Within: 3 * time.Second, Memory: 160, Want: ends(Rejected, Ready).saying(`functions`),
		},
		{
			Name: "functions-40000", Module: later(func() string { return strings.Repeat("(func)\n", 40_000) }),
			Within: 4 * time.Second, Memory: 160, Want: ends(Rejected, Ready).saying(`functions`),
		},
		{
			// Many bodies, each of them just within reason.
			Name: "bodies-within-reason", Module: later(func() string { return strings.Repeat(localsAndIfs(250, 250)+"\n", 60) }),
			Within: 10 * time.Second, Memory: 128, Want: ends(Rejected, Ready),
		},
		{
			Name: "not-valid-inside", Module: field(`(func (result i64) (i32.const 1))`), Want: rejected(`.`),
		},
		{
			Name: "index-of-what-is-injected", Module: module{ // one past the last function and global
				Fields: `(global $g (mut i64) (i64.const 0)) (func (global.set 1 (i64.const 0x7fffffffffffffff)))`,
			}.build, Want: rejected(`global|index`),
		},
		{
			Name: "call-of-what-is-injected", Module: field(`(func $f (call 9))`), Want: rejected(`function|index|call`),
		},
		{
			Name:   "import-of-the-meter",
			Module: module{Imports: `(import "waymark:meter" "tick" (func (result i64)))`}.build,
			Want:   rejected(`waymark:meter`),
		},
		{
			Name: "export-of-the-meter", Module: field(`(func (export "waymark:start"))`), Want: ends(Rejected, Ready).saying(`waymark:start`),
		},
	}
}

// localsAndIfs is a function that a register allocator suffers from.
func localsAndIfs(locals, ifs int) string {
	var b strings.Builder
	b.WriteString("(func (param i32) " + strings.Repeat("(local i64) ", locals))
	for i := range ifs {
		fmt.Fprintf(&b, "(if (local.get 0) (then (local.set %d (i64.add (local.get %d) (local.get %d)))))\n",
			1+i%locals, 1+(i*7)%locals, 1+(i*13)%locals)
	}
	b.WriteString(")")
	return b.String()
}

// exits end the process that a guest thinks it has.
func exits() []Case {
	exit := "\n  (import \"wasi_snapshot_preview1\" \"proc_exit\" (func $proc_exit (param i32)))"
	out := `(call $output_set (call $text (i32.const 131072) (i32.const 30)) (i64.const 30)) `
	with := func(name string, m module, want Want) Case {
		m.Imports = exit
		return Case{Name: "exit-" + name, Module: m.build, Want: want}
	}
	return []Case{
		with("0", module{Resolve: `(call $proc_exit (i32.const 0))`}, ends(Crashed, Answer)),
		with("0-after-the-answer", module{Resolve: out + `(call $proc_exit (i32.const 0))`}, ends(Crashed, Answer)),
		with("1", module{Resolve: `(call $proc_exit (i32.const 1))`}, ends(Crashed)),
		with("deadline-code", module{Resolve: `(call $proc_exit (i32.const 0xefffffff))`}, ends(Crashed)),
		with("canceled-code", module{Resolve: `(call $proc_exit (i32.const 0xffffffff))`}, ends(Crashed)),
		with("in-describe", module{Describe: `(call $proc_exit (i32.const 0))`}, rejected(`exit|no output|crashed`)),
		with("in-initialize", module{Initialize: `(call $proc_exit (i32.const 0))`}, rejected(`exit|no output|crashed`)),
		with("in-start", module{Start: `(call $proc_exit (i32.const 0))`}, rejected(`exit|start function|no output|crashed`)),
	}
}

// nameSections lie about what they name. They are for people, and must not
// matter to anybody else.
func nameSections() []Case {
	lying := func(name string, body []byte) Case {
		return Case{Name: name, Module: func() []byte {
			m := module{Resolve: `(if (i32.eqz (i32.load (i32.const 65536))) (then (unreachable)))`}.build()
			return wasmtest.WithSection(m, 0, append(wasmtest.Name("name"), body...))
		}, Want: ends(Crashed, Rejected)}
	}
	functions := func(entries ...[]byte) []byte {
		body := wasmtest.Vector(entries)
		return append(append([]byte{1}, wasmtest.LEB(uint32(len(body)))...), body...)
	}
	named := func(index uint32, name string) []byte { return append(wasmtest.LEB(index), wasmtest.Name(name)...) }
	return []Case{
		lying("beyond-the-end", functions(named(4_000_000_000, "nobody"))),
		lying("twice", functions(named(5, "a"), named(5, "b"), named(4, "c"))),
		lying("not-utf8", functions(named(5, "\xff\xfe"))),
		lying("of-a-megabyte", functions(named(5, strings.Repeat("a", 1<<20)))),
		lying("with-line-breaks", functions(named(5, "a\nERROR all is lost\x1b[31m"))),
		lying("count-too-large", []byte{1, 5, 0xff, 0xff, 0xff, 0xff, 0x0f}),
		lying("cut", []byte{1, 100, 1}),
		lying("unknown-subsection", []byte{200, 1, 2, 3}),
		lying("empty", nil),
		{Name: "two-sections", Module: func() []byte {
			m := module{Resolve: `(unreachable)`}.build()
			body := append(wasmtest.Name("name"), functions(named(5, "a"))...)
			return wasmtest.WithSection(wasmtest.WithSection(m, 0, body), 0, body)
		}, Want: ends(Crashed, Rejected)},
	}
}
