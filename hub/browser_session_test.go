package hub_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"waymark/hub"
	"waymark/hub/server"
	"waymark/hub/store"
	"waymark/hub/store/sqlite"
	"waymark/hub/transport"
	"waymark/internal/credential"
)

// signIn goes the way of a browser: a link for a token, and the cookie.
func (f *fixture) signIn(token string) *http.Cookie {
	f.t.Helper()
	var answer struct{ URL string }
	response := f.do("POST", "/api/v0/login", token, "")
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || response.StatusCode != 201 {
		f.t.Fatalf("a link: %s, %v", response.Status, err)
	}
	response = f.do("GET", strings.TrimPrefix(answer.URL, "http://localhost"), "", "")
	if len(response.Cookies()) != 1 {
		f.t.Fatalf("sign in: %s", response.Status)
	}
	return response.Cookies()[0]
}

// open makes a request that lasts, at a server, and returns its body's end.
func open(t *testing.T, base, path string, auth any) <-chan string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	switch auth := auth.(type) {
	case *http.Cookie:
		request.AddCookie(auth)
	case string:
		request.Header.Set("Authorization", "Bearer "+auth)
	}
	ended := make(chan string, 1)
	begun := make(chan struct{})
	go func() {
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			close(begun)
			ended <- err.Error()
			return
		}
		defer response.Body.Close()
		body := bufio.NewReader(response.Body)
		_, _ = body.Peek(1)
		if strings.Contains(path, "events") {
			close(begun)
		}
		_, _ = io.Copy(io.Discard, body)
		ended <- response.Status
	}()
	if strings.Contains(path, "events") {
		<-begun
	}
	return ended
}

// TestSessionEndsWithToken: whatever ends a token ends its sessions, with what
// they have open, at the hub where it happens and at others; nothing of another
// token's.
func TestSessionEndsWithToken(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hub.db")
	var replicas []*fixture
	var bases []string
	for range 2 {
		st, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		f := newFixture(t, hub.Options{Store: st, Limits: transport.Limits{Recheck: 10 * time.Millisecond}, Consumer: server.Limits{Recheck: 10 * time.Millisecond, MaxWait: timeout}})
		replicas, bases = append(replicas, f), append(bases, strings.TrimSuffix(f.web(), "/api/v2/workspaceagents/me/rpc"))
	}
	one := replicas[0]
	one.token(store.RoleAgent, "a")
	bystander := open(t, bases[1], "/api/v0/events", one.signIn(one.token(store.RoleReader, "")))
	for name, end := range map[string]func(token store.Token, cookie *http.Cookie) error{
		"revoked": func(token store.Token, _ *http.Cookie) error { return one.store.RevokeToken(t.Context(), token.ID) },
		"deleted": func(store.Token, *http.Cookie) error { return one.store.SyncProvisioned(t.Context(), nil) },
		"signed out": func(_ store.Token, cookie *http.Cookie) error {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, bases[0]+"/logout", nil)
			if err != nil {
				return err
			}
			request.AddCookie(cookie)
			response, err := http.DefaultClient.Do(request)
			if err == nil {
				_ = response.Body.Close()
			}
			return err
		},
	} {
		text := credential.ReaderToken.New()
		nt := store.NewToken{Role: store.RoleReader, Hash: credential.HashOf(text)}
		if name == "deleted" {
			if err := one.store.SyncProvisioned(t.Context(), []store.NewToken{nt}); err != nil {
				t.Fatal(err)
			}
		} else if _, err := one.store.CreateToken(t.Context(), nt); err != nil {
			t.Fatal(err)
		}
		token, err := one.store.TokenByHash(t.Context(), nt.Hash)
		if err != nil {
			t.Fatal(err)
		}
		cookie := one.signIn(text)
		var streams []<-chan string
		for _, base := range bases {
			streams = append(streams, open(t, base, "/api/v0/events", cookie))
		}
		waiting := open(t, bases[1], "/api/v0/agents/a/context?wait=5m", cookie)
		if !one.eventually(func() bool { return replicas[1].hub.Stats().Streams == 3 }) { // the bystander's, and two
			t.Fatal("the waiting request never comes")
		}
		if err := end(token, cookie); err != nil {
			t.Fatal(err)
		}
		for i, base := range bases {
			if status := <-open(t, base, "/api/v0/agents", cookie); status != "401 Unauthorized" {
				t.Errorf("%s: the next request at hub %d: %s", name, i, status)
			}
			if status := <-streams[i]; status != "200 OK" {
				t.Errorf("%s: the stream at hub %d: %s", name, i, status)
			}
		}
		if status := <-waiting; status != "401 Unauthorized" {
			t.Errorf("%s: the waiting request: %s", name, status)
		}
		if status := <-open(t, bases[0], "/api/v0/agents", text); (status == "200 OK") != (name == "signed out") {
			t.Errorf("%s: the token itself: %s", name, status)
		}
	}
	select {
	case status := <-bystander:
		t.Errorf("another token's stream ended: %s", status)
	default:
	}
}

