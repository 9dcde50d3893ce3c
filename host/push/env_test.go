package push_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// newProxy makes a proxy that knows one server, whatever it is asked for, and
// tells what that was.
func newProxy(t *testing.T, server string) (url string, connects <-chan string) {
	asked := make(chan string, 10)
	var tunnels sync.WaitGroup
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			t.Errorf("the proxy was asked to %s", r.Method)
			return
		}
		asked <- r.Host
		client, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		upstream, err := net.Dial("tcp", server)
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = client.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n"))
		for _, pair := range [][2]net.Conn{{client, upstream}, {upstream, client}} {
			tunnels.Go(func() {
				_, _ = io.Copy(pair[0], pair[1])
				_ = pair[0].Close()
			})
		}
	}))
	t.Cleanup(func() { proxy.Close() })
	return proxy.URL, asked
}

// TestEnvironment starts this very test in a process of its own, whose
// environment names a proxy and a certificate authority: both are read once
// per process.
func TestEnvironment(t *testing.T) {
	const host = "hub.waymark.test"
	if os.Getenv("WAYMARK_TEST_ENVIRONMENT") != "" {
		opts := remote(t, "https://"+host, nil)
		conn, err := opts.Dialer.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
		return
	}
	p := &peer{waymark: true}
	server := newBareServer(t, p)
	certificate, authority := issue(t, host)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	proxy, connects := newProxy(t, server.Listener.Addr().String())
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, authority, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestEnvironment$")
	child.Env = append(os.Environ(), "WAYMARK_TEST_ENVIRONMENT=1", "SSL_CERT_FILE="+file, "HTTPS_PROXY="+proxy, "NO_PROXY=", "no_proxy=")
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := <-connects; got != host+":443" {
		t.Errorf("the proxy was asked for %s", got)
	}
}

// issue makes an authority and a certificate for host.
func issue(t *testing.T, host string) (tls.Certificate, []byte) {
	t.Helper()
	sign := func(template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) []byte {
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	newKey := func() *ecdsa.PrivateKey {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	caKey, key := newKey(), newKey()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	authority := sign(ca, ca, caKey, caKey)
	leaf := sign(&x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{host}}, ca, key, caKey)
	return tls.Certificate{Certificate: [][]byte{leaf}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority})
}
