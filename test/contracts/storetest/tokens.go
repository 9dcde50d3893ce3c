package storetest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waymark/hub/store"
	"waymark/internal/credential"
)

var tokenTests = map[string]func(*testing.T, store.Store){
	"TokenLife":          testTokenLife,
	"TokenMakesAgent":    testTokenMakesAgent,
	"TokenRefused":       testTokenRefused,
	"TokenUnknown":       testTokenUnknown,
	"ProvisionedSync":    testProvisionedSync,
	"ProvisionedAtomic":  testProvisionedAtomic,
	"ProvisionedRevoked": testProvisionedRevoked,
}

func testTokenLife(t *testing.T, s store.Store) {
	nt := newToken(store.RoleReader, "")
	nt.Name = "laptop"
	made, err := s.CreateToken(t.Context(), nt)
	if err != nil {
		t.Fatal(err)
	}
	if made.ID == "" || made.Role != store.RoleReader || made.Name != "laptop" || made.CreatedAt.IsZero() || made.Revoked() || made.Provisioned {
		t.Errorf("new token is %+v", made)
	}
	got, err := s.TokenByHash(t.Context(), nt.Hash)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(made, got); d != "" {
		t.Errorf("looked up (-made +got):\n%s", d)
	}
	if err := s.TouchTokens(t.Context(), []string{"x", made.ID}); err != nil {
		t.Fatal(err)
	}
	if err := s.RevokeToken(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	first := lookup(t, s, nt.Hash)
	if first.LastUsedAt.IsZero() || !first.Revoked() {
		t.Errorf("touched and revoked token is %+v", first)
	}
	if err := s.RevokeToken(t.Context(), made.ID); err != nil {
		t.Errorf("revoke twice: %v", err)
	}
	if again := lookup(t, s, nt.Hash); !again.RevokedAt.Equal(first.RevokedAt) {
		t.Errorf("revoking twice moved the time from %v to %v", first.RevokedAt, again.RevokedAt)
	}
	_, err = s.CreateToken(t.Context(), nt)
	wantErr(t, err, store.ErrTokenExists)
}

func lookup(t *testing.T, s store.Store, hash credential.Hash) store.Token {
	t.Helper()
	token, err := s.TokenByHash(t.Context(), hash)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func testTokenMakesAgent(t *testing.T, s store.Store) {
	anonymous, err := s.CreateToken(t.Context(), newToken(store.RoleAgent, ""))
	if err != nil {
		t.Fatal(err)
	}
	if len(anonymous.AgentID) != 36 {
		t.Errorf("agent id %q is not a UUID", anonymous.AgentID)
	}
	for _, name := range []string{"first", "", "second", ""} {
		nt := newToken(store.RoleAgent, "dev-1")
		nt.Name = name
		if _, err := s.CreateToken(t.Context(), nt); err != nil {
			t.Fatal(err)
		}
	}
	names := map[string]string{}
	for _, a := range agents(t, s) {
		names[a.ID] = a.Name
	}
	if d := cmp.Diff(map[string]string{anonymous.AgentID: "", "dev-1": "second"}, names); d != "" {
		t.Errorf("agents (-want +got):\n%s", d)
	}
	tokens, err := s.Tokens(t.Context())
	if err != nil || len(tokens) != 5 || tokens[0].ID != anonymous.ID {
		t.Errorf("tokens: %v, %+v", err, tokens)
	}
}

func agents(t *testing.T, s store.Store) []store.AgentInfo {
	t.Helper()
	list, err := s.Agents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func testTokenRefused(t *testing.T, s store.Store) {
	for name, change := range map[string]func(*store.NewToken){
		"no role":         func(n *store.NewToken) { n.Role = "" },
		"unknown role":    func(n *store.NewToken) { n.Role = "admin" },
		"reader of agent": func(n *store.NewToken) { n.Role = store.RoleReader },
		"no hash":         func(n *store.NewToken) { n.Hash = credential.Hash{} },
		"id with slash":   func(n *store.NewToken) { n.AgentID = "a/b" },
		"id with dot":     func(n *store.NewToken) { n.AgentID = "." },
		"id with NUL":     func(n *store.NewToken) { n.AgentID = "a\x00" },
		"long id":         func(n *store.NewToken) { n.AgentID = strings.Repeat("a", 129) },
		"NUL in name":     func(n *store.NewToken) { n.Name = "a\x00b" },
		"bad name":        func(n *store.NewToken) { n.Name = "\xff" },
	} {
		nt := newToken(store.RoleAgent, "a")
		change(&nt)
		if _, err := s.CreateToken(t.Context(), nt); err == nil {
			t.Errorf("%s: accepted", name)
		} else {
			wantErr(t, err, store.ErrInvalid)
		}
	}
	if list := agents(t, s); len(list) != 0 {
		t.Errorf("refused tokens left agents: %+v", list)
	}
}

func testTokenUnknown(t *testing.T, s store.Store) {
	_, err := s.TokenByHash(t.Context(), credential.HashOf("x"))
	wantErr(t, err, store.ErrNotFound)
	if err := s.TouchTokens(t.Context(), []string{"x", "\xff"}); err != nil {
		t.Errorf("touch what isn't there: %v", err)
	}
	wantErr(t, s.RevokeToken(t.Context(), "x"), store.ErrNotFound)
	tokens, err := s.Tokens(t.Context())
	if err != nil || len(tokens) != 0 {
		t.Errorf("tokens: %v, %+v", err, tokens)
	}
}

func provision(t *testing.T, s store.Store, tokens ...store.NewToken) {
	t.Helper()
	if err := s.SyncProvisioned(t.Context(), tokens); err != nil {
		t.Fatal(err)
	}
}

func testProvisionedSync(t *testing.T, s store.Store) {
	own := newToken(store.RoleReader, "")
	if _, err := s.CreateToken(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	a, b := newToken(store.RoleAgent, "a"), newToken(store.RoleReader, "")
	provision(t, s, a, b)
	before := lookup(t, s, a.Hash)
	if !before.Provisioned || before.AgentID != "a" {
		t.Errorf("provisioned token is %+v", before)
	}
	provision(t, s, a)
	if d := cmp.Diff(before, lookup(t, s, a.Hash)); d != "" {
		t.Errorf("a second sync changed a token (-before +after):\n%s", d)
	}
	_, err := s.TokenByHash(t.Context(), b.Hash)
	wantErr(t, err, store.ErrNotFound)

	moved := a
	moved.AgentID = "b"
	provision(t, s, moved)
	if got := lookup(t, s, a.Hash); got.AgentID != "b" {
		t.Errorf("token still belongs to %q", got.AgentID)
	}
	provision(t, s)
	tokens, err := s.Tokens(t.Context())
	if err != nil || len(tokens) != 1 || tokens[0].ID != lookup(t, s, own.Hash).ID {
		t.Errorf("left are %+v, %v; want only the created token", tokens, err)
	}
}

func testProvisionedAtomic(t *testing.T, s store.Store) {
	own, a := newToken(store.RoleReader, ""), newToken(store.RoleAgent, "a")
	if _, err := s.CreateToken(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	provision(t, s, a)
	fresh := newToken(store.RoleReader, "")
	wantErr(t, s.SyncProvisioned(t.Context(), []store.NewToken{fresh, own}), store.ErrTokenExists)
	wantErr(t, s.SyncProvisioned(t.Context(), []store.NewToken{fresh, fresh}), store.ErrTokenExists)
	wantErr(t, s.SyncProvisioned(t.Context(), []store.NewToken{fresh, newToken(store.RoleAgent, "")}), store.ErrInvalid)
	lookup(t, s, a.Hash)
	_, err := s.TokenByHash(t.Context(), fresh.Hash)
	wantErr(t, err, store.ErrNotFound)
}

func testProvisionedRevoked(t *testing.T, s store.Store) {
	a := newToken(store.RoleAgent, "a")
	provision(t, s, a)
	if err := s.RevokeToken(t.Context(), lookup(t, s, a.Hash).ID); err != nil {
		t.Fatal(err)
	}
	provision(t, s, a)
	if got := lookup(t, s, a.Hash); !got.Revoked() {
		t.Error("a sync brought a revoked token back")
	}
}
