package main

import (
	"bytes"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// followed is a command that runs on, and what it has printed.
type followed struct {
	cmd *exec.Cmd

	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (f *followed) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.text.Write(p)
}

func (f *followed) holds(pattern *regexp.Regexp) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return pattern.Match(f.text.Bytes())
}

type followedKey string

// cmdFollow starts a command that runs on: follow NAME COMMAND ARGS…
func cmdFollow(ts *testscript.TestScript, _ bool, args []string) {
	f := &followed{cmd: exec.Command(args[1], args[2:]...)}
	for _, name := range []string{"PATH", "HOME", "XDG_STATE_HOME", "HUB_URL", "HUB_TOKEN_FILE"} {
		f.cmd.Env = append(f.cmd.Env, name+"="+ts.Getenv(name))
	}
	f.cmd.Dir, f.cmd.Stdout = ts.Getenv("WORK"), f
	ts.Check(f.cmd.Start())
	ts.Defer(func() { _ = f.cmd.Process.Kill() })
	ts.Value(serverKey{}).(*server).followed[followedKey(args[0])] = f
}

// cmdAwait waits until a command that runs on has printed something: await
// NAME PATTERN.
func cmdAwait(ts *testscript.TestScript, _ bool, args []string) {
	f := ts.Value(serverKey{}).(*server).followed[followedKey(args[0])]
	pattern, err := regexp.Compile(args[1])
	ts.Check(err)
	deadline := time.After(4 * time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !f.holds(pattern) {
		select {
		case <-tick.C:
		case <-deadline:
			f.mu.Lock()
			defer f.mu.Unlock()
			ts.Fatalf("%s has not printed %s, but\n%s", args[0], args[1], &f.text)
		}
	}
}

// cmdUnfollow tells a command that runs on to stop, which must exit with 0,
// and puts what it printed into the file of its name.
func cmdUnfollow(ts *testscript.TestScript, _ bool, args []string) {
	f := ts.Value(serverKey{}).(*server).followed[followedKey(args[0])]
	ts.Check(f.cmd.Process.Signal(syscall.SIGTERM))
	ts.Check(f.cmd.Wait())
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), f.text.Bytes(), 0o600))
}

// cmdRestart stops the hub and starts it again at the same address.
func cmdRestart(ts *testscript.TestScript, neg bool, _ []string) {
	at, err := url.Parse(ts.Getenv("HTTP"))
	ts.Check(err)
	cmdStop(ts, neg, nil)
	cmdStart(ts, neg, []string{"--http", at.Host})
}
