package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waymark/hub/store"
	"waymark/internal/credential"
)

var auditTests = map[string]func(*testing.T, Database){
	"Audit":      testAudit,
	"AuditPages": testAuditPages,
}

// testAudit: an act is written with the change that it is of, and only with it.
func testAudit(t *testing.T, db Database) {
	s := db.Open(t, Config{})
	at := time.Now().UTC().Truncate(time.Microsecond)
	var want []store.Act
	// does calls f in the context of an act, which is to be recorded about subject unless f fails.
	does := func(what string, f func(ctx context.Context) (subject string, err error)) {
		t.Helper()
		at = at.Add(time.Second)
		act := store.Act{At: at, By: "token", ByName: "ops", What: what, Subject: "x", Detail: "detail"}
		subject, err := f(store.WithAct(t.Context(), &act))
		if err == nil {
			want = append([]store.Act{{ID: act.ID, At: at, By: "token", ByName: "ops", What: what, Subject: subject, Detail: "detail"}}, want...)
		} else if !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrTokenExists) && !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	token := newToken(store.RoleAgent, "a")
	for range 2 { // the second time its hash is there already
		does("token.created", func(ctx context.Context) (string, error) {
			made, err := s.CreateToken(ctx, token)
			return made.ID, err
		})
	}
	does("enrollment.created", func(ctx context.Context) (string, error) {
		hash, err := store.ParseEnrollment(credential.EnrollmentCode.New())
		if err != nil {
			t.Fatal(err)
		}
		made, err := s.CreateEnrollment(ctx, store.NewEnrollment{Hash: hash, MaxUses: 1, ExpiresAt: time.Now().Add(time.Hour)})
		return made.ID, err
	})
	does("webhook.created", func(ctx context.Context) (string, error) {
		made, err := s.CreateWebhook(ctx, store.NewWebhook{URL: "https://example.com/", Secret: credential.WebhookSecret.New()})
		return made.ID, err
	})
	for _, id := range []string{"a", "nobody"} {
		does("agent.renamed", func(ctx context.Context) (string, error) { return "x", s.RenameAgent(ctx, id, "another") })
		does("agent.renamed", func(ctx context.Context) (string, error) { return "x", s.RenameAgent(ctx, id, "\x00") })
		does("agent.labeled", func(ctx context.Context) (string, error) {
			_, err := s.LabelAgent(ctx, id, store.Labels{"a": "b"}, nil)
			return "x", err
		})
		does("token.revoked", func(ctx context.Context) (string, error) { return "x", s.RevokeToken(ctx, id) })
		does("webhook.deleted", func(ctx context.Context) (string, error) { return "x", s.DeleteWebhook(ctx, id) })
		does("agent.removed", func(ctx context.Context) (string, error) { return "x", s.RemoveAgent(ctx, id) })
	}
	does("backup.made", func(ctx context.Context) (string, error) { return "x", s.Record(ctx) })
	if err := s.RevokeToken(t.Context(), "nobody"); !errors.Is(err, store.ErrNotFound) { // and nothing without an act
		t.Error(err)
	}
	got, next, err := s.Acts(t.Context(), store.AuditQuery{Limit: 100})
	if d := cmp.Diff(want, got); d != "" || next != nil || err != nil {
		t.Errorf("%v, %v (-want +got)\n%s", next, err, d)
	}
	if len(want) != 7 {
		t.Errorf("%d acts succeeded, want 7", len(want))
	}
}

func testAuditPages(t *testing.T, db Database) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := db.Open(t, Config{Now: func() time.Time { return now }})
	for i := range 7 { // two at a time
		act := store.Act{At: now.Add(time.Duration(i/2) * time.Hour), What: "x", Subject: fmt.Sprint("s", i%3)}
		if err := s.Record(store.WithAct(t.Context(), &act)); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		q    store.AuditQuery
		want int
	}{{store.AuditQuery{Limit: 3}, 7}, {store.AuditQuery{Limit: 1}, 7}, {store.AuditQuery{Limit: 7}, 7}, {store.AuditQuery{Limit: 2, Subject: "s0"}, 3}, {store.AuditQuery{Limit: 2, Subject: "s\x00"}, 0}} {
		seen := make(map[string]bool)
		last := now.Add(time.Hour * 1000)
		for q := test.q; ; {
			page, next, err := s.Acts(t.Context(), q)
			if err != nil || len(page) > q.Limit {
				t.Fatalf("%d entries, %v", len(page), err)
			}
			for _, a := range page {
				if seen[a.ID] || a.At.After(last) || q.Subject != "" && a.Subject != q.Subject {
					t.Errorf("%+v comes twice, is in the wrong order, or about something else", a)
				}
				seen[a.ID], last = true, a.At
			}
			if next == nil {
				break
			}
			q.After = next
		}
		if len(seen) != test.want {
			t.Errorf("%+v: %d entries, want %d", test.q, len(seen), test.want)
		}
	}
	now = now.Add(store.KeepActs + 90*time.Minute)
	if err := s.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := db.Count(t, "audit"); n != 3 {
		t.Errorf("%d entries are kept, want 3", n)
	}
}
