package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"waymark/test/e2e"
	"waymark/test/process"
)

// Options say what to measure and how often. Only Agent must be set.
type Options struct {
	// Agent is the program. Before is another to compare it with, and may be empty.
	Agent, Before string
	// Skills are the sizes of the workspaces; nil means 4, 50 and 200. Memory is
	// measured for those from 200 on, or for the largest where there are none.
	Skills []int
	// Large is the size of the workspace that is looked at as a whole; 0 means
	// 4,000.
	Large int
	// Edits is how many there are of each kind; 0 means 30.
	Edits int
	// Starts is how many cold and how many warm ones; 0 means 7.
	Starts int
	// Idle is how long memory is left alone; 0 means 30 s. Later is how many
	// edits follow; 0 means 200.
	Idle  time.Duration
	Later int
	// Halves is how many files are written in two steps, of each kind; 0 means 40.
	Halves int
	// Seed chooses the pauses between these steps.
	Seed uint64
	// Age is how old the files are when a measurement begins; 0 means 2.1 s: younger
	// ones are read again at every check, and figures are of what holds for the rest
	// of their lives.
	Age time.Duration
	// Parts chooses what is measured: edits, web, halves, starts, memory, slow, several,
	// large. Nil means all.
	Parts *regexp.Regexp
	// Progress gets a line about what is going on; nil means nowhere.
	Progress io.Writer
}

func (o *Options) setDefaults() {
	if o.Skills == nil {
		o.Skills = []int{4, 50, 200}
	}
	o.Edits, o.Starts, o.Idle = cmp.Or(o.Edits, 30), cmp.Or(o.Starts, 7), cmp.Or(o.Idle, 30*time.Second)
	o.Later, o.Large, o.Halves = cmp.Or(o.Later, 200), cmp.Or(o.Large, 4000), cmp.Or(o.Halves, 40)
	o.Age = cmp.Or(o.Age, 2100*time.Millisecond)
	if o.Parts == nil {
		o.Parts = regexp.MustCompile("")
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
}

// bench is one measurement of everything.
type bench struct {
	Options

	dir   string
	homes int
	sides []*side // the agent, and the one before where there is one
}

// side is a program with what was measured of it.
type side struct {
	program string
	figures []Figure
}

func (s *side) add(f Figure) { s.figures = append(s.figures, f) }

// Measure measures everything, in a directory of its own, which it removes.
func Measure(ctx context.Context, opts Options) (_ *Report, err error) {
	opts.setDefaults()
	b := &bench{Options: opts}
	if b.dir, err = os.MkdirTemp(place(), "wm"); err != nil { // a short path, for sockets
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	for i, program := range []string{opts.Agent, opts.Before} {
		if program == "" && len(b.sides) > 0 {
			continue
		}
		installed := filepath.Join(b.dir, fmt.Sprint("agent", i))
		if err := install(program, installed); err != nil {
			return nil, fmt.Errorf("no agent to measure: %w: run make build", err)
		}
		b.sides = append(b.sides, &side{program: installed})
	}
	report := &Report{Machine: thisMachine()}
	report.Machine.Load[0] = load()
	err = b.all(ctx)
	report.Machine.Load[1] = load()
	report.Figures = b.sides[0].figures
	if len(b.sides) > 1 {
		compare(report.Figures, b.sides[1].figures)
	}
	return report, err
}

// install copies a program in small parts, as what unpacks an archive does. Of what was
// written at once, as a linker does, the system maps up to 2 MiB around whatever is looked
// at: 15 MiB more are resident of the same program, which says nothing of it.
func install(program, path string) error {
	from, err := os.Open(program)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, 10<<10))
	return errors.Join(err, to.Close())
}

// place is where the workspaces are made. The kernel's first watch of a directory
// takes time for every name that was ever looked up in it, and /tmp is where
// tests leave thousands: 20 ms were measured, which are none of the agent's.
func place() string {
	const dir = "/var/tmp"
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}

