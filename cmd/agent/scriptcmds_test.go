package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"waymark/hub/store/sqlite"
	"waymark/internal/await"
	"waymark/test/testenv"
)

// scriptTimeout is how long a script waits for what should come at once. It is
// there to end a test that hangs, not to measure.
const scriptTimeout = 2 * time.Minute

type processesKey struct{}

// processes are the background processes of one script, by name.
type processes map[string]*child

type child struct {
	cmd  *exec.Cmd
	out  *output
	done chan struct{} // closed when it has ended
}

// output collects what a process prints and wakes whoever waits for a text.
type output struct {
	mu   sync.Mutex // guards buf
	buf  bytes.Buffer
	more await.Signal // buf has grown
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.more.Notify()
	return o.buf.Write(p)
}

func (o *output) text() (string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String(), o.more.Changed()
}

// cmdLaunch starts a program in the background and waits until its output
// matches: launch NAME REGEXP PROGRAM ARGS…
func cmdLaunch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: launch NAME REGEXP PROGRAM [ARGS…]")
	}
	ctx, cancel := context.WithCancel(context.Background())
	path, err := lookPath(ts, args[2])
	ts.Check(err)
	p := &child{
		cmd: exec.CommandContext(ctx, path, args[3:]...),
		out: &output{}, done: make(chan struct{}),
	}
	p.cmd.Dir, p.cmd.Env = ts.MkAbs("."), scriptEnv(ts)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	ts.Check(p.cmd.Start())
	go func() { _ = p.cmd.Wait(); close(p.done) }()
	all(ts)[args[0]] = p
	ts.Defer(func() { cancel(); <-p.done })
	awaitOutput(ts, args[0], args[1])
}

func all(ts *testscript.TestScript) processes {
	list, ok := ts.Value(processesKey{}).(processes)
	if !ok {
		ts.Fatalf("no processes in this script")
	}
	return list
}

func lookPath(ts *testscript.TestScript, name string) (string, error) {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}

func scriptEnv(ts *testscript.TestScript) []string {
	env := os.Environ()
	for _, name := range []string{"HOME", "PATH", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "WAYMARK_SOCKET", envBuiltin, envTimeout, envPunctual, envStuck, testenv.OrdinaryEnv, "GODEBUG",
		"CODER_AGENT_EXP_INSTRUCTIONS_DIRS", "CODER_AGENT_EXP_INSTRUCTIONS_FILE", "CODER_AGENT_EXP_SKILLS_DIRS",
		"CODER_AGENT_EXP_SKILL_META_FILE", "CODER_AGENT_EXP_MCP_CONFIG_FILES"} {
		env = append(env, name+"="+ts.Getenv(name))
	}
	return env
}

// cmdAwait waits until the output of a process matches: await NAME REGEXP
func cmdAwait(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await NAME REGEXP")
	}
	awaitOutput(ts, args[0], args[1])
}

func awaitOutput(ts *testscript.TestScript, name, pattern string) {
	p := all(ts)[name]
	re, err := regexp.Compile("(?m)" + pattern)
	ts.Check(err)
	timer := time.NewTimer(scriptTimeout)
	defer timer.Stop()
	for {
		text, more := p.out.text()
		ts.Check(os.WriteFile(ts.MkAbs(name+".log"), []byte(text), 0o600))
		if re.MatchString(text) {
			return
		}
		select {
		case <-more:
		case <-p.done:
			if text, _ := p.out.text(); !re.MatchString(text) {
				ts.Fatalf("%s has ended (%s) without printing %q:\n%s", name, p.cmd.ProcessState, pattern, text)
			}
		case <-timer.C:
			ts.Fatalf("%s doesn't print %q:\n%s", name, pattern, text)
		}
	}
}

// cmdUntil runs a command again and again until its output matches: until REGEXP
// COMMAND ARGS…. It is for what an agent says of itself some time after something
// else has shown it: what is logged, say, is logged before the status tells of it.
func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until REGEXP COMMAND [ARGS…]")
	}
	re, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	late := time.After(scriptTimeout)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ts.Exec(args[1], args[2:]...)
		text := ts.ReadFile("stdout")
		if re.MatchString(text) {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			ts.Fatalf("%s doesn't print %q (%v):\n%s", args[1], args[0], err, text)
		}
	}
}

// cmdHalt ends a process and waits for it: halt NAME [kill]. Without kill it
// must end well.
func cmdHalt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: halt NAME [kill]")
	}
	p := all(ts)[args[0]]
	signal := syscall.SIGTERM
	if len(args) > 1 {
		signal = syscall.SIGKILL
	}
	ts.Check(p.cmd.Process.Signal(signal))
	select {
	case <-p.done:
	case <-time.After(scriptTimeout):
		ts.Fatalf("%s doesn't stop", args[0])
	}
	text, _ := p.out.text()
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".log"), []byte(text), 0o600))
	if code := p.cmd.ProcessState.ExitCode(); signal == syscall.SIGTERM && code != 0 {
		ts.Fatalf("%s ends with code %d:\n%s", args[0], code, text)
	}
}

