package hostile

import (
	"fmt"
	"strings"
	"time"

	"waymark/test/wasmtest"
)

func compilingCases() []Case {
	list := compileBombs()
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
		// 50 KB took 14.6 s and 726 MB, 294 KB over 100 s.
		bomb("locals-times-ifs", func() string { return localsAndIfs(2000, 2000) }, `locals|blocks`),
		bomb("locals-times-ifs-large", func() string { return localsAndIfs(2000, 12000) }, `locals|blocks|large|bytes`),
		{
			// Many bodies, each of them just within reason.
			Name: "bodies-within-reason", Module: later(func() string { return strings.Repeat(localsAndIfs(250, 250)+"\n", 60) }),
			Within: 10 * time.Second, Memory: 128, Want: ends(Rejected, Ready),
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
