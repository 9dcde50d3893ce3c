package hub_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"waymark/hub"
	"waymark/hub/client"
	"waymark/hub/store"
	"waymark/internal/credential"
	"waymark/test/pushtest"
	"waymark/wire"
)

// enrolling is what an agent does.
func enrolling(t *testing.T, url, secret string) (token, agentID string, err error) {
	t.Helper()
	token = credential.AgentToken.New()
	sum := sha256.Sum256([]byte(token))
	got, err := client.New(url, client.Options{Token: secret}).Enroll(t.Context(), hex.EncodeToString(sum[:]), "box\x1b\n")
	if err != nil {
		return "", "", err
	}
	return token, got.AgentID, nil
}

// site is the URL of the hub.
func (f *fixture) site() string { return strings.TrimSuffix(f.web(), wire.EndpointPath) }

// post sends a body to where agents enroll, and returns the status.
func (f *fixture) post(url, secret, body string) int {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), http.MethodPost, url+"/api/v0/enroll", strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+secret)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func (f *fixture) enrollment(text string, uses int) store.Enrollment {
	f.t.Helper()
	hash, err := store.ParseEnrollment(text)
	if err != nil {
		f.t.Fatal(err)
	}
	made, err := f.store.CreateEnrollment(f.t.Context(), store.NewEnrollment{Hash: hash, MaxUses: uses, ExpiresAt: time.Now().Add(time.Hour), Labels: store.Labels{"env": "prod"}})
	if err != nil {
		f.t.Fatal(err)
	}
	return made
}

// TestEnroll: a code gets an agent in, once, whatever else is tried.
func TestEnroll(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	url := f.site()
	code := credential.EnrollmentCode.New()
	f.enrollment(code, 1)
	var refused *client.Error
	for range 50 {
		_, _, err := enrolling(t, url, credential.EnrollmentCode.New())
		if !errors.As(err, &refused) || refused.Code != http.StatusUnauthorized {
			t.Fatalf("a guess: %v", err)
		}
	}
	for _, text := range []string{f.token(store.RoleAgent, "a"), f.token(store.RoleReader, ""), "x", "", strings.Repeat("A", 4000)} {
		if _, _, err := enrolling(t, url, text); !errors.As(err, &refused) || refused.Code != http.StatusUnauthorized {
			t.Errorf("with something else: %v", err)
		}
	}
	token, id, err := enrolling(t, url, strings.ToLower(code))
	if err != nil {
		t.Fatal(err)
	}
	f.dial(token).mustPush(&pushtest.Push{Version: 1}, true)
	if agent, err := f.store.Agent(t.Context(), id); err != nil || agent.Labels["env"] != "prod" || strings.ContainsAny(agent.Name, "\x1b\n") {
		t.Errorf("%+v, %v", agent, err)
	}
	if _, _, err := enrolling(t, url, code); !errors.As(err, &refused) || refused.Code != http.StatusUnauthorized {
		t.Errorf("a second time: %v", err)
	}
	if got := f.do("GET", "/api/v0/agents", code, ""); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("a code opens what readers read: %s", got.Status)
	}
}

// TestEnrollBad: what isn't a request for it uses no code up.
func TestEnrollBad(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	url := f.site()
	code := credential.EnrollmentCode.New()
	f.enrollment(code, 1)
	for _, body := range []string{"", "{}", `{"token_sha256":"00","name":""}`, `{"token_sha256":"` + strings.Repeat("0", 64) + `"}`, `{"token_sha256":"` + strings.Repeat("x", 64) + `","name":""}`, `{"more":1}`} {
		if got := f.post(url, code, body); got != http.StatusBadRequest {
			t.Errorf("%s: %d", body, got)
		}
	}
	if got := f.do("GET", "/api/v0/enroll", code, ""); got.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %s", got.Status)
	}
	if _, _, err := enrolling(t, url, code); err != nil {
		t.Error(err)
	}
}

// TestEnrollKey: ten clients at once get a key's count and no more, and are cut off with it.
func TestEnrollKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	url := f.site()
	key := credential.EnrollmentKey.New()
	made := f.enrollment(key, 3)
	var clients sync.WaitGroup
	tokens := make(chan string, 10)
	for range cap(tokens) {
		clients.Go(func() {
			token, _, err := enrolling(t, url, key)
			var refused *client.Error
			if err != nil && (!errors.As(err, &refused) || refused.Code != http.StatusUnauthorized) {
				t.Error(err)
			}
			tokens <- token
		})
	}
	clients.Wait()
	close(tokens)
	in := ""
	n := 0
	for token := range tokens {
		if token != "" {
			in, n = token, n+1
		}
	}
	if n != 3 {
		t.Fatalf("%d of ten got in, want 3", n)
	}
	f.dial(in).mustPush(&pushtest.Push{Version: 1}, true)
	if revoked, err := f.store.RevokeEnrollment(t.Context(), made.ID, true); err != nil || revoked != 3 {
		t.Fatal(revoked, err)
	}
	if !f.eventually(func() bool {
		_, err := f.dial(in).push(&pushtest.Push{Version: 1})
		return wire.IsUnauthorized(err)
	}) {
		t.Error("a token of a revoked key pushes")
	}
	if list := fmt.Sprint(f.store.Enrollments(t.Context())); strings.Contains(list, key) {
		t.Error("the key is kept as it is")
	}
}
