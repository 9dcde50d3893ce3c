package push_test

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"storj.io/drpc/drpcserver"

	"waymark/host/push"
	"waymark/wire"
)

func TestParseURL(t *testing.T) {
	for raw, want := range map[string]push.Target{
		"unix:/run/hub.sock":   {Network: "unix", Address: "/run/hub.sock"},
		"unix:///run/hub.sock": {Network: "unix", Address: "/run/hub.sock"},
		"UNIX:/run/hub.sock":   {Network: "unix", Address: "/run/hub.sock"},
		"tcp:127.0.0.1:7879":   {Network: "tcp", Address: "127.0.0.1:7879"},
		"tcp://hub.local:7879": {Network: "tcp", Address: "hub.local:7879"},
		"tcp://hub:7879/":      {Network: "tcp", Address: "hub:7879"},
		"tcp:[::1]:7879":       {Network: "tcp", Address: "[::1]:7879"},

		"https://coder.example.com":                 {Network: "https", Address: "coder.example.com"},
		"HTTPS://Coder.Example.com:8443/":           {Network: "https", Address: "coder.example.com:8443"},
		"wss://hub/base/path/":                      {Network: "https", Address: "hub", Path: "/base/path"},
		"http://127.0.0.1:7878":                     {Network: "http", Address: "127.0.0.1:7878"},
		"ws://[::1]:80/../x":                        {Network: "http", Address: "[::1]:80", Path: "/x"},
		"https://[fe80::1]":                         {Network: "https", Address: "[fe80::1]"},
		"https://h/a%20b":                           {Network: "https", Address: "h", Path: "/a%20b"},
		"https://h" + wire.EndpointPath:             {Network: "https", Address: "h"},
		"https://h/coder" + wire.EndpointPath + "/": {Network: "https", Address: "h", Path: "/coder"},
	} {
		got, err := push.ParseURL(raw)
		if err != nil || got != want {
			t.Errorf("ParseURL(%q) = %+v, %v; want %+v", raw, got, err, want)
			continue
		}
		if again, err := push.ParseURL(got.String()); err != nil || again != got {
			t.Errorf("ParseURL(%q) = %+v, %v; not what it came from", got.String(), again, err)
		}
	}
}

func TestParseURLRefuses(t *testing.T) {
	for raw, want := range map[string]string{
		"https://user:hunter2@hub/?token=hunter2": "holds a user; write https://host",
		"http://hub?hunter2":                      "more than host and path",
		"https://hub/#hunter2":                    "more than host and path",
		"https://hub/x?":                          "more than host and path",
		"https://":                                "names no host",
		"https:hub":                               "names no host",
		"https:///path":                           "names no host",
		"https://hub:0":                           "isn't a number from 1 to 65535; write https://host:port",
		"https://hub:99999":                       "isn't a number from 1 to 65535",
		"https://hub:port":                        "can't be read",
		"https://hub/%zz":                         "can't be read",
		"":                                        "has no scheme; write https://host, unix:/path or tcp:host:port",
		"hub.sock":                                "has no scheme; write https://host, unix:/path or tcp:host:port",
		"localhost:7879":                          "unknown scheme; write https://host, unix:/path or tcp:host:port",
		"ftp://user:hunter2@hub":                  "unknown scheme",
		"unix:":                                   "isn't an absolute path; write unix:/path",
		"unix:hub.sock":                           "isn't an absolute path; write unix:/path",
		"unix://run/hub.sock":                     "three slashes",
		"unix:/a\x00b":                            "has a NUL",
		"unix:/" + strings.Repeat("x", 200):       "more than the 107",
		"tcp:7879":                                "isn't host:port; write tcp:host:port",
		"tcp::7879":                               "isn't host:port",
		"tcp://hunter2@hub:7879":                  "isn't host:port",
		"tcp:hub:7879/?token=hunter2":             "isn't a number from 1 to 65535",
		"tcp:hub:http":                            "isn't a number from 1 to 65535",
		"tcp:hub:0":                               "isn't a number from 1 to 65535",
	} {
		_, err := push.ParseURL(raw)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseURL(%q): %v; want %q", raw, err, want)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n") {
			t.Errorf("ParseURL(%q) shows what it shouldn't: %v", raw, err)
		}
	}
}

func TestLocal(t *testing.T) {
	for raw, want := range map[string]bool{
		"unix:/hub.sock": true, "tcp:127.0.0.1:1": true, "tcp:[::1]:1": true, "tcp:localhost:1": true,
		"tcp:10.0.0.1:1": false, "tcp:hub:1": false,
		"http://localhost": true, "http://127.0.0.9:1/x": true, "https://[::1]": true, "https://hub": false,
	} {
		target, err := push.ParseURL(raw)
		if err != nil || target.Local() != want {
			t.Errorf("%s: Local = %t (%v), want %t", raw, target.Local(), err, want)
		}
	}
}

func FuzzParseURL(f *testing.F) {
	f.Add("unix:/a")
	f.Add("tcp://h:1")
	f.Add("https://h:1/a%20b/../c")
	f.Add("wss://[::1%25eth0]/")
	f.Fuzz(func(t *testing.T, raw string) {
		target, err := push.ParseURL(raw)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a line: %q", err)
			}
			return
		}
		if again, err := push.ParseURL(target.String()); err != nil || again != target {
			t.Errorf("%+v reads back as %+v, %v", target, again, err)
		}
	})
}

// TestRealSockets pushes over a unix socket and over TCP.
func TestRealSockets(t *testing.T) {
	for network, address := range map[string]string{
		"unix": filepath.Join(t.TempDir(), "s"), "tcp": "127.0.0.1:0",
	} {
		t.Run(network, func(t *testing.T) {
			listener, err := net.Listen(network, address)
			if err != nil {
				t.Fatal(err)
			}
			p := &peer{t: t, waymark: true}
			ctx, stop := context.WithCancel(context.Background())
			served := make(chan error, 1)
			go func() { served <- drpcserver.New(p.mux()).Serve(ctx, listener) }()
			defer func() {
				stop()
				if err := <-served; err != nil {
					t.Error(err)
				}
			}()

			target, err := push.ParseURL(network + ":" + listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			pusher := push.New(push.Options{Dialer: target, Peer: target.String()})
			done := make(chan error, 1)
			go func() { done <- pusher.Run(t.Context()) }()
			pusher.Publish(snap(1, "/a"))
			accepted(t, pusher, 1)
			if err := pusher.Close(); err != nil {
				t.Error(err)
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
			expect(t, p, "waymark.v1 v1 initial=true")
		})
	}
}
