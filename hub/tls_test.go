package hub_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waymark/host/push"
	"waymark/hub"
	"waymark/hub/store"
	"waymark/snapshot"
)

// pair is a certificate for this machine, signed by itself.
type pair struct{ cert, key []byte }

func newPair(t *testing.T, serial int64) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "hub"},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pair{
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
	}
}

// write puts the pair where a hub looks for it, the way renewers do.
func (p pair) write(t *testing.T, dir string) (certFile, keyFile string) {
	t.Helper()
	certFile, keyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for file, data := range map[string][]byte{certFile: p.cert, keyFile: p.key} {
		if err := os.WriteFile(file+"~", data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+"~", file); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

func (p pair) trust() *tls.Config {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(p.cert)
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

// get asks over TLS, and returns the status and the certificate's number.
func (p pair) get(url string) (status int, serial int64, err error) {
	client := http.Client{Transport: &http.Transport{TLSClientConfig: p.trust(), DisableKeepAlives: true}}
	response, err := client.Get(url)
	if err != nil {
		return 0, 0, err
	}
	_ = response.Body.Close()
	return response.StatusCode, response.TLS.PeerCertificates[0].SerialNumber.Int64(), nil
}

// TestTLS: agents, readers and the page come in over TLS, and nothing does
// without.
func TestTLS(t *testing.T) {
	t.Parallel()
	dir, p := t.TempDir(), newPair(t, 1)
	certFile, keyFile := p.write(t, dir)
	server := listen(t, hub.ListenOptions{
		DB: "sqlite:" + filepath.Join(dir, "hub.db"), HTTP: "127.0.0.1:0", Monitor: "127.0.0.1:0", TLSCert: certFile, TLSKey: keyFile,
	})
	stop := run(t, server)
	if !strings.HasPrefix(server.HTTPURL(), "https://127.0.0.1:") || !strings.HasPrefix(server.MonitorURL(), "https://") {
		t.Errorf("it is at %s and %s", server.HTTPURL(), server.MonitorURL())
	}
	if left := time.Until(server.CertificateExpires()); left < 20*time.Hour || left > 25*time.Hour {
		t.Errorf("the certificate expires in %s", left)
	}
	token, _, err := hub.CreateToken(t.Context(), server.Store(), store.NewToken{Role: store.RoleAgent, AgentID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	opts, err := push.Remote(server.HTTPURL(), push.RemoteOptions{Token: token, TLS: p.trust()})
	if err != nil {
		t.Fatal(err)
	}
	pusher := push.New(opts)
	done := make(chan error, 1)
	go func() { done <- pusher.Run(t.Context()) }()
	pusher.Publish(&snapshot.Snapshot{Version: 1})
	if err := pusher.Accepted(t.Context(), 1); err != nil {
		t.Error(err)
	}
	if err := errors.Join(pusher.Close(), <-done); err != nil {
		t.Error(err)
	}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/api/v0/agents": 401, "/login": 401} {
		if status, _, err := p.get(server.HTTPURL() + path); err != nil || status != want {
			t.Errorf("%s: %d, %v", path, status, err)
		}
	}
	if status, _, err := p.get(server.MonitorURL() + "/readyz"); err != nil || status != 200 {
		t.Errorf("monitor: %d, %v", status, err)
	}
	address := strings.TrimPrefix(server.HTTPURL(), "https://")
	old := p.trust()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	if conn, err := tls.Dial("tcp", address, old); err == nil {
		_ = conn.Close()
		t.Error("TLS 1.1 is spoken")
	}
	if response, err := http.Get("http://" + address + "/healthz"); err == nil {
		_ = response.Body.Close()
		if response.StatusCode == 200 {
			t.Error("it answers without TLS")
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestTLSReload replaces the pair under a hub that serves, with good ones and
// broken ones.
func TestTLSReload(t *testing.T) {
	t.Parallel()
	dir, first, second := t.TempDir(), newPair(t, 1), newPair(t, 2)
	certFile, keyFile := first.write(t, dir)
	log := new(safeBuffer)
	server := listen(t, hub.ListenOptions{
		DB: "sqlite:" + filepath.Join(dir, "hub.db"), HTTP: "127.0.0.1:0", TLSCert: certFile, TLSKey: keyFile, TLSCheck: time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	stop := run(t, server)
	serves := func(p pair, serial int64) bool {
		status, got, err := p.get(server.HTTPURL() + "/healthz")
		return err == nil && status == 200 && got == serial
	}
	if !serves(first, 1) {
		t.Fatal("it doesn't serve the first pair")
	}
	for name, broken := range map[string]pair{
		"key of another": {first.cert, second.key}, "not PEM": {[]byte("hello"), first.key}, "empty": {},
		"half": {first.cert[:len(first.cert)/2], first.key},
	} {
		broken.write(t, dir)
		if err := server.ReloadTLS(); err == nil {
			t.Errorf("%s: loaded", name)
		}
		if !serves(first, 1) {
			t.Errorf("%s: the old pair is no longer in force", name)
		}
	}
	if err := os.Remove(keyFile); err != nil {
		t.Fatal(err)
	}
	if err := server.ReloadTLS(); err == nil || !serves(first, 1) {
		t.Errorf("without a key: %v", err)
	}
	if text := log.String(); !strings.Contains(text, "the old one stays in force") || strings.Contains(text, "PRIVATE") || bytes.Contains([]byte(text), first.key[40:80]) {
		t.Errorf("the log says:\n%s", text)
	}
	second.write(t, dir) // noticed without being told
	if !new(fixture).eventually(func() bool { return serves(second, 2) }) {
		t.Error("the new pair isn't in force")
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestTLSRefused: what can't be right is said before anything is opened.
func TestTLSRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certFile, keyFile := newPair(t, 1).write(t, dir)
	for name, tc := range map[string]struct {
		change func(*hub.ListenOptions)
		usage  bool
		text   string
	}{
		"no key":           {func(o *hub.ListenOptions) { o.TLSKey = "" }, true, "--tls-key"},
		"no certificate":   {func(o *hub.ListenOptions) { o.TLSCert = "" }, true, "--tls-cert"},
		"swapped":          {func(o *hub.ListenOptions) { o.TLSCert, o.TLSKey = keyFile, certFile }, false, "belong together"},
		"not there":        {func(o *hub.ListenOptions) { o.TLSKey = filepath.Join(dir, "none") }, false, "none"},
		"monitor in clear": {func(o *hub.ListenOptions) { o.TLSCert, o.TLSKey, o.Monitor = "", "", "0.0.0.0:0" }, true, "--monitor"},
		"drpc stays clear": {func(o *hub.ListenOptions) { o.DRPC = []string{"tcp:0.0.0.0:0"} }, true, "--drpc"},
	} {
		db := filepath.Join(dir, name+".db")
		opts := hub.ListenOptions{DB: "sqlite:" + db, HTTP: "127.0.0.1:0", TLSCert: certFile, TLSKey: keyFile}
		tc.change(&opts)
		server, err := hub.Listen(t.Context(), opts)
		if err == nil {
			_ = server.Close()
			t.Errorf("%s: listening", name)
			continue
		}
		if errors.Is(err, hub.ErrUsage) != tc.usage || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(db); err == nil {
			t.Errorf("%s: a database is left behind", name)
		}
	}
	// With TLS any address will do.
	listen(t, hub.ListenOptions{DB: "sqlite:" + filepath.Join(dir, "all.db"), HTTP: "0.0.0.0:0", Monitor: "0.0.0.0:0", TLSCert: certFile, TLSKey: keyFile})
}
