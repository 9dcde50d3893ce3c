package access_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"waymark/agentapi"
	"waymark/workspace/access"
)

// capability mints one that must be possible.
func capability(t *testing.T, tokens *access.Tokens, want agentapi.NewToken) *agentapi.MintedToken {
	t.Helper()
	if want.Hub == nil {
		want.Hub = &agentapi.Capability{}
	}
	made, err := tokens.Mint(t.Context(), tokens.Authenticate(control), true, want)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestCapability: a capability only reads unless it is given more, is no token, and a
// token is no capability.
func TestCapability(t *testing.T) {
	dir := t.TempDir()
	tokens := open(t, dir)
	reading := capability(t, tokens, agentapi.NewToken{})
	got := tokens.Capability(reading.Secret)
	if got == nil || len(got.Scopes) != 0 || got.Secrets != nil || !got.Within || got.ID != reading.ID || !got.Caller.Scoped() {
		t.Fatalf("it allows %+v", got)
	}
	if g := tokens.Authenticate(reading.Secret); g != nil {
		t.Errorf("as a token it grants %+v", g)
	}
	token, _ := mint(t, tokens, tokens.Authenticate(control), agentapi.NewToken{})
	for _, secret := range []string{"", control, token.Secret, reading.Secret[1:], reading.ID, strings.ToLower(reading.Secret)} {
		if c := tokens.Capability(secret); c != nil {
			t.Errorf("%q is a capability: %+v", secret, c)
		}
	}
	if c := open(t, t.TempDir()).Capability(reading.Secret); c != nil {
		t.Error("another agent takes it")
	}
	if c := open(t, dir).Capability(reading.Secret); !cmp.Equal(c, got) {
		t.Errorf("after a restart: %+v, want %+v", c, got)
	}
	data, err := os.ReadFile(filepath.Join(dir, "tokens.json"))
	if err != nil || strings.Contains(string(data), reading.Secret) {
		t.Error("the file has the capability itself", err)
	}
	if err := tokens.Revoke(t.Context(), tokens.Authenticate(control), reading.ID); err != nil {
		t.Fatal(err)
	}
	if tokens.Capability(reading.Secret) != nil {
		t.Error("it is valid after it was revoked")
	}
}

func TestCapabilityExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := open(t, t.TempDir())
		until := time.Now().Add(time.Hour)
		made := capability(t, tokens, agentapi.NewToken{ExpiresAt: &until})
		time.Sleep(time.Hour - time.Second)
		if tokens.Capability(made.Secret) == nil {
			t.Error("it isn't valid a second before its end")
		}
		time.Sleep(time.Second)
		if tokens.Capability(made.Secret) != nil {
			t.Error("it is valid at its end")
		}
	})
}

// TestCapabilityRequests: what can't be had through a hub is refused when it is asked
// for.
func TestCapabilityRequests(t *testing.T) {
	tokens := open(t, t.TempDir())
	all := tokens.Authenticate(control)
	far := time.Now().Add(32 * 24 * time.Hour)
	narrow, by := mint(t, tokens, all, agentapi.NewToken{Scopes: []string{"tokens", "files"}})
	if narrow == nil {
		t.Fatal("no token")
	}
	for name, c := range map[string]struct {
		by   *access.Grant
		want agentapi.NewToken
		err  error
	}{
		"approving":     {all, agentapi.NewToken{Scopes: []string{"approve"}}, access.ErrRequest},
		"minting":       {all, agentapi.NewToken{Scopes: []string{"tokens"}}, access.ErrRequest},
		"stopping":      {all, agentapi.NewToken{Scopes: []string{"files", "stop"}}, access.ErrRequest},
		"secrets":       {all, agentapi.NewToken{Secrets: []string{"*"}}, access.ErrRequest},
		"for long":      {all, agentapi.NewToken{ExpiresAt: &far}, access.ErrRequest},
		"a bad pattern": {all, agentapi.NewToken{Hub: &agentapi.Capability{Tools: []string{"a["}}}, access.ErrRequest},
		"no name":       {all, agentapi.NewToken{Hub: &agentapi.Capability{Tools: []string{""}}}, access.ErrRequest},
		"many tools":    {all, agentapi.NewToken{Hub: &agentapi.Capability{Tools: make([]string, 257)}}, access.ErrRequest},
		"a bad chat":    {all, agentapi.NewToken{Hub: &agentapi.Capability{Chat: "seven"}}, access.ErrRequest},
		"no chat":       {all, agentapi.NewToken{Hub: &agentapi.Capability{Chat: "00000000-0000-0000-0000-000000000000"}}, access.ErrRequest},
		"wider":         {by, agentapi.NewToken{Scopes: []string{"processes"}}, access.ErrWider},
	} {
		if c.want.Hub == nil {
			c.want.Hub = &agentapi.Capability{}
		}
		if _, err := tokens.Mint(t.Context(), c.by, true, c.want); !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", name, err, c.err)
		}
	}
}

func TestCapabilityTools(t *testing.T) {
	for name, c := range map[string]struct {
		tools []string
		want  string
	}{
		"none":     {nil, "read_file execute tracker__list other__list"},
		"names":    {[]string{"read_file", "execute"}, "read_file execute"},
		"patterns": {[]string{"tracker__*", "read_*"}, "read_file tracker__list"},
	} {
		var got []string
		one := access.Grant{Tools: c.tools}
		for _, tool := range []string{"read_file", "execute", "tracker__list", "other__list"} {
			if one.Allows(tool) {
				got = append(got, tool)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s allows %s, want %s", name, got, c.want)
		}
	}
}

// TestLend: what is lent grants the same, as long as it is.
func TestLend(t *testing.T) {
	tokens := open(t, t.TempDir())
	grant := &access.Grant{ID: "x", Within: true}
	secret, end := tokens.Lend(grant)
	if got := tokens.Authenticate(secret); !cmp.Equal(got, grant) {
		t.Errorf("it grants %+v", got)
	}
	if tokens.Capability(secret) != nil {
		t.Error("it is a capability")
	}
	end()
	if tokens.Authenticate(secret) != nil {
		t.Error("it is valid after its end")
	}
}
