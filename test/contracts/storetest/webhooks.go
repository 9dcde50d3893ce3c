package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"waymark/hub/store"
	"waymark/internal/credential"
	"waymark/snapshot"
)

var webhookTests = map[string]func(*testing.T, Database){
	"Webhooks":       testWebhooks,
	"WebhookNotice":  testWebhookNotice,
	"WebhookClaim":   testWebhookClaim,
	"WebhookReplica": testWebhookReplica,
	"WebhookFull":    testWebhookFull,
}

func webhook(t *testing.T, s store.Store, types ...store.WebhookType) store.Webhook {
	t.Helper()
	w, err := s.CreateWebhook(t.Context(), store.NewWebhook{Name: "ops", URL: "https://example.com/hook", Secret: credential.WebhookSecret.New(), Types: types})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func webhooks(t *testing.T, s store.Store) []store.Webhook {
	t.Helper()
	list, err := s.Webhooks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func testWebhooks(t *testing.T, db Database) {
	s := db.Open(t, Config{})
	for _, bad := range []store.NewWebhook{
		{URL: ""}, {URL: "example.com"}, {URL: "http://example.com"}, {URL: "ftp://example.com"}, {URL: "https://a:b@example.com"},
		{URL: "https://example.com/#x"}, {URL: "https://"}, {URL: "https:example.com"}, {URL: "https://example.com/" + strings.Repeat("x", 3000)},
		{URL: "https://example.com", Name: "\x00"}, {URL: "https://example.com", Types: []store.WebhookType{store.WebhookTest}},
		{URL: "https://example.com", Secret: "whsec_c2hvcnQ="}, {URL: "https://example.com", Secret: "x"},
	} {
		if bad.Secret == "" {
			bad.Secret = credential.WebhookSecret.New()
		}
		_, err := s.CreateWebhook(t.Context(), bad)
		wantErr(t, err, store.ErrInvalid)
	}
	want := store.NewWebhook{URL: "http://example.com/hook", Secret: credential.WebhookSecret.New(), Types: []store.WebhookType{store.WebhookType(store.AttentionPins)}, Insecure: true, Private: true}
	made, err := s.CreateWebhook(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	if list := webhooks(t, s); len(list) != 1 || fmt.Sprint(list[0]) != fmt.Sprint(made) || list[0].Secret != want.Secret || !list[0].Insecure || !list[0].Private {
		t.Errorf("%+v", list)
	}
	for range store.MaxWebhooks - 1 {
		webhook(t, s)
	}
	want.Name = "one more"
	_, err = s.CreateWebhook(t.Context(), want)
	wantErr(t, err, store.ErrTooManyWebhooks)
	if err := s.DeleteWebhook(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	wantErr(t, s.DeleteWebhook(t.Context(), made.ID), store.ErrNotFound)
	wantErr(t, s.DeleteWebhook(t.Context(), "\xff"), store.ErrNotFound)
	if list := webhooks(t, s); len(list) != store.MaxWebhooks-1 {
		t.Errorf("%d left", len(list))
	}
}

// told takes all that waits, and returns it as TYPE COUNT AGENT….
func told(t *testing.T, s store.Store) (list []string) {
	t.Helper()
	for {
		w, m, err := s.ClaimWebhook(t.Context(), time.Minute)
		if err != nil {
			wantErr(t, err, store.ErrNotFound)
			slices.Sort(list)
			return list
		}
		var message struct {
			Type store.WebhookType
			Data struct {
				Count int
				Items []store.Told
			}
		}
		if err := json.Unmarshal(m.Body, &message); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(message.Type, " ", message.Data.Count)
		for _, item := range message.Data.Items {
			text += fmt.Sprint(" ", item.AgentID, item.Plugins)
		}
		list = append(list, text)
		if mine, err := s.FinishMessage(t.Context(), &w, &m, store.MessageResult{Delivered: true, Next: m.CreatedAt}); err != nil || !mine {
			t.Fatal(mine, err)
		}
	}
}

// withHash is a push with an aggregate hash, of which pins tell that they have drifted.
func withHash(version uint64, hash string) store.Push {
	p := whole(version)
	p.Snapshot.AggregateHash = snapshot.Hash(strings.Repeat(hash, 32))
	return p
}

func testWebhookNotice(t *testing.T, db Database) {
	now := time.Now()
	s := db.Open(t, Config{Now: func() time.Time { return now }})
	notice := func(want ...string) {
		t.Helper()
		now = now.Add(store.WebhookTurn)
		if _, err := s.Notice(t.Context(), store.NoticeOptions{SeenBefore: now.Add(-10 * time.Minute)}); err != nil {
			t.Fatal(err)
		}
		if got := told(t, s); !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
	}
	g := agent(t, s, "a")
	push(t, s, "a", g, withHash(1, "a"))
	pin, err := s.CreatePin(t.Context(), "a", "chat")
	if err != nil {
		t.Fatal(err)
	}
	failing := withHash(2, "b")
	failing.Snapshot.Plugins = []snapshot.Plugin{{Name: "z", State: snapshot.PluginFailing}, {Name: "fine", State: snapshot.PluginReady}, {Name: "b", State: snapshot.PluginRejected}}
	push(t, s, "a", g, failing)
	notice() // nobody wants to know
	webhook(t, s)
	webhook(t, s, store.WebhookType(store.AttentionAway))
	notice("drifted_pins 1 a[]", "failing_plugins 1 a[b z]")
	notice()
	// It holds no more, and holds again soon.
	push(t, s, "a", g, withHash(3, "b"))
	notice()
	failing.Snapshot.Version = 4
	push(t, s, "a", g, failing)
	notice()
	// What was over for long is told to be, and told again, and so is a pin that drifts from where it was moved.
	if _, err := s.RefreshPin(t.Context(), pin.ID); err != nil {
		t.Fatal(err)
	}
	push(t, s, "a", g, withHash(5, "c"))
	notice("drifted_pins 1 a[]")
	now = now.Add(store.WebhookQuiet)
	if err := s.EndSessions(t.Context(), "", []store.EndedSession{{AgentID: "a"}}); err != nil {
		t.Fatal(err)
	}
	notice("drifted_pins.resolved 1 a[]", "failing_plugins.resolved 1 a[]")
	failing.Snapshot.Version = 6
	failing.Snapshot.Resources = []snapshot.Resource{{Kind: "skill", Source: "/x", Name: "x", Status: snapshot.StatusInvalid, Error: "why"}}
	push(t, s, "a", g, failing)
	notice("failing_plugins 1 a[b z]", "invalid_resources 1 a[]")
	// Away, and an agent that never was there.
	if _, err := s.CreateToken(t.Context(), newToken(store.RoleAgent, "never")); err != nil {
		t.Fatal(err)
	}
	now = now.Add(10*time.Minute + 1)
	if _, err := s.Notice(t.Context(), store.NoticeOptions{}); err != nil { // who has just begun doesn't know
		t.Fatal(err)
	}
	notice("away 1 a[]", "away 1 a[]", "never_connected 1 never[]")
	notice()
}

func testWebhookClaim(t *testing.T, db Database) {
	now := time.Now()
	s := db.Open(t, Config{Now: func() time.Time { return now }})
	webhook(t, s)
	agent(t, s, "a")
	now = now.Add(time.Hour)
	if n, err := s.Notice(t.Context(), store.NoticeOptions{SeenBefore: now}); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	w, m, err := s.ClaimWebhook(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = s.ClaimWebhook(t.Context(), time.Minute)
	wantErr(t, err, store.ErrNotFound)
	// Who was too slow has lost it, and what they say doesn't count.
	now = now.Add(time.Minute)
	w2, m2, err := s.ClaimWebhook(t.Context(), time.Minute)
	if err != nil || m2.ID != m.ID {
		t.Fatalf("%+v, %v", m2, err)
	}
	if mine, err := s.FinishMessage(t.Context(), &w, &m, store.MessageResult{Delivered: true}); err != nil || mine {
		t.Error(mine, err)
	}
	next := now.Add(time.Hour)
	if mine, err := s.FinishMessage(t.Context(), &w2, &m2, store.MessageResult{Error: "it answers 500", Next: next}); err != nil || !mine {
		t.Error(mine, err)
	}
	if got := webhooks(t, s)[0]; got.Failures != 1 || got.LastError != "it answers 500" || got.Waiting != 1 || got.NextAt.UnixMicro() != next.UnixMicro() {
		t.Errorf("%+v", got)
	}
	_, _, err = s.ClaimWebhook(t.Context(), time.Minute)
	wantErr(t, err, store.ErrNotFound)
	now = next
	if w, m, err = s.ClaimWebhook(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if mine, err := s.FinishMessage(t.Context(), &w, &m, store.MessageResult{Drop: true, Error: "too old", Next: now}); err != nil || !mine {
		t.Error(mine, err)
	}
	if got := webhooks(t, s)[0]; got.Failures != 2 || got.Dropped != 1 || got.Sent != 0 || got.Waiting != 0 {
		t.Errorf("%+v", got)
	}
	// With a webhook goes what waits for it.
	if err := s.DeleteWebhook(t.Context(), w.ID); err != nil || db.Count(t, "webhook_messages") != 0 || db.Count(t, "webhook_conditions") != 0 {
		t.Error(err)
	}
}

// testWebhookReplica: of hubs that look, and send, at once, one does.
func testWebhookReplica(t *testing.T, db Database) {
	hubs := []store.Store{db.Open(t, Config{}), db.Open(t, Config{})}
	webhook(t, hubs[0])
	g := agent(t, hubs[0], "a")
	failing := whole(1)
	failing.Snapshot.Plugins = []snapshot.Plugin{{Name: "z", State: snapshot.PluginFailing}}
	push(t, hubs[0], "a", g, failing)
	var crowd sync.WaitGroup
	var mu sync.Mutex
	messages, claims := 0, 0
	for i := range 10 {
		crowd.Go(func() {
			n, err := hubs[i%2].Notice(t.Context(), store.NoticeOptions{})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			messages += n
		})
	}
	crowd.Wait()
	for i := range 10 {
		crowd.Go(func() {
			if _, _, err := hubs[i%2].ClaimWebhook(t.Context(), time.Hour); err == nil {
				mu.Lock()
				defer mu.Unlock()
				claims++
			}
		})
	}
	crowd.Wait()
	if messages != 1 || claims != 1 {
		t.Errorf("%d messages, %d have them", messages, claims)
	}
}

// testWebhookFull: what waits is bounded, and what is dropped is counted.
func testWebhookFull(t *testing.T, db Database) {
	now := time.Now()
	s := db.Open(t, Config{Now: func() time.Time { return now }})
	webhook(t, s, store.WebhookType(store.AttentionAway))
	agent(t, s, "a")
	for range store.MaxMessages + 2 {
		now = now.Add(store.WebhookQuiet + time.Second)
		for _, before := range []time.Time{now, now.Add(-10 * 365 * 24 * time.Hour)} { // away, and back
			now = now.Add(store.WebhookTurn)
			if _, err := s.Notice(t.Context(), store.NoticeOptions{SeenBefore: before}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := webhooks(t, s)[0]; got.Waiting != store.MaxMessages || got.Dropped != 2 {
		t.Errorf("%d wait, %d dropped", got.Waiting, got.Dropped)
	}
}
