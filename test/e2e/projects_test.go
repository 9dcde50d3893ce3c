package e2e_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"waymark/hub/api"
	"waymark/hub/client"
	"waymark/hub/shared"
	"waymark/test/e2e"
	"waymark/test/process"
	"waymark/test/testenv"
)

// users are uids that tests run as root take for two users: nobody's, and high
// enough for nobody to have them.
var users = []uint32{54321, 54322}

// user is somebody with some projects, whose agents share a hub.
type user struct {
	t        *testing.T
	ctx      context.Context
	programs e2e.Programs
	home     e2e.Home
	uid      uint32 // 0 means that of the test
	projects []*project
	pins     map[string]string // what each holds, by id
	revision int64             // the newest that was seen
}

// project is a directory with an agent, or without one at the moment.
type project struct {
	name, root string
	agent      *e2e.Agent
	id         string // of the agent, in the hub; it must stay
	n          int    // of the last edit
}

// newUser makes somebody with projects, who are different users of the machine
// where the test may do that.
func newUser(t *testing.T, uid uint32, names ...string) *user {
	t.Helper()
	s := ready(t)
	dir, err := os.MkdirTemp(s.dir, "")
	if err != nil {
		t.Fatal(err)
	}
	home, err := e2e.NewHome(dir)
	if err != nil {
		t.Fatal(err)
	}
	home.PerWorkspace = true
	ctx, cancel := context.WithTimeout(t.Context(), 10*timeout)
	t.Cleanup(cancel)
	u := &user{t: t, ctx: ctx, programs: s.programs, home: home, pins: map[string]string{}}
	u.must(home.Configure("[watch]\nrecheck = \"1h\"\n" + patientRuns))
	for _, name := range names {
		p := &project{name: name, root: filepath.Join(dir, "home", name)}
		u.must(os.Mkdir(p.root, 0o700))
		u.projects = append(u.projects, p)
		u.edit(p)
	}
	if os.Geteuid() == 0 {
		u.uid = uid
		u.must(errors.Join(os.Chmod(s.dir, 0o711), os.Chmod(s.programs.Agent, 0o755)))
		u.must(filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, int(uid), int(uid)))
		}))
	}
	t.Cleanup(func() {
		for _, p := range u.projects {
			u.kill(p)
		}
	})
	return u
}

func (u *user) must(err error) {
	u.t.Helper()
	if err != nil {
		u.t.Fatal(err)
	}
}

// as has a command run as the user.
func (u *user) as(cmd *exec.Cmd) {
	if u.uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: u.uid, Gid: u.uid, NoSetGroups: true}}
	}
}

// start starts a project's agent and waits for nothing.
func (u *user) start(p *project) {
	u.t.Helper()
	agent, err := e2e.StartAgent(u.ctx, e2e.AgentOptions{Program: u.programs.Agent, Home: u.home, Root: p.root, Command: u.as})
	u.must(err)
	p.agent = agent
	u.t.Cleanup(func() {
		agent.Kill()
		if u.t.Failed() {
			u.t.Logf("the agent of %s said: %.8000s", p.root, agent.Output())
		}
	})
}

// stop ends an agent well.
func (u *user) stop(p *project) {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(u.ctx, timeout)
	defer cancel()
	_, err := p.agent.Stop(ctx)
	u.must(err)
	p.agent = nil
}

func (u *user) kill(p *project) {
	if p.agent != nil {
		p.agent.Kill()
		p.agent = nil
	}
}

func (u *user) running() (list []*project) {
	for _, p := range u.projects {
		if p.agent != nil {
			list = append(list, p)
		}
	}
	return list
}

// edit changes what an agent finds.
func (u *user) edit(p *project) {
	u.t.Helper()
	p.n++
	path := filepath.Join(p.root, "AGENTS.md")
	text := fmt.Sprintf("# %s %d\n%s", p.name, p.n, strings.Repeat("text\n", p.n%700))
	u.must(os.WriteFile(path, []byte(text), 0o600))
	if u.uid != 0 {
		u.must(os.Lchown(path, int(u.uid), int(u.uid)))
	}
}

// hub is a client of the user's hub; nil while there is none.
func (u *user) hub() client.Client {
	place, err := shared.Find(u.ctx, u.home.State())
	if err != nil {
		return nil
	}
	token, err := os.ReadFile(shared.ReaderFile(u.home.State()))
	if err != nil {
		return nil
	}
	return client.New(place.URL, client.Options{Token: strings.TrimSpace(string(token))})
}

// holder is the project whose agent runs the hub, as far as one can say.
func (u *user) holder() *project {
	place, err := shared.Find(u.ctx, u.home.State())
	for _, p := range u.running() {
		if err == nil && p.agent.PID() == place.PID {
			return p
		}
	}
	return nil
}

