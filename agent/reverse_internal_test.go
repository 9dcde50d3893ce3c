package agent

// What a hub has asked for has no command of its own, so this is about the daemon.

import (
	"bytes"
	"crypto/ed25519"
	"slices"
	"strings"
	"testing"
	"time"

	"log/slog"

	"waymark/agent/hubcalls"
	"waymark/host/config"
	"waymark/host/push"
	"waymark/wire"
	"waymark/wire/approval"
	"waymark/wire/reverse"
	"waymark/workspace/access"
)

// TestApprovalsOfAHub: they go to whoever takes them, and the audit log tells of what
// was another set, and of what was refused.
func TestApprovalsOfAHub(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := &Agent{opts: Options{Program: &Program{}}, log: slog.New(slog.DiscardHandler), services: &services{audit: access.OpenLog(dir, 0, slog.New(slog.DiscardHandler)), remote: hubcalls.New(hubcalls.Options{})}}
	if opts := d.prepare(&push.Options{}); opts.Reverse.SetApprovals != nil || opts.Observe == nil {
		t.Error("approvals are taken that nobody wants")
	}
	var got [][][]byte
	d.signed = func(list [][]byte) { got = append(got, list) }
	opts := d.prepare(&push.Options{})
	document, err := approval.Sign(&approval.Approval{
		ID: "db-2026", Definition: "sha256:" + strings.Repeat("0", 64), Issued: time.Now(), Expires: time.Now().Add(time.Hour),
	}, ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range [][][]byte{nil, nil, {document, []byte("junk")}, {document, []byte("junk")}, {}} {
		if err := opts.Reverse.SetApprovals(t.Context(), list); err != nil {
			t.Error(err)
		}
	}
	if len(got) != 5 || len(got[2]) != 2 {
		t.Errorf("handed over %q", got)
	}
	opts.Reverse.Observe(reverse.Served{Kind: reverse.KindSetApprovals})
	opts.Reverse.Observe(reverse.Served{Kind: "unknown", Code: wire.CodeUnimplemented, Bytes: 3, Digest: "ab"})
	data := auditText(t, dir)
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	if len(lines) != 3 { // that there are none, at first, is no news
		t.Fatalf("the audit log has %d lines:\n%s", len(lines), data)
	}
	for i, want := range []string{`"on":["db-2026"]`, `"code":200`, `"action":"unknown","digest":"ab","bytes":3,"code":501`} {
		if !bytes.Contains(lines[i], []byte(want)) || !bytes.Contains(lines[i], []byte(`"token":"hub"`)) {
			t.Errorf("line %d is %s, want %s", i+1, lines[i], want)
		}
	}
}

// TestAgentIDs: an agent goes by what its own machine says.
func TestAgentIDs(t *testing.T) {
	t.Parallel()
	var ids agentIDs
	c := config.Default()
	ids.set(c, nil)
	if got := ids.list(); len(got) != 0 {
		t.Errorf("ids %q", got)
	}
	c.Push.Agent = "dev-1"
	ids.set(c, &Hub{AgentID: "own"})
	if got := ids.list(); !slices.Equal(got, []string{"dev-1", "own"}) {
		t.Errorf("ids %q", got)
	}
}
