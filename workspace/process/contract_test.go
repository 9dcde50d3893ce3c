package process_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"waymark/agentapi"
	"waymark/workspace/launch"
	"waymark/workspace/supervisor"
)

const (
	chatA = "aaaaaaaa-0000-4000-8000-000000000000"
	chatB = "bbbbbbbb-0000-4000-8000-000000000000"
)

// TestContract is what SERVICES.md says of processes, case by case: a request,
// and what must come of it.
func TestContract(t *testing.T) {
	w := newWorld(t, newSupervisor(t, supervisor.Limits{}))
	a := []string{agentapi.HeaderChat, chatA}
	running := w.sh("echo begun; sleep 1000", a...)
	exited := w.sh("echo done; exit 3", a...)
	w.output(exited)
	token := w.start(agentapi.StartProcess{Command: "true", ClientToken: "t/1"}, a...)
	trackedID := uuid.NewString()
	tracked := fmt.Sprintf(`"process_id":%q,"agent_instance_id":%q,"input_digest":%q`, trackedID, instance(w), strings.Repeat("ab", 32))
	fenced := fmt.Sprintf(`"process_id":%q,"agent_instance_id":%q,"input_digest":%q`, uuid.NewString(), instance(w), strings.Repeat("ab", 32))
	elsewhere := fmt.Sprintf(`"process_id":%q,"agent_instance_id":%q,"input_digest":%q`, uuid.NewString(), uuid.NewString(), strings.Repeat("ab", 32))
	long := strings.Repeat("x", 128<<10)
	const start, list, cancel = agentapi.PathStart, agentapi.PathList, agentapi.PathCancelTracked
	for _, c := range []struct {
		name, method, target, body string
		headers                    []string
		code                       int
		contains                   string
	}{
		// Starting.
		{"start", "POST", start, `{"command":"true"}`, nil, 200, `"started":true`},
		{"start with everything of Coder's that is zero", "POST", start,
			`{"command":"true","process_id":"00000000-0000-0000-0000-000000000000","agent_instance_id":"00000000-0000-0000-0000-000000000000","input_digest":"","deadline":"0001-01-01T00:00:00Z"}`, nil, 200, `"started":true`},
		{"start names who holds it", "POST", start, `{"command":"true"}`, nil, 200, `"agent_instance_id":"` + instance(w) + `"`},
		{"empty command", "POST", start, `{"command":""}`, nil, 400, `{"message":"Command is required"`},
		{"no command", "POST", start, `{}`, nil, 400, `{"message":"Command is required"`},
		{"no JSON", "POST", start, `{"command"`, nil, 400, `"message"`},
		{"no body", "POST", start, "", nil, 400, `"message"`},
		{"another type of JSON", "POST", start, `{"command":1}`, nil, 400, `"message"`},
		{"unknown member", "POST", start, `{"command":"true","comand":1}`, nil, 400, "comand"},
		{"form", "POST", start, `{"command":"true"}`, []string{"Content-Type", "text/plain"}, 415, ""},
		{"command and argv", "POST", start, `{"command":"true","argv":["true"]}`, nil, 400, "exclude each other"},
		{"argv without a program", "POST", start, `{"argv":[""]}`, nil, 400, "name of a program"},
		{"a program that isn't there", "POST", start, `{"argv":["no-such-program"]}`, nil, 400, "no-such-program"},
		{"a program that isn't one", "POST", start, `{"argv":["/"]}`, nil, 400, ""},
		{"NUL in the command", "POST", start, `{"command":"a\u0000b"}`, nil, 400, "NUL"},
		{"NUL in a variable", "POST", start, `{"command":"true","env":{"A":"\u0000"}}`, nil, 400, "NUL"},
		{"NUL in argv", "POST", start, `{"argv":["true","\u0000"]}`, nil, 400, "NUL"},
		{"NUL in the directory", "POST", start, `{"command":"true","workdir":"/\u0000"}`, nil, 400, "NUL"},
		{"a variable without a name", "POST", start, `{"command":"true","env":{"":"x"}}`, nil, 400, "name of a variable"},
		{"a name with =", "POST", start, `{"command":"true","env":{"A=B":"x"}}`, nil, 400, "name of a variable"},
		{"command too long", "POST", start, `{"command":"` + long + `"}`, nil, 400, "131071"},
		{"variable too long", "POST", start, `{"command":"true","env":{"A":"` + long + `"}}`, nil, 400, "131071"},
		{"too many arguments", "POST", start, `{"argv":["true"` + strings.Repeat(`,"`+long[:100<<10]+`"`, 11) + `]}`, nil, 400, "1048576"},
		{"body too large", "POST", start, `{"command":"` + strings.Repeat("x", 3<<20) + `"}`, nil, 413, ""},
		{"no such directory", "POST", start, `{"command":"true","workdir":"/no/such"}`, nil, 400, "/no/such"},
		{"directory is a file", "POST", start, `{"command":"true","workdir":"/dev/null"}`, nil, 400, "not a directory"},
		{"negative timeout", "POST", start, `{"command":"true","timeout_ms":-1}`, nil, 400, "timeout_ms"},
		{"endless timeout", "POST", start, `{"command":"true","timeout_ms":9000000000000000}`, nil, 400, "timeout_ms"},
		{"half a size", "POST", start, `{"command":"true","pty":{"rows":0,"cols":80}}`, nil, 400, "rows and cols"},
		{"unknown profile", "POST", start, `{"command":"true","profile":"x"}`, nil, 400, "profile is"},
		{"token too long", "POST", start, `{"command":"true","client_token":"` + long[:1025] + `"}`, nil, 400, "1024"},
		{"chat is no UUID", "POST", start, `{"command":"true"}`, []string{agentapi.HeaderChat, "x"}, 400, "UUID"},
		{"ancestors are no array", "POST", start, `{"command":"true"}`, []string{agentapi.HeaderChat, chatA, agentapi.HeaderAncestors, "x"}, 400, "UUIDs"},
		{"ancestors without a chat", "POST", start, `{"command":"true"}`, []string{agentapi.HeaderAncestors, "x"}, 200, ""},

		// Exactly once.
		{"same token", "POST", start, `{"command":"true","client_token":"t/1"}`, a, 200, `{"id":"` + token + `","started":false,"client_token":"t/1","attached":true`},
		{"same token, another command", "POST", start, `{"command":"false","client_token":"t/1"}`, a, 409, "another start"},
		{"same token, another background", "POST", start, `{"command":"true","background":true,"client_token":"t/1"}`, a, 409, "another start"},
		{"same token, another environment", "POST", start, `{"command":"true","env":{"A":"1"},"client_token":"t/1"}`, a, 409, "another start"},
		{"same token, another chat", "POST", start, `{"command":"true","client_token":"t/1"}`, []string{agentapi.HeaderChat, chatB}, 409, "another start"},
		{"same token, no chat", "POST", start, `{"command":"true","client_token":"t/1"}`, nil, 409, "another start"},
		{"token", "GET", agentapi.PathTokens + "/t%2F1", "", nil, 200, `{"found":true,"process_id":"` + token + `","pending":false,"token_index_age_ms":`},
		{"token of the chat", "GET", agentapi.PathTokens + "/t%2F1", "", a, 200, `"found":true`},
		{"token of another chat", "GET", agentapi.PathTokens + "/t%2F1", "", []string{agentapi.HeaderChat, chatB}, 200, `{"found":false,"process_id":"","pending":false`},
		{"token, bad chat", "GET", agentapi.PathTokens + "/none", "", []string{agentapi.HeaderChat, "x"}, 400, "UUID"},
		{"unknown token", "GET", agentapi.PathTokens + "/none", "", nil, 200, `{"found":false,"process_id":"","pending":false`},
		{"tracked", "POST", start, `{"command":"exit 7",` + tracked + `}`, a, 200, `"started":true`},
		{"tracked again", "POST", start, `{"command":"exit 7",` + tracked + `}`, a, 200, `"attached":true`},
		{"tracked, another chat", "POST", start, `{"command":"exit 7",` + tracked + `}`, nil, 409, "another start"},
		{"tracked, another digest", "POST", start, `{"command":"exit 7",` + strings.Replace(tracked, "abab", "cdcd", 1) + `}`, a, 409, "another start"},
		{"tracked by another instance", "POST", start, `{"command":"true",` + elsewhere + `}`, nil, 409, "another one now"},
		{"tracked, too late", "POST", start, `{"command":"true","deadline":"2001-02-03T04:05:06Z",` + fenced + `}`, a, 410, `"agent_instance_id"`},
		{"half tracked", "POST", start, `{"command":"true","process_id":"` + uuid.NewString() + `"}`, nil, 400, "agent_instance_id"},
		{"tracked without an id", "POST", start, `{"command":"true","input_digest":"ab"}`, nil, 400, "process_id"},
		{"tracked with a short digest", "POST", start, `{"command":"true",` + strings.Replace(tracked, "abab", "ab", 1) + `}`, nil, 400, "input_digest"},
		{"tracked until no time", "POST", start, `{"command":"true","deadline":"soon",` + tracked + `}`, nil, 400, "RFC 3339"},
		{"cancel what never started", "POST", cancel, `{` + fenced + `}`, a, 200, `"fenced":true`},
		{"start what was fenced off", "POST", start, `{"command":"true",` + fenced + `}`, a, 410, `"agent_instance_id"`},
		{"cancel another digest", "POST", cancel, `{` + strings.Replace(tracked, "abab", "cdcd", 1) + `}`, a, 409, "another start"},
		{"cancel another chat's", "POST", cancel, `{` + tracked + `}`, nil, 409, "another start"},
		{"output of a tracked one", "GET", path(trackedID, "output?wait=true"), "", a, 200, `"exit_code":7`},
		{"cancel what has ended", "POST", cancel, `{"wait_ms":60000,` + tracked + `}`, a, 200, `"exit_code":7`},
		{"cancel at another instance", "POST", cancel, `{` + elsewhere + `}`, nil, 409, "another one now"},
		{"cancel nothing", "POST", cancel, `{}`, nil, 400, "process_id"},
		{"cancel, waiting backwards", "POST", cancel, `{"wait_ms":-1,` + tracked + `}`, a, 400, "wait_ms"},

		// Lists.
		{"list names who holds them", "GET", list, "", a, 200, `"agent_instance_id":"` + instance(w) + `"`},
		{"an empty list is none", "GET", list, "", []string{agentapi.HeaderChat, uuid.NewString()}, 200, `{"processes":[],`},
		{"list with a body", "GET", list, "{}", nil, 400, "no body"},
		{"list, bad limit", "GET", list + "?limit=-1", "", nil, 400, "limit"},
		{"list, bad chat", "GET", list, "", []string{agentapi.HeaderChat, "x"}, 400, "UUID"},

		// Output.
		{"output", "GET", path(exited, "output"), "", nil, 200, `{"output":"done\n","running":false,"exit_code":3}`},
		{"output of the chat", "GET", path(exited, "output"), "", a, 200, `"exit_code":3`},
		{"output of another chat", "GET", path(exited, "output"), "", []string{agentapi.HeaderChat, chatB}, 404, "there is no process"},
		{"output of a child's", "GET", path(exited, "output"), "", []string{agentapi.HeaderChat, chatB, agentapi.HeaderAncestors, `["` + chatA + `"]`}, 404, ""},
		{"output of nothing", "GET", path("none", "output"), "", nil, 404, `there is no process \"none\"`},
		{"output with a wait that isn't one", "GET", path(running, "output?wait=false"), "", nil, 200, `"running":true`},
		{"output by another instance", "GET", path(exited, "output?agent_instance_id="+uuid.NewString()), "", nil, 409, "another one now"},
		{"output by this instance", "GET", path(exited, "output?agent_instance_id="+instance(w)), "", nil, 200, ""},
		{"output, waiting for a moment", "GET", path(running, "output?wait=true&wait_ms=1"), "", nil, 200, `"running":true`},
		{"page", "GET", path(exited, "output?offset=1&limit=2"), "", nil, 200, `{"output":"on","running":false,"exit_code":3,"next_offset":3}`},
		{"page at the end", "GET", path(exited, "output?offset=5"), "", nil, 200, `{"output":"","running":false,"exit_code":3,"next_offset":5}`},
		{"page behind the end", "GET", path(exited, "output?offset=500"), "", nil, 200, `"next_offset":500`},
		{"page to the byte", "GET", path(exited, "output?offset=1&limit=2&encoding=raw"), "", nil, 200, "on"},
		{"page, nothing new", "GET", path(running, "output?offset=6&wait_ms=1"), "", nil, 200, `{"output":"","running":true,"next_offset":6}`},
		{"page by a limit alone", "GET", path(exited, "output?limit=1"), "", nil, 200, `{"output":"d"`},
		{"negative offset", "GET", path(exited, "output?offset=-1"), "", nil, 400, "offset"},
		{"offset is no number", "GET", path(exited, "output?offset=x"), "", nil, 400, "offset"},
		{"negative limit", "GET", path(exited, "output?limit=-1"), "", nil, 400, "limit"},
		{"negative wait", "GET", path(exited, "output?wait_ms=-1"), "", nil, 400, "wait_ms"},
		{"offset twice", "GET", path(exited, "output?offset=1&offset=2"), "", nil, 400, "more than once"},
		{"what a terminal shows", "GET", path(exited, "output?encoding=terminal"), "", nil, 200, "one"},
		{"a page of that", "GET", path(exited, "output?encoding=terminal&offset=1"), "", nil, 400, "head and tail"},
		{"unknown encoding", "GET", path(exited, "output?encoding=x"), "", nil, 400, "raw"},

		// Signals.
		{"signal without one", "POST", path(running, "signal"), `{}`, nil, 400, "signal"},
		{"empty signal", "POST", path(running, "signal"), `{"signal":""}`, nil, 400, "signal"},
		{"unknown signal", "POST", path(running, "signal"), `{"signal":"SIGKILL"}`, nil, 400, "signal"},
		{"signal, bad JSON", "POST", path(running, "signal"), `{`, nil, 400, ""},
		{"signal another chat's", "POST", path(running, "signal"), `{"signal":"kill"}`, []string{agentapi.HeaderChat, chatB}, 404, "there is no process"},
		{"signal nothing", "POST", path("none", "signal"), `{"signal":"kill"}`, nil, 404, ""},
		{"signal what has ended", "POST", path(exited, "signal"), `{"signal":"kill"}`, a, 409, "has ended"},
		{"signal", "POST", path(running, "signal"), `{"signal":"terminate"}`, a, 200, `{"message":"signal terminate was sent`},

		// Standard input and terminals.
		{"write what has ended", "POST", path(exited, "stdin"), `{"data":"x"}`, nil, 409, "has ended"},
		{"write nothing", "POST", path(exited, "stdin"), `{}`, nil, 400, "nothing to write"},
		{"write twice at once", "POST", path(exited, "stdin"), `{"data":"x","data_base64":"eA=="}`, nil, 400, "exclude"},
		{"write to nothing", "POST", path("none", "stdin"), `{"data":"x"}`, nil, 404, ""},
		{"write to another chat's", "POST", path(exited, "stdin"), `{"data":"x"}`, []string{agentapi.HeaderChat, chatB}, 404, ""},
		{"resize what has ended", "POST", path(exited, "resize"), `{"rows":1,"cols":1}`, nil, 409, "has ended"},
		{"resize to nothing", "POST", path(exited, "resize"), `{"rows":0,"cols":1}`, nil, 400, "rows and cols"},
		{"resize to too much", "POST", path(exited, "resize"), `{"rows":65536,"cols":1}`, nil, 400, ""},
		{"resize nothing", "POST", path("none", "resize"), `{"rows":1,"cols":1}`, nil, 404, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, text := w.call(c.method, c.target, c.body, c.headers...)
			if code != c.code || !strings.Contains(text, c.contains) {
				t.Errorf("got %d %s, want %d with %s", code, text, c.code, c.contains)
			}
		})
	}
	w.guarded(t, running)
	list2 := slices.DeleteFunc(w.doc.Unseen(), func(key string) bool {
		code := key[len(key)-3:]
		return slices.Contains([]string{"204", "413", "415", "429"}, code) || strings.HasSuffix(key, "cancel-tracked 410") // see the other tests
	})
	if len(list2) > 0 {
		t.Errorf("documented, but no answer was so: %q", list2)
	}
	if list := w.doc.Undocumented(405, 503, 504); len(list) > 0 {
		t.Errorf("answered, but not documented: %q", list)
	}
}

