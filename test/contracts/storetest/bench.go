package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"waymark/hub/store"
	"waymark/internal/credential"
	"waymark/snapshot"
	"waymark/wire"
)

// Bench measures pushes of 50 and of 200 resources of 8 KiB:
//
//	first   everything of a new agent, with contents that nobody had
//	known   everything of a new agent, with contents that another agent has
//	full    one edit, pushed with everything else
//	delta   one edit, pushed alone
//	again   nothing new, as after a reconnect
//	many    one edit, pushed alone, by 16 agents at once
//
// what readers ask for: the snapshot, and its list; and what is asked of a fleet of 5,000:
//
//	agents  the list of all, which the overview is made of; count, how many, for metrics
//	search  fifty hits
//	events  a page of the oldest, as for a reader that was away for long; news, the newest one
//	notice  what webhooks are to be told, when a twentieth of the agents have failing
//	        plugins and nothing has changed; away, when all agents are away
func Bench(b *testing.B, database Make) {
	b.Run("fleet/5000", func(b *testing.B) { benchFleet(b, database, 5000) })
	for _, n := range []int{50, 200} {
		b.Run(fmt.Sprint("first/", n), func(b *testing.B) { benchFirst(b, database, n, false) })
		b.Run(fmt.Sprint("known/", n), func(b *testing.B) { benchFirst(b, database, n, true) })
		for _, way := range []string{"full", "delta", "again"} {
			b.Run(fmt.Sprint(way, "/", n), func(b *testing.B) {
				w := newPushBench(b, database(b).Open(b, Config{}), "a", n)
				for b.Loop() {
					w.push(b, way)
				}
			})
		}
		b.Run(fmt.Sprint("many/", n), func(b *testing.B) { BenchMany(b, database, n) })
		b.Run(fmt.Sprint("read/", n), func(b *testing.B) { benchRead(b, database, n, store.Query{AgentID: "a"}) })
		b.Run(fmt.Sprint("list/", n), func(b *testing.B) {
			benchRead(b, database, n, store.Query{AgentID: "a", WithoutPayloads: true})
		})
	}
}

// words make text that compresses about as well as prose does.
var words = strings.Fields(`the a of to and in that is for on with as by at this be are from or an it not which
	when before after file directory test build run check review deploy skill agent context change request branch commit
	always never should must may use read write list open close start stop error message name value type function package`)

// prose is 8 KiB of them.
var prose = sync.OnceValue(func() string {
	var b strings.Builder
	for r := rand.New(rand.NewPCG(1, 2)); b.Len() < 8<<10; {
		b.WriteString(words[r.IntN(len(words))])
		b.WriteByte(" \n"[r.IntN(12)/11])
	}
	return b.String()[:8<<10]
})

// text is 8 KiB that nobody else has.
func text(of ...any) []byte {
	line := fmt.Sprintln(of...)
	return []byte(line + prose()[len(line):])
}

func benchState(id string, n int) []snapshot.Resource {
	list := make([]snapshot.Resource, n)
	for i := range list {
		list[i] = skill(fmt.Sprint(i), "")
		list[i].Payload = text(id, i)
	}
	return list
}

func benchAgent(b *testing.B, s store.Store, id string) int64 {
	b.Helper()
	if _, err := s.CreateToken(b.Context(), newToken(store.RoleAgent, id)); err != nil {
		b.Fatal(err)
	}
	g, _, err := s.BeginSession(b.Context(), id, "")
	if err != nil {
		b.Fatal(err)
	}
	return g
}

func mustPush(b *testing.B, s store.Store, id string, generation int64, p store.Push) {
	b.Helper()
	if result, err := s.Push(b.Context(), id, generation, p); err != nil || !result.Accepted {
		b.Fatal(result, err)
	}
}

func benchFirst(b *testing.B, database Make, n int, known bool) {
	s := database(b).Open(b, Config{})
	list := benchState("all", n)
	mustPush(b, s, "first", benchAgent(b, s, "first"), whole(1, list...))
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		id := fmt.Sprint("agent-", i)
		if !known {
			list = benchState(id, n)
		}
		g := benchAgent(b, s, id)
		b.StartTimer()
		mustPush(b, s, id, g, whole(1, list...))
	}
}

// pushBench is one agent that pushes.
type pushBench struct {
	store      store.Store
	id         string
	generation int64
	version    uint64
	list       []snapshot.Resource
	name       wire.Name
}

func newPushBench(b *testing.B, s store.Store, id string, n int) *pushBench {
	b.Helper()
	w := &pushBench{store: s, id: id, generation: benchAgent(b, s, id), version: 1, list: benchState(id, n)}
	first := full(1, w.list...)
	w.name = first.Update.Name
	mustPush(b, s, id, w.generation, first)
	return w
}

func (w *pushBench) push(b *testing.B, way string) {
	b.Helper()
	w.version++
	p := whole(w.version, w.list...)
	if way != "again" {
		r := &w.list[w.version%uint64(len(w.list))]
		r.Payload = text(w.id, "version", w.version)
		if way == "delta" {
			p = delta(w.name, w.version, nil, *r)
			w.name = p.Update.Name
		}
	}
	mustPush(b, w.store, w.id, w.generation, p)
}