// until waits until something is so.
func (u *user) until(what string, is func() error) {
	u.t.Helper()
	late := time.Now().Add(timeout)
	for {
		err := is()
		if err == nil {
			return
		}
		for _, p := range u.running() {
			if state := p.agent.State(); state != nil {
				u.t.Fatalf("before %s the agent of %s has ended: %s", what, p.root, state)
			}
		}
		if time.Now().After(late) {
			u.t.Fatalf("never %s: %v", what, err)
		}
		u.must(process.Pause(u.ctx, 5*time.Millisecond))
	}
}

var errNotYet = errors.New("not yet")

// settled waits until the hub has what each project with an agent has, and
// returns the time that it took.
func (u *user) settled() time.Duration {
	u.t.Helper()
	begun := time.Now()
	for _, p := range u.running() {
		want := u.content(p)
		u.until("the hub has what is in "+p.root, func() error { return u.has(p, want) })
	}
	return time.Since(begun)
}

func (u *user) content(p *project) []byte {
	u.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.root, "AGENTS.md"))
	u.must(err)
	sum := sha256.Sum256(text)
	return sum[:]
}

// has reports whether the hub has what is wanted of a project.
func (u *user) has(p *project, want []byte) error {
	hub := u.hub()
	if hub == nil {
		return errors.New("there is no hub")
	}
	if p.id == "" {
		if err := u.know(hub, p); err != nil {
			return err
		}
	}
	s, err := hub.Context(u.ctx, p.id, client.ContextOptions{})
	if err != nil {
		return err
	}
	for i := range s.Resources {
		if filepath.Base(s.Resources[i].Source) == "AGENTS.md" && bytes.Equal(s.Resources[i].ContentHash, want) {
			return nil
		}
	}
	return fmt.Errorf("%w: it has version %d", errNotYet, s.Version)
}

// know finds out which of the hub's agents a project's is.
func (u *user) know(hub client.Client, p *project) error {
	agents, err := hub.Agents(u.ctx)
	if err != nil {
		return err
	}
	for i := range agents {
		if strings.HasSuffix(agents[i].Name, ": "+p.name) {
			p.id = agents[i].ID
			return nil
		}
	}
	return errNotYet
}

// check looks at what must hold whatever has happened: the user's agents are
// those that there were, all who run are connected, no pin is lost, revisions
// rise.
func (u *user) check() {
	u.t.Helper()
	u.until("all are connected", func() error {
		hub := u.hub()
		if hub == nil {
			return errNotYet
		}
		agents, err := hub.Agents(u.ctx)
		if err != nil {
			return err
		}
		return u.checkAgents(agents)
	})
	u.until("the pins can be read", u.checkPins)
	for _, p := range u.running() {
		for _, word := range []string{"conflict", "superseded", "unauthorized", "panic"} {
			if strings.Contains(p.agent.Output(), word) {
				u.t.Errorf("the agent of %s speaks of %s", p.root, word)
			}
		}
	}
}

func (u *user) checkAgents(agents []api.Agent) error {
	if len(agents) > len(u.projects) {
		u.t.Fatalf("%d projects are %d agents: %+v", len(u.projects), len(agents), agents)
	}
	for _, p := range u.running() {
		i := slices.IndexFunc(agents, func(a api.Agent) bool { return a.ID == p.id })
		if i < 0 {
			u.t.Fatalf("%s isn't %s any more: %+v", p.root, p.id, agents)
		}
		if !agents[i].Connected {
			return fmt.Errorf("%s is away", p.root)
		}
	}
	newest := int64(0)
	for i := range agents {
		newest = max(newest, agents[i].Revision)
	}
	if newest < u.revision {
		u.t.Errorf("revision %d after %d", newest, u.revision)
	}
	u.revision = newest
	return nil
}

// pin pins what a project has in the hub.
func (u *user) pin(p *project) {
	u.t.Helper()
	u.until("there is a pin", func() error {
		hub := u.hub()
		if hub == nil {
			return errNotYet
		}
		pin, err := hub.CreatePin(u.ctx, p.id, p.name)
		if err == nil { // from here on it must stay
			u.pins[pin.ID] = pin.AggregateHash.String()
		}
		return err
	})
}

func (u *user) checkPins() error {
	hub := u.hub()
	if hub == nil {
		return errNotYet
	}
	for id, want := range u.pins {
		pin, err := hub.Pin(u.ctx, id)
		switch {
		case errors.Is(err, client.ErrNotFound):
			u.t.Fatalf("pin %s is lost", id)
		case err != nil:
			return err
		case pin.AggregateHash.String() != want:
			u.t.Fatalf("pin %s holds %s, not %s", id, pin.AggregateHash, want)
		}
	}
	return nil
}

