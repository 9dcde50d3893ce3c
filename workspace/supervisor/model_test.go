package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"waymark/test/testenv"
	"waymark/workspace/supervisor"
)

// modeled is a process as the model has it.
type modeled struct {
	spec    *supervisor.Spec
	output  string // all of it, as soon as it has ended
	code    int    // when it ends by itself, or has been ended; -1 while it runs
	tracked *supervisor.Tracked
	fenced  bool
}

// model is a supervisor in memory, with the real one to compare it with.
type model struct {
	*testing.T
	r     *rand.Rand
	opts  supervisor.Options
	c     supervisor.Client
	inst  string
	procs map[string]*modeled
	count int
}

// TestModel does random things to a supervisor, by agents that come and go, and
// compares what it says with a model.
func TestModel(t *testing.T) {
	t.Parallel()
	m := &model{T: t, r: testenv.Rand(t), opts: options(t, supervisor.Limits{Grace: time.Minute}), procs: map[string]*modeled{}}
	m.c = open(t, m.opts)
	var err error
	if m.inst, err = m.c.Instance(t.Context()); err != nil {
		t.Fatal(err)
	}
	steps := []func(){m.start, m.start, m.start, m.again, m.read, m.read, m.signal, m.stdin, m.cancel, m.restart, m.list}
	for range testenv.Rounds(100, 400, 20_000) {
		steps[m.r.IntN(len(steps))]()
		if t.Failed() {
			return
		}
	}
	m.list()
}

// start starts one that ends by itself, or one that waits for its input.
func (m *model) start() {
	m.count++
	lines, code := m.r.IntN(3000), m.r.IntN(100)
	p := &modeled{code: code}
	var b strings.Builder
	for i := range lines {
		fmt.Fprintln(&b, i+1)
	}
	p.output = b.String()
	if m.r.IntN(2) == 0 {
		p.spec = sh(fmt.Sprintf("seq 1 %d; exit %d", lines, code))
	} else {
		p.spec, p.code = sh(fmt.Sprintf("seq 1 %d; read x; exit $x", lines)), -1
		p.spec.Stdin = true
	}
	p.spec.ID = fmt.Sprintf("p%d", m.count)
	p.spec.Token, p.spec.Input = fmt.Sprintf("t%d", m.count), "input"
	if m.r.IntN(2) == 0 {
		p.tracked = &supervisor.Tracked{InstanceID: m.inst, InputDigest: fmt.Sprint(m.count), Deadline: time.Now().Add(time.Hour)}
		p.spec.Tracked = p.tracked
	}
	info, attached, err := m.c.Start(m.Context(), p.spec)
	if err != nil || attached || info.ID != p.spec.ID {
		m.Fatalf("start: %+v, attached %v, %v", info, attached, err)
	}
	m.procs[info.ID] = p
}

// some returns one of the processes, nil while there is none.
func (m *model) some() *modeled {
	if len(m.procs) == 0 {
		return nil
	}
	ids := slices.Sorted(maps.Keys(m.procs))
	return m.procs[ids[m.r.IntN(len(ids))]]
}

// again starts one once more.
func (m *model) again() {
	p := m.some()
	if p == nil {
		return
	}
	info, attached, err := m.c.Start(m.Context(), p.spec)
	switch {
	case p.fenced && errors.Is(err, supervisor.ErrExpired):
	case err != nil || !attached || info.ID != p.spec.ID:
		m.Fatalf("again: %+v, attached %v, %v; fenced %v", info, attached, err, p.fenced)
	}
	other := *p.spec
	other.Input, other.ID, other.Tracked = "other", "", nil
	if _, _, err := m.c.Start(m.Context(), &other); !errors.Is(err, supervisor.ErrConflict) {
		m.Fatalf("with another input: %v", err)
	}
}

// read compares a piece of output.
func (m *model) read() {
	p := m.some()
	if p == nil {
		return
	}
	ended := p.code >= 0
	if ended {
		if end := wait(m.T, m.c, p.spec.ID); code(end) != p.code {
			m.Fatalf("%s ended as %+v, not %d", p.spec.ID, end, p.code)
		}
	}
	offset, limit := int64(m.r.IntN(len(p.output)+10)), 1+m.r.IntN(8000)
	page, err := m.c.Read(m.Context(), p.spec.ID, offset, limit, 0)
	if err != nil || page.Offset != offset {
		m.Fatalf("read at %d: %+v, %v", offset, page, err)
	}
	rest := p.output[min(offset, int64(len(p.output))):]
	want := rest[:min(limit, len(rest))]
	// One that runs, or was killed, hasn't written all of it.
	part := (!ended || p.code > 128) && strings.HasPrefix(want, string(page.Data))
	if got := string(page.Data); got != want && !part {
		m.Fatalf("read at %d: %d bytes, not %d", offset, len(got), len(want))
	}
}

