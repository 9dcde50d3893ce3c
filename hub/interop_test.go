package hub_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"storj.io/drpc"
	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcerr"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/hub/transport"
	"waymark/internal/credential"
	"waymark/test/pushtest"
	"waymark/wire"
	"waymark/wire/coder"
)

// TestBareAgent connects as a Coder agent does, and pushes in both protocols.
func TestBareAgent(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	a := dialBare(t, f.web(), f.token(store.RoleAgent, "a"))
	if !f.eventually(func() bool { return f.hub.Connected("a") }) {
		t.Error("not connected")
	}
	for _, step := range []struct {
		version         uint64
		initial, accept bool
	}{{5, true, true}, {5, false, false}, {6, false, true}, {2, true, true}, {3, false, true}} {
		accepted, err := a.pushCoder(&coder.PushContextStateRequest{
			Version: step.version, Initial: step.initial,
			Resources: []*coder.ContextResource{coderFile("/a", fmt.Sprint(step.version))},
		})
		if err != nil || accepted != step.accept {
			t.Fatalf("%+v: accepted %v, %v", step, accepted, err)
		}
		if got := f.snapshot("a"); accepted && string(got.Snapshot.Resources[0].Payload) != fmt.Sprint(step.version) {
			t.Errorf("%+v: stored %+v", step, got)
		}
	}
	a.mustPush(&pushtest.Push{Version: 4, Resources: []*pushtest.Resource{file("/b", "of waymark")}}, true)
	if got := f.snapshot("a").Snapshot; got.Version != 4 || string(got.Resources[0].Payload) != "of waymark" {
		t.Errorf("stored %+v", got)
	}
	a.close()
	if !f.eventually(func() bool { return !f.hub.Connected("a") }) {
		t.Error("still connected")
	}
}

// TestEveryOtherMethod calls what a Coder agent calls right after it has
// connected: all of it is unimplemented, with the code that says so, and the
// session lives on.
func TestEveryOtherMethod(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	a := dialBare(t, f.web(), f.token(store.RoleAgent, "a"))
	for _, name := range []string{
		"GetManifest", "GetServiceBanner", "UpdateStats", "UpdateLifecycle", "BatchUpdateAppHealths", "UpdateStartup", "BatchUpdateMetadata",
		"BatchCreateLogs", "GetAnnouncementBanners", "ScriptCompleted", "GetResourcesMonitoringConfiguration", "PushResourcesMonitoringUsage",
		"ReportConnection", "CreateSubAgent", "DeleteSubAgent", "ListSubAgents", "ReportBoundaryLogs", "UpdateAppStatus", "OfANewerVersion",
	} {
		rpc := wire.ServiceAgent + name
		err := a.invoke(rpc, []byte("\x0a\x03xyz"))
		if drpcerr.Code(err) != drpcerr.Unimplemented {
			t.Errorf("%s: %v, code %d", rpc, err, drpcerr.Code(err))
		}
	}
	// Services that aren't there at all.
	for _, rpc := range []string{"/coder.tailnet.v2.Tailnet/StreamDERPMaps", "/x", ""} {
		if err := a.invoke(rpc, make([]byte, 300<<10)); err == nil || !strings.Contains(err.Error(), "unknown rpc") && err != io.EOF {
			t.Errorf("%q: %v", rpc, err)
		}
	}
	a.mustPush(&pushtest.Push{Version: 1}, true)
}

func (a *bareAgent) invoke(rpc string, message []byte) error {
	return a.call(func(conn *drpcconn.Conn) error {
		var answer []byte
		return conn.Invoke(a.t.Context(), rpc, raw{}, &message, &answer)
	})
}

var _ drpc.Encoding = raw{}

// TestRefusedHandshakes: the words are those of Coder's server.
func TestRefusedHandshakes(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	endpoint := f.web()
	agent, reader := f.token(store.RoleAgent, "a"), f.token(store.RoleReader, "")
	unsupported := func(detail string) string {
		return `{"message":"Unknown or unsupported API version","validations":[{"field":"version","detail":"` + detail + `"}]}`
	}
	for name, tc := range map[string]struct {
		query, token string
		code         int
		body         string
	}{
		"no token":        {"version=2.10", "", 401, `"message":"Agent token is invalid."`},
		"unknown":         {"version=2.10", credential.AgentToken.New(), 401, `"message":"Agent token is invalid."`},
		"reader":          {"version=2.10", reader, 401, `"message":"Agent token is invalid."`},
		"token first":     {"version=9.9", "", 401, "Agent token"},
		"newer minor":     {"version=2.11", agent, 400, unsupported("server is at version 2.10, behind requested minor version 2.11")},
		"newer major":     {"version=3.0", agent, 400, unsupported("server is at version 2.10, behind requested major version 3.0")},
		"older major":     {"version=1.99", agent, 400, unsupported("version 1.99 is no longer supported")},
		"no number":       {"version=two", agent, 400, unsupported("invalid version string: two")},
		"three":           {"version=2.1.0", agent, 400, unsupported("invalid version string: 2.1.0")},
		"major":           {"version=x.1", agent, 400, unsupported("invalid major version: x.1")},
		"minor":           {"version=2.y", agent, 400, unsupported("invalid minor version: 2.y")},
		"not a WebSocket": {"version=2.10", agent, 426, "WebSocket"},
		"an older agent":  {"", agent, 426, "WebSocket"}, // 2.0, which is served
	} {
		request, err := http.NewRequestWithContext(t.Context(), "GET", endpoint+"?"+tc.query, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Coder-Session-Token", tc.token)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text := body(t, response)
		_ = response.Body.Close()
		if response.StatusCode != tc.code || !strings.Contains(text, tc.body) {
			t.Errorf("%s: %d %s, want %d %s", name, response.StatusCode, text, tc.code, tc.body)
		}
		if tc.code == 400 && strings.TrimSpace(text) != tc.body {
			t.Errorf("%s: %s, want exactly %s", name, text, tc.body)
		}
	}
	if response := f.do("POST", wire.EndpointPath, "", ""); response.StatusCode != 405 {
		t.Errorf("POST: %d", response.StatusCode)
	}
	if response := f.do("GET", wire.EndpointPath, "", "evil.example.com"); response.StatusCode != 421 {
		t.Errorf("another host: %d", response.StatusCode)
	}
}

// TestOldVersions: every version of the API up to ours is served.
func TestOldVersions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{Limits: transport.Limits{SessionsPerToken: 20}})
	endpoint, token := f.web(), f.token(store.RoleAgent, "a")
	for minor := range 11 {
		a := dialBare(t, fmt.Sprintf("%s?role=agent&version=2.%d&x=", endpoint, minor), token)
		a.mustPush(&pushtest.Push{Version: 1}, true)
	}
}

// TestManyCalls makes calls side by side on one session.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{Limits: transport.Limits{Rate: 1e6, Burst: 1e6}})
	a := dialBare(t, f.web(), f.token(store.RoleAgent, "a"))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 25 {
				if _, err := a.push(&pushtest.Push{Version: 1, Resources: []*pushtest.Resource{file("/x", long(20<<10))}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
