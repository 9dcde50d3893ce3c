package hub_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcmetadata"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/hub/transport"
	"waymark/internal/credential"
	"waymark/test/pushtest"
	"waymark/test/testenv"
	"waymark/wire"
	"waymark/wire/waymark"
)

// agents100 are agents that are connected in all the ways there are.
type agents100 struct {
	t       *testing.T
	clients []waymark.DRPCContextClient
	tokens  []string
}

func (a *agents100) add(conn net.Conn, token string) {
	c := drpcconn.New(conn)
	a.t.Cleanup(func() { _ = c.Close() })
	a.clients, a.tokens = append(a.clients, waymark.NewDRPCContextClient(c)), append(a.tokens, token)
}

// push has all of them push at once, and every push be accepted.
func (a *agents100) push(version uint64) {
	a.t.Helper()
	var all sync.WaitGroup
	for i, client := range a.clients {
		all.Go(func() {
			ctx := drpcmetadata.Add(context.Background(), wire.TokenMetadata, a.tokens[i])
			response, err := pushtest.Send(ctx, client, &pushtest.Push{Version: version, Resources: []*pushtest.Resource{file("/w", fmt.Sprint(version))}})
			if err != nil || !response.GetAccepted() {
				a.t.Errorf("agent %d: push %d: accepted %v, %v", i, version, response.GetAccepted(), err)
			}
		})
	}
	all.Wait()
}

// unauthenticated is how many connections are opened: 9,000, or as many as this
// process may, and fewer where nobody has time.
func unauthenticated(t *testing.T) int {
	t.Helper()
	want := testenv.Rounds(500, 2000, 9000)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	// Both ends are here, of those that stay; and all the rest needs some.
	if most := int(limit.Cur) - 5000; want > most {
		t.Logf("only %d connections in place of %d: the limit of open files is %d", most, want, limit.Cur)
		want = most
	}
	if want < 500 {
		t.Skipf("the limit of open files, %d, is too low", limit.Cur)
	}
	return want
}

