package fake

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"waymark/agentapi"
	"waymark/internal/await"
	"waymark/workspace/output"
)

// process is a held process. The state's lock guards the fields that change.
type process struct {
	state  *state
	ctx    context.Context // ends with the process
	cancel context.CancelFunc
	start  agentapi.StartProcess
	chat   uuid.UUID
	begun  time.Time
	// plan is the fence of the token that started it.
	id, dir, plan string

	over          time.Time // zero while it runs
	code          *int
	lost          string
	input, output []byte // input is what it hasn't read yet
	closed        bool   // its input is closed
}

func (p *process) running() bool { return p.over.IsZero() }

// The agent's own limits for waiting, for a list, and for a page of output.
const maxWait, listed, pageBytes = 5 * time.Minute, 10, 64 << 10

// StartProcess implements client.Client.
func (a *Agent) StartProcess(ctx context.Context, start agentapi.StartProcess) (*agentapi.StartedProcess, error) {
	return call(ctx, a, scopeProcesses, func(context.Context) (*agentapi.StartedProcess, error) {
		if err := start.Check(); err != nil {
			return nil, refuse(http.StatusBadRequest, "the process was not started: %v", err)
		}
		if start.ProcessID != "" {
			return nil, refuse(http.StatusNotImplemented, "the fake has no tracked starts")
		}
		dir := path.Join(Root, start.WorkDir)
		if rest, home := strings.CutPrefix(start.WorkDir, "~"); home {
			dir = path.Join(Home, rest)
		} else if path.IsAbs(start.WorkDir) {
			dir = path.Clean(start.WorkDir)
		}
		if _, err := a.Files().List(dir); err != nil {
			return nil, refuse(http.StatusBadRequest, "there is no working directory %s", dir)
		}
		a.state.mu.Lock()
		defer a.state.mu.Unlock()
		answer := &agentapi.StartedProcess{ClientToken: start.ClientToken, AgentInstanceID: a.state.instance}
		for _, p := range a.state.processes {
			switch {
			case start.ClientToken == "" || p.start.ClientToken != start.ClientToken:
			case p.chat != a.caller.Chat || p.plan != a.token.Plan || !reflect.DeepEqual(p.start, start):
				return nil, refuse(http.StatusConflict, "the client token belongs to another start")
			default:
				answer.ID, answer.Attached = p.id, true
				return answer, nil
			}
		}
		answer.ID, answer.Started = a.begin(start, dir), true
		return answer, nil
	})
}

// begin starts a process. The caller holds the lock.
func (a *Agent) begin(start agentapi.StartProcess, dir string) (id string) {
	s := a.state
	p := &process{state: s, id: uuid.NewString(), start: start, dir: dir, chat: a.caller.Chat, plan: a.token.Plan, begun: time.Now(), closed: !start.Stdin && start.PTY == nil}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	s.processes = append(s.processes, p)
	if d := time.Duration(start.TimeoutMS) * time.Millisecond; d > 0 {
		time.AfterFunc(d, func() { s.change(func(*state) { p.end(128+15, "") }) })
	}
	env := map[string]string{"HOME": Home, "PWD": dir}
	maps.Copy(env, start.Env)
	delete(env, "CODER_CHAT_ID")
	if a.caller.Scoped() {
		env["CODER_CHAT_ID"] = a.caller.Chat.String()
	}
	run, argv := s.program(&start)
	s.work.Go(func() {
		code := run(p.ctx, &Process{Argv: argv, WorkDir: dir, Env: env, Stdin: stdin{p}, Output: stdout{p}})
		s.change(func(*state) { p.end(code, "") })
	})
	return p.id
}

// end marks a process as ended, unless it is already. lost says why its exit code is
// unknown. The caller holds the lock.
func (p *process) end(code int, lost string) {
	if !p.running() {
		return
	}
	if p.over, p.lost = time.Now(), lost; lost == "" {
		p.code = &code
	}
	p.closed = true
	p.cancel()
}

// endAll ends all processes. The caller holds the lock.
func (s *state) endAll(code int, lost string) {
	for _, p := range s.processes {
		p.end(code, lost)
	}
}

// stdin is the standard input of a process.
type stdin struct{ *process }

