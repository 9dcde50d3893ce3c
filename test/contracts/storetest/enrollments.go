package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waymark/hub/store"
	"waymark/internal/credential"
)

var enrollmentTests = map[string]func(*testing.T, Database){
	"Enroll":       testEnroll,
	"EnrollLimits": testEnrollLimits,
	"EnrollCrowd":  testEnrollCrowd,
	"EnrollRevoke": testEnrollRevoke,
	"LabelScope":   testLabelScope,
}

// enrollment adds a code or a key with that text.
func enrollment(t *testing.T, s store.Store, text string, e store.NewEnrollment) (hash credential.Hash, made store.Enrollment) {
	t.Helper()
	hash, err := store.ParseEnrollment(text)
	if err != nil {
		t.Fatal(err)
	}
	e.Hash = hash
	if e.ExpiresAt.IsZero() {
		e.ExpiresAt = time.Now().Add(time.Hour)
	}
	if made, err = s.CreateEnrollment(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	return hash, made
}

func newAgent(name string) store.NewAgent {
	return store.NewAgent{Token: credential.HashOf(credential.AgentToken.New()), Name: name}
}

func testEnroll(t *testing.T, db Database) {
	s := db.Open(t, Config{})
	code, made := enrollment(t, s, credential.EnrollmentCode.New(), store.NewEnrollment{AgentID: "dev-1", Name: "for ada", MaxUses: 1, Labels: store.Labels{"env": "prod"}})
	first := newAgent("box")
	token, err := s.Enroll(t.Context(), code, first)
	if err != nil || token.AgentID != "dev-1" || token.Role != store.RoleAgent || token.EnrolledBy != made.ID {
		t.Fatalf("%+v, %v", token, err)
	}
	if got := show(t, s, "dev-1"); got.Name != "box" || got.Labels["env"] != "prod" {
		t.Errorf("agent %+v", got)
	}
	found, err := s.TokenByHash(t.Context(), first.Token)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(token, found); d != "" {
		t.Error(d)
	}
	// The answer was lost.
	again, err := s.Enroll(t.Context(), code, first)
	if err != nil || again.ID != token.ID {
		t.Errorf("again: %+v, %v", again, err)
	}
	_, err = s.Enroll(t.Context(), code, newAgent("another"))
	wantErr(t, err, store.ErrNotFound)
	list, err := s.Enrollments(t.Context())
	if err != nil || len(list) != 1 || list[0].Uses != 1 || list[0].Valid(time.Now()) {
		t.Errorf("%+v, %v", list, err)
	}
	// Nobody gets at an agent that is there, nor uses a code up by it.
	other, _ := enrollment(t, s, credential.EnrollmentCode.New(), store.NewEnrollment{AgentID: "dev-1", MaxUses: 1})
	_, err = s.Enroll(t.Context(), other, newAgent(""))
	wantErr(t, err, store.ErrAgentExists)
	// A token is taken only by the code that made it.
	third, _ := enrollment(t, s, credential.EnrollmentCode.New(), store.NewEnrollment{MaxUses: 1})
	_, err = s.Enroll(t.Context(), third, first)
	wantErr(t, err, store.ErrNotFound)
	if token, err := s.Enroll(t.Context(), third, newAgent("")); err != nil || token.AgentID == "" || token.AgentID == "dev-1" {
		t.Errorf("%+v, %v", token, err)
	}
}

func testEnrollLimits(t *testing.T, db Database) {
	now := time.Now()
	s := db.Open(t, Config{Now: func() time.Time { return now }})
	for _, bad := range []store.NewEnrollment{
		{MaxUses: 0, ExpiresAt: now}, {MaxUses: 1}, {MaxUses: 2, AgentID: "a", ExpiresAt: now}, {MaxUses: 1, AgentID: "a b", ExpiresAt: now},
		{MaxUses: 1, Name: "\x00", ExpiresAt: now}, {MaxUses: 1, Labels: store.Labels{"": ""}, ExpiresAt: now}, {MaxUses: 1 << 40, ExpiresAt: now},
	} {
		_, err := s.CreateEnrollment(t.Context(), bad)
		wantErr(t, err, store.ErrInvalid)
	}
	key, _ := enrollment(t, s, credential.EnrollmentKey.New(), store.NewEnrollment{MaxUses: 5, ExpiresAt: now.Add(time.Minute)})
	if _, err := s.Enroll(t.Context(), key, newAgent("")); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Minute)
	_, err := s.Enroll(t.Context(), key, newAgent(""))
	wantErr(t, err, store.ErrNotFound)
	_, err = s.Enroll(t.Context(), credential.Hash{1}, newAgent(""))
	wantErr(t, err, store.ErrNotFound)
	_, err = s.Enroll(t.Context(), key, store.NewAgent{})
	wantErr(t, err, store.ErrInvalid)
	for _, text := range []string{"", "wme_short", "ABCD-EFGH-JKMN", "UUUU-UUUU-UUUUU", "wma_" + credential.EnrollmentKey.New()[4:]} {
		if _, err := store.ParseEnrollment(text); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
	upper, _ := store.ParseEnrollment("0123-4567-ABCDE")
	if lower, err := store.ParseEnrollment("ol23 4567 abcde"); err != nil || lower != upper {
		t.Errorf("as people type it: %v", err)
	}
}

// testEnrollCrowd: of those who come at once, to two hubs, no more get in than may.
func testEnrollCrowd(t *testing.T, db Database) {
	one, two := db.Open(t, Config{}), db.Open(t, Config{})
	key, made := enrollment(t, one, credential.EnrollmentKey.New(), store.NewEnrollment{MaxUses: 3})
	var crowd sync.WaitGroup
	results := make(chan error, 10)
	for i := range cap(results) {
		s := []store.Store{one, two}[i%2]
		crowd.Go(func() {
			_, err := s.Enroll(t.Context(), key, newAgent(fmt.Sprint(i)))
			results <- err
		})
	}
	crowd.Wait()
	in := 0
	for range cap(results) {
		switch err := <-results; {
		case err == nil:
			in++
		case !errors.Is(err, store.ErrNotFound):
			t.Error(err)
		}
	}
	if in != 3 || len(agents(t, two)) != 3 {
		t.Errorf("%d got in, and there are %d agents", in, len(agents(t, two)))
	}
	if n, err := one.RevokeEnrollment(t.Context(), made.ID, true); err != nil || n != 3 {
		t.Errorf("%d tokens revoked, %v", n, err)
	}
}

func testEnrollRevoke(t *testing.T, db Database) {
	s := db.Open(t, Config{})
	key, made := enrollment(t, s, credential.EnrollmentKey.New(), store.NewEnrollment{MaxUses: 9})
	a := newAgent("")
	if _, err := s.Enroll(t.Context(), key, a); err != nil {
		t.Fatal(err)
	}
	if n, err := s.RevokeEnrollment(t.Context(), made.ID, false); err != nil || n != 0 {
		t.Errorf("%d, %v", n, err)
	}
	_, err := s.Enroll(t.Context(), key, newAgent(""))
	wantErr(t, err, store.ErrNotFound)
	if token, err := s.TokenByHash(t.Context(), a.Token); err != nil || token.Revoked() {
		t.Errorf("its token: %+v, %v", token, err)
	}
	if n, err := s.RevokeEnrollment(t.Context(), made.ID, true); err != nil || n != 1 {
		t.Errorf("%d, %v", n, err)
	}
	if token, err := s.TokenByHash(t.Context(), a.Token); err != nil || !token.Revoked() {
		t.Errorf("its token: %+v, %v", token, err)
	}
	_, err = s.Enroll(t.Context(), key, a) // the same again doesn't bring it back
	wantErr(t, err, store.ErrNotFound)
	_, err = s.RevokeEnrollment(t.Context(), "none", true)
	wantErr(t, err, store.ErrNotFound)
}

func testLabelScope(t *testing.T, db Database) {
	s := db.Open(t, Config{})
	for id, labels := range map[string]store.Labels{"a": {"env": "prod", "team": "x"}, "b": {"env": "prod"}, "c": {"env": "dev"}, "d": nil} {
		agent(t, s, id)
		if _, err := s.LabelAgent(t.Context(), id, labels, nil); err != nil {
			t.Fatal(err)
		}
	}
	for want, labels := range map[string]store.Labels{"[a b]": {"env": "prod"}, "[a]": {"env": "prod", "team": "x"}, "[]": {"env": ""}, "[c]": {"env": "dev"}} {
		if got, err := s.Labeled(t.Context(), labels); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %s, %v; want %s", labels, got, err, want)
		}
	}
	token := newToken(store.RoleReader, "")
	token.ScopeLabels = store.Labels{"env": "prod"}
	if _, err := s.CreateToken(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	if got, err := s.TokenByHash(t.Context(), token.Hash); err != nil || got.ScopeLabels["env"] != "prod" || got.Scope != nil {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []store.NewToken{newToken(store.RoleAgent, "a"), newToken(store.RoleOperator, "")} {
		bad.ScopeLabels = token.ScopeLabels
		_, err := s.CreateToken(t.Context(), bad)
		wantErr(t, err, store.ErrInvalid)
	}
	for _, bad := range []store.Labels{{}, {"": "x"}} {
		other := newToken(store.RoleReader, "")
		other.ScopeLabels = bad
		_, err := s.CreateToken(t.Context(), other)
		wantErr(t, err, store.ErrInvalid)
	}
}
