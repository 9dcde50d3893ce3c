package webhook_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"waymark/hub/store"
	"waymark/hub/store/sqlite"
	"waymark/hub/webhook"
	"waymark/internal/credential"
	"waymark/test/process"
)

// receiver is a server of webhooks that checks what comes with the library of those who
// have written the specification.
type receiver struct {
	*httptest.Server
	secret string
	answer http.HandlerFunc // nil: 204

	mu  sync.Mutex // guards the rest
	ids []string
	bad []error
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	verifier, errSecret := standardwebhooks.NewWebhook(r.secret)
	if err = errors.Join(err, errSecret); err == nil {
		err = verifier.Verify(body, request.Header)
	}
	if err == nil && (request.Method != "POST" || request.Header.Get("Content-Type") != "application/json" || !json.Valid(body)) {
		err = errors.New("not a POST of JSON")
	}
	r.mu.Lock()
	r.ids = append(r.ids, request.Header.Get("webhook-id"))
	if err != nil {
		r.bad = append(r.bad, err)
	}
	r.mu.Unlock()
	if r.answer == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	r.answer(w, request)
}

func (r *receiver) got(t *testing.T) []string {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.bad) > 0 {
		t.Error(r.bad)
	}
	return append([]string(nil), r.ids...)
}

func newReceiver(t *testing.T, answer http.HandlerFunc) (r *receiver, roots *tls.Config) {
	t.Helper()
	r = &receiver{secret: credential.WebhookSecret.New(), answer: answer}
	r.Server = httptest.NewTLSServer(r)
	t.Cleanup(r.Close)
	pool := x509.NewCertPool()
	pool.AddCert(r.Certificate())
	return r, &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

func (r *receiver) hook() *store.Webhook {
	return &store.Webhook{ID: "w", NewWebhook: store.NewWebhook{URL: r.URL + "/hook?key=sesame", Secret: r.secret, Private: true}}
}

func message() *store.Message {
	return &store.Message{ID: "msg_1", Body: []byte(`{"type":"webhook.test"}`)}
}

// TestSend: what arrives is what the specification's own library takes, whatever is wrong
// is said without the URL and the secret, and redirects lead nowhere.
func TestSend(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int32
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(target.Close)
	for want, answer := range map[string]http.HandlerFunc{
		"":                nil,
		"it answers 500":  func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "sesame", 500) },
		"it answers 302,": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target.URL, http.StatusFound) },
		"it answers 308,": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, target.URL, http.StatusPermanentRedirect)
		},
		"the connection": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		r, roots := newReceiver(t, answer)
		sender := webhook.Sender{TLS: roots}
		err := sender.Send(t.Context(), r.hook(), message(), time.Now())
		if text := errorText(err); !strings.HasPrefix(text, want) || (want == "") != (err == nil) || strings.Contains(text, "sesame") || strings.Contains(text, "\n") {
			t.Errorf("%q, want %q", text, want)
		}
		if ids := r.got(t); len(ids) != 1 || ids[0] != "msg_1" {
			t.Errorf("%q: got %q", want, ids)
		}
	}
	if n := elsewhere.Load(); n != 0 {
		t.Errorf("redirects were followed %d times", n)
	}
	r, _ := newReceiver(t, nil)
	err := new(webhook.Sender).Send(t.Context(), r.hook(), message(), time.Now())
	if text := errorText(err); !strings.Contains(text, "certificate") || len(r.got(t)) != 0 {
		t.Errorf("a certificate of nobody: %q", text)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestInside: nothing is connected to that is inside, by whatever name.
func TestInside(t *testing.T) {
	t.Parallel()
	r, roots := newReceiver(t, nil)
	_, port, _ := net.SplitHostPort(r.Listener.Addr().String())
	sender := webhook.Sender{TLS: roots}
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "[::1]", "[::]", "169.254.169.254", "10.0.0.1", "192.168.1.1", "[fe80::1]", "[fd00::1]", "100.64.0.1", "[64:ff9b::7f00:1]"} {
		w := r.hook()
		w.Private, w.URL = false, "https://"+host+":"+port+"/"
		err := sender.Send(t.Context(), w, message(), time.Now())
		// A machine without IPv6 may say so.
		if err == nil || !errors.Is(err, webhook.ErrInside) && !strings.Contains(host, ":") {
			t.Errorf("%s: %v", host, err)
		}
	}
	if ids := r.got(t); len(ids) != 0 {
		t.Errorf("it got %q", ids)
	}
	for text, want := range map[string]bool{
		"1.1.1.1": true, "2606:4700:4700::1111": true, "::ffff:8.8.8.8": true, "::ffff:10.0.0.1": false, "::1": false, "224.0.0.1": false, "ff02::1": false,
		"255.255.255.255": false, "172.16.0.1": false, "172.32.0.1": true, "198.18.0.1": false, "2002:7f00:1::": false, "fe80::1%eth0": false, "::7f00:1": false,
	} {
		if got := webhook.Outside(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s is outside: %v", text, got)
		}
	}
}

