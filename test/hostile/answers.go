package hostile

import (
	"fmt"
	"strings"
	"time"
)

func answerCases() []Case {
	var list []Case
	for _, c := range handles() {
		c.Name = "answers/handle-" + c.Name
		list = append(list, c)
	}
	for _, c := range responses() {
		c.Name = "answers/" + c.Name
		list = append(list, c)
	}
	for _, c := range descriptions() {
		c.Name = "answers/describe-" + c.Name
		list = append(list, c)
	}
	for i := range list {
		c := &list[i]
		c.Class = ClassAnswers
		if c.Limits.Time == 0 && !strings.HasPrefix(c.Name, "answers/handle-") {
			// Large answers take a while through the kernel; their time is not
			// the point.
			c.Limits.Time = 5 * time.Second
		}
	}
	return list
}

// handles are pointers, lengths and handles that lie. Where the kernel is
// broken by its own guest, any end will do, so long as it is one.
func handles() []Case {
	anyEnd := ends(Ready, Crashed, Answer, Guest, Limit, Deadline)
	resolve := func(name, body string, want Want) Case {
		return Case{Name: name, Module: module{Imports: kernel + files, Resolve: body}.build, Want: want}
	}
	done := ` (return (i32.const 0))`
	list := []Case{
		resolve("output-out-of-range", `(call $output_set (i64.const 0x10000000000) (i64.const 10))`+done, ends(Answer, Crashed)),
		resolve("output-past-its-block", `(call $output_set (call $alloc (i64.const 8)) (i64.const 65536))`+done, ends(Answer, Crashed)),
		resolve("output-length-overflows", `(call $output_set (call $alloc (i64.const 8)) (i64.const -16))`+done, ends(Answer, Crashed)),
		resolve("output-of-4-gib", `(call $output_set (i64.const 16) (i64.const 0xffffffff))`+done, ends(Answer, Crashed)),
		resolve("output-nothing", `(call $output_set (i64.const 0) (i64.const 0))`+done, ends(Answer)),
		resolve("output-never-set", `(return (i32.const 0))`, ends(Answer)),
		resolve("output-zero-handle", `(call $output_set (i64.const 0) (i64.const 100))`+done, ends(Answer, Crashed)),
		resolve("output-is-the-input", `(call $output_set (call $input_offset) (call $input_length))`+done, ends(Ready, Answer)),
		resolve("output-freed", `(local.set $n (call $text (i32.const 131072) (i32.const 30)))
			(call $output_set (local.get $n) (i64.const 30)) (call $free (local.get $n)) (drop (call $alloc (i64.const 30)))`+done, ends(Ready, Answer, Crashed)),
		resolve("error-out-of-range", `(call $error_set (i64.const 0x10000000000)) (return (i32.const 1))`, ends(Guest, Crashed, Answer)),
		resolve("error-into-a-block", `(call $error_set (i64.add (call $alloc (i64.const 100)) (i64.const 7))) (return (i32.const 1))`, ends(Guest, Crashed, Answer)),
		resolve("error-not-utf8", `(local.set $n (call $alloc (i64.const 8))) (call $store_u64 (local.get $n) (i64.const 0x800aff1b_0dfec3f0))
			(call $error_set (local.get $n)) (return (i32.const 1))`, ends(Guest, Crashed)),
		resolve("error-without-text", `(return (i32.const 1))`, ends(Guest)),
		resolve("result-not-zero", `(call $output_set (call $text (i32.const 131072) (i32.const 30)) (i64.const 30)) (return (i32.const -7))`, ends(Guest)),
		resolve("log-out-of-range", `(call $log_info (i64.const 0x10000000000))`, anyEnd),
		resolve("log-not-utf8", `(local.set $n (call $alloc (i64.const 8))) (call $store_u64 (local.get $n) (i64.const 0x800aff1b_0dfec3f0)) (call $log_info (local.get $n))`, rows()),
		resolve("config-out-of-range", `(if (i64.ne (call $config_get (i64.const 0x10000000000)) (i64.const 0)) (then (unreachable)))`, ends(Ready, Crashed)),
		resolve("fs-path-out-of-range", `(drop (call $fs_read (i64.const 0x10000000000) (i64.const 0) (i64.const 10)))`, anyEnd),
		resolve("fs-path-zero", `(drop (call $fs_stat (i64.const 0)))`, anyEnd),
		resolve("fs-path-of-15-mb", `(drop (call $fs_list (call $alloc (i64.const 15000000))))`, anyEnd),
		resolve("fs-negative-range", `(if (i64.ne (i64.const 0) (call $fs_read (call $text (i32.const 65536) (i32.const 1)) (i64.const -1) (i64.const -1))) (then (unreachable)))`, anyEnd),
		resolve("free-twice", `(local.set $n (call $alloc (i64.const 100))) (call $free (local.get $n)) (call $free (local.get $n))
			(drop (call $alloc (i64.const 100))) (drop (call $alloc (i64.const 100)))`, anyEnd),
		resolve("free-what-is-no-block", `(call $free (i64.const 0x10000000000)) (call $free (i64.const 3)) (call $free (i64.const -1))`, anyEnd),
		resolve("free-the-input", `(call $free (call $input_offset)) (drop (call $alloc (i64.const 10)))`, anyEnd),
		resolve("store-out-of-range", `(call $store_u64 (i64.const 0x7fffffffffffffff) (i64.const 1))`, anyEnd),
		// The kernel's own list of blocks, overwritten: lengths, links, counters.
		resolve("kernel-overwritten", `(loop $l (call $store_u64 (i64.extend_i32_u (local.get $i)) (i64.const -1))
			(br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 8))) (i32.const 65536))))`, anyEnd),
		resolve("kernel-zeroed", `(loop $l (call $store_u64 (i64.extend_i32_u (local.get $i)) (i64.const 0))
			(br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 8))) (i32.const 65536)))) (drop (call $alloc (i64.const 10)))`, anyEnd),
		resolve("kernel-read-whole", `(loop $l (local.set $n (i64.add (local.get $n) (i64.const 8))) (drop (call $load_u64 (local.get $n))) (br $l))`, anyEnd),
	}
	return append(list, wasiPointers()...)
}