func (b *bench) all(ctx context.Context) error {
	for _, part := range []struct {
		name  string
		run   func(context.Context, int) error
		sizes []int
	}{
		{"edits", b.edits, b.Skills},
		{"web", b.webEdits, b.Skills},
		{"halves", b.halves, b.Skills[:1]},
		{"starts", b.starts, b.Skills},
		{"memory", b.memory, b.sizes(200)},
		{"slow", b.slow, b.Skills[:1]},
		{"several", b.several, b.Skills[:1]},
		{"large", b.large, []int{b.Large}},
	} {
		if !b.Parts.MatchString(part.name) {
			continue
		}
		for _, n := range part.sizes {
			fmt.Fprintf(b.Progress, "\r\x1b[K%s, %d skills", part.name, n)
			if err := part.run(ctx, n); err != nil {
				return fmt.Errorf("%s with %d skills: %w", part.name, n, err)
			}
		}
	}
	fmt.Fprint(b.Progress, "\r\x1b[K")
	return nil
}

// sizes are those from a number on, or the largest where there is none.
func (b *bench) sizes(from int) []int {
	var list []int
	largest := 0
	for _, n := range b.Skills {
		largest = max(largest, n)
		if n >= from {
			list = append(list, n)
		}
	}
	if list == nil {
		list = []int{largest}
	}
	return list
}

// site is a workspace, a hub and a home for agents of one program.
type site struct {
	*side
	hub    *e2e.Hub
	home   e2e.Home
	root   string
	token  string
	skills int
	bytes  int    // of each skill
	edited [2]int // the skills that are edited, in place and by renaming
	edit   int    // counts edits, so that each has its own text

	args  []string   // further ones of its agent
	agent *e2e.Agent // the one that runs; nil when there is none
}

// timeout ends what hangs.
const timeout = 3 * time.Minute

// with makes a site for each program, all alike, hands them to a function and ends
// what is left of them. What is measured is measured of each in turn, so that what
// else goes on at the machine weighs on all.
func (b *bench) with(ctx context.Context, skills, bytes int, measure func([]*site) error) (err error) {
	var sites []*site
	defer func() {
		for _, s := range sites {
			err = errors.Join(err, s.close(err != nil))
		}
	}()
	for _, side := range b.sides {
		s := &site{side: side, skills: skills, bytes: bytes, edited: [2]int{0, min(1, skills-1)}}
		sites = append(sites, s)
		b.homes++
		if err := s.make(ctx, filepath.Join(b.dir, fmt.Sprint(b.homes))); err != nil {
			return err
		}
	}
	if err := process.Pause(ctx, b.Age); err != nil {
		return err
	}
	return measure(sites)
}

func (s *site) make(ctx context.Context, base string) (err error) {
	s.root = filepath.Join(base, "w")
	if err := e2e.SkillTree(s.root, s.skills, s.bytes); err != nil {
		return err
	}
	if s.home, err = e2e.NewHome(base); err != nil {
		return err
	}
	if s.hub, err = e2e.StartHub(ctx, base, nil); err != nil {
		return err
	}
	s.token, err = s.hub.Token(ctx, "bench")
	return err
}

// close ends what the site runs. What the agent has printed is part of the error
// when something has failed.
func (s *site) close(failed bool) (err error) {
	if s.agent != nil {
		s.agent.Kill()
		if failed {
			err = errors.New(s.agent.Output())
		}
	}
	if s.hub != nil {
		err = errors.Join(err, s.hub.Close())
	}
	return err
}

// start starts an agent that pushes to the site's hub, or somewhere else.
func (s *site) start(ctx context.Context, url string) (err error) {
	s.agent, err = e2e.StartAgent(ctx, e2e.AgentOptions{
		Program: s.program, Home: s.home, Root: s.root, URL: url, TokenFile: s.token, Args: s.args,
	})
	return err
}

// stop ends the agent and returns how long that took.
func (s *site) stop(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	took, err := s.agent.Stop(ctx)
	if err == nil {
		s.agent = nil
	}
	return took, err
}

// each does something with each site.
func each(sites []*site, do func(*site) error) error {
	for _, s := range sites {
		if err := do(s); err != nil {
			return err
		}
	}
	return nil
}