// oneHolder asks `agent list`.
func (u *user) oneHolder() error {
	var list []struct {
		Root   string `json:"root"`
		Holder bool   `json:"hub_holder"`
	}
	cmd := exec.CommandContext(u.ctx, u.programs.Agent, "list", "--json")
	cmd.Env, cmd.Dir = u.home.Environ(), u.home.Dir
	u.as(cmd)
	out, err := cmd.Output()
	u.must(err)
	u.must(json.Unmarshal(out, &list))
	holders := 0
	for _, l := range list {
		if l.Holder {
			holders++
		}
	}
	if holders != 1 || len(list) != len(u.running()) {
		return fmt.Errorf("%d agents run it: %+v", holders, list)
	}
	return nil
}

// TestProjects: two users with three projects each, whose agents are started in
// any order and at once, stopped in any order, and killed while they push, also
// those that run the hubs. Whatever happens, the hubs have what is there, and
// nothing that they have had is lost.
func TestProjects(t *testing.T) {
	t.Parallel()
	rng := testenv.Rand(t)
	all := []*user{newUser(t, users[0], "api", "web", "docs"), newUser(t, users[1], "api", "web", "docs")}
	var took []time.Duration
	for range testenv.Rounds(2, 5, 60) {
		startSome(rng, all)
		for _, u := range all {
			u.settled()
			u.check()
			u.pin(u.running()[rng.IntN(len(u.running()))])
		}
		// In the middle of pushes.
		killed := rng.IntN(40)
		for i := range 40 {
			for _, u := range all {
				if list := u.running(); len(list) > 0 {
					u.edit(list[rng.IntN(len(list))])
				}
				if p := u.holder(); i == killed && p != nil {
					u.kill(p)
				}
			}
			all[0].must(process.Pause(all[0].ctx, time.Duration(rng.IntN(15))*time.Millisecond))
		}
		for _, u := range all {
			took = append(took, u.settled())
			u.check()
			u.until("one agent runs the hub, and says so", u.oneHolder)
			stopSome(rng, u)
		}
	}
	for _, u := range all {
		for _, i := range rng.Perm(len(u.projects)) {
			if p := u.projects[i]; p.agent != nil {
				u.stop(p)
			}
		}
		if _, err := shared.Find(u.ctx, u.home.State()); !errors.Is(err, shared.ErrNone) {
			t.Errorf("after the last one has ended: %v", err)
		}
	}
	slices.Sort(took)
	t.Logf("after the last edit the hub had everything within %v, in the middle %v", took[len(took)-1], took[len(took)/2])
}

// startSome starts all agents that don't run, in any order, at once or not.
func startSome(rng *rand.Rand, all []*user) {
	for _, u := range all {
		for _, i := range rng.Perm(len(u.projects)) {
			if p := u.projects[i]; p.agent == nil {
				u.start(p)
				if rng.IntN(3) == 0 {
					u.must(process.Pause(u.ctx, time.Duration(rng.IntN(300))*time.Millisecond))
				}
			}
		}
	}
}

// stopSome stops or kills some agents, but not all.
func stopSome(rng *rand.Rand, u *user) {
	list := u.running()
	for _, i := range rng.Perm(len(list))[:rng.IntN(len(list))] {
		if rng.IntN(2) == 0 {
			u.stop(list[i])
		} else {
			u.kill(list[i])
		}
	}
	u.settled()
}

// TestHolderKilled tells how long it takes until another agent runs the hub, and
// has pushed what was edited at that moment.
func TestHolderKilled(t *testing.T) {
	u := newUser(t, users[0], "one", "two")
	for _, p := range u.projects {
		u.start(p)
	}
	var hub, pushed []time.Duration
	for range testenv.Rounds(3, 6, 100) {
		u.settled()
		u.check()
		killed := u.holder()
		left := u.projects[0]
		if left == killed {
			left = u.projects[1]
		}
		u.edit(left)
		want := u.content(left)
		u.kill(killed)
		begun := time.Now()
		u.until("there is a hub", func() error {
			next := u.hub()
			if u.holder() != left || next == nil {
				return errNotYet
			}
			_, err := next.Agents(u.ctx)
			return err
		})
		hub = append(hub, time.Since(begun))
		u.until("the edit is there", func() error { return u.has(left, want) })
		pushed = append(pushed, time.Since(begun))
		u.start(killed)
	}
	for what, list := range map[string][]time.Duration{"another ran the hub": hub, "the hub had the edit": pushed} {
		slices.Sort(list)
		t.Logf("%s after %v (median of %d), at most %v", what, list[len(list)/2], len(list), list[len(list)-1])
	}
}
