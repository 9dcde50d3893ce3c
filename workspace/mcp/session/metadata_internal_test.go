package session

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// This file tests the client for metadata alone: that a server elsewhere can't have
// this machine asked needs a server elsewhere.

func TestMetadataClient(t *testing.T) {
	t.Parallel()
	asked := false
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = true
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "http://example.com/", http.StatusFound)
		}
	}))
	defer here.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(here.URL, "http://"), ":")
	ask := func(server, address, method string) error {
		client, err := newMetadataClient(server)
		if err != nil {
			t.Fatal(err)
		}
		defer client.CloseIdleConnections()
		req, err := http.NewRequestWithContext(t.Context(), method, address, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	for _, address := range []string{here.URL, "https://localhost:" + port, "http://x.localhost:" + port, "http://[::1]:" + port, "http://0.0.0.0:" + port, "http://example.com/", "http://169.254.169.254/", "file:///etc/passwd"} {
		if err := ask("https://mcp.example.com/", address, http.MethodGet); err == nil || !strings.Contains(err.Error(), "isn't asked") {
			t.Errorf("%s: %v", address, err)
		}
	}
	if asked {
		t.Error("this machine was asked")
	}
	if err := ask(here.URL, here.URL, http.MethodGet); err != nil {
		t.Errorf("a server here: %v", err)
	}
	if err := ask(here.URL, here.URL+"/away", http.MethodGet); err == nil || !strings.Contains(err.Error(), "without https") {
		t.Errorf("a redirect: %v", err)
	}
	if err := ask(here.URL, here.URL+"/away", http.MethodPost); err == nil || !strings.Contains(err.Error(), "elsewhere") {
		t.Errorf("a redirect with secrets: %v", err)
	}
}

// TestCheckIP: names that lead here are found out when they are dialed.
func TestCheckIP(t *testing.T) {
	t.Parallel()
	for ip, ok := range map[string]bool{
		"127.0.0.1": false, "127.8.8.8": false, "::1": false, "::ffff:127.0.0.1": false, "0.0.0.0": false, "::": false,
		"169.254.169.254": false, "fe80::1": false, "fd00:ec2::254": false, "224.0.0.1": false,
		"10.0.0.1": true, "192.0.2.1": true, "2001:db8::1": true,
	} {
		if err := checkIP(netip.MustParseAddr(ip)); (err == nil) != ok {
			t.Errorf("%s: %v", ip, err)
		}
	}
}