// TestUnauthenticated holds thousands of connections of those who have no token, of
// all kinds, at all listeners, for as long as it takes: whoever has one doesn't
// notice, and the log has one line of it.
func TestUnauthenticated(t *testing.T) {
	t.Parallel()
	n := unauthenticated(t)
	dir := t.TempDir()
	log := new(safeBuffer)
	socket := filepath.Join(dir, "s")
	server := listen(t, hub.ListenOptions{
		DB: "sqlite:" + filepath.Join(dir, "hub.db"), HTTP: "127.0.0.1:0", DRPC: []string{"unix:" + socket, "tcp:127.0.0.1:0"},
		Limits: withTimeouts(transport.Limits{Unauthenticated: min(n/8, 256)}), Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	stop := run(t, server)
	web := strings.TrimPrefix(server.HTTPURL(), "http://")
	plain := strings.TrimPrefix(server.DRPC()[1], "tcp:")
	f := &fixture{t: t, hub: server.Hub(), store: server.Store(), log: log}
	reader := f.token(store.RoleReader, "")
	agents := &agents100{t: t}
	for i := range 100 {
		token := f.token(store.RoleAgent, fmt.Sprint("agent-", i))
		switch i % 4 {
		case 0, 1:
			stream, err := dialBare(t, server.HTTPURL()+wire.EndpointPath, token).session.Open()
			if err != nil {
				t.Fatal(err)
			}
			agents.add(stream, token)
		default:
			conn, err := net.Dial([]string{"unix", "tcp"}[i%2], []string{socket, plain}[i%2])
			if err != nil {
				t.Fatal(err)
			}
			agents.add(conn, token)
		}
	}
	agents.push(1) // each has shown its token
	ask := func(path string) (int, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.HTTPURL()+path, nil)
		if err != nil {
			return 0, err
		}
		request.Header.Set("Authorization", "Bearer "+reader)
		fresh := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: timeout}
		response, err := fresh.Do(request)
		if err != nil {
			return 0, err
		}
		defer response.Body.Close()
		_, err = io.Copy(io.Discard, response.Body)
		return response.StatusCode, err
	}
	events := open(t, server.HTTPURL(), "/api/v0/events", reader)

	// What they do without a token, and then keep the connection as long as they may.
	host := "Host: localhost\r\n"
	kinds := []struct{ network, address, says string }{
		{"tcp", web, ""},
		{"tcp", web, "GET /api/v0/agents HTTP/1.1\r\n" + host + "X: half a head"},
		{"tcp", web, "POST /api/v0/pins HTTP/1.1\r\n" + host + "Content-Length: 1000\r\n\r\nhalf a body"},
		{"tcp", web, "GET /healthz HTTP/1.1\r\n" + host + "\r\n"},
		{"tcp", web, "GET /api/v0/agents HTTP/1.1\r\n" + host + "Authorization: Bearer " + credential.ReaderToken.New() + "\r\n\r\n"},
		{"tcp", web, strings.Repeat("GET / HTTP/1.1\r\n"+host+"\r\n", 20)},
		{"tcp", web, "GET /login?code=guess HTTP/1.1\r\n" + host + "\r\n"},
		{"tcp", web, "GET " + wire.EndpointPath + " HTTP/1.1\r\n" + host + "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"},
		{"tcp", web, "\x16\x03\x01\x02\x00\x01\x00"}, // the beginning of a handshake, at a port without TLS
		{"unix", socket, ""}, {"unix", socket, "\x0d\x01\x01"},
		{"tcp", plain, ""}, {"tcp", plain, "\x0d\x01\x01"}, {"tcp", plain, "GET / HTTP/1.1\r\n\r\n"},
	}
	var held []net.Conn
	defer func() {
		for _, conn := range held {
			_ = conn.Close()
		}
	}()
	rnd := testenv.Rand(t)
	for range n {
		kind := kinds[rnd.IntN(len(kinds))]
		conn, err := net.Dial(kind.network, kind.address)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, conn)
		_, _ = io.WriteString(conn, kind.says) // the hub may have had enough of it
	}
	agents.push(2)
	for range 20 {
		if code, err := ask("/api/v0/agents"); code != 200 {
			t.Errorf("a reader: %d, %v", code, err)
		}
	}
	if code, err := ask(strings.TrimPrefix(server.LoginURL(store.RoleReader), server.HTTPURL())); code != 200 && code != 401 || err != nil {
		t.Errorf("somebody signs in: %d, %v", code, err) // the cookie isn't kept here
	}
	// Agents that come now are let in, at every listener.
	late := f.token(store.RoleAgent, "late")
	ws, _, err := websocket.Dial(t.Context(), server.HTTPURL()+wire.EndpointPath+"?version=2.10", &websocket.DialOptions{HTTPHeader: http.Header{wire.TokenHeader: {late}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ws.CloseNow() }()
	for _, where := range [][2]string{{"unix", socket}, {"tcp", plain}} {
		conn, err := net.Dial(where[0], where[1])
		if err != nil {
			t.Fatal(err)
		}
		one := &agents100{t: t}
		one.add(conn, f.token(store.RoleAgent, where[0]))
		one.push(1)
	}
	agents.push(3)
	select {
	case end := <-events:
		t.Errorf("the reader's stream ended: %s", end)
	default:
	}
	if stats := server.Stats(); stats.Connections != 103 {
		t.Errorf("%d connections of agents, want 103", stats.Connections)
	}
	text := log.String()
	if lines := strings.Count(text, "too many connections without a token"); lines != 1 {
		t.Errorf("%d lines tell of %d connections, want one:\n%.2000s", lines, n, text)
	}
	// 103 agents, their hub, sign-ins that are refused (a few per second), the line.
	if lines := strings.Count(text, "\n") - strings.Count(text, "sign-in refused") - strings.Count(text, "agent connected"); lines > 5 {
		t.Errorf("%d other lines:\n%.2000s", lines, text)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestOldestStrangerGoes: of those who are silent the oldest goes, and none who
// is known.
func TestOldestStrangerGoes(t *testing.T) {
	t.Parallel()
	const limit, more = 8, 12
	dir := t.TempDir()
	certFile, keyFile := newPair(t, 1).write(t, dir)
	for name, opts := range map[string]hub.ListenOptions{
		"http": {HTTP: "127.0.0.1:0"}, "https": {HTTP: "127.0.0.1:0", TLSCert: certFile, TLSKey: keyFile},
		"unix": {HTTP: "127.0.0.1:0", DRPC: []string{"unix:" + filepath.Join(dir, "s")}}, "tcp": {HTTP: "127.0.0.1:0", DRPC: []string{"tcp:127.0.0.1:0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts.DB, opts.Limits = "sqlite:"+filepath.Join(t.TempDir(), "hub.db"), withTimeouts(transport.Limits{Unauthenticated: limit})
			server := listen(t, opts)
			stop := run(t, server)
			network, address := "tcp", server.HTTPURL()[strings.Index(server.HTTPURL(), "://")+3:]
			if specs := server.DRPC(); len(specs) > 0 {
				network, address, _ = strings.Cut(specs[0], ":")
			}
			ended := make([]chan struct{}, limit+more)
			for i := range ended {
				conn, err := net.Dial(network, address)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if name == "https" { // a handshake that is begun and not finished
					go func() {
						_ = tls.Client(onlyWrite{conn}, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(t.Context())
					}()
				}
				ended[i] = make(chan struct{})
				go func() {
					defer close(ended[i])
					_, _ = io.Copy(io.Discard, conn)
				}()
			}
			for i := range more { // one by one, the oldest first
				select {
				case <-ended[i]:
				case <-time.After(timeout):
					t.Fatalf("connection %d of %d is still there", i, len(ended))
				}
			}
			for i := more; i < len(ended); i++ {
				select {
				case <-ended[i]:
					t.Errorf("connection %d of %d is gone", i, len(ended))
				default:
				}
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// onlyWrite is a connection whose other end is read by somebody else.
type onlyWrite struct{ net.Conn }

func (onlyWrite) Read([]byte) (int, error) { select {} }

// TestUnauthenticatedDontStay: an answer to somebody without a token ends the
// connection; a reader's stays, until its token is no longer good.
func TestUnauthenticatedDontStay(t *testing.T) {
	t.Parallel()
	server := listen(t, hub.ListenOptions{DB: "sqlite:" + filepath.Join(t.TempDir(), "hub.db"), HTTP: "127.0.0.1:0", Limits: withTimeouts(transport.Limits{})})
	stop := run(t, server)
	f := &fixture{t: t, hub: server.Hub(), store: server.Store()}
	reader, agent := f.token(store.RoleReader, ""), f.token(store.RoleAgent, "a")
	session := f.session(reader)
	address := strings.TrimPrefix(server.HTTPURL(), "http://")
	// exchange asks on one connection, and tells for each answer whether it ends
	// the connection.
	exchange := func(heads ...string) (closes []bool) {
		t.Helper()
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		answers := bufio.NewReader(conn)
		for _, head := range heads {
			if _, err := io.WriteString(conn, head+"\r\nHost: localhost\r\n\r\n"); err != nil {
				return closes
			}
			request := &http.Request{Method: strings.Fields(head)[0]}
			response, err := http.ReadResponse(answers, request)
			if err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("%q: %v", head, err)
				}
				return closes
			}
			_, _ = io.Copy(io.Discard, response.Body)
			closes = append(closes, response.Close)
		}
		return closes
	}
	get := "GET /api/v0/agents HTTP/1.1"
	good, bad := get+"\r\nAuthorization: Bearer "+reader, get+"\r\nAuthorization: Bearer "+credential.ReaderToken.New()
	browser := get + "\r\nCookie: waymark_reader=" + session
	for name, c := range map[string]struct {
		heads []string
		want  []bool
	}{
		"nobody":              {[]string{get, get}, []bool{true}},
		"a wrong token":       {[]string{bad, good}, []bool{true}},
		"a probe":             {[]string{"GET /healthz HTTP/1.1", get}, []bool{true}},
		"the page":            {[]string{"GET / HTTP/1.1", get}, []bool{true}},
		"another method":      {[]string{"OPTIONS * HTTP/1.1", get}, []bool{true}},
		"an agent's connect":  {[]string{"GET " + wire.EndpointPath + " HTTP/1.1", get}, []bool{true}},
		"a reader":            {[]string{good, good, "GET /healthz HTTP/1.1", good}, []bool{false, false, false, false}},
		"a browser":           {[]string{browser, "GET /assets/0/app.js HTTP/1.1", browser}, []bool{false, false, false}},
		"an agent that reads": {[]string{get + "\r\nAuthorization: Bearer " + agent, get}, []bool{false, false}},
		"a reader, then not":  {[]string{good, bad, good}, []bool{false, true}},
	} {
		if got := exchange(c.heads...); !slices.Equal(got, c.want) {
			t.Errorf("%s: ends the connection %v, want %v", name, got, c.want)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestWrongTokensCostOthersNothing: calls without a token have no part in the
// rate that all agents have together.
func TestWrongTokensCostOthersNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{Limits: transport.Limits{TotalRate: never, TotalBurst: 12}})
	endpoint := f.web()
	for range 20 {
		if _, err := f.dial("").push(&pushtest.Push{Version: 1}); !wire.IsUnauthorized(err) {
			t.Fatalf("nobody's push: %v", err)
		}
		if _, err := f.dial(credential.AgentToken.New()).push(&pushtest.Push{Version: 1}); !wire.IsUnauthorized(err) {
			t.Fatalf("a wrong token's push: %v", err)
		}
		if _, _, err := websocket.Dial(t.Context(), endpoint+"?version=2.10", nil); err == nil || !strings.Contains(err.Error(), "401") {
			t.Fatalf("nobody connects: %v", err)
		}
	}
	a := f.dial(f.token(store.RoleAgent, "a"))
	for version := range uint64(12) {
		a.mustPush(&pushtest.Push{Version: version + 1}, true)
	}
}

// TestSlowUploads: agents that dribble large messages leave slots for others,
// however many they have, and lose the ones that they hold.
func TestSlowUploads(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]transport.Limits{
		"eight tokens of sixteen slots": {Read: time.Hour, Stall: time.Hour},
		"as many tokens as slots":       {Large: 8, Read: time.Hour, Stall: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inSynctest(t, hub.Options{Limits: limits}, func(t *testing.T, f *fixture, endpoint string) {
				var slow sync.WaitGroup
				var conns []net.Conn
				for i := range 8 {
					token := f.token(store.RoleAgent, fmt.Sprint("slow-", i))
					for range 4 {
						conn := f.mustDial()
						conns = append(conns, conn)
						slow.Go(func() { _ = endless(conn, token, 192<<10) }) // and then nothing
					}
				}
				if !f.eventually(func() bool { return f.hub.Stats().Large == 8 }) {
					t.Fatal("the slow ones have no slots")
				}
				stop := f.bystander(endpoint) // pushes 100 KiB at a time
				stop()
				if n := f.hub.Stats().Large; limits.Large == 0 && n > 9 {
					t.Errorf("%d slots are taken, of eight tokens", n)
				}
				for _, conn := range conns {
					_ = conn.Close()
				}
				slow.Wait()
			})
		})
	}
}
