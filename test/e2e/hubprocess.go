package e2e

import (
	"context"
	"os"
	"path/filepath"
	"regexp"

	"waymark/internal/credential"
	"waymark/test/process"
)

// HubProcess is a running `hub serve`.
type HubProcess struct {
	*process.Process
	// URL leads to it; TokenFile holds the token of the agent it knows.
	URL, TokenFile string
	// Database is the path of its database.
	Database string
}

var hubReady = regexp.MustCompile(`hub is ready`)

// StartHubProcess starts a hub that keeps its files in the home's directory and
// knows one agent, and waits until it is ready. It may be started again with
// the same home.
func StartHubProcess(ctx context.Context, program string, home Home, agentID string) (*HubProcess, error) {
	h := &HubProcess{
		URL: "unix:" + home.path("hub.sock"), TokenFile: home.path(agentID + ".token"), Database: home.path("hub.db"),
	}
	tokens := home.path("tokens")
	if _, err := os.Stat(tokens); err != nil {
		text := credential.AgentToken.New()
		if err := os.WriteFile(h.TokenFile, []byte(text+"\n"), 0o600); err != nil {
			return nil, err
		}
		if err := os.WriteFile(tokens, []byte("agent "+agentID+" "+text+"\n"), 0o600); err != nil {
			return nil, err
		}
	}
	var err error
	h.Process, err = home.Start(ctx, program, "serve", "--db", "sqlite:"+h.Database, "--drpc", h.URL,
		"--http", "127.0.0.1:0", "--tokens", filepath.Clean(tokens))
	if err != nil {
		return nil, err
	}
	if err := h.Await(ctx, hubReady); err != nil {
		h.Kill()
		return nil, err
	}
	return h, nil
}
