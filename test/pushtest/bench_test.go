package pushtest_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // for figures
	_ "modernc.org/sqlite"             // likewise

	"waymark/hub"
	"waymark/hub/store"
	"waymark/hub/store/drivers"
	"waymark/hub/transport"
	"waymark/internal/credential"
	"waymark/test/pgtest"
)

var (
	agents    = flag.Int("agents", 10, "how many agents there are")
	resources = flag.Int("resources", 50, "how many resources each has")
	size      = flag.Int("size", 4<<10, "how long each is, in bytes")
	interval  = flag.Duration("interval", time.Second, "how often each agent has a change")
	steady    = flag.Duration("steady", time.Second, "how long that goes on")
	saturate  = flag.Duration("saturate", 500*time.Millisecond, "how long agents push without a pause")
	workers   = flag.Int("workers", 16, "how many do so at a time")
	hubs      = flag.Int("hubs", 1, "at how many hubs they storm (PostgreSQL; SQLite has one)")
	delay     = flag.Int("delay", 0, "how long PostgreSQL's commits take more, in microseconds")
	longest   = flag.Duration("longest", 5*time.Minute, "how long a storm may take")
	forms     = flag.String("forms", "delta,full,by hash", "how they push, in that order")
)

// agentsVariable makes the test binary the process of the agents.
const agentsVariable = "WAYMARK_BENCH_AGENTS"

// TestHub measures what a hub does, with the garbage collected as hub serve has it.
func TestHub(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(200))
	if testing.Short() { // that it can be measured is enough
		*interval, *steady, *saturate = 100*time.Millisecond, 200*time.Millisecond, 100*time.Millisecond
	}
	onBoth(t, measure)
}

// onBoth measures the same on both databases.
func onBoth(t *testing.T, measure func(t *testing.T, db string)) {
	t.Run("sqlite", func(t *testing.T) { measure(t, "sqlite:"+filepath.Join(t.TempDir(), "hub.db")) })
	t.Run("postgres", func(t *testing.T) {
		var url string
		if os.Getenv("WAYMARK_TEST_POSTGRES") != "" {
			url = pgtest.Database(t)
		} else {
			url = pgtest.Start(t, pgtest.Options{Durable: true}).URL("postgres")
		}
		if *delay > 0 {
			url += fmt.Sprintf("&commit_siblings=0&commit_delay=%d", *delay)
		}
		measure(t, url)
	})
}

// run is one hub, and the process of its agents.
type run struct {
	t       *testing.T
	orders  *json.Encoder
	results *json.Decoder
}

func (r *run) do(o Order) Result {
	r.t.Helper()
	if err := r.orders.Encode(o); err != nil {
		r.t.Fatal(err)
	}
	var result Result
	if err := r.results.Decode(&result); err != nil {
		r.t.Fatal(err)
	}
	if result.Error != "" || result.Pushes == 0 {
		r.t.Errorf("%s: %d pushes, %s", o.Do, result.Pushes, result.Error)
	}
	return result
}

// say does what is ordered, and prints what came of it.
func (r *run) say(what string, o Order) {
	r.t.Helper()
	before := cpu(r.t)
	result := r.do(o)
	used := (cpu(r.t) - before).Seconds() * 1000 / float64(max(result.Pushes, 1))
	r.t.Logf("%-46s %8.0f pushes/s   p50 %8.1f ms   p99 %8.1f ms   hub's CPU %6.2f ms", what, result.Rate(), result.P50, result.P99, used)
}