// Read implements io.Reader.
func (in stdin) Read(to []byte) (n int, err error) {
	err = in.state.await(in.ctx, func() bool {
		n = copy(to, in.input)
		in.input = in.input[n:]
		return n > 0 || in.closed
	})
	if err == nil && n == 0 {
		err = io.EOF
	}
	return n, err
}

// stdout collects the output of a process until it has ended.
type stdout struct{ *process }

// Write implements io.Writer.
func (out stdout) Write(data []byte) (n int, err error) {
	out.state.change(func(*state) {
		if err = io.ErrClosedPipe; out.running() {
			out.output, n, err = append(out.output, data...), len(data), nil
		}
	})
	return n, err
}

// ListProcesses implements client.Client.
func (a *Agent) ListProcesses(ctx context.Context, limit int) (*agentapi.ProcessList, error) {
	return call(ctx, a, "", func(context.Context) (*agentapi.ProcessList, error) {
		a.state.mu.Lock()
		defer a.state.mu.Unlock()
		list := &agentapi.ProcessList{Processes: []agentapi.Process{}, AgentInstanceID: a.state.instance}
		for _, running := range []bool{true, false} {
			for _, p := range slices.Backward(a.state.processes) { // the newest first
				if p.running() == running && a.caller.Owns(p.chat) && len(list.Processes) < cmp.Or(max(limit, 0), listed) {
					list.Processes = append(list.Processes, p.shown())
				}
			}
		}
		return list, nil
	})
}

// shown returns a process as it is listed.
func (p *process) shown() agentapi.Process {
	w := agentapi.Process{
		ID: p.id, Command: cmp.Or(p.start.Command, strings.Join(p.start.Argv, " ")), WorkDir: p.dir, Background: p.start.Background,
		Running: p.running(), ExitCode: p.code, StartedAtUnix: p.begun.Unix(), Lost: p.lost,
	}
	if p.chat != uuid.Nil {
		w.ChatID = p.chat.String()
	}
	if !p.running() {
		w.ExitedAtUnix = new(p.over.Unix())
	}
	return w
}

// own returns a process that the caller may see. The caller holds the lock.
func (a *Agent) own(id string) (*process, error) {
	for _, p := range a.state.processes {
		if p.id == id && a.caller.Owns(p.chat) {
			return p, nil
		}
	}
	return nil, refuse(http.StatusNotFound, "there is no process %q", id)
}

// ProcessOutput implements client.Client.
func (a *Agent) ProcessOutput(ctx context.Context, id string, opts agentapi.OutputOptions) (*agentapi.ProcessOutput, error) {
	return call(ctx, a, "", func(ctx context.Context) (out *agentapi.ProcessOutput, err error) {
		page := opts.Offset != nil || opts.Limit > 0 || opts.Raw || opts.WaitFor > 0 && !opts.Wait
		opts.Offset = cmp.Or(opts.Offset, new(int64))
		if *opts.Offset < 0 || opts.Limit < 0 || opts.WaitFor < 0 {
			return nil, refuse(http.StatusBadRequest, "offset and limit are whole numbers from 0")
		}
		if opts.Wait {
			opts.WaitFor = cmp.Or(opts.WaitFor, maxWait)
		}
		waiting, cancel := context.WithTimeout(ctx, min(opts.WaitFor, maxWait))
		defer cancel()
		_ = a.state.await(waiting, func() bool {
			var p *process
			if p, err = a.own(id); err != nil {
				return true
			}
			out = &agentapi.ProcessOutput{Running: p.running(), ExitCode: p.code, Lost: p.lost}
			if !page {
				p.view(out, opts.Terminal)
				return !p.running() || !opts.Wait
			}
			p.page(out, *opts.Offset, cmp.Or(opts.Limit, pageBytes), opts.Raw)
			return !p.running() || !opts.Wait && *out.NextOffset > *opts.Offset
		})
		return out, err
	})
}

// page adds the output at an offset. The caller holds the lock.
func (p *process) page(out *agentapi.ProcessOutput, offset, limit int64, raw bool) {
	data := p.output[min(offset, int64(len(p.output))):]
	n := int(min(limit, int64(len(data))))
	if raw {
		out.Data = bytes.Clone(data[:n])
	} else {
		n = output.RuneEnd(data, int(limit), !p.running())
		out.Output = output.ToText(data[:n])
	}
	out.NextOffset = new(offset + int64(n))
}