// signals are those that scripts name.
var signals = map[string]syscall.Signal{
	"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL, "STOP": syscall.SIGSTOP, "HUP": syscall.SIGHUP,
}

// cmdTell sends a process signals: tell NAME SIGNAL…
func cmdTell(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: tell NAME SIGNAL…")
	}
	for _, name := range args[1:] {
		ts.Check(all(ts)[args[0]].cmd.Process.Signal(signals[name]))
	}
}

// cmdDies waits until a process has ended as it should, by one of these exit
// codes and signals: dies NAME HOW[|HOW]…
func cmdDies(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: dies NAME HOW[|HOW]…")
	}
	p := all(ts)[args[0]]
	select {
	case <-p.done:
	case <-time.After(4 * scriptTimeout): // the watchdog counts processor time, of which there may be little
		ts.Fatalf("%s doesn't end", args[0])
	}
	text, _ := p.out.text()
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".log"), []byte(text), 0o600))
	state := p.cmd.ProcessState
	status, ok := state.Sys().(syscall.WaitStatus)
	how := strconv.Itoa(state.ExitCode())
	for name, s := range signals {
		if ok && status.Signaled() && status.Signal() == s {
			how = name
		}
	}
	if !slices.Contains(strings.Split(args[1], "|"), how) {
		ts.Fatalf("%s ends with %s, want %s:\n%s", args[0], state, args[1], text)
	}
}

// cmdExit runs a command that must exit with a code, and say in one line what
// is wrong: exit CODE COMMAND ARGS…
func cmdExit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exit CODE COMMAND [ARGS…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != want {
		ts.Fatalf("%v, want exit code %d", err, want)
	}
	if text := ts.ReadFile("stderr"); !regexp.MustCompile(`(?m)^agent: .+$`).MatchString(text) {
		ts.Fatalf("stderr has no line that begins with agent:\n%s", text)
	}
}

// cmdGet asks the hub, with the reader's token, until the answer matches:
// get FILE URL TOKENFILE REGEXP. What the hub holds follows an edit by some
// time, and the hub doesn't tell when.
func cmdGet(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: get FILE URL TOKENFILE REGEXP")
	}
	re, err := regexp.Compile(args[3])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), scriptTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		body, err := getOnce(ctx, args[1], strings.TrimSpace(ts.ReadFile(args[2])))
		if err == nil && re.MatchString(body) {
			ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(body), 0o600))
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			ts.Fatalf("%s doesn't answer %q: %v\n%s", args[1], args[3], err, body)
		}
	}
}

func getOnce(ctx context.Context, url, token string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// cmdPut copies a file in one step: put FROM TO. Whoever looks while cp is at
// work, or has to pause, sees a file that is empty.
func cmdPut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: put FROM TO")
	}
	temp := ts.MkAbs(".put.tmp")
	ts.Check(os.WriteFile(temp, []byte(ts.ReadFile(args[0])), 0o666))
	ts.Check(os.Rename(temp, ts.MkAbs(args[1])))
}

func cmdFIFO(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(syscall.Mkfifo(ts.MkAbs(args[0]), 0o600))
}

// cmdRepeat writes a character many times: repeat FILE CHARACTER COUNT
func cmdRepeat(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat(args[1], n)), 0o600))
}

// cmdAbsent fails if a text is in any of the files, or below the directories:
// absent TEXT PATH…
func cmdAbsent(ts *testscript.TestScript, neg bool, args []string) {
	found := ""
	for _, path := range args[1:] {
		err := filepath.WalkDir(ts.MkAbs(path), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			if bytes.Contains(data, []byte(args[0])) {
				found = path
			}
			return err
		})
		ts.Check(err)
	}
	if (found != "") != neg {
		ts.Fatalf("%q found: %q", args[0], found)
	}
}

// cmdNormal writes the standard output of the last command to a file, without
// what differs between two runs (the aggregate hash covers absolute paths):
// normal FILE
func cmdNormal(ts *testscript.TestScript, _ bool, args []string) {
	text := strings.ReplaceAll(ts.ReadFile("stdout"), ts.Getenv("WORK"), "WORK")
	text = regexp.MustCompile(`"(digest|aggregate_hash)": "[0-9a-f]{64}"`).ReplaceAllString(text, `"$1": "HASH"`)
	text = regexp.MustCompile(`, hash [0-9a-f]{12}\n`).ReplaceAllString(text, ", hash HASH\n")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// cmdTimeHub starts what answers as a hub does that has another time, and names
// it in hub.toml: timehub OFFSET
func cmdTimeHub(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: timehub OFFSET")
	}
	offset, err := time.ParseDuration(args[0])
	ts.Check(err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(offset).UTC().Format(http.TimeFormat))
	}))
	ts.Defer(server.Close)
	ts.Check(os.WriteFile(ts.MkAbs("hub.toml"), []byte(fmt.Sprintf("push.url = %q\n", server.URL)), 0o600))
}

// cmdDatabase makes a hub's database, as hub serve does: database PATH
func cmdDatabase(ts *testscript.TestScript, _ bool, args []string) {
	st, err := sqlite.Open(context.Background(), ts.MkAbs(args[0]), sqlite.Options{})
	ts.Check(err)
	ts.Check(st.Close())
}