// BenchMany measures one edit among n resources, pushed alone, by 16 agents at
// once.
func BenchMany(b *testing.B, database Make, n int) {
	s := database(b).Open(b, Config{})
	free := make(chan *pushBench, 16)
	for i := range cap(free) {
		free <- newPushBench(b, s, fmt.Sprint("agent-", i), n)
	}
	b.SetParallelism(cap(free))
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			w := <-free
			w.push(b, "delta")
			free <- w
		}
	})
}

// Fleet makes n agents, each of which has pushed.
func Fleet(b *testing.B, s store.Store, n int) {
	b.Helper()
	tokens := make([]store.NewToken, n)
	for i := range tokens {
		tokens[i] = newToken(store.RoleAgent, fmt.Sprintf("agent-%04d", i))
	}
	if err := s.SyncProvisioned(b.Context(), tokens); err != nil {
		b.Fatal(err)
	}
	// Many at a time, as they would come: a store commits what comes together at once.
	var all errgroup.Group
	all.SetLimit(16)
	for i := range tokens {
		all.Go(func() error { return fleetAgent(b.Context(), s, tokens[i].AgentID, i) })
	}
	if err := all.Wait(); err != nil {
		b.Fatal(err)
	}
}

func fleetAgent(ctx context.Context, s store.Store, id string, i int) error {
	g, _, err := s.BeginSession(ctx, id, "")
	if err != nil {
		return err
	}
	p := whole(1, skill(fmt.Sprint("skill-", i%100), fmt.Sprint(i%50)), skill("everywhere", "x"))
	p.Initial, p.Snapshot.Plugins = true, []snapshot.Plugin{{Name: "conventions", State: snapshot.PluginReady}, {Name: "own", State: snapshot.PluginState([]string{"ready", "failing"}[i%20/19])}}
	if result, err := s.Push(ctx, id, g, p); err != nil || !result.Accepted {
		return fmt.Errorf("push: accepted %t, %w", result.Accepted, err)
	}
	d := store.AgentDescription{Hostname: fmt.Sprintf("host-%d.example.com", i/4), Root: fmt.Sprintf("/home/user-%d/src/project", i), AgentVersion: "1.2.3"}
	if err := s.DescribeAgents(ctx, map[string]store.AgentDescription{id: d}); err != nil {
		return err
	}
	_, err = s.LabelAgent(ctx, id, store.Labels{"env": []string{"prod", "dev"}[i%2], "team": fmt.Sprint("t", i%40)}, nil)
	return err
}

// benchFleet asks one fleet everything: it takes longer to make than to ask.
func benchFleet(b *testing.B, database Make, n int) {
	var ahead atomic.Int64 // time.Durations: each turn of webhooks has its time
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	s := database(b).Open(b, Config{Now: now})
	Fleet(b, s, n)
	if _, err := s.CreateWebhook(b.Context(), store.NewWebhook{URL: "https://example.com/", Secret: credential.WebhookSecret.New()}); err != nil {
		b.Fatal(err)
	}
	b.Run("agents", func(b *testing.B) {
		for b.Loop() {
			if list, err := s.Agents(b.Context()); err != nil || len(list) != n {
				b.Fatal(len(list), err)
			}
		}
	})
	b.Run("count", func(b *testing.B) {
		for b.Loop() {
			if counts, err := s.CountAgents(b.Context()); err != nil || counts.Agents != n {
				b.Fatal(counts, err)
			}
		}
	})
	b.Run("search", func(b *testing.B) {
		for b.Loop() {
			if list, err := s.Search(b.Context(), store.SearchQuery{Text: "skill-42", Limit: 1000}); err != nil || len(list) != n/100 {
				b.Fatal(len(list), err)
			}
		}
	})
	const page = 1000
	events := func(b *testing.B, after store.Cursor, limit, want int) {
		for b.Loop() {
			if got, err := s.Events(b.Context(), after, limit); err != nil || len(got.List) != want {
				b.Fatal(len(got.List), err)
			}
		}
	}
	b.Run("events", func(b *testing.B) { events(b, store.Cursor{}, page, page) })
	b.Run("news", func(b *testing.B) {
		list, _ := follow(b, s, store.Cursor{}, page)
		events(b, list[len(list)-2].At, page, 1)
	})
	turn := func(b *testing.B, o store.NoticeOptions) int {
		ahead.Add(int64(store.WebhookTurn))
		told, err := s.Notice(b.Context(), o)
		if err != nil {
			b.Fatal(err)
		}
		return told
	}
	notice := func(b *testing.B, o store.NoticeOptions) {
		for b.Loop() {
			if told := turn(b, o); told != 0 {
				b.Fatal(told)
			}
		}
	}
	if told := turn(b, store.NoticeOptions{}); told != 1 {
		b.Fatal(told)
	}
	b.Run("notice", func(b *testing.B) { notice(b, store.NoticeOptions{}) })
	away := store.NoticeOptions{SeenBefore: now().Add(time.Hour)}
	if told := turn(b, away); told != 1 {
		b.Fatal(told)
	}
	b.Run("away", func(b *testing.B) { notice(b, away) })
}

func benchRead(b *testing.B, database Make, n int, q store.Query) {
	s := database(b).Open(b, Config{})
	newPushBench(b, s, "a", n)
	for b.Loop() {
		if got, err := s.Snapshot(b.Context(), q); err != nil || len(got.Snapshot.Resources) != n {
			b.Fatal(len(got.Snapshot.Resources), err)
		}
	}
}
