package latency

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"waymark/test/e2e"
	"waymark/test/process"
	"waymark/workspace"
	"waymark/workspace/client"
)

const (
	// between is the pause between the storing of an edit and the next: long
	// enough for new spare instances to be ready, as they are when a person
	// edits, and short enough for many edits.
	between = 60 * time.Millisecond
	// warmUp is how many edits of each kind are not counted.
	warmUp = 3
)

// edits measures edits over a socket, and the CPU time they take.
func (b *bench) edits(ctx context.Context, skills int) error {
	return b.measureEdits(ctx, skills, "socket", func(h *e2e.Hub) string { return h.URL })
}

// webEdits measures edits over a WebSocket.
func (b *bench) webEdits(ctx context.Context, skills int) error {
	return b.measureEdits(ctx, skills, "WebSocket", func(h *e2e.Hub) string { return h.Web })
}

func (b *bench) measureEdits(ctx context.Context, skills int, transport string, url func(*e2e.Hub) string) (err error) {
	s, err := b.site(ctx, skills)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.hub.Close()) }()
	agent, err := s.start(ctx, url(s.hub))
	if err != nil {
		return err
	}
	defer agent.Kill()
	if err := s.settled(ctx); err != nil {
		return errors.Join(err, errors.New(agent.Output()))
	}
	var inPlace, renamed []time.Duration
	cpu, err := s.cpu(ctx, agent, func() (n int, err error) {
		for range b.Edits {
			for i, list := range []*[]time.Duration{&inPlace, &renamed} {
				took, err := s.stored(ctx, i == 1)
				if err != nil {
					return n, errors.Join(err, errors.New(agent.Output()))
				}
				*list = append(*list, took)
				n++
			}
		}
		return n, nil
	})
	if err != nil {
		return err
	}
	b.add(figure("edit → stored, in place, "+transport, skills, unitTime, times(inPlace)))
	b.add(figure("edit → stored, rename, "+transport, skills, unitTime, times(renamed)))
	if err := s.byAgent(ctx, transport); err != nil {
		return errors.Join(err, errors.New(agent.Output()))
	}
	if transport == "socket" {
		return s.split(ctx, agent, cpu)
	}
	b.add(figure(nameCPU+", "+transport, skills, unitTime, []float64{ms(cpu)}))
	return nil
}

// settled waits until the agent has pushed, and for some edits after that.
func (s *site) settled(ctx context.Context) error {
	limit, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if _, _, err := s.hub.Stored.Await(limit, 0, func(*e2e.Stored) bool { return true }); err != nil {
		return err
	}
	for i := range 2 * warmUp {
		if _, err := s.stored(ctx, i%2 == 0); err != nil {
			return err
		}
	}
	return nil
}

// cpu is the CPU time that the process takes for each of the edits that are
// made meanwhile.
func (s *site) cpu(ctx context.Context, p *e2e.Agent, edits func() (int, error)) (time.Duration, error) {
	before, err := p.CPU()
	if err != nil {
		return 0, err
	}
	n, err := edits()
	if err != nil {
		return 0, err
	}
	after, err := p.CPU()
	if err == nil && n == 0 {
		err = errors.New("no edits")
	}
	if err != nil {
		return 0, err
	}
	return (after - before) / time.Duration(n), nil
}

// split tells the CPU time of resolving from that of pushing: a second agent
// resolves the same edits and can't push.
func (s *site) split(ctx context.Context, pushing *e2e.Agent, whole time.Duration) error {
	if _, err := s.stop(ctx, pushing); err != nil {
		return err
	}
	agent, err := s.start(ctx, "unix:"+filepath.Join(s.home.Dir, "nobody.sock"))
	if err != nil {
		return err
	}
	defer agent.Kill()
	if _, err := s.seen(ctx, agent, 0); err != nil {
		return err
	}
	// What the start leaves behind, the first edits, and a moment after them.
	if err := errors.Join(s.blind(ctx, 2*warmUp), process.Pause(ctx, time.Second)); err != nil {
		return err
	}
	version, err := s.seen(ctx, agent, 0)
	if err != nil {
		return err
	}
	edits := 2 * s.bench.Edits
	resolving, err := s.cpu(ctx, agent, func() (int, error) { return edits, s.blind(ctx, edits) })
	if err != nil {
		return err
	}
	last, err := s.seen(ctx, agent, version)
	if err != nil {
		return err
	}
	// It is asked only now, because answering takes CPU time as well.
	if got := int(last - version); got < edits*9/10 {
		return fmt.Errorf("of %d edits the agent has seen only %d", edits, got)
	}
	b := s.bench
	b.add(figure(nameCPU, s.skills, unitTime, []float64{ms(whole)}))
	b.add(figure(nameCPU+", resolve", s.skills, unitTime, []float64{ms(resolving)}))
	b.add(figure(nameCPU+", push", s.skills, unitTime, []float64{ms(max(0, whole-resolving))}))
	_, err = s.stop(ctx, agent)
	return err
}

