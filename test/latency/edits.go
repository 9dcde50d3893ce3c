package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/snapshot"
	"waymark/test/e2e"
	"waymark/test/process"
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

func (b *bench) measureEdits(ctx context.Context, skills int, transport string, url func(*e2e.Hub) string) error {
	return b.with(ctx, skills, e2e.SkillBytes, func(sites []*site) error {
		err := each(sites, func(s *site) error {
			if skills*e2e.SkillBytes > pushedBytes {
				if err := s.widen(ctx); err != nil {
					return err
				}
			}
			if err := s.start(ctx, url(s.hub)); err != nil {
				return err
			}
			return s.settled(ctx)
		})
		if err != nil {
			return err
		}
		found, err := measureInTurn(ctx, sites, b.Edits)
		if err != nil {
			return err
		}
		for _, s := range sites {
			for _, f := range found[s].figures(transport, skills) {
				s.add(f)
			}
		}
		if err := byAgent(ctx, sites, b.Edits, transport); err != nil {
			return err
		}
		if transport == "socket" {
			return split(ctx, sites, b.Edits, found)
		}
		return each(sites, func(s *site) error {
			s.add(figure(nameCPU+", "+transport, skills, unitTime, []float64{ms(found[s].cpu)}))
			return nil
		})
	})
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

// timed is what was measured of edits.
type timed struct {
	inPlace, renamed []time.Duration
	cpu              time.Duration // for each
	wakeups          float64
}

func (e *timed) figures(transport string, skills int) []Figure {
	return []Figure{
		figure("edit → stored, in place, "+transport, skills, unitTime, times(e.inPlace)),
		figure("edit → stored, rename, "+transport, skills, unitTime, times(e.renamed)),
		figure("wake-ups per edit, "+transport, skills, "", []float64{e.wakeups}),
	}
}

// measureInTurn makes edits of both kinds at each site, one after the other.
func measureInTurn(ctx context.Context, sites []*site, edits int) (map[*site]*timed, error) {
	found, before := map[*site]*timed{}, map[*site]used{}
	for _, s := range sites {
		u, err := s.used()
		if err != nil {
			return nil, err
		}
		found[s], before[s] = &timed{}, u
	}
	for range edits {
		for i := range 2 {
			for _, s := range sites {
				took, err := s.stored(ctx, i == 1)
				if err != nil {
					return nil, err
				}
				if i == 1 {
					found[s].renamed = append(found[s].renamed, took)
				} else {
					found[s].inPlace = append(found[s].inPlace, took)
				}
			}
		}
	}
	for _, s := range sites {
		after, err := s.used()
		if err != nil {
			return nil, err
		}
		found[s].cpu = (after.cpu - before[s].cpu) / time.Duration(2*edits)
		found[s].wakeups = float64(after.wakeups-before[s].wakeups) / float64(2*edits)
	}
	return found, nil
}

// used is what a process has used so far.
type used struct {
	cpu     time.Duration
	wakeups int64
}

func (s *site) used() (u used, err error) {
	cpu, err := s.agent.CPU()
	if err != nil {
		return u, err
	}
	wakeups, err := s.agent.Wakeups()
	return used{cpu, wakeups}, err
}

// split tells the CPU time of resolving from that of pushing: second agents
// resolve the same edits and can't push.
func split(ctx context.Context, sites []*site, edits int, whole map[*site]*timed) error {
	err := each(sites, func(s *site) error {
		if _, err := s.stop(ctx); err != nil {
			return err
		}
		if err := s.start(ctx, "unix:"+filepath.Join(s.home.Dir, "nobody.sock")); err != nil {
			return err
		}
		_, err := s.seen(ctx, 0)
		return err
	})
	if err != nil {
		return err
	}
	// What the start leaves behind, the first edits, and a moment after them.
	if err := errors.Join(blind(ctx, sites, 2*warmUp), process.Pause(ctx, time.Second)); err != nil {
		return err
	}
	before, versions := map[*site]used{}, map[*site]uint64{}
	err = each(sites, func(s *site) (err error) {
		if versions[s], err = s.seen(ctx, 0); err != nil {
			return err
		}
		before[s], err = s.used()
		return err
	})
	if err != nil {
		return err
	}
	edits *= 2
	if err := blind(ctx, sites, edits); err != nil {
		return err
	}
	return each(sites, func(s *site) error {
		after, err := s.used()
		if err != nil {
			return err
		}
		// It is asked only now, because answering takes CPU time as well.
		last, err := s.seen(ctx, versions[s])
		if err != nil {
			return err
		}
		if got := int(last - versions[s]); got < edits*9/10 {
			return fmt.Errorf("of %d edits the agent has seen only %d", edits, got)
		}
		resolving := (after.cpu - before[s].cpu) / time.Duration(edits)
		s.add(figure(nameCPU, s.skills, unitTime, []float64{ms(whole[s].cpu)}))
		s.add(figure(nameCPU+", resolve", s.skills, unitTime, []float64{ms(resolving)}))
		s.add(figure(nameCPU+", push", s.skills, unitTime, []float64{ms(max(0, whole[s].cpu-resolving))}))
		_, err = s.stop(ctx)
		return err
	})
}

// blind makes edits that nobody waits for, at the pace of those that somebody
// does.
func blind(ctx context.Context, sites []*site, n int) error {
	for i := range n {
		for _, s := range sites {
			if _, _, err := s.write(i%2 == 0); err != nil {
				return err
			}
			if err := process.Pause(ctx, between+30*time.Millisecond); err != nil {
				return err
			}
		}
	}
	return nil
}

// seen returns the agent's version once that is above another.
func (s *site) seen(ctx context.Context, after uint64) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		status, err := s.agent.Client.Status(ctx)
		if err == nil && status.Version > after {
			return status.Version, nil
		}
		if err := process.Pause(ctx, between); err != nil {
			return 0, fmt.Errorf("the agent has no version above %d: %w", after, err)
		}
	}
}

