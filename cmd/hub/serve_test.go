package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// served is a hub serve whose log can be waited for.
type served struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string
	http  string
	db    string
	// seen is the log so far.
	seen []string
}

// serve starts one; it is killed with the test.
func serve(t *testing.T, args ...string) *served {
	t.Helper()
	dir := t.TempDir()
	s := &served{t: t, lines: make(chan string, 1000), db: "sqlite:" + filepath.Join(dir, "hub.db")}
	s.cmd = exec.Command("hub", append([]string{
		"serve", "--log-format", "json", "--http", "127.0.0.1:0", "--db", s.db, "--drpc", "unix:" + filepath.Join(dir, "s"),
	}, args...)...)
	s.cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+dir)
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(s.lines)
		for scanner := bufio.NewScanner(stderr); scanner.Scan(); {
			s.lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		<-read
		_ = s.cmd.Wait() // a second time is an error of no interest
	})
	var ready struct{ HTTP string }
	if err := json.Unmarshal([]byte(s.await("hub is ready")), &ready); err != nil {
		t.Fatal(err)
	}
	s.http = ready.HTTP
	return s
}

// await returns the next line of the log that has the text.
func (s *served) await(text string) string {
	s.t.Helper()
	for line := range s.lines {
		s.seen = append(s.seen, line)
		if strings.Contains(line, text) {
			return line
		}
	}
	s.t.Fatalf("the hub has ended without saying %q:\n%s", text, strings.Join(s.seen, "\n"))
	return ""
}

func (s *served) signal(signal syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(signal); err != nil {
		s.t.Fatal(err)
	}
}

// end waits for the process, and returns the signal that ended it, 0 for none.
func (s *served) end() syscall.Signal {
	s.t.Helper()
	for range s.lines {
		continue
	}
	_ = s.cmd.Wait() // the state says more
	status := s.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !status.Signaled() {
		if code := status.ExitStatus(); code != 0 {
			s.t.Errorf("exit code %d", code)
		}
		return 0
	}
	return status.Signal()
}

// certificate writes a new one for this machine, which signs itself.
func certificate(t *testing.T, dir string, serial int64) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	for file, block := range map[string]*pem.Block{
		"tls.crt": {Type: "CERTIFICATE", Bytes: cert}, "tls.key": {Type: "PRIVATE KEY", Bytes: private},
	} {
		data := pem.EncodeToMemory(block)
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if file == "tls.crt" {
			pool.AppendCertsFromPEM(data)
		}
	}
	return pool
}

// TestHangup replaces the certificate of a hub that runs: SIGHUP takes the new
// one, says so, and ends nothing.
func TestHangup(t *testing.T) {
	dir := t.TempDir()
	first := certificate(t, dir, 1)
	s := serve(t, "--tls-cert", filepath.Join(dir, "tls.crt"), "--tls-key", filepath.Join(dir, "tls.key"))
	get := func(pool *x509.CertPool, want int64) {
		t.Helper()
		client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}}
		response, err := client.Get(s.http + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if got := response.TLS.PeerCertificates[0].SerialNumber.Int64(); got != want {
			t.Errorf("certificate %d is in force, want %d", got, want)
		}
	}
	get(first, 1)
	if err := os.WriteFile(filepath.Join(dir, "tls.key"), []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.signal(syscall.SIGHUP)
	s.await("the old one stays in force")
	get(first, 1)
	second := certificate(t, dir, 2)
	s.signal(syscall.SIGHUP)
	s.await("TLS certificate loaded")
	get(second, 2)
	s.signal(syscall.SIGTERM)
	if got := s.end(); got != 0 {
		t.Errorf("ended by %v", got)
	}
}

// TestSecondSignal: the first SIGTERM waits for what is under way, the second
// one doesn't.
func TestSecondSignal(t *testing.T) {
	s := serve(t, "--drain-timeout", "1h")
	token, err := exec.Command("hub", "token", "create", "--role", "reader", "--db", s.db).Output()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.http, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// A request whose body doesn't come; that it is waited for is said.
	request := "POST /api/v0/pins HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\nAuthorization: Bearer " +
		strings.TrimSpace(string(token)) + "\r\n\r\n"
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatal(line, err)
	}
	s.signal(syscall.SIGTERM)
	s.await("hub is stopping")
	s.signal(syscall.SIGTERM)
	if got := s.end(); got != syscall.SIGTERM {
		t.Errorf("ended by %v", got)
	}
}

// reserve takes a port of this machine which a hub can listen on, again and
// again, and nobody else is given: the socket that holds it is bound, but
// doesn't listen. A port that was free when a hub ended may belong to anybody
// when it is started again, even to a connection that was to reach the hub.
func reserve() (address string, release func(), err error) {
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return "", nil, err
	}
	release = func() { _ = syscall.Close(fd) }
	// Go's listeners have this set as well, which makes two sockets possible.
	err = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	if err == nil {
		err = syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	var at syscall.Sockaddr
	if err == nil {
		at, err = syscall.Getsockname(fd)
	}
	inet, ok := at.(*syscall.SockaddrInet4)
	if err != nil || !ok {
		release()
		return "", nil, fmt.Errorf("no port: %w", err)
	}
	return fmt.Sprintf("127.0.0.1:%d", inet.Port), release, nil
}
