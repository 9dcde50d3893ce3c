package hub_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"waymark/hub"
	"waymark/hub/ingest"
	"waymark/hub/store"
	"waymark/hub/store/sqlite"
	"waymark/hub/transport"
	"waymark/test/pushtest"
	"waymark/wire"
	"waymark/wire/coder"
)

// TestObserve: every way in which a push can end is told, in one word.
func TestObserve(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex // guards told
	var told []ingest.PushResult
	f := newFixture(t, hub.Options{Limits: transport.Limits{Rate: never, Burst: 30}, Observe: func(o ingest.PushObserved) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, o.Result)
		if o.Result == ingest.PushAccepted && (o.Bytes == 0 || o.Duration <= 0 || o.Protocol == "") {
			t.Errorf("told: %+v", o)
		}
	}})
	expect := func(want ingest.PushResult) {
		t.Helper()
		if !f.eventually(func() bool { mu.Lock(); defer mu.Unlock(); return len(told) > 0 }) {
			t.Fatalf("nothing is told, want %s", want)
		}
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(told, []ingest.PushResult{want}) {
			t.Errorf("told %v, want %s", told, want)
		}
		told = nil
	}
	endpoint, token := f.web(), f.token(store.RoleAgent, "a")
	older, newer := dialBare(t, endpoint, token), dialBare(t, endpoint, token)
	older.mustPush(&pushtest.Push{Version: 1}, true)
	expect(ingest.PushAccepted)
	newer.mustPush(&pushtest.Push{Version: 1}, true)
	expect(ingest.PushAccepted)
	newer.mustPush(&pushtest.Push{Version: 1}, false)
	expect(ingest.PushNotAccepted)
	newer.mustPush(&pushtest.Push{Version: 3, Base: []byte(long(32))}, false)
	expect(ingest.PushFullNeeded)
	if _, err := older.push(&pushtest.Push{Version: 2}); !wire.IsSuperseded(err) {
		t.Errorf("superseded: %v", err)
	}
	expect(ingest.PushRefused)
	if _, err := newer.pushCoder(&coder.PushContextStateRequest{Version: 4, Resources: []*coder.ContextResource{{}}}); err == nil {
		t.Error("a broken push was taken")
	}
	expect(ingest.PushRefused)
	if err := newer.invoke(wire.MethodPush, []byte(strings.Repeat("\x2a\x00", 2<<20-1))); !wire.IsTooLarge(err) {
		t.Errorf("a bomb: %v", err)
	}
	expect(ingest.PushTooLarge)
	if err := newer.invoke(wire.MethodPush, []byte("\xff\xff")); err == nil {
		t.Error("no message was taken for one")
	}
	expect(ingest.PushRefused)
	if _, err := f.dial("wma_wrong").push(&pushtest.Push{Version: 1}); !wire.IsUnauthorized(err) {
		t.Errorf("unauthorized: %v", err)
	}
	expect(ingest.PushUnauthorized)
	for busy := false; !busy; {
		_, err := newer.push(&pushtest.Push{Version: 5})
		busy = wire.IsBusy(err)
	}
	if !f.eventually(func() bool { mu.Lock(); defer mu.Unlock(); return slices.Contains(told, ingest.PushBusy) }) {
		t.Errorf("told %v, want %s", told, ingest.PushBusy)
	}
}

// failingStore is a store whose database is gone, as long as it is said so.
type failingStore struct {
	store.Store
	mu    sync.Mutex // guards the rest
	fails bool
	full  bool // its disk
	asked int
}

func (s *failingStore) ValidTokens(ctx context.Context, ids []string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if s.fails {
		return nil, errors.New("dial tcp 10.0.0.7:5432: secret detail")
	}
	// The time that an answer may take isn't what this is about.
	return s.Store.ValidTokens(context.WithoutCancel(ctx), ids)
}

func (s *failingStore) Writable(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if s.full || s.fails {
		return errors.New("no space left on device: secret detail")
	}
	return s.Store.Writable(context.WithoutCancel(ctx))
}

// TestReady: a hub is ready for agents while its store can write, and for readers while that
// answers. It says nothing to whoever has no token about what is wrong, and doesn't pass each
// question on to the database.
func TestReady(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "hub.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	st := &failingStore{Store: db}
	server := listen(t, hub.ListenOptions{
		HTTP: "127.0.0.1:0", DB: "sqlite:failing",
		Databases: hub.Databases{
			Check: func(string) error { return nil },
			Open:  func(context.Context, string, hub.StoreOptions) (store.Store, error) { return st, nil },
		},
	})
	stop := run(t, server)
	readyFor := func(whom string) (int, string) {
		response, err := http.Get(server.HTTPURL() + "/readyz" + whom)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		return response.StatusCode, body(t, response)
	}
	ready := func() (int, string) { return readyFor("") }
	for range 200 {
		if code, text := ready(); code != 200 || text != "ready\n" {
			t.Fatalf("%d %s", code, text)
		}
	}
	st.mu.Lock()
	if st.asked > 100 {
		t.Errorf("the database was asked %d times", st.asked)
	}
	st.full = true
	st.mu.Unlock()
	f := new(fixture)
	if !f.eventually(func() bool { code, text := ready(); return code == 503 && text == "the store can't write\n" }) {
		t.Error("it is ready for agents with a full disk")
	}
	if code, text := readyFor("?for=readers"); code != 200 || text != "ready\n" {
		t.Errorf("for readers: %d %s", code, text)
	}
	st.mu.Lock()
	st.full, st.fails = false, true
	st.mu.Unlock()
	if !f.eventually(func() bool {
		code, text := readyFor("?for=readers")
		return code == 503 && text == "the store doesn't answer\n"
	}) {
		t.Error("it is ready for readers without a store")
	}
	st.mu.Lock()
	st.fails = false
	st.mu.Unlock()
	if code, _ := readyFor("?for=somebody"); code != 400 {
		t.Errorf("for somebody: %d", code)
	}
	if !f.eventually(func() bool { code, _ := ready(); return code == 200 }) {
		t.Error("it isn't ready again")
	}
	if response, err := http.Post(server.HTTPURL()+"/readyz", "text/plain", nil); err != nil || response.StatusCode != 405 {
		t.Errorf("POST: %v, %v", response, err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestFull: a hub that has as many agents as it takes isn't ready for more, and answers
// readers.
func TestFull(t *testing.T) {
	t.Parallel()
	server := listen(t, hub.ListenOptions{
		HTTP: "127.0.0.1:0", DB: "sqlite:" + filepath.Join(t.TempDir(), "hub.db"), Limits: transport.Limits{Connections: 1},
	})
	stop := run(t, server)
	ready := func(whom, want string) bool {
		response, err := http.Get(server.HTTPURL() + "/readyz" + whom)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		return body(t, response) == want
	}
	f := new(fixture)
	if !ready("", "ready\n") {
		t.Error("it isn't ready")
	}
	token, _, err := hub.CreateToken(t.Context(), server.Store(), store.NewToken{Role: store.RoleAgent})
	if err != nil {
		t.Fatal(err)
	}
	conn := dialWS(t, server.HTTPURL()+wire.EndpointPath, token)
	if !f.eventually(func() bool { return ready("", "full\n") }) || !ready("?for=readers", "ready\n") {
		t.Error("it is ready for a second agent, or not for readers")
	}
	_ = conn.CloseNow()
	if !f.eventually(func() bool { return ready("", "ready\n") }) {
		t.Error("it isn't ready again")
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
