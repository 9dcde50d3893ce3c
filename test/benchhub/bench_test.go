package benchhub_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/hub/store/drivers"
	"waymark/hub/transport"
	"waymark/test/benchhub"
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
	forms     = flag.String("forms", "delta,full,by hash", "how they push, in that order")
)

// agentsVariable makes the test binary the process of the agents.
const agentsVariable = "WAYMARK_BENCH_AGENTS"

func TestMain(m *testing.M) {
	if os.Getenv(agentsVariable) == "" {
		pgtest.Main(m)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	if err := benchhub.Serve(ctx, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1)
	}
	stop()
}

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
		if os.Getenv("WAYMARK_TEST_POSTGRES") != "" {
			measure(t, pgtest.Database(t))
			return
		}
		measure(t, pgtest.Start(t, pgtest.Options{Durable: true}).URL("postgres"))
	})
}

// run is one hub, and the process of its agents.
type run struct {
	t       *testing.T
	orders  *json.Encoder
	results *json.Decoder
}

func (r *run) do(o benchhub.Order) benchhub.Result {
	r.t.Helper()
	if err := r.orders.Encode(o); err != nil {
		r.t.Fatal(err)
	}
	var result benchhub.Result
	if err := r.results.Decode(&result); err != nil {
		r.t.Fatal(err)
	}
	if result.Error != "" || result.Pushes == 0 {
		r.t.Errorf("%s: %d pushes, %s", o.Do, result.Pushes, result.Error)
	}
	return result
}

// say does what is ordered, and prints what came of it.
func (r *run) say(what string, o benchhub.Order) {
	r.t.Helper()
	before := cpu(r.t)
	result := r.do(o)
	used := (cpu(r.t) - before).Seconds() * 1000 / float64(max(result.Pushes, 1))
	r.t.Logf("%-46s %8.0f pushes/s   p50 %8.1f ms   p99 %8.1f ms   hub's CPU %6.2f ms", what, result.Rate(), result.P50, result.P99, used)
}

// serve starts a hub and returns what ends it.
func serve(t *testing.T, db, address string) (server *hub.Server, stop func()) {
	t.Helper()
	unlimited := transport.Limits{Connections: *agents + 10, Rate: 1e9, Burst: 1e9, TotalRate: 1e9, TotalBurst: 1e9}
	server, err := hub.Listen(t.Context(), hub.ListenOptions{
		HTTP: address, DB: db, Limits: unlimited,
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

// plan makes a token for each agent.
func plan(t *testing.T, server *hub.Server) *benchhub.Plan {
	t.Helper()
	p := &benchhub.Plan{URL: server.HTTPURL(), Resources: *resources, Size: *size}
	for i := range *agents {
		text, _, err := hub.CreateToken(t.Context(), server.Store(), store.NewToken{Role: store.RoleAgent, AgentID: fmt.Sprintf("agent-%04d", i)})
		if err != nil {
			t.Fatal(err)
		}
		p.Tokens = append(p.Tokens, text)
	}
	return p
}

// TestReconnect restarts a hub under agents that push as real ones do.
func TestReconnect(t *testing.T) { onBoth(t, reconnect) }

func reconnect(t *testing.T, db string) {
	server, stop := serve(t, db, "127.0.0.1:0")
	defer func() { stop() }()
	r := start(t)
	begin := time.Now()
	r.do(benchhub.Order{Do: "start", Plan: plan(t, server)})
	first := r.do(benchhub.Order{Do: "current", Since: begin})
	bodies := float64(*agents * *resources * *size)
	t.Logf("%d agents with %d resources of %d bytes: first push of all in %.1f s, %.0f MB", *agents, *resources, *size, first.Seconds, float64(first.Bytes)/1e6)
	stop()
	_, stop = serve(t, db, server.HTTPURL()[len("http://"):])
	again := r.do(benchhub.Order{Do: "current", Since: time.Now()})
	share := 100 * float64(again.Bytes) / bodies
	t.Logf("after the hub's restart: all current in %.1f s, %.2f MB, %.2f %% of the bodies", again.Seconds, float64(again.Bytes)/1e6, share)
	if share > 10 {
		t.Errorf("%.1f %% of the bodies were moved", share)
	}
}

func measure(t *testing.T, db string) {
	server, stop := serve(t, db, "127.0.0.1:0")
	defer stop()
	r := start(t)
	before := memory()
	result := r.do(benchhub.Order{Do: "connect", Plan: plan(t, server)})
	t.Logf("%d agents on %d CPUs, shared with them; connected in %.1f s", *agents, runtime.NumCPU(), result.Seconds)
	r.say("everyone's first push, 50 at a time", benchhub.Order{Do: "once", Workers: 50, Form: benchhub.Full})
	idle := memory()
	t.Logf("memory per agent: %d KiB of heap and stacks, %d KiB resident, %.1f goroutines",
		(idle.inUse-before.inUse)/int64(*agents)>>10, (idle.resident-before.resident)/int64(*agents)>>10,
		float64(idle.goroutines-before.goroutines)/float64(*agents))
	for _, name := range strings.Split(*forms, ",") {
		form := benchhub.Form(name)
		kind := map[benchhub.Form]string{benchhub.Delta: "deltas", benchhub.Full: "full pushes", benchhub.ByHash: "pushes by hash"}[form]
		r.say(fmt.Sprintf("%s, a change every %s each", kind, *interval), benchhub.Order{Do: "steady", Interval: *interval, For: *steady, Form: form})
		r.say(fmt.Sprintf("%s without a pause, 1 at a time", kind), benchhub.Order{Do: "saturate", Workers: 1, For: *saturate, Form: form})
		r.say(fmt.Sprintf("%s without a pause, %d at a time", kind, *workers), benchhub.Order{Do: "saturate", Workers: *workers, For: *saturate, Form: form})
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
