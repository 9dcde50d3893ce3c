package mcp_test

import (
	"bytes"
	"crypto/ed25519"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"waymark/agentapi"
	"waymark/snapshot"
	"waymark/wire/approval"
	"waymark/workspace/mcp"
)

// signer signs approvals, and the settings signing believe it.
var (
	signer  = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	signing = mcp.Settings{Unconfined: true, Keys: []ed25519.PublicKey{signer.Public().(ed25519.PublicKey)}, Idle: 24 * time.Hour}
)

// signed makes an approval of a server as it is now, by a key, for some agents.
func (w *world) signed(name string, key ed25519.PrivateKey, life time.Duration, agents ...string) []byte {
	w.t.Helper()
	synctest.Wait()
	now := time.Now().Truncate(time.Second)
	document, err := approval.Sign(&approval.Approval{
		Definition: w.detail(name).Definition, Agents: agents, Issued: now, Expires: now.Add(life),
	}, key)
	if err != nil {
		w.t.Fatal(err)
	}
	return document
}

// TestSignedExpires: a server that runs by a signed approval is ended with that, also in
// mid-call, without anybody's doing; a newer one in time leaves it alone.
func TestSignedExpires(t *testing.T) {
	bubble(t, signing, func(w *world) {
		a := w.fakes.server("a")
		servers := map[string]definition{"a": stdio("a"), "b": remote("b")} // whose files nobody looks at
		w.configure(servers)
		first := [][]byte{w.signed("a", signer, time.Hour), w.signed("b", signer, time.Hour)}
		w.service.SetSigned(first)
		w.expect("signed", snapshot.PhaseComplete, "a__echo b__echo", "a connected, b connected")
		time.Sleep(30 * time.Minute)
		w.service.SetSigned(append(first, w.signed("a", signer, time.Hour), w.signed("b", signer, time.Hour)))
		time.Sleep(59 * time.Minute) // beyond the end of the first
		w.expect("renewed", snapshot.PhaseComplete, "a__echo b__echo", "a connected, b connected")
		if starts, _, _ := a.counts(); starts != 1 {
			t.Errorf("%d starts: a renewal isn't noticed by who calls", starts)
		}
		a.set(func(f *fakeServer) { f.call = block })
		called := make(chan int, 1)
		go func() {
			code, _ := w.say("a", "hi")
			called <- code
		}()
		time.Sleep(time.Minute + 2*time.Second)
		w.expect("expired", snapshot.PhaseComplete, "", "a needs_approval, b needs_approval")
		if pushed := w.row("b").Attributes["definition"].Text; pushed == "" || pushed != w.detail("b").Definition {
			t.Errorf("what waits for an approval is pushed as %q", pushed)
		}
		for _, name := range []string{"a", "b"} {
			if _, running, _ := w.fakes.server(name).counts(); running != 0 {
				t.Errorf("%s runs still", name)
			}
		}
		if code := <-called; code == http.StatusOK {
			t.Errorf("the call was answered with %d", code)
		}
		time.Sleep(time.Hour)
		w.stop()
		w.begin()
		w.configure(servers)
		w.expect("the next agent", snapshot.PhaseComplete, "", "a needs_approval, b needs_approval")
		if starts, _, _ := a.counts(); starts != 1 {
			t.Errorf("%d starts", starts)
		}
	})
}

// TestSignedForOthers: what a hub brings that isn't for this agent, or that nobody here
// believes, starts nothing, and is no reason to end what was approved otherwise.
func TestSignedForOthers(t *testing.T) {
	bubble(t, signing, func(w *world) {
		stranger := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, ed25519.SeedSize))
		w.configure(map[string]definition{"a": stdio("a"), "b": stdio("b")})
		synctest.Wait()
		w.approve("b")
		w.service.SetSigned([][]byte{
			w.signed("a", signer, time.Hour, "agent-2", "agent-3"), w.signed("a", stranger, time.Hour), []byte("{}"), w.signed("b", signer, time.Hour, "agent-2"),
		})
		w.expect("not for this agent", snapshot.PhaseComplete, "b__echo", "a needs_approval, b connected")
		w.service.SetSigned(nil)
		w.expect("revoked", snapshot.PhaseComplete, "b__echo", "a needs_approval, b connected")
		if starts, _, _ := w.fakes.server("a").counts(); starts != 0 {
			t.Errorf("%d starts", starts)
		}
		if starts, _, _ := w.fakes.server("b").counts(); starts != 1 {
			t.Errorf("%d starts of what the user has approved", starts)
		}
	})
}

// TestRevokedStaysRevoked: an agent that starts again before it hears of a hub has what it
// heard last, and what was taken back isn't among that. Brought again it counts until its
// end, since a hub is who says what is revoked; a no of somebody at the machine outdoes it.
func TestRevokedStaysRevoked(t *testing.T) {
	servers := map[string]definition{"a": stdio("a")}
	bubble(t, signing, func(w *world) {
		restart := func() {
			w.stop()
			w.begin()
			w.configure(servers)
		}
		w.configure(servers)
		document := w.signed("a", signer, time.Hour)
		w.service.SetSigned([][]byte{document})
		w.expect("signed", snapshot.PhaseComplete, "a__echo", "a connected")
		restart()
		w.expect("restarted without a hub", snapshot.PhaseComplete, "a__echo", "a cached")
		w.service.SetSigned([][]byte{})
		w.expect("revoked", snapshot.PhaseComplete, "", "a needs_approval")
		restart()
		w.expect("restarted after that", snapshot.PhaseComplete, "", "a needs_approval")
		if code, _ := w.say("a", "hi"); code == http.StatusOK {
			t.Error("it can be called")
		}
		w.service.SetSigned([][]byte{document})
		w.expect("brought again", snapshot.PhaseComplete, "a__echo", "a cached")
		time.Sleep(time.Second) // a no is later than what it is said to
		if code, text := w.text("POST", agentapi.PathMCPServers+"/a/deny", ""); code != http.StatusNoContent {
			t.Errorf("deny: %d %s", code, text)
		}
		w.expect("denied", snapshot.PhaseComplete, "", "a switched_off")
		w.service.SetSigned([][]byte{})
		restart()
		w.service.SetSigned([][]byte{document})
		w.expect("brought again after that", snapshot.PhaseComplete, "", "a switched_off")
		if starts, _, _ := w.fakes.server("a").counts(); starts != 1 {
			t.Errorf("%d starts", starts)
		}
	})
}