// view adds the head and tail of the output. The caller holds the lock.
func (p *process) view(out *agentapi.ProcessOutput, terminal bool) {
	n := len(p.output)
	half := min(n, output.HeadBytes)
	tail := max(half, n-output.TailBytes)
	out.Output, out.Truncated = output.Show(output.Piece{Data: p.output[:half]}, output.Piece{Offset: int64(tail), Data: p.output[tail:]}, int64(n), !p.running())
	if terminal && output.Controls(out.Output) {
		out.Output, out.Truncated = output.ShowRendered(p.output[max(0, n-output.MaxRendered):], !p.running())
	}
}

// onProcess runs do on a running process, with the lock held.
func (a *Agent) onProcess(ctx context.Context, id string, do func(p *process) error) error {
	return a.do(ctx, scopeProcesses, func(context.Context) (err error) {
		a.state.change(func(*state) {
			var p *process
			switch p, err = a.own(id); {
			case err != nil:
			case a.token.Plan != "" && p.plan != a.token.Plan:
				err = refuse(http.StatusForbidden, "the process was not started with what this token allows")
			case !p.running():
				err = refuse(http.StatusConflict, "the process has ended")
			default:
				err = do(p)
			}
		})
		return err
	})
}

// SignalProcess implements client.Client.
func (a *Agent) SignalProcess(ctx context.Context, id, signal string) error {
	number := map[string]int{"hangup": 1, "interrupt": 2, "kill": 9, "terminate": 15}[signal]
	if number == 0 {
		return refuse(http.StatusBadRequest, `signal is "terminate", "kill", "interrupt" or "hangup"`)
	}
	return a.onProcess(ctx, id, func(p *process) error {
		p.end(128+number, "")
		return nil
	})
}

// WriteStdin implements client.Client.
func (a *Agent) WriteStdin(ctx context.Context, id string, input agentapi.ProcessStdin) error {
	return a.onProcess(ctx, id, func(p *process) error {
		switch {
		case len(input.DataBase64) > 0 && input.Data != "", len(input.DataBase64) == 0 && input.Data == "" && !input.Close:
			return refuse(http.StatusBadRequest, "write data or data_base64, or close")
		case p.closed:
			return refuse(http.StatusConflict, "its standard input is closed")
		}
		p.input = append(append(p.input, input.Data...), input.DataBase64...)
		p.closed = input.Close
		return nil
	})
}

// Program is what a process runs; it returns the exit code. Its context ends when the
// process is ended by a signal or its timeout. What it does after that isn't visible, but
// it must return, because [Agent.Close] waits for it.
type Program func(ctx context.Context, p *Process) int

// Process is a process as seen by its Program.
type Process struct {
	// Argv is the program's name and its arguments: the words of a command, or the whole
	// command if that was looked up.
	Argv    []string
	WorkDir string
	// Env is the complete environment.
	Env map[string]string
	// Stdin is empty unless the start asked for an input.
	Stdin io.Reader
	// Output receives standard output and standard error.
	Output io.Writer
}

// program returns what a start runs, with its arguments.
func (s *state) program(start *agentapi.StartProcess) (Program, []string) {
	argv := start.Argv
	switch c := start.Command; {
	case len(argv) > 0:
	case s.programs[c] != nil || strings.TrimSpace(c) == "" || strings.ContainsAny(c, "|&;<>()$`\\\"'*?[#~\n"): // no answer is better than one that differs from a shell's
		argv = []string{c}
	default:
		argv = strings.Fields(c)
	}
	if run := s.programs[argv[0]]; run != nil {
		return run, argv
	}
	return own(argv[0]), argv
}

// own returns one of the fake's own programs.
func own(name string) Program {
	return func(ctx context.Context, p *Process) int {
		switch name {
		case "true":
		case "echo":
			_, _ = fmt.Fprintln(p.Output, strings.Join(p.Argv[1:], " "))
		case "cat":
			_, _ = io.Copy(p.Output, p.Stdin)
		case "sleep":
			d, _ := time.ParseDuration(strings.Join(p.Argv[1:], " ") + "s")
			_ = await.Sleep(ctx, d)
		case "yes":
			for await.Sleep(ctx, time.Second/10) == nil {
				_, _ = fmt.Fprintln(p.Output, "y")
			}
		default:
			_, _ = fmt.Fprintf(p.Output, "%s: not found: the fake has no shell, and no such entry in Options.Programs\n", name)
			return 127
		}
		return 0
	}
}
