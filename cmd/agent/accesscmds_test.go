package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdState names the state directory of the script's only workspace: state
func cmdState(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: state")
	}
	found, err := filepath.Glob(filepath.Join(ts.Getenv("XDG_STATE_HOME"), "waymark", "w", "*", "agent.json"))
	ts.Check(err)
	if len(found) != 1 {
		ts.Fatalf("there are %d workspaces", len(found))
	}
	ts.Setenv("STATE", filepath.Dir(found[0]))
}

// cmdMode compares the permissions of a file: mode OCTAL FILE
func cmdMode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mode OCTAL FILE")
	}
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := fmt.Sprintf("%o", info.Mode().Perm()); got != args[0] {
		ts.Fatalf("%s has mode %s, want %s", args[1], got, args[0])
	}
}

// cmdCall asks the agent on its socket, or at tcp:HOST:PORT, and wants a status;
// what it answers is in the file answer:
// call CODE [tcp:ADDRESS] METHOD PATH [token=FILE] [chat=ID] [BODY]
func cmdCall(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: call CODE [tcp:ADDRESS] METHOD PATH [token=FILE] [chat=ID] [BODY]")
	}
	code, args := args[0], args[1:]
	network, address := "unix", ts.Getenv("WAYMARK_SOCKET")
	if tcp, ok := strings.CutPrefix(args[0], "tcp:"); ok {
		network, address, args = "tcp", tcp, args[1:]
	}
	ctx, cancel := context.WithTimeout(context.Background(), scriptTimeout)
	defer cancel()
	method, target, args := args[0], args[1], args[2:]
	header := http.Header{}
	for len(args) > 0 {
		name, value, _ := strings.Cut(args[0], "=")
		switch name {
		case "token":
			header.Set("Authorization", "Bearer "+strings.TrimSpace(ts.ReadFile(value)))
		case "chat":
			header.Set("Coder-Chat-Id", value)
		default:
			header.Set("Content-Type", "application/json")
		}
		if header.Get("Content-Type") != "" {
			break
		}
		args = args[1:]
	}
	host := "agent"
	if network == "tcp" {
		host = address
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+host+target, strings.NewReader(strings.Join(args, " ")))
	ts.Check(err)
	req.Header = header
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	resp, err := (&http.Transport{DialContext: dial, DisableKeepAlives: true}).RoundTrip(req)
	ts.Check(err)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("answer"), body, 0o600))
	if strconv.Itoa(resp.StatusCode) != code {
		ts.Fatalf("%s %s: %d, want %s:\n%s", method, target, resp.StatusCode, code, body)
	}
}

// cmdMatch puts what the first group of a pattern matches in a file into a
// variable: match VARIABLE REGEXP FILE
func cmdMatch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: match VARIABLE REGEXP FILE")
	}
	re, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	found := re.FindStringSubmatch(ts.ReadFile(args[2]))
	if len(found) < 2 {
		ts.Fatalf("no %q in:\n%s", args[1], ts.ReadFile(args[2]))
	}
	ts.Setenv(args[0], found[1])
}
