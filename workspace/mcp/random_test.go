package mcp_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waymark/agentapi"
	"waymark/snapshot"
	"waymark/test/testenv"
	"waymark/workspace/mcp/catalog"
)

// model is what there should be: of each server which process it is to be, and what
// that offers.
type model struct {
	w       *world
	rng     *rand.Rand
	servers map[string]string // the name of the fake, by that of the server
	log     []string
}

var names = []string{"a", "b", "c", "d"}

func (m *model) do(format string, args ...any) { m.log = append(m.log, fmt.Sprintf(format, args...)) }

// TestRandom: after any sequence of edits, crashes, calls, pauses and new agents there
// is at most one process for each server and none for others, never two at a time but
// while one takes another's place, and the list of tools is what the servers offer.
func TestRandom(t *testing.T) {
	seed := testenv.Seed(t)
	for round := range testenv.Rounds(2, 5, 500) {
		bubble(t, settings, func(w *world) {
			m := &model{w: w, rng: testenv.RandOf(seed, uint64(round)), servers: map[string]string{}}
			m.configure()
			for range 30 {
				m.step()
				if m.rng.IntN(3) == 0 {
					m.check()
				}
				if w.t.Failed() {
					w.t.Fatalf("after:\n%s", strings.Join(m.log, "\n"))
				}
			}
			m.check()
		})
		if t.Failed() {
			return
		}
	}
}

func (m *model) configure() {
	servers := map[string]definition{}
	for name, fake := range m.servers {
		servers[name] = stdio(fake)
	}
	m.w.configure(servers)
}

func (m *model) step() {
	name := names[m.rng.IntN(len(names))]
	fake := m.servers[name]
	switch m.rng.IntN(10) {
	case 0, 1: // an edit
		m.servers[name] = name + fmt.Sprint(m.rng.IntN(2))
		m.do("%s is %s", name, m.servers[name])
		m.configure()
	case 2:
		delete(m.servers, name)
		m.do("no %s", name)
		m.configure()
	case 3: // a crash
		if fake != "" {
			if p := m.w.fakes.server(fake).one(); p != nil {
				m.do("%s dies", fake)
				p.die(1, "")
			}
		}
	case 4: // calls
		m.do("calls of %s", name)
		for range 1 + m.rng.IntN(3) {
			go m.w.say(name, "hi")
		}
	case 5: // other tools
		if fake != "" {
			n := m.rng.IntN(4)
			m.do("%s has %d tools", fake, n)
			f := m.w.fakes.server(fake)
			f.set(func(f *fakeServer) {
				f.tools = []catalog.Tool{tool("echo", "")}
				for i := range n {
					f.tools = append(f.tools, tool(fmt.Sprint("t", i), ""))
				}
			})
			if p := f.one(); p != nil {
				select {
				case p.changed <- struct{}{}:
				default:
				}
			}
		}
	case 6:
		d := time.Duration(m.rng.IntN(900)) * time.Second
		m.do("%s pass", d)
		time.Sleep(d)
	case 7: // it takes its time to end, or doesn't
		if fake != "" {
			m.do("%s is stubborn, or isn't", fake)
			m.w.fakes.server(fake).set(func(f *fakeServer) { f.stubborn = !f.stubborn })
		}
	case 8:
		m.do("restart of %s", name)
		go m.w.text("POST", agentapi.PathMCPServers+"/"+name+"/restart", "")
	case 9:
		if m.rng.IntN(3) == 0 {
			m.do("another agent")
			m.w.stop()
			m.w.begin()
			m.configure()
		}
	}
	if m.rng.IntN(2) == 0 {
		synctest.Wait()
	}
}

// check has all servers asked, and compares.
func (m *model) check() {
	w := m.w
	w.t.Helper()
	time.Sleep(2 * time.Minute) // longer than what is under way takes, shorter than idle
	synctest.Wait()
	phase, _, _ := w.tools("?refresh=true&wait=1m")
	synctest.Wait()
	if phase != snapshot.PhaseComplete {
		w.t.Errorf("it is %s", phase)
	}
	var want []string
	for _, name := range slices.Sorted(maps.Keys(m.servers)) {
		f := w.fakes.server(m.servers[name])
		f.set(func(f *fakeServer) {
			for _, t := range f.tools {
				want = append(want, name+"__"+t.Name)
			}
		})
	}
	_, got, servers := w.tools("")
	if got != strings.Join(want, " ") {
		w.t.Errorf("tools %q, want %q; %s", got, strings.Join(want, " "), servers)
	}
	for _, name := range slices.Sorted(maps.Keys(w.fakes.servers)) {
		_, running, most := w.fakes.server(name).counts()
		serves := 0
		for _, fake := range m.servers {
			if fake == name {
				serves++
			}
		}
		if running > serves || most > 1 {
			w.t.Errorf("%s: %d run, want %d; %d at a time", name, running, serves, most)
		}
	}
	for name := range m.servers {
		if code, text := w.say(name, "hi"); code != http.StatusOK {
			w.t.Errorf("%s: %d %s", name, code, text)
		}
	}
	if code, _ := w.text("GET", agentapi.PathMCPServers+"?wait=1m", ""); code != http.StatusOK {
		w.t.Errorf("servers: %d", code)
	}
}