// TestSessionEndsInTime: a session ends after twelve hours, used or not, and
// with its token, whichever comes first.
func TestSessionEndsInTime(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64 // of the clock
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "hub.db"), sqlite.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, hub.Options{Store: st, Now: now, Consumer: server.Limits{Recheck: 10 * time.Millisecond, MaxWait: timeout}})
	base := strings.TrimSuffix(f.web(), "/api/v2/workspaceagents/me/rpc")
	reader := func(expires time.Time) string {
		t.Helper()
		text, _, err := hub.CreateToken(t.Context(), f.store, store.NewToken{Role: store.RoleReader, ExpiresAt: expires})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	forever, hours := reader(time.Time{}), reader(now().Add(5*time.Hour))
	long, short := f.signIn(forever), f.signIn(hours)
	if long.MaxAge < 11*3600 || long.MaxAge > 12*3600 || short.MaxAge > 5*3600 {
		t.Errorf("cookies for %d and %d seconds", long.MaxAge, short.MaxAge)
	}
	longStream, shortStream, tokenStream := open(t, base, "/api/v0/events", long), open(t, base, "/api/v0/events", short), open(t, base, "/api/v0/events", hours)
	check := func(when string, auth any, want string) {
		t.Helper()
		if status := <-open(t, base, "/api/v0/agents", auth); status != want {
			t.Errorf("%s: %s, want %s", when, status, want)
		}
	}
	ahead.Store(int64(4 * time.Hour)) // a machine may stand still for less than the hour that is left
	check("before the token's end", short, "200 OK")
	ahead.Store(int64(5 * time.Hour))
	check("after the token's end", short, "401 Unauthorized")
	check("the token after its end", hours, "401 Unauthorized")
	<-shortStream
	<-tokenStream
	ahead.Store(int64(11 * time.Hour))
	check("before twelve hours", long, "200 OK")
	ahead.Store(int64(12 * time.Hour))
	check("after twelve hours", long, "401 Unauthorized")
	<-longStream
	check("the token after twelve hours", forever, "200 OK")

	// What is open ends at the moment, and not with the next look at the store.
	ahead.Store(0)
	if st, err = sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "lazy.db"), sqlite.Options{Now: now}); err != nil {
		t.Fatal(err)
	}
	lazy := newFixture(t, hub.Options{Store: st, Now: now, Consumer: server.Limits{Recheck: time.Hour, MaxWait: timeout}})
	base = strings.TrimSuffix(lazy.web(), "/api/v2/workspaceagents/me/rpc")
	lazy.token(store.RoleAgent, "a")
	text, _, err := hub.CreateToken(t.Context(), lazy.store, store.NewToken{Role: store.RoleReader, ExpiresAt: now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	cookie := lazy.signIn(text)
	ahead.Store(int64(time.Hour - time.Second)) // who is too slow for that is refused, which is as good
	stream, waiting := open(t, base, "/api/v0/events", cookie), open(t, base, "/api/v0/agents/a/context?wait=5m", text)
	<-stream
	if status := <-waiting; status != "401 Unauthorized" {
		t.Errorf("a waiting request of a token that expires: %s", status)
	}
}

// TestLinkOfRevokedToken: a link opens nothing when its token is gone, and a
// session keeps its token's scope and makes no links.
func TestLinkOfRevokedToken(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	reader := f.token(store.RoleReader, "")
	var answer struct{ URL string }
	if err := json.NewDecoder(f.do("POST", "/api/v0/login", reader, "").Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	cookie := f.signIn(reader)
	f.revoke(reader)
	response := f.do("GET", strings.TrimPrefix(answer.URL, "http://localhost"), "", "")
	if response.StatusCode != 403 || len(response.Cookies()) != 0 {
		t.Errorf("a link of a revoked token: %s", response.Status)
	}
	text := f.log.String()
	for _, secret := range []string{reader, cookie.Value, answer.URL[strings.Index(answer.URL, "=")+1:]} {
		if strings.Contains(text, secret) {
			t.Errorf("%.4q… is in the log", secret)
		}
	}
}

// TestLastUse: that a token is used is written down once a minute at most, and
// when the hub ends.
func TestLastUse(t *testing.T) {
	t.Parallel()
	counting := &touches{}
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "hub.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	counting.Store = st
	var ahead atomic.Int64
	f := newFixture(t, hub.Options{Store: counting, Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	reader := f.token(store.RoleReader, "")
	use := func() {
		t.Helper()
		for range 50 {
			if response := f.do("GET", "/api/v0/agents", reader, ""); response.StatusCode != 200 {
				t.Fatal(response.Status)
			}
		}
	}
	for i, want := range []int64{1, 1, 2} {
		use()
		if !f.eventually(func() bool { return counting.n.Load() >= want }) || counting.n.Load() > want {
			t.Errorf("after use %d it is written down %d times, want %d", i, counting.n.Load(), want)
		}
		// A second, then two minutes: between them lies the minute, with room for a slow machine.
		ahead.Add(int64([]time.Duration{time.Second, 2 * time.Minute, time.Second}[i]))
	}
	use()
	for range 2 {
		if err := f.hub.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := counting.n.Load(); n != 3 {
		t.Errorf("in the end it is written down %d times, want 3", n)
	}
}

// touches counts what is written of uses.
type touches struct {
	store.Store
	n atomic.Int64
}

func (c *touches) TouchTokens(ctx context.Context, ids []string) error {
	c.n.Add(int64(len(ids)))
	return c.Store.TouchTokens(ctx, ids)
}
