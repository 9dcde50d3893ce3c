package servers_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"waymark/plugins/mcpconfig/servers"
)

func TestParse(t *testing.T) {
	t.Parallel()
	s := func(list ...servers.Server) []servers.Server { return list }
	tests := map[string]struct {
		text string
		want []servers.Server
	}{
		"none":    {`{"mcpServers":{}}`, nil},
		"no key":  {`{"servers":{"a":{"command":"x"}}}`, nil},
		"null":    {`{"mcpServers":null}`, nil},
		"another": {`{"mcpservers":{"a":{"command":"x"}}}`, nil},
		"all of stdio": {
			`{"mcpServers":{"a":{"type":"stdio","command":"x","args":["-y","$B"],"env":{"K":"${V}","E":""},"cwd":"sub","timeout":5}}}`,
			s(servers.Server{Name: "a", Transport: "stdio", Command: "x", Args: []string{"-y", "$B"}, Env: map[string]string{"K": "${V}", "E": ""}, Cwd: "sub"}),
		},
		"all of http": {
			`{"mcpServers":{"a":{"type":"http","url":"https://h/","headers":{"X-K":"v"}}}}`,
			s(servers.Server{Name: "a", Transport: "http", URL: "https://h/", Headers: map[string]string{"X-K": "v"}}),
		},
		"transports": {
			`{"mcpServers":{"a":{"command":"x","url":"u"},"b":{"url":"u"},"c":{"type":"","url":"u"},"d":{"type":"streamable-http","url":"u"},"e":{"type":"sse","url":"u"},
			"f":{"type":"http","command":"x","url":"u"}}}`,
			s(servers.Server{Name: "a", Transport: "stdio", Command: "x", URL: "u"}, servers.Server{Name: "b", Transport: "http", URL: "u"},
				servers.Server{Name: "c", Transport: "http", URL: "u"}, servers.Server{Name: "d", Transport: "http", URL: "u"},
				servers.Server{Name: "e", Transport: "sse", URL: "u"}, servers.Server{Name: "f", Transport: "http", Command: "x", URL: "u"}),
		},
		"the last of a name": {
			`{"mcpServers":{"a":{"command":"x","cwd":"c"},"b":{"command":"b"},"a":{"command":"y"}}}`,
			s(servers.Server{Name: "b", Transport: "stdio", Command: "b"}, servers.Server{Name: "a", Transport: "stdio", Command: "y"}),
		},
		"by an escape, too": {
			`{"mcpServers":{"a":{"command":"x"},"\u0061":{"command":"y"}}}`,
			s(servers.Server{Name: "a", Transport: "stdio", Command: "y"}),
		},
		"the last of all": {
			`{"mcpServers":{"a":{"command":"x"}},"mcpServers":{"b":{"command":"x"}}}`,
			s(servers.Server{Name: "b", Transport: "stdio", Command: "x"}),
		},
		"the last of a key": {
			`{"mcpServers":{"a":{"command":1,"command":"x","args":["a"],"args":["b"],"env":{"K":1,"K":"2"}}}}`,
			s(servers.Server{Name: "a", Transport: "stdio", Command: "x", Args: []string{"b"}, Env: map[string]string{"K": "2"}}),
		},
		"nulls": {
			`{"mcpServers":{"a":{"type":null,"command":"x","args":null,"env":{"K":null},"cwd":null,"url":null,"headers":null}}}`,
			s(servers.Server{Name: "a", Transport: "stdio", Command: "x", Env: map[string]string{}}),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := servers.Parse(servers.Claude, []byte(tt.text))
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}

// TestProblems: a bad entry costs that entry, and says why without its values.
func TestProblems(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		`"secret"`:                               "it is a string, not an object",
		`null`:                                   "it is null, not an object",
		`[{"command":"secret"}]`:                 "it is a list, not an object",
		`7`:                                      "it is a number, not an object",
		`true`:                                   "it is a boolean, not an object",
		`{}`:                                     "it has neither a command nor a url",
		`{"type":"stdio","url":"secret"}`:        "its type is stdio, and it has no command",
		`{"type":"sse","command":"secret"}`:      "its type is sse, and it has no url",
		`{"type":"secret","command":"x"}`:        "its type is none of stdio, http, streamable-http and sse",
		`{"type":1,"command":"x"}`:               "type is a number, not a string",
		`{"command":["secret"]}`:                 "command is a list, not a string",
		`{"command":"secret\u0000"}`:             "command holds a NUL character",
		`{"command":"x","args":"secret"}`:        "args is a string, not a list",
		`{"command":"x","args":["secret",1]}`:    "args[1] is a number, not a string",
		`{"command":"x","args":[null]}`:          "args[0] is null, not a string",
		`{"command":"x","args":["a\u0000"]}`:     "args[0] holds a NUL character",
		`{"command":"x","env":["secret"]}`:       "env is a list, not an object",
		`{"command":"x","env":{"PORT":80}}`:      `env "PORT" is a number, not a string`,
		`{"command":"x","env":{"":"secret"}}`:    `env "" is a variable without a name`,
		`{"command":"x","env":{"A=B":"secret"}}`: `env "A=B" can't be a variable's name`,
		`{"command":"x","cwd":{}}`:               "cwd is an object, not a string",
		`{"url":true}`:                           "url is a boolean, not a string",
		`{"url":"u","headers":1}`:                "headers is a number, not an object",
		`{"url":"u","headers":{"A B":"secret"}}`: `headers "A B" can't be a header's name`,
		`{"url":"u","headers":{"A":"x\r\ny"}}`:   `headers "A" holds a line break`,
		`{"url":"u","headers":{"A":"","a":""}}`:  `headers has "A" and "a", which are one`,
	} {
		got, err := servers.Parse(servers.Claude, []byte(`{"mcpServers":{"bad":`+entry+`,"good":{"command":"x"}}}`))
		if err != nil || len(got) != 2 || got[1].Problem != "" {
			t.Fatalf("%s: %+v, %v", entry, got, err)
		}
		if want := (servers.Server{Name: "bad", Problem: want}); !reflect.DeepEqual(got[0], want) {
			t.Errorf("%s: %+v, want %+v", entry, got[0], want)
		}
	}
	long := `{"mcpServers":{"a":{"command":"x","env":{"` + strings.Repeat("é", 5000) + `=":""}}}}`
	if got, _ := servers.Parse(servers.Claude, []byte(long)); len(got) != 1 || len(got[0].Problem) > 200 || !strings.Contains(got[0].Problem, "…") {
		t.Errorf("%+v", got)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]bool{
		"a": true, "a_b": true, "a-b.c": true, "a b": true, "日本": true, "a/b": true, "...": true, strings.Repeat("n", 128): true,
		"": false, "_": false, "_a": false, "a_": false, "a__b": false, "__": false, ".": false, "..": false,
		"a\x00": false, "a\nb": false, "a\x1b[m": false, "\u009b": false, "\u2028": false, "\xff": false, strings.Repeat("n", 129): false,
	} {
		key, _ := json.Marshal(name)
		if strings.HasSuffix(name, "\xff") {
			key = []byte("\"\xff\"")
		}
		got, err := servers.Parse(servers.Claude, []byte(`{"mcpServers":{`+string(key)+`:{"command":"x"}}}`))
		if err != nil || len(got) != 1 || (got[0].Problem == "") != good {
			t.Errorf("%q: %+v, %v", name, got, err)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                        "invalid JSON in line 1: unexpected end",
		`[]`:                      "it is a list, not an object",
		`{"mcpServers":"secret"}`: "mcpServers is a string, not an object",
		"{\"mcpServers\":{\n\"a\":{\"command\":x}}": "invalid JSON in line 2: a value is expected",
		"\ufeff{}": "invalid JSON in line 1: it begins with a byte order mark",
	} {
		if got, err := servers.Parse(servers.Claude, []byte(text)); err == nil || err.Error() != want || got != nil {
			t.Errorf("%s: %+v, %v, want %s", text, got, err, want)
		}
	}
}

// FuzzCheck compares the verdict with what encoding/json makes of the file.
func FuzzCheck(f *testing.F) {
	f.Add([]byte(`{"mcpServers":{"a":{"url":"x"}}}`))
	f.Add([]byte(`{"mcpServers":{"a":[]},"x":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got := servers.Check(servers.Claude, text)
		var top map[string]json.RawMessage
		if err := json.Unmarshal(text, &top); err != nil || top == nil {
			if got == "" {
				t.Fatalf("%q passes, encoding/json says %v", text, err)
			}
			return
		}
		if got != "" && !strings.Contains(got, "nested deeper") && !strings.Contains(got, "mcpServers") {
			t.Fatalf("%q is an object, but: %s", text, got)
		}
		var servers map[string]json.RawMessage
		if raw := top["mcpServers"]; got == "" && raw != nil && json.Unmarshal(raw, &servers) != nil {
			t.Fatalf("%q passes, but mcpServers is %s", text, raw)
		}
	})
}

// FuzzParse: Parse takes what Check takes, and what it says is usable is what
// encoding/json reads there.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"mcpServers":{"a":{"command":"x","args":["y"],"env":{"K":"V"},"cwd":"c"},"b":{"type":"sse","url":"u","headers":{"H":"v"}}}}`))
	f.Add([]byte(`{"mcpServers":{"a":{"command":1,"command":"x"},"a":{"url":"u","env":{"K":null}},"_":{}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := servers.Parse(servers.Claude, text)
		if problem := servers.Check(servers.Claude, text); (err == nil) != (problem == "") || err != nil && err.Error() != problem {
			t.Fatalf("Parse says %v, Check %q", err, problem)
		}
		seen := map[string]bool{}
		for _, s := range list {
			if seen[s.Name] && s.Problem == "" {
				t.Errorf("two are called %q", s.Name)
			}
			seen[s.Name] = true
			if s.Problem != "" {
				if !reflect.DeepEqual(s, servers.Server{Name: s.Name, Problem: s.Problem}) {
					t.Errorf("a bad entry has more than its problem: %+v", s)
				}
				continue
			}
			if s.Name == "" || strings.Contains(s.Name, "__") || strings.Trim(s.Name, "_") != s.Name {
				t.Errorf("%q is taken for a name", s.Name)
			}
			if s.Transport == servers.Stdio && s.Command == "" || s.Transport != servers.Stdio && s.URL == "" {
				t.Errorf("%+v is taken", s)
			}
		}
	})
}