// byAgent measures edits that a chat has the agent make, the call included: the
// agent tells itself of them, and syncs the file.
func byAgent(ctx context.Context, sites []*site, edits int, transport string) error {
	found, chats := map[*site][]time.Duration{}, map[*site]*chat{}
	err := each(sites, func(s *site) (err error) {
		chats[s], err = s.chat()
		return err
	})
	if err != nil {
		return err
	}
	for range edits {
		err := each(sites, func(s *site) error {
			// What the edit before leads to is over when the next is made.
			if err := process.Pause(ctx, 5*between); err != nil {
				return err
			}
			took, err := s.storedBy(ctx, func() ([]byte, time.Time, error) { return chats[s].edit(ctx) })
			found[s] = append(found[s], took)
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, s := range sites {
		s.add(figure("edit → stored, by the agent, "+transport, s.skills, unitTime, times(found[s])))
	}
	return nil
}

// chat edits a file through the agent.
type chat struct {
	*site
	client client.Client
	text   []byte
}

func (s *site) chat() (*chat, error) {
	token, err := s.home.ControlToken()
	if err != nil {
		return nil, err
	}
	text, _, err := s.write(false)
	return &chat{s, client.New(s.home.Socket(), client.Options{Token: token}), text}, err
}

// edit returns the new text and when it began.
func (c *chat) edit(ctx context.Context) ([]byte, time.Time, error) {
	before := fmt.Sprintf("Edit %d.", c.site.edit)
	c.site.edit++
	after := fmt.Sprintf("Edit %d.", c.site.edit)
	c.text = bytes.Replace(c.text, []byte(before), []byte(after), 1)
	begun := time.Now()
	_, err := c.client.EditFiles(ctx, agentapi.EditFiles{Files: []agentapi.FileEdits{
		{Path: filepath.Join(c.root, e2e.SkillFile(0)), Edits: []agentapi.Edit{{Search: before, Replace: after}}},
	}})
	return c.text, begun, err
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
	push, _, err := s.hub.Stored.Await(limit, len(list), func(p *e2e.Stored) bool { return holds(p, text) })
	if err != nil {
		return 0, fmt.Errorf("edit %d: %w", s.edit, err)
	}
	return push.At.Sub(begun), process.Pause(ctx, between)
}

// holds reports whether a text is in a push.
func holds(p *e2e.Stored, text []byte) bool {
	return slices.ContainsFunc(p.Push.Snapshot.Resources, func(r snapshot.Resource) bool { return bytes.Equal(r.Payload, text) })
}

// write makes an edit, and returns its text and when it began.
func (s *site) write(byRename bool) (text []byte, begun time.Time, err error) {
	s.edit++
	skill := s.edited[0]
	if byRename {
		skill = s.edited[1]
	}
	text = []byte(e2e.SkillText(skill, s.bytes, fmt.Sprintf("Edit %d.\n", s.edit)))
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
