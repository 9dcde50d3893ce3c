package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// delivery is one request that came to a receiver of webhooks.
type delivery struct {
	header http.Header
	body   []byte
	err    error
}

type receiverKey struct{}

// cmdReceive starts a receiver of webhooks and sets $HOOK to its URL.
func cmdReceive(ts *testscript.TestScript, _ bool, _ []string) {
	got := ts.Value(receiverKey{}).(chan delivery)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d := delivery{header: r.Header}
		d.body, d.err = io.ReadAll(r.Body)
		if d.err == nil && r.Method != http.MethodPost {
			d.err = errors.New("it came by " + r.Method)
		}
		got <- d
		w.WriteHeader(http.StatusNoContent)
	}))
	ts.Defer(server.Close)
	ts.Setenv("HOOK", server.URL)
}

// cmdReceived waits for the next message, checks it with the library of those who have
// written the specification, and puts it into the file body: received SECRETFILE. With !
// none must have come besides those that were waited for.
func cmdReceived(ts *testscript.TestScript, neg bool, args []string) {
	got := ts.Value(receiverKey{}).(chan delivery)
	if neg {
		if len(got) > 0 {
			ts.Fatalf("another message came: %s", (<-got).body)
		}
		return
	}
	var d delivery
	select {
	case d = <-got:
	case <-time.After(5 * time.Minute): // a slow machine
		ts.Fatalf("no message came; the hub says:\n%s", &ts.Value(serverKey{}).(*server).log)
	}
	ts.Check(d.err)
	verifier, err := standardwebhooks.NewWebhook(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	ts.Check(verifier.Verify(d.body, d.header))
	ts.Check(os.WriteFile(ts.MkAbs("body"), d.body, 0o600))
}
