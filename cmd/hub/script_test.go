package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"waymark/cmd/internal/cli"
	"waymark/hub/store/sqlite"
)

// TestMain makes the test binary the command under test: it is hub when it is
// called so.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"hub": func() {
		cli.CompleteWithin = time.Minute // nobody waits for it here
		usualAddress = "127.0.0.1:1"
		main()
	}})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_STATE_HOME", env.WorkDir+"/state")
			env.Setenv("XDG_RUNTIME_DIR", env.WorkDir+"/run")
			env.Setenv("XDG_CONFIG_HOME", env.WorkDir+"/config")
			env.Setenv("HUB_DB", "sqlite:"+env.WorkDir+"/state/waymark/hub.db")
			env.Values[receiverKey{}] = make(chan delivery, 100)
			env.Values[serverKey{}] = &server{followed: make(map[followedKey]*followed)}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"start": cmdStart, "halt": cmdStop, "push": cmdPush, "share": cmdShare, "get": cmdGet,
			"follow": cmdFollow, "await": cmdAwait, "unfollow": cmdUnfollow, "restart": cmdRestart,
			"fetch": cmdFetch, "exit": cmdExit, "occupy": cmdOccupy, "mode": cmdMode, "provision": cmdProvision,
			"listening": cmdListening, "database": cmdDatabase, "heard": cmdHeard, "receive": cmdReceive, "received": cmdReceived,
		},
	})
}

// cmdExit runs a command that must exit with a code: exit CODE COMMAND ARGS…
// Whatever goes wrong, one line must say it.
func cmdExit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exit CODE COMMAND [ARGS…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if code != want {
		ts.Fatalf("exit code is %d, want %d", code, want)
	}
	if text := ts.ReadFile("stderr"); code != 0 && (strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "hub: ")) {
		ts.Fatalf("stderr is not one line that begins with hub:\n%s", text)
	}
}

// cmdDatabase makes a database as hub serve does: database [PATH]
func cmdDatabase(ts *testscript.TestScript, _ bool, args []string) {
	path := "state/waymark/hub.db"
	if len(args) > 0 {
		path = args[0]
	}
	st, err := sqlite.Open(context.Background(), ts.MkAbs(path), sqlite.Options{})
	ts.Check(err)
	ts.Check(st.Close())
}

// cmdOccupy takes a port and a socket, and sets $TAKEN and $TAKEN_SOCKET.
func cmdOccupy(ts *testscript.TestScript, _ bool, _ []string) {
	port, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = port.Close() })
	ts.Setenv("TAKEN", port.Addr().String())
	socket, err := net.Listen("unix", ts.MkAbs("taken.sock"))
	ts.Check(err)
	ts.Defer(func() { _ = socket.Close() })
	ts.Setenv("TAKEN_SOCKET", ts.MkAbs("taken.sock"))
}

// cmdListening sets $LISTENER to the URL of somebody who is no hub, and wants a token.
func cmdListening(ts *testscript.TestScript, _ bool, _ []string) {
	heard := ts.Value(serverKey{}).(*server)
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			heard.heard.Add(1)
		}
		http.Error(w, "no hub", http.StatusTeapot)
	}))
	ts.Defer(listener.Close)
	ts.Setenv("LISTENER", listener.URL)
}

// cmdHeard checks how many tokens the listener was sent: heard N
func cmdHeard(ts *testscript.TestScript, _ bool, args []string) {
	if got := strconv.Itoa(int(ts.Value(serverKey{}).(*server).heard.Load())); got != args[0] {
		ts.Fatalf("%s tokens were heard, want %s", got, args[0])
	}
}

// cmdMode checks the permissions of a file: mode 0600 FILE
func cmdMode(ts *testscript.TestScript, _ bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != args[0] {
		ts.Fatalf("%s has mode %s, want %s", args[1], got, args[0])
	}
}

// cmdProvision writes a file of tokens: provision FILE LINE…, where a word in
// a line that begins with @ stands for what the file of that name holds.
func cmdProvision(ts *testscript.TestScript, _ bool, args []string) {
	var text strings.Builder
	for _, line := range args[1:] {
		words := strings.Fields(line)
		for i, w := range words {
			if name, ok := strings.CutPrefix(w, "@"); ok {
				words[i] = strings.TrimSpace(ts.ReadFile(name))
			}
		}
		text.WriteString(strings.Join(words, " ") + "\n")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text.String()), 0o600))
}