// ends is what has happened to a process that waits for its input.
func (m *model) ends(p *modeled, code int) {
	end := wait(m.T, m.c, p.spec.ID)
	if *end.ExitCode != code {
		m.Fatalf("%s ended as %+v, not %d", p.spec.ID, end, code)
	}
	p.code = code
}

func (m *model) signal() {
	p := m.some()
	if p == nil {
		return
	}
	if p.code >= 0 {
		wait(m.T, m.c, p.spec.ID)
		if err := m.c.Signal(m.Context(), p.spec.ID, syscall.SIGTERM); !errors.Is(err, supervisor.ErrExited) {
			m.Fatalf("signal to what has ended: %v", err)
		}
		return
	}
	if err := m.c.Signal(m.Context(), p.spec.ID, syscall.SIGKILL); err != nil {
		m.Fatal(err)
	}
	m.ends(p, 137)
}

func (m *model) stdin() {
	p := m.some()
	switch {
	case p == nil:
	case p.code >= 0:
		wait(m.T, m.c, p.spec.ID)
		if err := m.c.WriteStdin(m.Context(), p.spec.ID, []byte("x"), false); !errors.Is(err, supervisor.ErrExited) {
			m.Fatalf("input for what has ended: %v", err)
		}
	default:
		code := m.r.IntN(100)
		if err := m.c.WriteStdin(m.Context(), p.spec.ID, fmt.Appendln(nil, code), m.r.IntN(2) == 0); err != nil {
			m.Fatal(err)
		}
		m.ends(p, code)
	}
}

// cancel fences one off that runs, that has ended, or that has never begun.
func (m *model) cancel() {
	p := m.some()
	if p == nil || p.tracked == nil {
		m.count++
		id := fmt.Sprintf("p%d", m.count)
		t := supervisor.Tracked{InstanceID: m.inst, InputDigest: "d", Deadline: time.Now().Add(time.Hour)}
		fenced, info, err := m.c.Cancel(m.Context(), id, t, 0)
		if err != nil || !fenced || info != nil {
			m.Fatalf("cancel of nothing: %v, %+v, %v", fenced, info, err)
		}
		spec := sh("true")
		spec.ID, spec.Tracked = id, &t
		if _, _, err := m.c.Start(m.Context(), spec); !errors.Is(err, supervisor.ErrExpired) {
			m.Fatalf("it starts in spite of that: %v", err)
		}
		return
	}
	if p.code >= 0 {
		wait(m.T, m.c, p.spec.ID)
	}
	fenced, info, err := m.c.Cancel(m.Context(), p.spec.ID, *p.tracked, patience)
	if err != nil || !fenced || info == nil || info.Running {
		m.Fatalf("cancel: %v, %+v, %v", fenced, info, err)
	}
	p.fenced = true
	if p.code < 0 {
		m.ends(p, 143)
	}
}

// restart has another agent take over.
func (m *model) restart() {
	if err := m.c.Close(); err != nil {
		m.Fatal(err)
	}
	m.c = open(m.T, m.opts)
	if inst, err := m.c.Instance(m.Context()); err != nil || inst != m.inst {
		m.Fatalf("it is %s, not %s, %v", inst, m.inst, err)
	}
	ctx, cancel := context.WithCancel(m.Context())
	cancel()
	if _, err := m.c.List(ctx); !errors.Is(err, context.Canceled) {
		m.Fatalf("a call that has ended: %v", err)
	}
}

// list compares all that is held.
func (m *model) list() {
	all, err := m.c.List(m.Context())
	if err != nil {
		m.Fatal(err)
	}
	seen := map[string]bool{}
	for _, info := range all {
		p := m.procs[info.ID]
		switch {
		case p == nil || seen[info.ID]:
			m.Fatalf("there is %+v", info)
		case !info.Running && code(info) != p.code, p.code < 0 && !info.Running, info.Command != p.spec.Command:
			m.Fatalf("%+v should have ended with %d", info, p.code)
		}
		seen[info.ID] = true
	}
	if len(seen) != len(m.procs) {
		m.Fatalf("%d are listed of %d", len(seen), len(m.procs))
	}
}
