package extism

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"waymark/host/vfs"
	"waymark/internal/reexec"
)

// Role returns the role of a child process that runs one module. NewChild needs a
// program that has passed this role to reexec.Main.
func Role() reexec.Role {
	return reexec.Role{Name: "extism", Main: func([]string) int { return runChild() }}
}

// Child runs modules in processes of their own.
type Child struct{ program *reexec.Program }

// NewChild returns a Child that runs modules in children of a program that has the
// Role.
func NewChild(program *reexec.Program) *Child { return &Child{program} }

// Job is what a child does: it loads a module, has it describe itself, and asks
// it the questions in order.
type Job struct {
	Wasm      []byte
	Limits    Limits
	Questions []Question
}

// Question is one call of resolve.
type Question struct {
	// Root is the absolute path of a directory or a file, as vfs.OpenRoot takes
	// it.
	Root string
	// View is what the resolver may see of it, Limits what it may use.
	View   vfs.View
	Limits vfs.Limits
	// Input is the request, which may be anything.
	Input []byte
}

// Fault is why a module gives no more answers: it can't be loaded, or it ran
// into a limit.
type Fault struct {
	// Text completes "the module …", in one line.
	Text string
}

func (f *Fault) Error() string { return "the module " + f.Text }

const (
	// loadTime is how long compiling may take; the largest real module takes 3 s.
	loadTime = 2 * time.Minute
	// loadMemory is what compiling may take, in bytes; a run needs its own
	// memories, and their old copies while they grow.
	loadMemory = 1 << 30
	// spareTime is what a call may take beyond its limit, on a machine that
	// stands still for a moment.
	spareTime = 30 * time.Second
	// maxOutput bounds an answer, in bytes; ours allows 1 MiB if nobody says
	// otherwise.
	maxOutput = 16 << 20
	// maxLine bounds what a child writes of one answer: base64, and its logs.
	maxLine = 2 * maxOutput
	// stderrKept is enough for the first line of a crash.
	stderrKept = 4 << 10
)

func (j *Job) confinement() reexec.Limits {
	limits := j.Limits.withDefaults()
	return reexec.Limits{
		Time:   3 * (loadTime + time.Duration(len(j.Questions)+1)*2*limits.Time), // some threads may be at work
		Memory: loadMemory + 4*limits.Memory,
	}
}

// line is what a child writes of one answer. Of the others at most one is set.
type line struct {
	Answer  Answer
	Fault   string // completes "the module …"
	Problem string // nobody's fault but the system's
}

// Run returns the answers: that of describe first, and then one for each
// question. If the error is a *Fault, they are the answers before it. Other errors
// are the system's, or the context's.
func (c *Child) Run(ctx context.Context, job Job) (answers []Answer, err error) {
	runtime.LockOSThread() // the child ends with the thread that starts it
	defer runtime.UnlockOSThread()
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd, err := c.program.Command(limited, Role().Name)
	if err != nil {
		return nil, err
	}
	cmd.WaitDelay = spareTime
	stderr := &head{max: stderrKept}
	cmd.Stderr = stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("the process that runs the module can't be started: %w", err)
	}
	sent := make(chan struct{})
	go func() { // ends when the child has read all, or is gone
		defer close(sent)
		_ = json.NewEncoder(stdin).Encode(job)
	}()
	answers, err = job.read(stdout, cancel)
	gone := errors.Is(err, io.EOF)
	if !gone {
		cancel(nil) // it has said what there was to say
	}
	waited := cmd.Wait()
	<-sent
	var late *Fault
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.As(context.Cause(limited), &late):
		err = late
	case gone:
		err = ended(waited, stderr.String())
	}
	return answers, err
}