// blind makes edits that nobody waits for, at the pace of those that somebody
// does.
func (s *site) blind(ctx context.Context, n int) error {
	for i := range n {
		if _, _, err := s.write(i%2 == 0); err != nil {
			return err
		}
		if err := process.Pause(ctx, between+30*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// seen returns the agent's version once that is above another.
func (s *site) seen(ctx context.Context, agent *e2e.Agent, after uint64) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		status, err := agent.Client.Status(ctx)
		if err == nil && status.Version > after {
			return status.Version, nil
		}
		if err := process.Pause(ctx, between); err != nil {
			return 0, fmt.Errorf("the agent has no version above %d: %w\n%s", after, err, agent.Output())
		}
	}
}

// byAgent measures edits that a chat has the agent make, the call included: the
// agent tells itself of them, and syncs the file.
func (s *site) byAgent(ctx context.Context, transport string) error {
	token, err := s.home.ControlToken()
	if err != nil {
		return err
	}
	c := client.New(s.home.Socket(), client.Options{Token: token})
	text, _, err := s.write(false)
	if err != nil {
		return err
	}
	path := filepath.Join(s.root, e2e.SkillFile(0))
	var list []time.Duration
	for range s.bench.Edits {
		// What the edit before leads to is over when the next is made.
		if err := process.Pause(ctx, 5*between); err != nil {
			return err
		}
		took, err := s.storedBy(ctx, func() ([]byte, time.Time, error) {
			before := fmt.Sprintf("Edit %d.", s.edit)
			s.edit++
			after := fmt.Sprintf("Edit %d.", s.edit)
			text = bytes.Replace(text, []byte(before), []byte(after), 1)
			begun := time.Now()
			_, err := c.EditFiles(ctx, workspace.EditFiles{Files: []workspace.FileEdits{
				{Path: path, Edits: []workspace.Edit{{Search: before, Replace: after}}},
			}})
			return text, begun, err
		})
		if err != nil {
			return err
		}
		list = append(list, took)
	}
	s.bench.add(figure("edit → stored, by the agent, "+transport, s.skills, unitTime, times(list)))
	return nil
}

// stored makes an edit, waits until it is stored, and then for a moment.
func (s *site) stored(ctx context.Context, byRename bool) (time.Duration, error) {
	return s.storedBy(ctx, func() ([]byte, time.Time, error) { return s.write(byRename) })
}

func (s *site) storedBy(ctx context.Context, edit func() (text []byte, begun time.Time, err error)) (time.Duration, error) {
	limit, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	list, _ := s.hub.Stored.All()
	text, begun, err := edit()
	if err != nil {
		return 0, err
	}
	push, _, err := s.hub.Stored.Await(limit, len(list), func(p *e2e.Stored) bool {
		for i := range p.Push.Snapshot.Resources {
			if bytes.Equal(p.Push.Snapshot.Resources[i].Payload, text) {
				return true
			}
		}
		return false
	})
	if err != nil {
		return 0, fmt.Errorf("edit %d: %w", s.edit, err)
	}
	return push.At.Sub(begun), process.Pause(ctx, between)
}

// write makes an edit, and returns its text and when it began.
func (s *site) write(byRename bool) (text []byte, begun time.Time, err error) {
	s.edit++
	skill := 0
	if byRename {
		skill = min(1, s.skills-1)
	}
	text = []byte(e2e.SkillText(skill, fmt.Sprintf("Edit %d.\n", s.edit)))
	path := filepath.Join(s.root, e2e.SkillFile(skill))
	if !byRename {
		begun = time.Now()
		return text, begun, os.WriteFile(path, text, 0o600)
	}
	if err := os.WriteFile(path+".tmp", text, 0o600); err != nil {
		return nil, begun, err
	}
	begun = time.Now()
	return text, begun, os.Rename(path+".tmp", path)
}