// wasiPointers are those of WASI, which the engine has to check.
func wasiPointers() []Case {
	call := func(name, fn, params, args string) Case {
		return Case{Name: name, Module: module{
			Imports: wasi(fn, params),
			Resolve: fmt.Sprintf(`(if (i32.eqz (call $%s %s)) (then (unreachable)))`, fn, args), // it must fail
		}.build, Want: ends(Ready, Crashed)}
	}
	return []Case{
		call("wasi-iovs-out-of-range", "fd_write", "i32 i32 i32 i32", `(i32.const 2) (i32.const -16) (i32.const 1) (i32.const 65536)`),
		call("wasi-iovs-100-million", "fd_write", "i32 i32 i32 i32", `(i32.const 2) (i32.const 65536) (i32.const 100000000) (i32.const 65536)`),
		call("wasi-result-out-of-range", "fd_write", "i32 i32 i32 i32", `(i32.const 2) (i32.const 65536) (i32.const 1) (i32.const -2)`),
		call("wasi-path-out-of-range", "path_open", "i32 i32 i32 i32 i32 i64 i64 i32 i32", `(i32.const 3) (i32.const 0) (i32.const -10) (i32.const 100)
			(i32.const 0) (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 65600)`),
		call("wasi-path-of-4-gib", "path_open", "i32 i32 i32 i32 i32 i64 i64 i32 i32", `(i32.const 3) (i32.const 0) (i32.const 65536) (i32.const -1)
			(i32.const 0) (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 65600)`),
		call("wasi-readdir-out-of-range", "fd_readdir", "i32 i32 i32 i64 i32", `(i32.const 3) (i32.const -10) (i32.const 100000) (i64.const -1) (i32.const 65600)`),
		call("wasi-random-out-of-range", "random_get", "i32 i32", `(i32.const -10) (i32.const 0x7fffffff)`),
		call("wasi-descriptor-negative", "fd_close", "i32", `(i32.const -1)`),
		call("wasi-poll-4-billion", "poll_oneoff", "i32 i32 i32 i32", `(i32.const 65536) (i32.const 65536) (i32.const -1) (i32.const 65536)`),
	}
}

