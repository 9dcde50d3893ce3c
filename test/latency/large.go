package main

import (
	"context"
	"fmt"
	"os/exec"
)

// largeBytes is the size of a skill in the large workspace: 4,000 of them are
// 12 MiB.
const largeBytes = 3 << 10

// pushedBytes is how much is pushed where nothing is configured.
const pushedBytes = 2 << 20

// patience is for a first run of a resolver over all of it, on any machine.
const patience = "[limits]\ntime = \"1m\"\n"

// bounds are how much of a workspace is pushed, the most first. An agent refuses a
// configuration that asks for more than it does.
var bounds = []string{
	"[snapshot]\nmax_resources = 4000\nmax_bytes = \"16MiB\"\n",
	"[snapshot]\nmax_resources = 1000\n",
	"",
}

// large measures a workspace with thousands of skills: start, edits, memory. As many
// of them are pushed as the program allows.
func (b *bench) large(ctx context.Context, skills int) error {
	return b.with(ctx, skills, largeBytes, func(sites []*site) error {
		err := each(sites, func(s *site) error {
			if err := s.widen(ctx); err != nil {
				return err
			}
			cold, err := s.firstPush(ctx)
			if err != nil {
				return err
			}
			s.choose()
			warm, err := s.firstPush(ctx)
			if err != nil {
				return err
			}
			l := lives{cold: []life{cold}, warm: []life{warm}}
			l.add(s)
			return s.rest(ctx)
		})
		if err != nil {
			return err
		}
		edits, err := measureInTurn(ctx, sites, b.Edits)
		if err != nil {
			return err
		}
		return each(sites, func(s *site) error {
			list, _ := s.hub.Stored.All()
			resources := len(list[0].Push.Snapshot.Resources) // those after it bring what has changed
			for _, f := range edits[s].figures("socket", s.skills) {
				f.Note = fmt.Sprintf("(with %d resources)", resources)
				s.add(f)
			}
			return s.resident(nameEdited)
		})
	})
}

// widen configures the widest bounds that the program takes.
func (s *site) widen(ctx context.Context) error {
	for _, toml := range bounds {
		if err := s.home.Configure(patience + toml); err != nil {
			return err
		}
		check := exec.CommandContext(ctx, s.program, "config", "check")
		check.Env, check.Dir = s.home.Environ(), s.home.Dir
		if check.Run() == nil {
			return nil
		}
	}
	return fmt.Errorf("%s takes no configuration", s.program)
}

// choose has two of those skills edited that were pushed.
func (s *site) choose() {
	list, _ := s.hub.Stored.All()
	n := 0
	for i := range list[0].Push.Snapshot.Resources {
		r := &list[0].Push.Snapshot.Resources[i]
		if r.Payload == nil || n == len(s.edited) {
			continue
		}
		if _, err := fmt.Sscanf(r.Name, "skill-%d", &s.edited[n]); err == nil {
			n++
		}
	}
}
