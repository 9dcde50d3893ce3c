package push_test

import (
	"context"
	"testing"
	"time"

	"waymark/host/push"
	"waymark/test/pushtest"
)

// newBareServer makes a Coder server with the services of a peer, which checks all
// rules of Coder's server.
func newBareServer(t *testing.T, p *peer) *pushtest.CoderServer {
	p.t = t
	s := pushtest.NewCoderServer(p.handler())
	t.Cleanup(s.Close)
	return s
}

// remote makes options for the server; change may be nil. No machine is too slow
// for its time limits.
func remote(t *testing.T, url string, change func(*push.RemoteOptions)) push.Options {
	t.Helper()
	opts := push.RemoteOptions{Token: pushtest.Token}
	if change != nil {
		change(&opts)
	}
	got, err := push.Remote(url, opts)
	if err != nil {
		t.Fatal(err)
	}
	got.DialTimeout, got.CallTimeout = time.Hour, time.Hour
	return got
}

// run runs a Pusher and ends it with the test.
func run(t *testing.T, opts push.Options) *push.Pusher {
	t.Helper()
	pusher := push.New(opts)
	done := make(chan error, 1)
	go func() { done <- pusher.Run(context.Background()) }()
	t.Cleanup(func() {
		if err := pusher.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return pusher
}