// responses are answers of resolve.
func responses() []Case {
	says := func(name, response string, want Want) Case {
		return Case{Name: name, Module: module{Response: response}.build, Want: want}
	}
	row := func(text string) string { return `{"resources":[` + text + `]}` }
	good := `{"kind":"instruction_file","path":"VICTIM2.md","content":{"inline":"x"}}`
	// A bad row is dropped with a warning, and the good one beside it stands.
	drops := func(name, text, warning string) Case {
		c := says(name, row(text+","+good), rows("instruction_file:VICTIM2.md ok").warning(warning))
		c.Workspace = tree("VICTIM2.md = x", ".env = TOKEN", ".mcp.json = {}", "private/x = x")
		return c
	}
	path := func(name, path string) Case {
		return drops("path-"+name, `{"kind":"instruction_file","path":"`+path+`","content":{"inline":"x"}}`, `not a clean path|no such file|reads`)
	}
	content := func(name, file string) Case {
		return drops("content-"+name, `{"kind":"instruction_file","path":"VICTIM2.md","key":"k","content":{"file":"`+file+`"}}`,
			`not clean|may not read|doesn't exist`)
	}
	many := func() []byte {
		return module{Response: row(strings.TrimSuffix(strings.Repeat(`{"kind":"instruction_file","path":"VICTIM.md","key":"k"},`, 100_000), ","))}.build()
	}
	list := []Case{
		says("not-json", "hello", ends(Answer)),
		says("cut", `{"resources":[`, ends(Answer)),
		says("text-after-it", `{"resources":[]} x`, ends(Answer)),
		says("a-list", `[]`, ends(Answer)),
		says("null", `null`, ends(Answer, Ready)),
		says("not-utf8", "{\"resources\":[],\"warnings\":[\"\xff\xfe\"]}", ends(Answer)),
		says("lone-surrogate", `{"warnings":["\ud800"]}`, ends(Answer)),
		says("deep-10001", `{"x":`+strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000)+`}`, ends(Answer)),
		says("deep-10001-objects", strings.Repeat(`{"x":`, 10_001)+"1"+strings.Repeat("}", 10_001), ends(Answer)),
		says("deep-never-closed", `{"x":`+strings.Repeat("[", 500_000), ends(Answer)),
		says("duplicate-keys", `{"resources":[],"resources":[]}`, ends(Answer)),
		says("duplicate-keys-escaped", `{"warnings":[],"w\u0061rnings":[]}`, ends(Answer)),
		says("duplicate-keys-unknown", `{"x":{"a":1,"a":2}}`, ends(Answer)),
		says("nan", `{"resources":NaN}`, ends(Answer)),
		says("nan-unknown", `{"x":NaN}`, ends(Answer)),
		says("number-huge", `{"x":1e999999999}`, ends(Answer, Ready)),
		says("number-of-a-megabyte", `{"x":`+strings.Repeat("9", 1_000_000)+`}`, ends(Answer, Ready)),
		says("name-is-a-number", row(`{"kind":"instruction_file","path":"VICTIM2.md","name":7}`), ends(Answer)),
		says("attributes-nested", row(`{"kind":"instruction_file","path":"VICTIM2.md","attributes":{"a":{"b":"c"}}}`), ends(Answer)),
		says("warnings-100000", `{"warnings":["`+strings.Repeat(`a","`, 100_000)+`b"]}`, rows()),
		says("warning-of-a-megabyte", `{"warnings":["`+strings.Repeat("a", 1_000_000)+`"]}`, rows()),
		says("warning-with-controls", `{"warnings":["\u001b[31mred\u0000\n\u202e"]}`, rows()),
		drops("kind-undeclared", `{"kind":"skill","path":"VICTIM2.md","content":{"inline":"x"}}`, `kind is not declared`),
		drops("kind-mcp-server", `{"kind":"mcp_server","path":"VICTIM2.md","content":{"inline":"x"}}`, `kind is not declared`),
		drops("kind-unknown", `{"kind":"\u0000x","path":"VICTIM2.md"}`, `kind is not declared`),
		drops("status-of-the-host", `{"kind":"instruction_file","path":"VICTIM2.md","key":"k","status":"excluded"}`, `status`),
		drops("name-of-100-kb", `{"kind":"instruction_file","path":"VICTIM2.md","key":"k","name":"`+strings.Repeat("a", 100_000)+`"}`, `name is longer`),
		drops("key-of-100-kb", `{"kind":"instruction_file","path":"VICTIM2.md","key":"`+strings.Repeat("a", 100_000)+`"}`, `key is longer`),
		drops("attributes-of-100-kb", `{"kind":"instruction_file","path":"VICTIM2.md","key":"k","attributes":{"a":"`+strings.Repeat("a", 100_000)+`"}}`, `attributes`),
		path("parent", `../outside`),
		path("parent-inside", `a/../../outside`),
		path("absolute", `/etc/passwd`),
		path("nul", `a\u0000b`),
		path("backslash", `..\\outside`),
		path("empty", ``),
		path("double-slash", `a//b`),
		path("long", strings.Repeat("a/", 5000)+"b"),
		path("missing", `missing.md`),
		content("parent", `../outside/secret`),
		content("absolute", `/etc/passwd`),
		content("nul", `VICTIM.md\u0000.txt`),
		content("secret", `.env`),
		content("mcp", `.mcp.json`),
		content("missing", `missing`),
	}
	list = append(list, Case{
		Name: "resources-100000", Module: many, Memory: 192, Want: ends(Answer).saying("are allowed"),
	}, Case{
		Name: "resources-100000-allowed", Module: many, Within: 6 * time.Second, Memory: 192,
		Limits: limitsOf(5*time.Second, 16<<20), Want: Want{Warning: `the first 1000 are kept`},
	}, Case{
		Name: "outside-reads",
		Module: module{
			Description: `{"abi":1,"name":"hostile","version":"1.0.0","resolvers":[{"name":"r","kinds":["instruction_file"],"reads":["docs/**"]}]}`,
			Response:    row(`{"kind":"instruction_file","path":"docs/a.md","content":{"file":"private/x"}},{"kind":"instruction_file","path":"private/x"}`),
		}.build,
		Workspace: tree("private/x = x", "docs/a.md = a"),
		Want:      rows().warning(`may not read`),
	})
	return list
}

