package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waymark/hub/store"
	"waymark/internal/credential"
)

// readerTests are about what a reader's token shows, and how it ends.
var readerTests = map[string]func(*testing.T, Database){
	"TokenScope":      testTokenScope,
	"TokenExpires":    testTokenExpires,
	"SessionLife":     testSessionLife,
	"SessionsOfToken": testSessionsOfToken,
	"SessionsAreFew":  testSessionsAreFew,
}

func create(t *testing.T, s store.Store, nt store.NewToken) store.Token {
	t.Helper()
	token, err := s.CreateToken(t.Context(), nt)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// testTokenScope: a scope comes back as it was given, in order, and tells what
// the token shows, also by other hubs.
func testTokenScope(t *testing.T, db Database) {
	s, other := db.Open(t, Config{}), db.Open(t, Config{})
	for _, scope := range [][]string{nil, {"a"}, {"b", "a", "b"}, {"A"}} {
		nt := newToken(store.RoleReader, "")
		nt.Scope = scope
		made := create(t, s, nt)
		got := lookup(t, other, nt.Hash)
		if d := cmp.Diff(made, got); d != "" {
			t.Errorf("scope %q (-made +looked up):\n%s", scope, d)
		}
		list, err := other.Tokens(t.Context())
		if i := slices.IndexFunc(list, func(t store.Token) bool { return t.ID == made.ID }); err != nil || i < 0 || cmp.Diff(made, list[i]) != "" {
			t.Errorf("scope %q is listed as %+v, %v", scope, list, err)
		}
		for _, id := range []string{"a", "b", "c", "A", "", "a "} {
			if want := scope == nil || slices.Contains(scope, id); got.Allows(id) != want {
				t.Errorf("a token with scope %q shows %q: %v", scope, id, !want)
			}
		}
	}
	for name, nt := range map[string]store.NewToken{
		"of an agent's token": {Role: store.RoleAgent, AgentID: "a", Scope: []string{"a"}},
		"without agents":      {Role: store.RoleReader, Scope: []string{}},
		"with a bad id":       {Role: store.RoleReader, Scope: []string{"a", "b/c"}},
		"with an empty id":    {Role: store.RoleReader, Scope: []string{""}},
		"too long":            {Role: store.RoleReader, Scope: make([]string, 1001)},
	} {
		nt.Hash = credential.HashOf(name)
		_, err := s.CreateToken(t.Context(), nt)
		if err == nil {
			t.Errorf("a scope %s was taken", name)
		}
		wantErr(t, err, store.ErrInvalid)
	}
}

// testTokenExpires: a token with an end is valid until then, and there for
// those who list it afterwards.
func testTokenExpires(t *testing.T, db Database) {
	c := newClock()
	s := db.Open(t, Config{Now: c.Now})
	nt := newToken(store.RoleReader, "")
	nt.ExpiresAt = c.Now().Truncate(time.Microsecond).Add(time.Hour)
	made := create(t, s, nt)
	forever := create(t, s, newToken(store.RoleAgent, "a"))
	for _, step := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {time.Hour - time.Microsecond, true}, {time.Microsecond, false}, {time.Hour, false}} {
		c.advance(step.after)
		got := lookup(t, s, nt.Hash)
		valid, err := s.ValidTokens(t.Context(), []string{made.ID, forever.ID})
		slices.Sort(valid)
		want := []string{forever.ID}
		if step.want {
			want = append(want, made.ID)
			slices.Sort(want)
		}
		if err != nil || !slices.Equal(valid, want) || got.Valid(c.Now()) != step.want || got.Revoked() {
			t.Errorf("%v later: %+v, valid are %q, %v", step.after, got, valid, err)
		}
	}
}

// session makes a session of the token.
func session(t *testing.T, s store.Store, tokenID string, expires time.Time) (credential.Hash, store.Session) {
	t.Helper()
	hash := credential.HashOf(credential.Session.New())
	made, err := s.CreateSession(t.Context(), store.NewSession{Hash: hash, TokenID: tokenID, ExpiresAt: expires})
	if err != nil {
		t.Fatal(err)
	}
	return hash, made
}

func wantSessions(t *testing.T, s store.Store, ids []string, want ...string) {
	t.Helper()
	valid, err := s.ValidSessions(t.Context(), ids)
	slices.Sort(valid)
	slices.Sort(want)
	if err != nil || !slices.Equal(valid, want) {
		t.Errorf("valid are %q, %v; want %q", valid, err, want)
	}
}

