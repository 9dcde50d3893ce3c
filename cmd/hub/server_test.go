package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcmetadata"

	"waymark/test/pushtest"
	"waymark/wire"
	"waymark/wire/waymark"
)

// server is the hub that a script has started.
type server struct {
	cmd  *exec.Cmd
	log  strings.Builder
	read chan struct{} // closed when the log has ended

	heard atomic.Int64 // tokens that somebody was sent who is no hub

	followed map[followedKey]*followed // commands that run on
}

type serverKey struct{}

// anyPort is replaced by a port that stays the script's until its end.
const anyPort = "127.0.0.1:0"

// cmdStart runs hub serve with the arguments, waits until it says that it is
// ready, and sets $HTTP and $DRPC to where it listens.
func cmdStart(ts *testscript.TestScript, _ bool, args []string) {
	s := ts.Value(serverKey{}).(*server)
	*s = server{read: make(chan struct{}), followed: s.followed}
	args = slices.Clone(args)
	for i := range args {
		if args[i] == anyPort {
			address, release, err := reserve()
			ts.Check(err)
			ts.Defer(release)
			args[i] = address
		}
	}
	// A hub that has to drop what is under way doesn't end well, and a machine
	// may stand still for a moment.
	s.cmd = exec.Command("hub", append([]string{"serve", "--log-format", "json", "--drain-timeout", "2m"}, args...)...)
	for _, name := range []string{"PATH", "HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"} {
		s.cmd.Env = append(s.cmd.Env, name+"="+ts.Getenv(name))
	}
	s.cmd.Dir = ts.Getenv("WORK")
	stderr, err := s.cmd.StderrPipe()
	ts.Check(err)
	ts.Check(s.cmd.Start())
	ts.Defer(func() { _ = s.end(os.Kill) })
	ready := make(chan map[string]any, 1)
	go s.follow(stderr, ready)
	line, ok := <-ready
	if !ok {
		ts.Fatalf("hub ended before it was ready:\n%s", &s.log)
	}
	ts.Setenv("HTTP", line["http"].(string))
	if monitor, ok := line["monitor"].(string); ok {
		ts.Setenv("MONITOR", monitor)
	}
	ts.Setenv("DRPC", line["drpc"].([]any)[0].(string))
}

// follow keeps the log and finds the line that says where the hub listens.
func (s *server) follow(stderr io.Reader, ready chan<- map[string]any) {
	defer close(s.read)
	defer close(ready)
	for scanner := bufio.NewScanner(stderr); scanner.Scan(); {
		s.log.WriteString(scanner.Text() + "\n")
		var line map[string]any
		if json.Unmarshal(scanner.Bytes(), &line) == nil && line["msg"] == "hub is ready" {
			ready <- line
		}
	}
}

// end stops the hub, if it runs.
func (s *server) end(signal os.Signal) error {
	if s.cmd == nil {
		return nil
	}
	_ = s.cmd.Process.Signal(signal)
	<-s.read
	err := s.cmd.Wait()
	s.cmd = nil
	return err
}

// cmdStop stops the hub, which must exit with 0, and puts its log into
// hub.log.
func cmdStop(ts *testscript.TestScript, _ bool, _ []string) {
	s := ts.Value(serverKey{}).(*server)
	if err := s.end(syscall.SIGTERM); err != nil {
		ts.Fatalf("it ends with %v:\n%s", err, &s.log)
	}
	ts.Check(os.WriteFile(ts.MkAbs("hub.log"), []byte(s.log.String()), 0o600))
}

// unescape gives a script line feeds and control characters.
func unescape(text string) string {
	return strings.NewReplacer(`\n`, "\n", `\x1b`, "\x1b").Replace(text)
}