// guarded: whatever acts needs a token with the scope, and what reads doesn't.
func (w *world) guarded(t *testing.T, id string) {
	for target, body := range map[string]string{
		agentapi.PathStart: `{"command":"true"}`, agentapi.PathCancelTracked: `{}`, path(id, "signal"): `{"signal":"kill"}`,
		path(id, "stdin"): `{"close":true}`, path(id, "resize"): `{"rows":1,"cols":1}`,
	} {
		if code, text := w.call("POST", target, body, "X-Grant", "none"); code != 401 {
			t.Errorf("%s without a token: %d %s", target, code, text)
		}
		if code, text := w.call("POST", target, body, "X-Grant", "other"); code != 403 {
			t.Errorf("%s with another scope: %d %s", target, code, text)
		}
	}
	for _, target := range []string{agentapi.PathList, agentapi.PathTokens + "/x", path(id, "output")} {
		if code, text := w.call("GET", target, "", "X-Grant", "none"); code != 200 {
			t.Errorf("%s without a token: %d %s", target, code, text)
		}
	}
}

func instance(w *world) string {
	w.t.Helper()
	return into[agentapi.ProcessList](w, "GET", agentapi.PathList, "").AgentInstanceID
}

// TestListOrder: running ones first, then the newest; 10, or as many as are asked
// for; a chat's own only.
func TestListOrder(t *testing.T) {
	w := newWorld(t, newSupervisor(t, supervisor.Limits{}))
	var want []string
	for i := range 12 {
		command := "exit 0"
		if i == 2 || i == 5 {
			command = "sleep 1000"
		}
		want = slices.Insert(want, 0, w.sh(command, agentapi.HeaderChat, []string{chatA, chatB}[i%2]))
	}
	for i, id := range want {
		if i != 9 && i != 6 {
			w.output(id)
		}
	}
	want = append([]string{want[6], want[9]}, slices.Concat(want[:6], want[7:9], want[10:])...)
	ids := func(query string, headers ...string) (list []string) {
		for _, p := range into[agentapi.ProcessList](w, "GET", agentapi.PathList+query, "", headers...).Processes {
			list = append(list, p.ID)
		}
		return list
	}
	if got := ids(""); !slices.Equal(got, want[:10]) {
		t.Errorf("got %q, want %q", got, want[:10])
	}
	if got := ids("?limit=100"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := ids("", agentapi.HeaderChat, chatB); len(got) != 6 || got[0] != want[0] {
		t.Errorf("of a chat: %q", got)
	}
	list := into[agentapi.ProcessList](w, "GET", agentapi.PathList+"?limit=3", "").Processes
	if p := list[0]; !p.Running || p.ExitCode != nil || p.ExitedAtUnix != nil || p.Command != "sleep 1000" || p.WorkDir != w.root || p.ChatID != chatB {
		t.Errorf("%+v", p)
	}
	if p := list[2]; p.Running || p.ExitCode == nil || p.ExitedAtUnix == nil || p.Usage == nil || p.StartedAtUnix == 0 {
		t.Errorf("%+v", p)
	}
}

// TestEnvironment: the agent's without its secrets, then the request's, which
// wins, then the chat's.
func TestEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		"CODER_AGENT_TOKEN": "secret1", "WAYMARK_TOKEN": "secret2", "CODER_CHAT_ID": "stale", "OURS": "agent", "KEPT": "kept", "NOTIFY_SOCKET": "/x",
	} {
		t.Setenv(name, value)
	}
	w := newWorld(t, newSupervisor(t, supervisor.Limits{}))
	body := agentapi.StartProcess{Command: "env; pwd", Env: map[string]string{"OURS": "request", "CODER_CHAT_ID": "forged"}}
	text := w.run(body, agentapi.HeaderChat, chatA)
	for _, want := range []string{"OURS=request\n", "KEPT=kept\n", "CODER_CHAT_ID=" + chatA + "\n", "PWD=" + w.root + "\n", "PATH=" + os.Getenv("PATH") + "\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, bad := range []string{"secret", "WAYMARK_", "CODER_AGENT_TOKEN", "NOTIFY_SOCKET", "forged", "stale"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q in\n%s", bad, text)
		}
	}
	if text := w.run(agentapi.StartProcess{Command: "env"}); strings.Contains(text, "CODER_CHAT_ID") {
		t.Errorf("without a chat:\n%s", text)
	}
}

