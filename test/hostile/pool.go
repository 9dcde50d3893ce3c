package hostile

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"waymark/host/sandbox"
	"waymark/internal/reexec"
)

// envChild says to a program that it is a child; see Child.
const envChild = "WAYMARK_HOSTILE_CHILD"

// Child runs cases for a Pool in a parent process and doesn't return, if this
// process was started for that. Programs that make a Pool call it first.
func Child() {
	compiler := reexec.Main(sandbox.CompileRole()) // the engine starts its own binary again, too
	text := os.Getenv(envChild)
	if text == "" {
		return
	}
	err := os.Unsetenv(envChild)
	if err == nil {
		err = serve(text, compiler, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostile child:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// childSettings travel in the environment.
type childSettings struct {
	Builtin, Cache, Dir string
	Rounds, Stretch     int
	Settle              time.Duration
}

// serve runs the cases that are asked for by name, one line each, and answers
// each with a line.
func serve(text string, compiler *reexec.Program, in io.Reader, out io.Writer) error {
	var cs childSettings
	if err := json.Unmarshal([]byte(text), &cs); err != nil {
		return err
	}
	set := Settings{Cache: cs.Cache, Dir: cs.Dir, Rounds: cs.Rounds, Compiler: compiler, Stretch: cs.Stretch, Settle: cs.Settle}
	if cs.Builtin != "" {
		var err error
		if set.Builtin, err = os.ReadFile(cs.Builtin); err != nil {
			return err
		}
	}
	cases := append(Cases(), selfCases()...)
	enc := json.NewEncoder(out)
	for lines := bufio.NewScanner(in); lines.Scan(); {
		i := slices.IndexFunc(cases, func(c Case) bool { return c.Name == lines.Text() })
		if i < 0 {
			return fmt.Errorf("no case %q", lines.Text())
		}
		res, err := run(context.Background(), &cases[i], set)
		if err != nil {
			res = &Result{Name: cases[i].Name, Wrong: []string{"the runner: " + err.Error()}}
		}
		if err := enc.Encode(res); err != nil {
			return err
		}
	}
	return nil
}

// PoolOptions configures a Pool.
type PoolOptions struct {
	// Builtin is the path of the built-in module; cases of workspaces need it.
	Builtin string
	// Cache is a directory with native code; "" is one of the Pool's own.
	Cache string
	// Fresh starts a child for each case, for figures that nothing before it
	// has a part in. Otherwise children serve as long as they live.
	Fresh bool
	// Rounds is how often endurance cases do what they do; 0 means 1000.
	Rounds int
	// Grace is what preparing a case may take; 0 means 5 s.
	Grace time.Duration
	// Slack is by how much a case may exceed its time before its child is
	// killed; 0 means ten times.
	Slack int
	// Stretch multiplies the deadlines that modules run under, for a machine
	// that stands still now and then; 0 means 1.
	Stretch int
	// Settle is how long what a case has closed may take to be gone; 0 means a
	// second.
	Settle time.Duration
}

// Pool runs cases in child processes. It is safe for concurrent use; each call
// of Run uses a child of its own.
type Pool struct {
	opts PoolOptions
	dir  string
	warm sync.Once

	mu   sync.Mutex // guards idle
	idle map[bool][]*child
}

// NewPool makes a Pool. Close it.
func NewPool(opts PoolOptions) (*Pool, error) {
	if opts.Rounds <= 0 {
		opts.Rounds = 1000
	}
	if opts.Slack <= 0 {
		opts.Slack = 10
	}
	if opts.Grace <= 0 {
		opts.Grace = 5 * time.Second
	}
	if opts.Settle <= 0 {
		opts.Settle = time.Second
	}
	dir, err := os.MkdirTemp("", "waymark-hostile-")
	if err != nil {
		return nil, err
	}
	for _, sub := range []string{"cases", "nobody"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	if os.Geteuid() == 0 { // children without root's power need a place
		err = errors.Join(os.Chmod(dir, 0o711), os.Chown(filepath.Join(dir, "nobody"), nobody, nobody))
	}
	return &Pool{opts: opts, dir: dir, idle: map[bool][]*child{}}, err
}

// nobody is the user and group without rights on most systems.
const nobody = 65534

// Close ends the children and removes all directories.
func (p *Pool) Close() error {
	p.mu.Lock()
	idle := p.idle
	p.idle = map[bool][]*child{}
	p.mu.Unlock()
	for _, list := range idle {
		for _, c := range list {
			c.end()
		}
	}
	return errors.Join(removeAll(p.dir))
}

// Run runs one case. The error is the Pool's own; everything else is in the
// result.
func (p *Pool) Run(ctx context.Context, c *Case) (*Result, error) {
	if c.Builtin {
		p.warm.Do(func() { p.warmUp(ctx) })
	}
	return p.run(ctx, c, p.timeout(c))
}

// warmUp compiles the built-in module into the cache. What comes of it shows
// in the cases that follow.
func (p *Pool) warmUp(ctx context.Context) {
	_, _ = p.run(ctx, &Case{Name: warmUpCase, Builtin: true}, max(time.Minute, p.opts.Grace))
}

func (p *Pool) run(ctx context.Context, c *Case, timeout time.Duration) (*Result, error) {
	ch, err := p.take(c.Nobody)
	if err != nil {
		return nil, err
	}
	res, alive := ch.run(ctx, c, timeout)
	if !alive || p.opts.Fresh {
		ch.end()
		return res, ctx.Err()
	}
	p.mu.Lock()
	p.idle[c.Nobody] = append(p.idle[c.Nobody], ch)
	p.mu.Unlock()
	return res, nil
}

// timeout is when a case counts as hung.
func (p *Pool) timeout(c *Case) time.Duration {
	if c.Class == ClassEndurance {
		return c.Within
	}
	return p.opts.Grace + time.Duration(p.opts.Slack)*min(c.within(), 2*time.Second)
}

func (p *Pool) take(asNobody bool) (*child, error) {
	if c := p.idler(asNobody); c != nil {
		return c, nil
	}
	return p.start(asNobody)
}

// idler returns a child that waits for work, or nil.
func (p *Pool) idler(asNobody bool) *child {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.idle[asNobody]
	if len(list) == 0 {
		return nil
	}
	last := len(list) - 1
	p.idle[asNobody] = list[:last]
	return list[last]
}