// read reads the answers. It cancels with a Fault when one takes too long, and
// returns io.EOF when the child ends before it has given all.
func (j *Job) read(stdout io.Reader, cancel context.CancelCauseFunc) ([]Answer, error) {
	timeout := 2*j.Limits.withDefaults().Time + spareTime
	timer := time.AfterFunc(loadTime+timeout, func() { cancel(tooLate(j.Limits)) })
	defer timer.Stop()
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, maxLine)
	var answers []Answer
	for len(answers) < len(j.Questions)+1 {
		if !lines.Scan() {
			if err := lines.Err(); err != nil && !errors.Is(err, os.ErrClosed) {
				return answers, err
			}
			return answers, io.EOF
		}
		timer.Reset(timeout)
		var l line
		switch err := json.Unmarshal(lines.Bytes(), &l); {
		case err != nil:
			return answers, err
		case l.Fault != "":
			return answers, &Fault{l.Fault}
		case l.Problem != "":
			return answers, errors.New(l.Problem)
		}
		answers = append(answers, l.Answer)
	}
	return answers, nil
}

func tooLate(l Limits) *Fault {
	return &Fault{fmt.Sprintf("takes longer than %s, where nothing but the clock ends it", l.withDefaults().Time)}
}

// ended returns the error for a child that ended before its time. As a rule, memory
// ran out, and the system or Go's runtime ended it.
func ended(err error, stderr string) error {
	first, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
	switch {
	case first != "":
		return &Fault{"ended its process: " + first}
	case err != nil:
		return &Fault{"ended its process: " + err.Error()}
	}
	return &Fault{"ended its process"}
}

// runChild is all that a child does. It returns the exit code.
func runChild() int {
	answers := json.NewEncoder(os.Stdout)
	os.Stdout = os.Stderr // the SDK prints now and then
	dec := json.NewDecoder(os.Stdin)
	var job Job
	err := dec.Decode(&job)
	if err == nil {
		err = reexec.Confine(job.confinement())
	}
	if err != nil {
		_ = answers.Encode(line{Problem: err.Error()})
		return 1
	}
	go func() { // the parent keeps the pipe open for as long as it is interested
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	memory := job.confinement().Memory
	go reexec.WatchMemory(memory, func() {
		_, _ = fmt.Fprintf(os.Stderr, "more than %d MiB of memory\n", memory>>20)
		os.Exit(1)
	})
	if err := job.answer(answers.Encode); err != nil {
		return 1
	}
	return 0
}

// answer does the job and writes a line for each answer.
func (j *Job) answer(write func(any) error) error {
	ctx := context.Background()
	m, err := Load(ctx, j.Wasm, j.Limits)
	if err != nil {
		return write(line{Fault: "can't be loaded: " + err.Error()})
	}
	defer func() { _ = m.Close() }()
	described := m.Describe(ctx)
	if described.late {
		return write(line{Fault: tooLate(j.Limits).Text})
	}
	if err := write(line{Answer: described.bounded()}); err != nil {
		return err
	}
	for i := range j.Questions {
		l := j.Questions[i].ask(ctx, m)
		if l.Answer.late {
			return write(line{Fault: tooLate(j.Limits).Text})
		}
		if err := write(l); err != nil {
			return err
		}
	}
	return nil
}

func (q *Question) ask(ctx context.Context, m *Module) line {
	filter, err := q.View.Compile()
	if err != nil {
		return line{Problem: err.Error()}
	}
	root, err := vfs.OpenRoot(q.Root, vfs.RootOptions{})
	if err != nil {
		return line{Problem: err.Error()}
	}
	run := root.Begin(filter, q.Limits)
	a := m.Resolve(ctx, q.Input, run)
	if err := errors.Join(run.Close(), root.Close()); err != nil {
		return line{Problem: err.Error()}
	}
	return line{Answer: a.bounded()}
}

// bounded returns the answer, or a crash in its place if the parent would refuse it
// as too long.
func (a Answer) bounded() Answer {
	if len(a.Output)+len(a.Error) > maxOutput {
		return Answer{Failed: true, Crash: fmt.Sprintf("an answer of %d bytes", len(a.Output)+len(a.Error))}
	}
	return a
}
