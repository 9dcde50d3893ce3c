package hub_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/internal/credential"
)

func TestReadTokens(t *testing.T) {
	t.Parallel()
	agent, reader := credential.AgentToken.New(), credential.ReaderToken.New()
	path := filepath.Join(t.TempDir(), "tokens")
	text := "# comment\n\n agent\tdev-1 " + agent + "\r\nreader  dashboard   " + reader
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := hub.ReadTokens(path)
	if err != nil || len(got) != 2 || got[0].AgentID != "dev-1" || got[0].Role != store.RoleAgent || got[0].Hash != credential.HashOf(agent) ||
		got[1].Name != "dashboard" || got[1].Role != store.RoleReader || got[1].AgentID != "" {
		t.Errorf("tokens are %+v, %v", got, err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o660} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := hub.ReadTokens(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	for name, path := range map[string]string{"missing": path + "x", "directory": t.TempDir()} {
		if _, err := hub.ReadTokens(path); err == nil {
			t.Errorf("%s: read", name)
		}
	}
}

func TestParseTokensRefused(t *testing.T) {
	t.Parallel()
	agent := credential.AgentToken.New()
	for text, want := range map[string]string{
		"agent dev-1":                             "three",
		"agent dev-1 " + agent + " x":             "three",
		"\n" + agent + " dev-1 agent":             "line 2: the role",
		"agent dev-1 " + agent[:20]:               "at least 43",
		"agent dev-1 wmr_" + agent[4:]:            "begins with wma_",
		"agent dev/1 " + agent:                    "agent id",
		"agent dev-1 " + agent + "=":              "base64url",
		"agent a " + agent + "\nagent b " + agent: "line 2: the same token as on line 1",
	} {
		_, err := hub.ParseTokens(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.12q: %v, want %q", text, err, want)
		} else if strings.Contains(err.Error(), agent[4:20]) {
			t.Errorf("%.12q: the error quotes the token", text)
		}
	}
}

func FuzzParseTokens(f *testing.F) {
	f.Add("# c\nagent dev-1 " + credential.AgentToken.New())
	f.Add("reader x wmr_")
	f.Fuzz(func(t *testing.T, text string) {
		tokens, err := hub.ParseTokens(strings.NewReader(text))
		if err != nil {
			return
		}
		for i := range tokens {
			if err := tokens[i].Check(); err != nil {
				t.Errorf("token %d can't be stored: %v", i, err)
			}
		}
	})
}