// cmdPush pushes one instruction file: push TOKENFILE VERSION TEXT [OUTCOME], where
// an MCP server has that outcome. With ! the hub must refuse the token.
func cmdPush(ts *testscript.TestScript, neg bool, args []string) {
	response, err := send(ts, args)
	// A hub notices within two seconds that an agent's token was revoked.
	for patience := time.After(time.Minute); neg && err == nil; response, err = send(ts, args) {
		select {
		case <-patience:
			ts.Fatalf("push: the token is still accepted")
		case <-time.After(50 * time.Millisecond):
		}
	}
	switch {
	case neg && !wire.IsUnauthorized(err):
		ts.Fatalf("push: %v, want unauthorized", err)
	case !neg && err != nil:
		ts.Fatalf("push: %v", err)
	case !neg && !response.GetAccepted():
		ts.Fatalf("push: not accepted")
	}
}

// send pushes as cmdPush is told.
func send(ts *testscript.TestScript, args []string) (*waymark.PushResponse, error) {
	network, addr, _ := strings.Cut(ts.Getenv("DRPC"), ":")
	conn, err := net.Dial(network, addr)
	ts.Check(err)
	client := drpcconn.New(conn)
	defer client.Close()
	version, err := strconv.ParseUint(args[1], 10, 64)
	ts.Check(err)
	ctx := drpcmetadata.Add(context.Background(), wire.TokenMetadata, strings.TrimSpace(ts.ReadFile(args[0])))
	hash := sha256.Sum256([]byte(args[2]))
	var discovery *waymark.Discovery // an older agent has none
	if len(args) > 3 {
		discovery = &waymark.Discovery{Phase: "complete", Sources: []*waymark.SourceOutcome{{Id: "mcp_server:/w/.mcp.json#docs", Name: "docs", Outcome: args[3]}}}
		if args[3] == "pending" {
			discovery.Phase = "pending"
		}
	}
	return pushtest.Send(ctx, waymark.NewDRPCContextClient(client), &pushtest.Push{
		Discovery: discovery, Version: version, AggregateHash: hash[:], Resources: []*pushtest.Resource{{
			Kind: "instruction_file", Source: "/w/AGENTS.md", Status: waymark.Status_STATUS_OK, Payload: []byte(unescape(args[2])),
		}},
	})
}

// cmdShare has two agents use one token until the script ends: share TOKENFILE.
// The second takes over from the first, which comes back and is told.
func cmdShare(ts *testscript.TestScript, _ bool, args []string) {
	ctx := drpcmetadata.Add(context.Background(), wire.TokenMetadata, strings.TrimSpace(ts.ReadFile(args[0])))
	network, addr, _ := strings.Cut(ts.Getenv("DRPC"), ":")
	for _, step := range []struct {
		run             string
		yields, refused bool
	}{{run: "first"}, {run: "second"}, {run: "first", yields: true, refused: true}} {
		conn, err := net.Dial(network, addr)
		ts.Check(err)
		client := drpcconn.New(conn)
		ts.Defer(func() { _ = client.Close() })
		agent := waymark.NewDRPCContextClient(client)
		answer, err := agent.Open(ctx, &waymark.OpenRequest{RunId: []byte(step.run), Yields: step.yields})
		ts.Check(err)
		if answer.GetSuperseded() != step.refused {
			ts.Fatalf("%+v: superseded %t", step, answer.GetSuperseded())
		}
		if !step.refused {
			_, err = pushtest.Send(ctx, agent, &pushtest.Push{Version: 1})
			ts.Check(err)
		}
	}
}

// cmdGet asks the HTTP API and puts the answer into the file body: get STATUS
// PATH [TOKENFILE [HOST]].
func cmdGet(ts *testscript.TestScript, _ bool, args []string) {
	request, err := http.NewRequest(http.MethodGet, ts.Getenv("HTTP")+args[1], nil)
	ts.Check(err)
	if len(args) > 2 {
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(ts.ReadFile(args[2])))
	}
	if len(args) > 3 {
		request.Host = args[3]
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	ts.Check(err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("body"), data, 0o600))
	if strconv.Itoa(response.StatusCode) != args[0] {
		ts.Fatalf("%s: %s, want %s\n%s", args[1], response.Status, args[0], data)
	}
}
