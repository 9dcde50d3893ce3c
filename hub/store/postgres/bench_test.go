package postgres_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"waymark/hub/store"
	"waymark/hub/store/postgres"
	"waymark/snapshot"
	"waymark/test/contracts/storetest"
	"waymark/test/pgtest"
	"waymark/wire"
)

func BenchmarkStore(b *testing.B) { storetest.Bench(b, database) }

// BenchmarkDurable is BenchmarkStore/many with a server that syncs every
// commit.
func BenchmarkDurable(b *testing.B) {
	server := pgtest.Start(b, pgtest.Options{Durable: true})
	storetest.BenchMany(b, func(testing.TB) storetest.Database { return at(server.URL("postgres")) }, 50)
}

// BenchmarkFleet measures pushes of many agents at one and at three hubs, with a server that
// syncs every commit: small ones, a delta of one text of 2 KiB of twenty, and full ones, with
// twenty new texts. Beside the pushes a second it says how many syncs of the WAL each needs,
// which a slow disk multiplies, and the processor time of the server and of this process.
// slow is with commits that take 20 ms longer.
func BenchmarkFleet(b *testing.B) {
	server := pgtest.Start(b, pgtest.Options{Durable: true})
	url := server.URL("postgres")
	list := make([]*benchPusher, 256)
	func() {
		pgtest.Exec(b, url, "ALTER DATABASE postgres SET synchronous_commit = off")
		st := open(b, url, postgres.Options{})
		defer st.Close()
		for i := range list {
			list[i] = newBenchPusher(b, st, i)
		}
	}()
	pgtest.Exec(b, url, "ALTER DATABASE postgres RESET ALL", "ALTER SYSTEM SET max_wal_size = '4GB'", "SELECT pg_reload_conf()")
	for _, disk := range []string{"", "/slow"} {
		if disk != "" {
			pgtest.Exec(b, url, "ALTER DATABASE postgres SET commit_delay = 20000", "ALTER DATABASE postgres SET commit_siblings = 0")
		}
		for _, c := range []struct{ hubs, pushers int }{{1, 1}, {1, 64}, {1, 256}, {3, 256}} {
			b.Run(fmt.Sprintf("small%s/hubs-%d/pushers-%d", disk, c.hubs, c.pushers), func(b *testing.B) {
				benchFleet(b, url, list[:c.pushers], c.hubs, (*benchPusher).small)
			})
		}
		b.Run("full"+disk+"/hubs-1/pushers-256", func(b *testing.B) { benchFleet(b, url, list, 1, (*benchPusher).full) })
	}
}

// benchPusher is an agent of BenchmarkFleet.
type benchPusher struct {
	id         string
	generation int64
	version    uint64
	name       wire.Name
}

const benchTexts = 20

func newBenchPusher(b *testing.B, st store.Store, i int) *benchPusher {
	w := &benchPusher{id: fmt.Sprint("agent-", i)}
	w.generation = session(b, st, w.id)
	w.push(b, st, w.full())
	return w
}

func (w *benchPusher) text(i int) snapshot.Resource {
	text := fmt.Sprintf("%s %d %d %s", w.id, w.version, i, strings.Repeat("words of a text ", 128))
	return snapshot.Resource{Kind: "skill", Source: fmt.Sprintf("/%03d", i), Status: snapshot.StatusOK, Payload: []byte(text)[:2048]}
}

func (w *benchPusher) full() store.Push {
	w.version++
	p := store.Push{Snapshot: snapshot.Snapshot{Version: w.version}}
	for i := range benchTexts {
		p.Snapshot.Resources = append(p.Snapshot.Resources, w.text(i))
	}
	w.name = storetest.NameOf(p.Snapshot)
	p.Update = &store.Update{Name: w.name, Head: true}
	return p
}

func (w *benchPusher) small() store.Push {
	w.version++
	p := store.Push{Snapshot: snapshot.Snapshot{Version: w.version, Resources: []snapshot.Resource{w.text(int(w.version % benchTexts))}}}
	p.Update = &store.Update{Base: w.name}
	binary.BigEndian.PutUint64(p.Update.Name[:], w.version)
	w.name = p.Update.Name
	return p
}

func (w *benchPusher) push(b *testing.B, st store.Store, p store.Push) {
	if result, err := st.Push(context.Background(), w.id, w.generation, p); err != nil || !result.Accepted {
		b.Errorf("%+v, %v", result, err)
	}
}

func benchFleet(b *testing.B, url string, list []*benchPusher, hubs int, next func(*benchPusher) store.Push) {
	stores := make([]store.Store, hubs)
	for i := range stores {
		stores[i] = open(b, url, postgres.Options{})
	}
	turn := make(chan int, b.N)
	for n := range b.N {
		turn <- n
	}
	close(turn)
	syncs, cpu, own := serverSyncs(b, url), serverLoad(b, url), ownLoad()
	b.ResetTimer()
	var all sync.WaitGroup
	for i, w := range list {
		all.Go(func() {
			for range turn {
				w.push(b, stores[i%hubs], next(w))
			}
		})
	}
	all.Wait()
	b.StopTimer()
	own = ownLoad() - own
	cpu = serverLoad(b, url) - cpu
	for _, st := range stores { // a session tells of its syncs at its end
		_ = st.Close()
	}
	n := float64(b.N)
	b.ReportMetric(n/b.Elapsed().Seconds(), "pushes/s")
	b.ReportMetric(float64(serverSyncs(b, url)-syncs)/n, "syncs/push")
	b.ReportMetric(cpu/n, "server-ms/push")
	b.ReportMetric(own.Seconds()*1000/n, "hub-ms/push")
}

// serverSyncs returns the number of syncs of the WAL.
func serverSyncs(b *testing.B, url string) int64 {
	time.Sleep(200 * time.Millisecond) // until sessions have ended
	return query[int64](b, url, "SELECT wal_sync FROM pg_stat_wal")
}

// serverLoad returns the processor time, in milliseconds, of the processes that serve hubs.
func serverLoad(b *testing.B, url string) (ms float64) {
	pids := query[[]int](b, url, "SELECT array_agg(pid) FROM pg_stat_activity WHERE application_name LIKE 'waymark-hub%' OR backend_type = 'walwriter'")
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		fields := strings.Fields(string(stat))
		if err != nil || len(fields) < 15 {
			continue // not Linux
		}
		for _, field := range fields[13:15] {
			ticks, _ := strconv.ParseFloat(field, 64)
			ms += ticks * 10
		}
	}
	return ms
}

// ownLoad returns the processor time of this process.
func ownLoad() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