func testSessionLife(t *testing.T, db Database) {
	c := newClock()
	s, other := db.Open(t, Config{Now: c.Now}), db.Open(t, Config{Now: c.Now})
	nt := newToken(store.RoleReader, "")
	nt.Scope, nt.ExpiresAt = []string{"a"}, c.Now().Add(3*time.Hour)
	token := create(t, s, nt)
	hash, short := session(t, s, token.ID, c.Now().Add(time.Hour))
	_, long := session(t, s, token.ID, c.Now().Add(5*time.Hour))
	_, ended := session(t, s, token.ID, c.Now().Add(time.Hour))
	ids := []string{short.ID, long.ID, ended.ID, token.ID, "x", "\x00"}
	got, err := other.SessionByHash(t.Context(), hash)
	if d := cmp.Diff(short, got); err != nil || d != "" {
		t.Errorf("looked up: %v (-made +got):\n%s", err, d)
	}
	if !got.Until().Equal(short.ExpiresAt) || !long.Until().Equal(token.ExpiresAt) || got.Token.Scope[0] != "a" {
		t.Errorf("%+v ends at %v, %+v at %v", got, got.Until(), long, long.Until())
	}
	wantSessions(t, other, ids, short.ID, long.ID, ended.ID)
	for range 2 { // a second time is fine
		if err := other.EndSession(t.Context(), ended.ID); err != nil {
			t.Error(err)
		}
	}
	wantSessions(t, s, ids, short.ID, long.ID)
	c.advance(time.Hour)
	wantSessions(t, s, ids, long.ID)
	c.advance(2 * time.Hour) // its token has expired
	wantSessions(t, s, ids)
	_, err = s.SessionByHash(t.Context(), nt.Hash)
	wantErr(t, err, store.ErrNotFound) // a token is no session
	_, err = s.TokenByHash(t.Context(), hash)
	wantErr(t, err, store.ErrNotFound) // nor the other way round
	if n := db.Count(t, "sessions"); n != 2 {
		t.Errorf("%d sessions are kept, want those that weren't ended", n)
	}
	session(t, s, create(t, s, newToken(store.RoleReader, "")).ID, c.Now().Add(time.Hour))
	if n := db.Count(t, "sessions"); n != 2 {
		t.Errorf("%d sessions are kept, want a new one in place of one that has expired", n)
	}
}

// testSessionsOfToken: a session ends with its token, whatever ends that, and
// whichever hub does.
func testSessionsOfToken(t *testing.T, db Database) {
	c := newClock()
	s, other := db.Open(t, Config{Now: c.Now}), db.Open(t, Config{Now: c.Now})
	later := c.Now().Add(12 * time.Hour)
	revoked, kept := create(t, s, newToken(store.RoleReader, "")), create(t, s, newToken(store.RoleReader, ""))
	file := newToken(store.RoleReader, "")
	provision(t, s, file)
	hash, one := session(t, s, revoked.ID, later)
	gone, two := session(t, s, lookup(t, s, file.Hash).ID, later)
	_, three := session(t, s, kept.ID, later)
	ids := []string{one.ID, two.ID, three.ID}
	wantSessions(t, s, ids, ids...)
	if err := other.RevokeToken(t.Context(), revoked.ID); err != nil {
		t.Fatal(err)
	}
	wantSessions(t, s, ids, two.ID, three.ID)
	if got, err := s.SessionByHash(t.Context(), hash); err != nil || got.Valid(c.Now()) {
		t.Errorf("a session of a revoked token is %+v, %v", got, err)
	}
	provision(t, other)
	wantSessions(t, s, ids, three.ID)
	_, err := s.SessionByHash(t.Context(), gone)
	wantErr(t, err, store.ErrNotFound)

	expired := newToken(store.RoleReader, "")
	expired.ExpiresAt = c.Now()
	_, operators := session(t, s, create(t, s, newToken(store.RoleOperator, "")).ID, later)
	wantSessions(t, other, []string{operators.ID}, operators.ID)
	for name, id := range map[string]string{
		"revoked": revoked.ID, "expired": create(t, s, expired).ID, "no": "x", "an impossible": "\x00",
		"an agent's": create(t, s, newToken(store.RoleAgent, "a")).ID,
	} {
		_, err := s.CreateSession(t.Context(), store.NewSession{Hash: credential.HashOf(name), TokenID: id, ExpiresAt: later})
		if err == nil {
			t.Errorf("a session of %s token was made", name)
		}
		wantErr(t, err, store.ErrNotFound)
	}
}

// testSessionsAreFew: a token has so many sessions; the oldest goes for a new
// one, and those of other tokens stay.
func testSessionsAreFew(t *testing.T, db Database) {
	c := newClock()
	s := db.Open(t, Config{Now: c.Now})
	token, other := create(t, s, newToken(store.RoleReader, "")), create(t, s, newToken(store.RoleReader, ""))
	later := c.Now().Add(12 * time.Hour)
	_, bystander := session(t, s, other.ID, later)
	ids := []string{bystander.ID}
	for range store.MaxSessions + 2 {
		c.advance(time.Second)
		_, made := session(t, s, token.ID, later)
		ids = append(ids, made.ID)
	}
	wantSessions(t, s, ids, append(slices.Clone(ids[:1]), ids[3:]...)...)
	if n := db.Count(t, "sessions"); n != store.MaxSessions+1 {
		t.Error(fmt.Sprint(n, " sessions are kept"))
	}
}