// row makes a database with one webhook and one message for it, and returns a way to open
// the same database again.
func row(t *testing.T, w store.NewWebhook) (open func() store.Store) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hub.db")
	open = func() store.Store {
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	s := open()
	if _, err := s.CreateWebhook(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	token := store.NewToken{Role: store.RoleAgent, AgentID: "a", Hash: credential.Hash{1}}
	if _, err := s.CreateToken(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.BeginSession(t.Context(), "a", ""); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Notice(t.Context(), store.NoticeOptions{SeenBefore: time.Now().Add(time.Hour)}); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	return open
}

// finishing is a store that tells when it is written down what became of a message.
type finishing struct {
	webhooks
	done chan<- error
}

type webhooks interface{ store.Webhooks }

func (f finishing) FinishMessage(ctx context.Context, w *store.Webhook, m *store.Message, result store.MessageResult) (bool, error) {
	known, err := f.webhooks.FinishMessage(ctx, w, m, result)
	f.done <- err
	return known, err
}

// TestReplicas: of two hubs over one database one sends.
func TestReplicas(t *testing.T) {
	t.Parallel()
	r, roots := newReceiver(t, nil)
	open := row(t, r.hook().NewWebhook)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	stores, done := []store.Store{open(), open()}, make(chan error, 9)
	for _, s := range stores {
		running.Go(func() {
			(&webhook.Runner{Store: finishing{s, done}, Sender: webhook.Sender{TLS: roots}}).Run(ctx)
		})
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	cancel()
	running.Wait()
	list, err := stores[0].Webhooks(t.Context())
	if err != nil || list[0].Sent != 1 || list[0].Waiting != 0 || len(r.got(t)) != 1 {
		t.Errorf("%+v, %v; it got %q", list, err, r.got(t))
	}
}

// TestStopped: what a webhook takes while the hub stops counts as sent.
func TestStopped(t *testing.T) {
	t.Parallel()
	came, stopping := make(chan struct{}), make(chan struct{})
	r, roots := newReceiver(t, func(http.ResponseWriter, *http.Request) {
		came <- struct{}{}
		<-stopping
	})
	s := row(t, r.hook().NewWebhook)()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { (&webhook.Runner{Store: s, Sender: webhook.Sender{TLS: roots}}).Run(ctx) })
	<-came
	cancel()
	close(stopping)
	running.Wait()
	if list, err := s.Webhooks(t.Context()); err != nil || list[0].Sent != 1 || list[0].Waiting != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestHour: a webhook that answers 500 for an hour, after one that hangs, is tried a
// bounded number of times and is told in the end, by a message with the same id.
func TestHour(t *testing.T) {
	for name, fails := range map[string]http.HandlerFunc{
		"500":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"hangs": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) { process.Synctest(t, func(t *testing.T) { testHour(t, fails) }) })
	}
}

func testHour(t *testing.T, fails http.HandlerFunc) {
	begun := time.Now()
	conns := make(chan net.Conn)
	r := &receiver{secret: credential.WebhookSecret.New(), answer: func(w http.ResponseWriter, request *http.Request) {
		if time.Since(begun) < time.Hour {
			fails(w, request)
		}
	}}
	server := &http.Server{Handler: r}
	go func() { _ = server.Serve(&listener{conns: conns, done: make(chan struct{})}) }()
	open := row(t, store.NewWebhook{URL: "http://hook.example/", Secret: r.secret, Insecure: true})
	s := open()
	var log bytes.Buffer
	runner := webhook.Runner{Store: s, Log: slog.New(slog.NewTextHandler(&log, nil)), Sender: webhook.Sender{
		Dial: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			conns <- far
			return near, nil
		},
	}}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { runner.Run(ctx) })
	time.Sleep(59 * time.Minute)
	list, err := s.Webhooks(t.Context())
	if err != nil || list[0].Sent != 0 || list[0].Waiting != 1 || list[0].LastError == "" {
		t.Errorf("%+v, %v", list, err)
	}
	tries := len(r.got(t))
	if tries < 8 || tries > 14 {
		t.Errorf("%d tries in an hour", tries)
	}
	time.Sleep(15 * time.Minute)
	cancel()
	running.Wait()
	_ = server.Close()
	list, err = s.Webhooks(t.Context())
	if err != nil || list[0].Sent != 1 || list[0].Waiting != 0 || list[0].Failures != 0 || list[0].LastError != "" {
		t.Errorf("%+v, %v", list, err)
	}
	ids := r.got(t)
	for _, id := range ids {
		if id != ids[0] || id == "" {
			t.Errorf("ids %q", ids)
		}
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 1 || strings.Contains(log.String(), "hook.example") {
		t.Errorf("log:\n%s", log.String())
	}
}

// listener is one whose connections are pipes.
type listener struct {
	conns chan net.Conn
	done  chan struct{} // closed by Close
	once  sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (*listener) Addr() net.Addr { return &net.TCPAddr{} }
