package latency

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
	// Agent is the program.
	Agent string
	// Skills are the sizes of the workspaces; nil means 4, 50 and 200. Starts
	// and memory are measured for those from 50 on, or for all where there are
	// none.
	Skills []int
	// Edits is how many there are of each kind; 0 means 30.
	Edits int
	// Starts is how many cold and how many warm ones; 0 means 7.
	Starts int
	// Idle is how long memory is left alone; 0 means 30 s. Later is how many
	// edits follow; 0 means 100.
	Idle  time.Duration
	Later int
	// Parts chooses what is measured: edits, web, starts, memory. Nil means all.
	Parts *regexp.Regexp
	// Progress gets a line about what is going on; nil means nowhere.
	Progress io.Writer
}

func (o *Options) setDefaults() {
	if o.Skills == nil {
		o.Skills = []int{4, 50, 200}
	}
	o.Edits, o.Starts, o.Idle = cmp.Or(o.Edits, 30), cmp.Or(o.Starts, 7), cmp.Or(o.Idle, 30*time.Second)
	o.Later = cmp.Or(o.Later, 100)
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

	dir     string
	homes   int
	figures []Figure
}

// Measure measures everything, in a directory of its own, which it removes.
func Measure(ctx context.Context, opts Options) (_ *Report, err error) {
	opts.setDefaults()
	if opts.Agent, err = filepath.Abs(opts.Agent); err != nil {
		return nil, err
	}
	if _, err := os.Stat(opts.Agent); err != nil {
		return nil, fmt.Errorf("no agent to measure: %w: run make build", err)
	}
	dir, err := os.MkdirTemp(place(), "wm") // a short path, for sockets
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	report := &Report{Machine: thisMachine()}
	report.Machine.Load[0] = load()
	b := &bench{Options: opts, dir: dir}
	err = b.all(ctx)
	report.Machine.Load[1] = load()
	report.Figures = b.figures
	return report, err
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
		name string
		run  func(context.Context, int) error
		from int // the least number of skills
	}{
		{"edits", b.edits, 0}, {"web", b.webEdits, 0}, {"starts", b.starts, 50}, {"memory", b.memory, 200},
	} {
		if !b.Parts.MatchString(part.name) {
			continue
		}
		for _, n := range b.sizes(part.from) {
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

func (b *bench) add(f Figure) { b.figures = append(b.figures, f) }

// site is a workspace, a hub and a home for agents.
type site struct {
	bench  *bench
	hub    *e2e.Hub
	home   e2e.Home
	root   string
	token  string
	skills int
	edit   int // counts edits, so that each has its own text
}

// timeout ends what hangs.
const timeout = 3 * time.Minute

// site makes one. The caller closes its hub.
func (b *bench) site(ctx context.Context, skills int) (*site, error) {
	b.homes++
	s := &site{bench: b, skills: skills}
	base := filepath.Join(b.dir, fmt.Sprint(b.homes))
	s.root = filepath.Join(base, "w")
	if err := e2e.SkillTree(s.root, skills); err != nil {
		return nil, err
	}
	var err error
	if s.home, err = e2e.NewHome(base); err != nil {
		return nil, err
	}
	if s.hub, err = e2e.StartHub(ctx, base, nil); err != nil {
		return nil, err
	}
	s.token, err = s.hub.Token(ctx, "bench")
	if err == nil {
		// Files younger than two seconds are read again at every check: figures
		// are of what holds for the rest of their lives.
		err = process.Pause(ctx, 2100*time.Millisecond)
	}
	if err != nil {
		return nil, errors.Join(err, s.hub.Close())
	}
	return s, nil
}

func (s *site) start(ctx context.Context, url string) (*e2e.Agent, error) {
	return e2e.StartAgent(ctx, e2e.AgentOptions{
		Program: s.bench.Agent, Home: s.home, Root: s.root, URL: url, TokenFile: s.token,
	})
}