// TestWorkDir: asked for, else the workspace's if it is there, else home.
func TestWorkDir(t *testing.T) {
	w := newWorld(t, newSupervisor(t, supervisor.Limits{}))
	for _, dir := range []string{filepath.Join(w.root, "sub"), filepath.Join(w.home, "sub")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	at := func(dir string) string {
		return strings.TrimSpace(w.run(agentapi.StartProcess{Command: "pwd -P", WorkDir: dir}))
	}
	for dir, want := range map[string]string{
		"": w.root, "/": "/", "sub": w.root + "/sub", "sub/..": w.root, "~": w.home, "~/sub": w.home + "/sub", w.home: w.home,
	} {
		if got := at(dir); got != want {
			t.Errorf("%q: in %s, want %s", dir, got, want)
		}
	}
	root := w.root
	for _, none := range []string{"", filepath.Join(root, "not-cloned-yet")} {
		w.root = none
		if got := at(""); got != w.home {
			t.Errorf("with the root %q: in %s, want %s", none, got, w.home)
		}
	}
}

// TestTouched: the working directory is told at the start and at the end.
func TestTouched(t *testing.T) {
	w := newWorld(t, newSupervisor(t, supervisor.Limits{}))
	id := w.start(agentapi.StartProcess{Command: "read x", Stdin: true, WorkDir: "/"}, agentapi.HeaderChat, chatA)
	seen := func() []string {
		w.mu.Lock()
		defer w.mu.Unlock()
		return slices.Clone(w.touched)
	}
	if got := seen(); !slices.Equal(got, []string{"aaaa /"}) {
		t.Errorf("at the start: %q", got)
	}
	if code, text := w.call("POST", path(id, "stdin"), `{"close":true}`); code != 204 {
		t.Fatalf("%d %s", code, text)
	}
	eventually(t, "the end is told", func() bool { return len(seen()) == 2 })
	// A second start with the same token acts on nothing.
	w.start(agentapi.StartProcess{Command: "sleep 1000", ClientToken: "x"})
	n := len(seen())
	w.start(agentapi.StartProcess{Command: "sleep 1000", ClientToken: "x"})
	if got := seen(); len(got) != n {
		t.Errorf("an attached start: %q", got)
	}
}

// TestEnds: how processes end, and what is told of it.
func TestEnds(t *testing.T) {
	w := newWorld(t, newSupervisor(t, supervisor.Limits{WaitDelay: 100 * time.Millisecond}))
	code := func(id string) int {
		out := w.output(id)
		if out.Running || out.ExitCode == nil {
			t.Errorf("%+v", out)
			return -1
		}
		return *out.ExitCode
	}
	for command, want := range map[string]int{
		"exit 0": 0, "exit 3": 3, "exit 255": 255, "kill -9 $$": 137, "kill -15 $$": 143, "kill -2 $$": 130, "no-such-program": 127,
	} {
		if got := code(w.sh(command)); got != want {
			t.Errorf("%s: exit code %d, want %d", command, got, want)
		}
	}
	for name, want := range map[string]int{"kill": 137, "terminate": 143, "interrupt": 130, "hangup": 129} {
		// No shell: one that is just starting something may miss a signal.
		id := w.start(agentapi.StartProcess{Argv: []string{"sleep", "1000"}})
		if code, text := w.call("POST", path(id, "signal"), `{"signal":"`+name+`"}`); code != 200 {
			t.Errorf("%d %s", code, text)
		}
		if got := code(id); got != want {
			t.Errorf("%s: exit code %d, want %d", name, got, want)
		}
	}
	if got := code(w.start(agentapi.StartProcess{Command: "sleep 1000", TimeoutMS: 1})); got != 143 {
		t.Errorf("a timeout ends with %d", got)
	}
	// What it leaves behind with its output open isn't waited for forever.
	if got := code(w.sh("sleep 20 & exit 5")); got != 5 {
		t.Errorf("what leaves something behind ends with %d", got)
	}
}

// TestPriority: processes give way to the agent.
func TestPriority(t *testing.T) {
	if _, err := os.Stat("/proc/self/oom_score_adj"); err != nil {
		t.Skip("no /proc")
	}
	w := newWorld(t, newSupervisor(t, supervisor.Limits{}))
	text := w.run(agentapi.StartProcess{Command: "nice; cat /proc/self/oom_score_adj"})
	var nice, score int
	if n, err := fmt.Sscan(text, &nice, &score); n != 2 || nice < 5 || score < 0 || err != nil {
		t.Errorf("got %q", text)
	}
}

// TestStdin: what is written is read, and its end is an end.
func TestStdin(t *testing.T) {
	w := newWorld(t, newSupervisor(t, supervisor.Limits{}))
	id := w.start(agentapi.StartProcess{Argv: []string{"cat"}, Stdin: true})
	for _, body := range []string{`{"data":"héllo\n"}`, `{"data_base64":"/wA="}`, `{"data":"end","close":true}`} {
		if code, text := w.call("POST", path(id, "stdin"), body); code != 204 {
			t.Fatalf("%s: %d %s", body, code, text)
		}
	}
	if out := w.output(id); out.Output != "héllo\n\uFFFD\x00end" {
		t.Errorf("got %q", out.Output)
	}
	id = w.sh("sleep 1000")
	if code, text := w.call("POST", path(id, "stdin"), `{"data":"x"}`); code != 409 || !strings.Contains(text, "standard input is closed") {
		t.Errorf("without stdin: %d %s", code, text)
	}
	if code, text := w.call("POST", path(id, "resize"), `{"rows":1,"cols":1}`); code != 409 {
		t.Errorf("without a terminal: %d %s", code, text)
	}
}

// TestTerminal: a process on a terminal knows its size, and learns a new one.
func TestTerminal(t *testing.T) {
	w := newWorld(t, newSupervisor(t, supervisor.Limits{}))
	body := agentapi.StartProcess{Command: "stty size; echo $TERM; read x; stty size; read x", PTY: &agentapi.TerminalSize{Rows: 31, Cols: 97}}
	id := w.start(body)
	offset := int64(0)
	text := ""
	until := func(want string) {
		t.Helper()
		eventually(t, want, func() bool {
			page := into[agentapi.ProcessOutput](w, "GET", path(id, fmt.Sprintf("output?offset=%d&wait_ms=60000", offset)), "")
			text, offset = text+page.Output, *page.NextOffset
			return strings.Contains(text, want)
		})
	}
	until("31 97\r\nxterm-256color\r\n")
	if code, text := w.call("POST", path(id, "resize"), `{"rows":40,"cols":132}`); code != 204 {
		t.Fatalf("%d %s", code, text)
	}
	if code, text := w.call("POST", path(id, "stdin"), `{"data":"go\n"}`); code != 204 {
		t.Fatalf("%d %s", code, text)
	}
	until("40 132\r\n")
	if code, text := w.call("POST", path(id, "stdin"), `{"close":true}`); code != 204 {
		t.Fatalf("%d %s", code, text)
	}
	if out := w.output(id); out.Running {
		t.Errorf("it reads on: %+v", out)
	}
	if text := w.run(agentapi.StartProcess{Command: "stty size", PTY: &agentapi.TerminalSize{}}); text != "24 80\r\n" {
		t.Errorf("the usual size is %q", text)
	}
}

// TestFences: a caller can narrow what the token allows, never widen it, and
// doesn't reach through the standard input of what may do more.
func TestFences(t *testing.T) {
	w := newWorld(t, newSupervisor(t, supervisor.Limits{}))
	for _, name := range []string{"plan.md", "plan2.md"} {
		if err := os.WriteFile(filepath.Join(w.root, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(w.root, "dir.md"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		grant, profile string
		want           int
	}{
		{"", "", 200}, {"", "none", 200}, {"", "secrets", 200}, {"", "plan", 200},
		{"usual", "", 200}, {"usual", "secrets", 200}, {"usual", "plan", 200}, {"usual", "none", 403},
		{"ssh", "none", 403}, {"plan.md", "", 200}, {"plan.md", "plan", 200}, {"plan.md", "secrets", 403}, {"plan.md", "none", 403}, {"dir.md", "", 403},
	} {
		body := fmt.Sprintf(`{"command":"true","profile":%q}`, c.profile)
		if code, text := w.call("POST", agentapi.PathStart, body, "X-Grant", c.grant); code != c.want {
			t.Errorf("%s asks for %s: %d %s", c.grant, c.profile, code, text)
		}
	}
	names := []string{"", "usual", "ssh", "plan.md", "plan2.md"}
	ids := map[string]string{}
	for _, name := range names {
		ids[name] = w.start(agentapi.StartProcess{Argv: []string{"cat"}, Stdin: true}, "X-Grant", name)
	}
	// Another agent over the same supervisor knows of the fences, too.
	other := newWorld(t, w.held)
	other.root = w.root
	for _, agent := range []*world{w, other} {
		for _, mine := range names {
			for _, its := range names {
				want := 403
				if mine == "" || mine == its {
					want = 204
				}
				if code, text := agent.call("POST", path(ids[its], "stdin"), `{"data":"x"}`, "X-Grant", mine); code != want {
					t.Errorf("%q writes to %q's: %d %s", mine, its, code, text)
				}
			}
		}
	}
	// Who is fenced in neither ends nor resizes what others have started.
	for _, mine := range names {
		for _, its := range names {
			id := w.start(agentapi.StartProcess{Command: "exec cat", PTY: &agentapi.TerminalSize{Rows: 1, Cols: 1}}, "X-Grant", its)
			barred := strings.HasSuffix(mine, ".md") && mine != its
			for call, body := range map[string]string{"resize": `{"rows":2,"cols":2}`, "signal": `{"signal":"kill"}`} {
				if code, text := w.call("POST", path(id, call), body, "X-Grant", mine); (code == 403) != barred {
					t.Errorf("%q, %s of %q's: %d %s", mine, call, its, code, text)
				}
			}
		}
	}
	// The same token under another fence is another start.
	body := `{"command":"sleep 1000","client_token":"shared"}`
	if code, text := w.call("POST", agentapi.PathStart, body); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	if code, text := w.call("POST", agentapi.PathStart, body, "X-Grant", "plan.md"); code != 409 {
		t.Errorf("with a fence: %d %s", code, text)
	}
}

// TestAlone: nothing runs that may write for somebody else than the agent's user, whatever
// it was started with, while somebody works on a server, and no way leads through what the
// user has started.
func TestAlone(t *testing.T) {
	if _, err := launch.Supported(); err != nil {
		t.Skip(err)
	}
	w := newWorld(t, newSupervisor(t, supervisor.Limits{}))
	for _, name := range []string{"plan.md", "script.js"} {
		if err := os.WriteFile(filepath.Join(w.root, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const chat = "6f0e0f5e-2f5c-4b6a-9d3c-0c6c0a3b7a11"
	alone := func() (done bool, err error) {
		err = w.service.Alone(t.Context(), func() error { done = true; return nil })
		return done, err
	}
	kill := func(id string) {
		t.Helper()
		w.call("POST", path(id, "signal"), `{"signal":"kill"}`)
		if _, err := w.held.Wait(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		grant, profile string
		narrow, want   bool
	}{
		{"control chat", "", false, false}, {"control chat", "", true, true},
		{"", "", false, false}, {"", "secrets", false, false}, {"", "plan", false, true},
		{"usual", "", false, false}, {"usual", "plan", false, true}, {"ssh", "", false, false}, {"ssh", "plan", false, true},
		{"plan.md", "", false, false}, {"control", "", false, true},
		{"", "", true, true}, {"usual", "", true, true}, {"ssh", "", true, true}, {"plan.md", "", true, false}, {"control", "", true, true},
	} {
		w.narrow = func(...string) bool { return c.narrow }
		grant, ofChat := strings.CutSuffix(c.grant, " chat")
		headers := []string{"X-Grant", grant}
		if ofChat { // whoever drives it may have the control token
			headers = append(headers, "Coder-Chat-Id", chat)
		}
		id := w.start(agentapi.StartProcess{Argv: []string{"sleep", "1000"}, Profile: c.profile}, headers...)
		if done, err := alone(); done != c.want || (err == nil) != c.want {
			t.Errorf("beside one of %q, profile %q, narrowed: %t: %t, %v", c.grant, c.profile, c.narrow, done, err)
		}
		kill(id)
	}
	w.narrow = nil
	// What was started by one that has ended counts, too: a chat's, in a session of its own.
	for _, chat := range []string{"", chat} {
		id := w.start(agentapi.StartProcess{Command: "setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $!"}, "X-Grant", "usual", "Coder-Chat-Id", chat)
		if _, err := w.held.Wait(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		done, err := alone()
		if done || err == nil || !strings.Contains(err.Error(), "left of one that has ended") {
			t.Errorf("beside what is left of a process: %t, %v", done, err)
		}
		pids, err := w.held.Detached(t.Context())
		if err != nil || len(pids) != 1 {
			t.Fatalf("%v, %v", pids, err)
		}
		if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for ; len(pids) > 0; pids, err = w.held.Detached(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if done, err := alone(); !done || err != nil {
		t.Errorf("beside nothing: %t, %v", done, err)
	}
	cat := w.start(agentapi.StartProcess{Argv: []string{"cat"}, Stdin: true}, "X-Grant", "control")
	for _, narrow := range []bool{false, true} {
		w.narrow = func(...string) bool { return narrow }
		for grant, want := range map[string]bool{"control": true, "usual": !narrow, "": !narrow, "plan.md": false} {
			if code, text := w.call("POST", path(cat, "stdin"), `{"data":"x"}`, "X-Grant", grant); (code == 204) != want {
				t.Errorf("%q writes to the user's process, narrowed: %t: %d %s", grant, narrow, code, text)
			}
		}
	}
	// A plan that is what somebody works on is told before its token can write it.
	var told []string
	w.narrow = func(writes ...string) bool { told = append(told, writes...); return false }
	kill(w.start(agentapi.StartProcess{Argv: []string{"sleep", "1000"}}, "X-Grant", "plan.md"))
	if len(told) != 1 || told[0] != filepath.Join(w.root, "plan.md") {
		t.Errorf("told of %q", told)
	}
}

// TestFull: when no more can be held, it is said so.
func TestFull(t *testing.T) {
	w := newWorld(t, newSupervisor(t, supervisor.Limits{Processes: 1}))
	w.sh("sleep 1000")
	if code, text := w.call("POST", agentapi.PathStart, `{"command":"true"}`); code != 429 {
		t.Errorf("%d %s", code, text)
	}
}

// TestArgvIsListed as a shell would be told it.
func TestArgvIsListed(t *testing.T) {
	w := newWorld(t, newSupervisor(t, supervisor.Limits{}))
	w.output(w.start(agentapi.StartProcess{Argv: []string{"printf", "%s", "it's", "", "a/b"}, Background: true}))
	data, _ := json.Marshal(into[agentapi.ProcessList](w, "GET", agentapi.PathList, "").Processes)
	if want := `"command":"printf %s 'it'\\''s' '' a/b","workdir":"` + w.root + `","background":true`; !strings.Contains(string(data), want) {
		t.Errorf("got %s, want %s", data, want)
	}
}

// TestConfined: what a process can do is what its token allows.
func TestConfined(t *testing.T) {
	if _, err := launch.Supported(); err != nil {
		t.Skip(err)
	}
	w := newWorld(t, newSupervisor(t, supervisor.Limits{}))
	for name, text := range map[string]string{
		filepath.Join(w.root, "plan.md"): "the plan\n", filepath.Join(w.root, "file"): "a file\n",
		filepath.Join(w.home, ".ssh/id"): "a key\n", filepath.Join(w.state, "control.token"): "a token\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const command = `try() { sh -c "$2" >/dev/null 2>&1 && echo "$1"; }
try file 'cat file'
try key "cat $HOME_/.ssh/id"
try token "cat $STATE/control.token"
try write 'echo x >> file'
try new 'echo x > new && rm new'
try plan 'echo x >> plan.md'
try tmp 'echo x > $TMPDIR/x && cat $TMPDIR/x'
true`
	env := map[string]string{"HOME_": w.home, "STATE": w.state, "TMPDIR": t.TempDir()}
	for _, c := range []struct{ grant, profile, want string }{
		{"", "", "file key token write new plan tmp"},
		{"", "secrets", "file write new plan tmp"},
		{"usual", "", "file write new plan tmp"},
		{"ssh", "", "file key write new plan tmp"},
		{"plan.md", "", "file plan tmp"},
		{"usual", "plan", "file tmp"},
	} {
		text := w.run(agentapi.StartProcess{Command: command, Env: env, Profile: c.profile}, "X-Grant", c.grant)
		if got := strings.Join(strings.Fields(text), " "); got != c.want {
			t.Errorf("%q with %q: %s, want %s", c.grant, c.profile, got, c.want)
		}
	}
	eventually(t, "private directories are removed", func() bool {
		left, _ := os.ReadDir(filepath.Join(w.state, "tmp"))
		return len(left) == 0
	})
}