// serve starts a hub and returns what ends it. It takes all agents; the other limits are the usual
// ones unless they are given.
func serve(t *testing.T, db, address string, limits transport.Limits) (server *hub.Server, stop func()) {
	t.Helper()
	limits.Connections = *agents + 100
	server, err := hub.Listen(t.Context(), hub.ListenOptions{
		HTTP: address, DB: db, Limits: limits,
		Databases: hub.Databases{Check: drivers.Check, Open: func(ctx context.Context, db string, opts hub.StoreOptions) (store.Store, error) {
			return drivers.Open(ctx, db, drivers.Options{Now: opts.Now, Logger: opts.Logger})
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Run(ctx) }()
	return server, func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}
}

// plan makes tokens for n agents of those hubs.
func plan(t *testing.T, name string, n int, servers ...*hub.Server) *Plan {
	t.Helper()
	p := &Plan{Resources: *resources, Size: *size}
	for _, server := range servers {
		p.URLs = append(p.URLs, server.HTTPURL())
	}
	tokens := make([]store.NewToken, n)
	for i := range tokens {
		text := store.RoleAgent.Kind().New()
		p.Tokens = append(p.Tokens, text)
		tokens[i] = store.NewToken{Role: store.RoleAgent, AgentID: fmt.Sprintf("%s-%05d", name, i), Hash: credential.HashOf(text)}
	}
	// In one transaction: commits may be slow.
	if err := servers[0].Store().SyncProvisioned(t.Context(), tokens); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestStorm has all agents join at once, and then come again at once when the hubs have been
// restarted. Agents and limits are the real ones.
func TestStorm(t *testing.T) { onBoth(t, storm) }

func storm(t *testing.T, db string) {
	servers, stops := make([]*hub.Server, 1), make([]func(), 1)
	if strings.HasPrefix(db, "postgres:") {
		servers, stops = make([]*hub.Server, *hubs), make([]func(), *hubs)
	}
	for i := range servers {
		servers[i], stops[i] = serve(t, db, "127.0.0.1:0", transport.Limits{})
	}
	stop := func() {
		for i, stop := range stops {
			if stops[i] = nil; stop != nil {
				stop()
			}
		}
	}
	defer stop()
	r := start(t)
	few := min(64, *agents)
	r.do(Order{Do: "connect", Plan: plan(t, "few", few, servers...)})
	rate := r.do(Order{Do: "saturate", Workers: few, For: *saturate, Form: Full}).Rate()
	r.do(Order{Do: "disconnect"})
	t.Logf("%d hubs; %d agents make %.0f full pushes/s with %d resources of %d bytes", len(servers), few, rate, *resources, *size)
	all := plan(t, "agent", *agents, servers...)
	for _, round := range []string{"joined", "came again after a restart"} {
		stop() // the database counts what connections have done when they end
		begun, since := figures(t, db), time.Now()
		for i, url := range all.URLs {
			_, stops[i] = serve(t, db, strings.TrimPrefix(url, "http://"), transport.Limits{})
		}
		probes := probe(t, all.URLs)
		if round == "joined" {
			r.do(Order{Do: "start", Plan: all})
		}
		got := r.do(Order{Do: "current", Since: since, For: *longest})
		probed := probes()
		stop()
		t.Logf("%d agents %s: all current in %.1f s (half in %.1f s, 99 %% in %.1f s), %.1f × agents ÷ that rate, %.0f bytes for each; for each %s; %s",
			*agents, round, got.Seconds, got.P50/1000, got.P99/1000, got.Seconds*rate/float64(*agents), float64(got.Bytes)/float64(*agents), figures(t, db).since(begun), probed)
	}
}

// counts are what a database has done.
type counts struct{ sessions, transactions, syncs float64 }

// figures reads them; of SQLite only sessions are counted.
func figures(t *testing.T, db string) (c counts) {
	t.Helper()
	driver, query := "sqlite", "SELECT sum(generation), 0, 0 FROM agents"
	if strings.HasPrefix(db, "postgres:") {
		driver, query = "pgx", "SELECT (SELECT sum(generation) FROM agents), (SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()), (SELECT wal_sync FROM pg_stat_wal)"
	}
	conn, err := sql.Open(driver, strings.TrimPrefix(db, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.QueryRowContext(t.Context(), query).Scan(&c.sessions, &c.transactions, &c.syncs); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c counts) since(before counts) string {
	n := float64(*agents)
	return fmt.Sprintf("%.2f sessions, %.2f transactions, %.2f syncs", (c.sessions-before.sessions)/n, (c.transactions-before.transactions)/n, (c.syncs-before.syncs)/n)
}

// probe asks hubs for their health four times a second, as balancers do, until the result is
// called, which says how many probes weren't answered well within 2 s.
func probe(t *testing.T, urls []string) (result func() string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	client := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	var all, failed atomic.Int64
	var probing sync.WaitGroup
	for _, url := range urls {
		for _, path := range []string{"/readyz", "/readyz?for=readers"} {
			probing.Go(func() {
				for ctx.Err() == nil {
					response, err := client.Get(url + path)
					if err == nil {
						_ = response.Body.Close()
					}
					all.Add(1)
					if err != nil || response.StatusCode != http.StatusOK {
						failed.Add(1)
					}
					select {
					case <-time.After(250 * time.Millisecond):
					case <-ctx.Done():
					}
				}
			})
		}
	}
	return func() string {
		cancel()
		probing.Wait()
		return fmt.Sprintf("%d of %d probes failed", failed.Load(), all.Load())
	}
}

func measure(t *testing.T, db string) {
	server, stop := serve(t, db, "127.0.0.1:0", transport.Limits{Rate: 1e9, Burst: 1e9, TotalRate: 1e9, TotalBurst: 1e9})
	defer stop()
	r := start(t)
	before := memory()
	result := r.do(Order{Do: "connect", Plan: plan(t, "agent", *agents, server)})
	t.Logf("%d agents on %d CPUs, shared with them; connected in %.1f s", *agents, runtime.NumCPU(), result.Seconds)
	r.say("everyone's first push, 50 at a time", Order{Do: "once", Workers: 50, Form: Full})
	idle := memory()
	t.Logf("memory per agent: %d KiB of heap and stacks, %d KiB resident, %.1f goroutines",
		(idle.inUse-before.inUse)/int64(*agents)>>10, (idle.resident-before.resident)/int64(*agents)>>10,
		float64(idle.goroutines-before.goroutines)/float64(*agents))
	for _, name := range strings.Split(*forms, ",") {
		form := Form(name)
		kind := map[Form]string{Delta: "deltas", Full: "full pushes", ByHash: "pushes by hash"}[form]
		r.say(fmt.Sprintf("%s, a change every %s each", kind, *interval), Order{Do: "steady", Interval: *interval, For: *steady, Form: form})
		r.say(fmt.Sprintf("%s without a pause, 1 at a time", kind), Order{Do: "saturate", Workers: 1, For: *saturate, Form: form})
		r.say(fmt.Sprintf("%s without a pause, %d at a time", kind, *workers), Order{Do: "saturate", Workers: *workers, For: *saturate, Form: form})
	}
	got := memory()
	t.Logf("the hub at the end: %d MiB resident, %d MiB of heap and stacks", got.resident>>20, got.inUse>>20)
	if got.resident > before.resident+1<<30 {
		t.Errorf("the hub has grown to %d MiB", got.resident>>20)
	}
}

// start starts the process of the agents.
func start(t *testing.T) *run {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), agentsVariable+"=1")
	var stderr bytes.Buffer
	child.Stderr = &stderr
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := child.Wait(); err != nil {
			t.Errorf("the agents: %v\n%s", err, &stderr)
		}
	})
	return &run{t: t, orders: json.NewEncoder(in), results: json.NewDecoder(out)}
}

// cpu is what this process has used.
func cpu(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

type usage struct {
	inUse, resident int64
	goroutines      int
}

// memory is what this process, the hub's, uses now.
func memory() usage {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u := usage{inUse: int64(m.HeapInuse + m.StackInuse), goroutines: runtime.NumGoroutine()}
	if data, err := os.ReadFile("/proc/self/statm"); err == nil {
		var total, pages int64
		if _, err := fmt.Sscan(string(data), &total, &pages); err == nil {
			u.resident = pages * int64(os.Getpagesize())
		}
	}
	return u
}
