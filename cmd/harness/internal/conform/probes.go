package conform

import (
	"bytes"
	"encoding/json"
	"fmt"
)

const ignoreUnknown = "ignore fields that you don't know: later hosts send more (abi/ABI.md, \"Versions\")"

// soundRequests are requests that version 1 allows.
func soundRequests() []probe {
	const anyJSON = "use a JSON reader that knows all of RFC 8259: order of keys, blanks and escapes mean nothing"
	return []probe{
		{"with unknown fields", func(r request) string {
			return fmt.Sprintf(`{"abi":1,"future":{"a":[1,2.5e3,null,true,{"b":"\u00e9\n"}]},"resolver":%s,"root":{"name":%s,"file":"","role":"","device":42,"tags":[]},`+
				`"config":%s,"limits":{"max_resource_bytes":65536,"max_resources":500,"max_colors":-1},"trace":"x"}`, quote(r.resolver), quote(r.root), r.config)
		}, same, ignoreUnknown},
		{"whose keys come in another order", func(r request) string {
			return fmt.Sprintf(`{"limits":{"max_resources":500,"max_resource_bytes":65536},"config":%s,"root":{"role":"","file":"","name":%s},"resolver":%s,"abi":1}`,
				r.config, quote(r.root), quote(r.resolver))
		}, same, anyJSON},
		{"with blanks between everything", func(r request) string {
			var b bytes.Buffer
			if json.Indent(&b, []byte(r.json()), "\r\n", " \t") != nil {
				return r.json()
			}
			return " \n" + b.String() + "\r\n"
		}, same, anyJSON},
		{"whose texts are escaped", func(r request) string {
			escaped := ""
			for _, ch := range r.resolver {
				escaped += fmt.Sprintf(`\u%04x`, ch)
			}
			r.resolver = "\x01"
			return string(bytes.Replace([]byte(r.json()), []byte(`\u0001`), []byte(escaped), 1))
		}, same, anyJSON},
		{"in a root with an odd name", func(r request) string {
			r.root = "a \"b\" \\ <é> 😀\u2028\n"
			return r.json()
		}, answered, "take root.name as it comes"},
		{"with very small limits", func(r request) string {
			return r.limited(1, 1)
		}, answered, "answer with less, not with an error"},
		{"with the largest limits that an operator can set", func(r request) string {
			return r.limited(128<<10, 1000)
		}, answered, "limits say what is kept, not what to allocate"},
		{"with limits larger than its memory", func(r request) string {
			return r.limited(1<<53-1, 1<<31-1)
		}, wished, "limits say what is kept, not what to allocate"},
	}
}

// unsoundRequests can't be answered.
func unsoundRequests() []probe {
	const say = "compare what the request says with what you know, and answer with an error that names both"
	return []probe{
		{"for a resolver that it doesn't have", func(r request) string {
			r.resolver = "no-such-resolver"
			return r.json()
		}, refused, say},
		{"of ABI version 2", func(r request) string {
			return `{"abi":2` + r.json()[len(`{"abi":1`):]
		}, refused, say},
		{"without a version", func(r request) string { return `{` + r.json()[len(`{"abi":1,`):] }, unbroken, say},
		{"that is cut off", func(r request) string { return r.json()[:len(r.json())/2] }, unbroken, "answer what isn't JSON with an error"},
		{"that isn't JSON", func(request) string { return "\xff\x00{" }, unbroken, "answer what isn't JSON with an error"},
		{"that is empty", func(request) string { return "" }, unbroken, "answer what isn't JSON with an error"},
	}
}

// configRequests put values of every type under the keys that hold paths.
func configRequests(keys []string) []probe {
	var probes []probe
	for _, key := range keys {
		for _, value := range []string{`42`, `true`, `{}`, `[1]`, `""`, `"../../etc/passwd"`, `"/"`, `"a\u0000b"`, `[]`, `"no/such/file"`} {
			probes = append(probes, probe{
				"whose config has " + value + " under " + key, func(r request) string {
					r.config = "{" + quote(key) + ":" + value + "}"
					return r.json()
				}, either, "check the types and values of your config",
			})
		}
	}
	return probes
}
