package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"

	"waymark/test/mcp/servers"
)

// cmdAuthority starts an MCP server over HTTP that wants to be signed in to, and puts
// its address into a variable: authority NAME [CLIENT SECRET]
func cmdAuthority(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 && len(args) != 3 {
		ts.Fatalf("usage: authority NAME [CLIENT SECRET]")
	}
	id, secret := "", ""
	if len(args) == 3 {
		id, secret = args[1], args[2]
	}
	a := servers.NewAuthority(id, secret)
	ts.Defer(a.Close)
	ts.Setenv(args[0], a.URL)
}

// signInAt finds the address at which to sign in.
var signInAt = regexp.MustCompile(`sign in here:\s+(http://\S+)`)

// cmdBrowse does what a browser does with the address that a login prints: browse NAME
// goes all the way; browse NAME FILE stops before it is sent back, and writes where to
// into a FIFO.
func cmdBrowse(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 && len(args) != 2 {
		ts.Fatalf("usage: browse NAME [FIFO]")
	}
	awaitOutput(ts, args[0], signInAt.String())
	text, _ := all(ts)[args[0]].out.text()
	ctx, cancel := context.WithTimeout(context.Background(), scriptTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, signInAt.FindStringSubmatch(text)[1], nil)
	ts.Check(err)
	var browser http.Client
	if len(args) == 2 {
		browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	resp, err := browser.Do(req)
	ts.Check(err)
	said, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	ts.Check(err)
	if len(args) == 1 {
		ts.Logf("the browser shows: %s", said)
		return
	}
	f, err := os.OpenFile(ts.MkAbs(args[1]), os.O_RDWR, 0)
	ts.Check(err)
	_, err = io.WriteString(f, resp.Header.Get("Location")+"\n")
	ts.Check(err)
	ts.Defer(func() { _ = f.Close() }) // what nobody has read yet goes with the last one who has it open
}
