package storetest

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"waymark/hub/store"
)

// killVariable tells a test binary to be the process that RunKill kills, and
// names the database.
const killVariable = "WAYMARK_STORETEST_KILL"

// killAgents are as many as push at the same time: several of their pushes may be in
// one transaction.
var killAgents = []string{"a", "b", "c", "d", "e", "f"}

// KillChild is called by TestMain of a package that calls RunKill. In the
// process that is to be killed it never returns; otherwise it does nothing.
func KillChild(open func(name string) (store.Store, error)) {
	name := os.Getenv(killVariable)
	if name == "" {
		return
	}
	st, err := open(name)
	if err == nil {
		ends := make(chan error)
		for _, id := range killAgents {
			go func() { ends <- (&Worker{Store: st, AgentID: id, Acked: os.Stdout}).Session(context.Background()) }()
		}
		err = <-ends
	}
	fmt.Fprintln(os.Stderr, "the process that was to be killed ended:", err)
	os.Exit(1)
}

// RunKill has a process push into a database and kills it, some times at
// random moments: what it was told to be stored must be there, and nothing may
// be half there. name is for KillChild's open, which must keep WorkHistory.
func RunKill(t *testing.T, db Database, name string, r *rand.Rand) {
	t.Helper()
	st := db.Open(t, Config{History: WorkHistory})
	for _, id := range killAgents {
		if _, err := st.CreateToken(t.Context(), newToken(store.RoleAgent, id)); err != nil {
			t.Fatal(err)
		}
	}
	total := 0
	for round := range 8 {
		acked := killOnce(t, name, 1+r.IntN(60))
		// A transaction that the process has left behind ends before a session
		// can begin. Closing and opening is what a new hub does.
		for _, id := range killAgents {
			if _, _, err := st.BeginSession(t.Context(), id, ""); err != nil {
				t.Fatal(err)
			}
		}
		fresh := db.Open(t, Config{History: WorkHistory})
		for _, id := range killAgents {
			CheckWork(t, fresh, id, acked[id])
			total += int(acked[id].Version)
		}
		CheckCounts(t, db, fresh, killAgents...)
		if err := fresh.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	t.Logf("%d pushes were acknowledged", total)
}

// killOnce runs the process until it has pushed some times, and returns what
// was acknowledged last for each agent.
func killOnce(t *testing.T, name string, pushes int) map[string]Ack {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), killVariable+"="+name)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	acked := map[string]Ack{}
	for lines := bufio.NewScanner(out); lines.Scan(); pushes-- {
		if pushes == 0 {
			_ = cmd.Process.Kill() // it goes on pushing until then
		}
		ack, err := ParseAck(lines.Text())
		if err != nil {
			t.Errorf("the process wrote %q", lines.Text())
		}
		acked[ack.AgentID] = ack
	}
	_ = cmd.Wait() // killed
	if pushes > 0 {
		t.Fatal("the process ended before it was killed")
	}
	return acked
}
