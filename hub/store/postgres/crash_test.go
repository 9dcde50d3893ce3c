package postgres_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	"waymark/hub/store"
	"waymark/hub/store/postgres"
	"waymark/internal/credential"
	"waymark/test/contracts/storetest"
	"waymark/test/pgtest"
)

// acks keeps the last acknowledgement of a worker, and tells of each.
type acks struct {
	mu   sync.Mutex // guards last
	last storetest.Ack
	told chan struct{}
}

func (a *acks) Write(line []byte) (int, error) {
	ack, err := storetest.ParseAck(string(bytes.TrimSpace(line)))
	if err != nil {
		return 0, err
	}
	a.mu.Lock()
	a.last = ack
	a.mu.Unlock()
	select {
	case a.told <- struct{}{}:
	default:
	}
	return len(line), nil
}

func (a *acks) get() storetest.Ack {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last
}

// TestServerKilled kills the database server, with all its processes, under
// two hubs with pushing agents and a reader that follows them. Nothing that
// was acknowledged is lost, nothing is half there, and the reader misses
// nothing that is kept.
func TestServerKilled(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{Durable: true})
	url := server.URL("postgres")
	hubs := []store.Store{
		open(t, url, postgres.Options{History: storetest.WorkHistory}),
		open(t, url, postgres.Options{History: storetest.WorkHistory}),
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	var ids []string
	acked := map[string]*acks{}
	for i := range 4 {
		id := fmt.Sprint("agent-", i)
		ids = append(ids, id)
		acked[id] = &acks{told: make(chan struct{}, 1)}
		if _, err := hubs[0].CreateToken(ctx, store.NewToken{Role: store.RoleAgent, AgentID: id, Hash: credential.HashOf(id)}); err != nil {
			t.Fatal(err)
		}
		w := &storetest.Worker{Store: hubs[i%2], AgentID: id, Acked: acked[id]}
		wg.Go(func() {
			for ctx.Err() == nil { // an agent connects anew after an error
				if err := w.Session(ctx); ctx.Err() == nil {
					t.Logf("%s: %v", id, err)
				}
			}
		})
	}
	followed := make(chan int64)
	go follow(ctx, t, hubs[1], followed)
	for range 5 {
		for _, id := range ids {
			<-acked[id].told // all are at work
			<-acked[id].told
		}
		server.Kill()
		before := map[string]storetest.Ack{}
		for _, id := range ids {
			before[id] = acked[id].get()
		}
		server.Restart(t)
		for _, id := range ids {
			storetest.CheckWork(t, hubs[0], id, before[id])
		}
		// The reader is there again, too: it gets to what was acknowledged.
		for newest, at := before[ids[0]].Revision, int64(-1); at < newest; {
			var there bool
			if at, there = <-followed; !there {
				t.Fatal("the reader has given up")
			}
		}
	}
	cancel()
	wg.Wait()
	for range followed { // until the reader has ended
		continue
	}
	for _, id := range ids {
		storetest.CheckWork(t, hubs[0], id, acked[id].get())
	}
	storetest.CheckCounts(t, at(url), hubs[0], ids...)
}

// follow reads events as they come, tells the revisions, and reports one of an agent that
// came out of order. It closes told at the end.
func follow(ctx context.Context, t *testing.T, st store.Store, told chan<- int64) {
	defer close(told)
	var at store.Cursor
	newest := map[string]int64{}
	for {
		page, err := st.Events(ctx, at, 100)
		for _, e := range page.List {
			if known := newest[e.Change.AgentID]; e.Revision <= known {
				t.Errorf("revision %d of %s follows %d", e.Revision, e.Change.AgentID, known)
			}
			newest[e.Change.AgentID] = e.Revision
			select {
			case told <- e.Revision:
			case <-ctx.Done():
			default:
			}
		}
		if err == nil { // otherwise the server is down for longer than a call may take, or this is the end
			at = page.Through
		}
		if err := st.Wait(ctx, at); err != nil {
			if ctx.Err() == nil {
				t.Errorf("wait after %v: %v", at, err)
			}
			return
		}
	}
}