// descriptions are answers of describe.
func descriptions() []Case {
	says := func(name, description, text string) Case {
		return Case{Name: name, Module: module{Description: description}.build, Want: rejected(text)}
	}
	with := func(resolvers string) string {
		return `{"abi":1,"name":"hostile","version":"1.0.0","resolvers":[` + resolvers + `]}`
	}
	one := func(reads string) string {
		return with(`{"name":"r","kinds":["skill"],"reads":[` + reads + `]}`)
	}
	repeated := func(text string, n int) string { return strings.TrimSuffix(strings.Repeat(text+",", n), ",") }
	return []Case{
		says("not-json", "hello", `not a Description`),
		says("deep", `{"x":`+strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000)+`}`, `not a Description`),
		says("duplicate-keys", `{"abi":1,"abi":1}`, `not a Description`),
		says("abi-2", `{"abi":2,"name":"hostile","version":"1.0.0","resolvers":[]}`, `version 2.*version 1`),
		says("abi-huge", `{"abi":99999999999999999999,"name":"hostile","version":"1.0.0"}`, `not a Description`),
		says("name-with-path", `{"abi":1,"name":"../../x","version":"1.0.0","resolvers":[]}`, `name`),
		says("name-with-line-break", `{"abi":1,"name":"a\nERROR all is lost","version":"1.0.0","resolvers":[]}`, `name`),
		says("version-with-escape", `{"abi":1,"name":"hostile","version":"\u001b[2J","resolvers":[]}`, `version`),
		says("no-resolvers", with(""), `0 resolvers`),
		says("resolvers-1000", with(repeated(`{"name":"r","kinds":["skill"],"reads":[]}`, 1000)), `1000 resolvers`),
		says("resolver-twice", with(repeated(`{"name":"r","kinds":["skill"],"reads":[]}`, 2)), `two resolvers`),
		says("kind-mcp-server", with(`{"name":"r","kinds":["mcp_server"],"reads":[]}`), `mcp_server`),
		says("kind-unknown", with(`{"name":"r","kinds":["admin"],"reads":[]}`), `unknown kind`),
		says("reads-100000", one(repeated(`"a"`, 100_000)), `too many reads`),
		says("kinds-100000", with(`{"name":"r","kinds":[`+repeated(`"skill"`, 100_000)+`],"reads":[]}`), `declares 100000 kinds`),
		says("config-key-of-100-kb", with(`{"name":"r","kinds":["skill"],"reads":[],"reads_from_config":["`+strings.Repeat("a", 100_000)+`"]}`), `reads_from_config`),
		says("reads-parent", one(`"../**"`), `invalid pattern`),
		says("reads-absolute", one(`"/etc/**"`), `invalid pattern`),
		says("reads-backslash", one(`"a\\b"`), `invalid pattern`),
		says("reads-no-pattern", one(`"[a"`), `invalid pattern`),
		says("two-megabytes", with(`{"name":"r","summary":"`+strings.Repeat("a", 2<<20)+`","kinds":["skill"],"reads":[]}`), `allowed`),
	}
}
