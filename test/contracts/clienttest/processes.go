package clienttest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"waymark/agentapi"
	"waymark/agentapi/client"
)

// start: what can't be started is refused.
func (s *suite) start() {
	for _, c := range []struct {
		name  string
		start agentapi.StartProcess
		code  int
		text  string
	}{
		{"nothing", agentapi.StartProcess{}, 400, "Command is required"},
		{"both", agentapi.StartProcess{Command: "true", Argv: []string{"true"}}, 400, "argv"},
		{"an empty program", agentapi.StartProcess{Argv: []string{""}}, 400, "argv"},
		{"a long command", agentapi.StartProcess{Command: "true " + strings.Repeat("x", 128<<10)}, 400, "put it into a file"},
		{"a NUL", agentapi.StartProcess{Command: "a\x00b"}, 400, "NUL"},
		{"a bad variable", agentapi.StartProcess{Command: "true", Env: map[string]string{"A=B": ""}}, 400, "env"},
		{"a directory that isn't there", agentapi.StartProcess{Command: "true", WorkDir: s.env.Root() + "/none"}, 400, "directory"},
		{"a negative timeout", agentapi.StartProcess{Command: "true", TimeoutMS: -1}, 400, "timeout"},
		{"half a terminal", agentapi.StartProcess{Command: "true", PTY: &agentapi.TerminalSize{Rows: 3}}, 400, "pty"},
		{"an unknown profile", agentapi.StartProcess{Command: "true", Profile: "root"}, 400, "profile"},
		{"a wider profile", agentapi.StartProcess{Command: "true", Profile: "none"}, 403, "profile"},
		{"an id that is none", agentapi.StartProcess{Command: "true", ProcessID: "x"}, 400, "process_id"},
	} {
		if c.start.Profile != "" && !s.has.Profiles || c.start.ProcessID != "" && !s.has.Tracked {
			continue
		}
		p, err := s.c.StartProcess(s.ctx, c.start)
		s.code(c.name, err, c.code)
		if err == nil || !strings.Contains(err.Error(), c.text) {
			s.Errorf("%s: %v, %+v", c.name, err, p)
		}
	}
	list, err := s.c.ListProcesses(s.ctx, 0)
	s.must(err)
	if list.Processes == nil || len(list.Processes) != 0 || list.AgentInstanceID == "" {
		s.Errorf("nothing was started, and the list is %+v", list)
	}
}

// output: what a process is given, and what it gives.
func (s *suite) output() {
	s.env.Mkdir(s, s.env.Root()+"/sub")
	for _, c := range []struct {
		start  agentapi.StartProcess
		output string
		code   int
	}{
		{agentapi.StartProcess{Command: "echo out; echo err >&2; exit 3"}, "out\nerr\n", 3},
		{agentapi.StartProcess{Command: "true"}, "", 0},
		{agentapi.StartProcess{Command: "cat"}, "", 0}, // there is no input
		{agentapi.StartProcess{Command: "pwd"}, s.env.Root() + "\n", 0},
		{agentapi.StartProcess{Command: "pwd", WorkDir: "sub"}, s.env.Root() + "/sub\n", 0},
		{agentapi.StartProcess{Command: "pwd", WorkDir: s.env.Outside()}, s.env.Outside() + "\n", 0},
		{agentapi.StartProcess{Command: "pwd", WorkDir: "~"}, s.env.Home() + "\n", 0},
		{agentapi.StartProcess{Command: `echo "$A-$HOME"`, Env: map[string]string{"A": "b c", "HOME": "/x"}}, "b c-/x\n", 0},
		{agentapi.StartProcess{Argv: []string{"echo", "$A; exit 3"}}, "$A; exit 3\n", 0},
		{agentapi.StartProcess{Command: `printf 'a\377b\303\244'`}, "a\ufffdbä", 0},
		{agentapi.StartProcess{Command: "none-of-that-name"}, "", 127},
		{agentapi.StartProcess{Command: "sleep 1000", TimeoutMS: 1}, "", 143},
	} {
		output, code := s.run(c.start)
		if code != c.code || output != c.output && c.code != 127 {
			s.Errorf("%q %q: got %q, %d, want %q, %d", c.start.Command, c.start.Argv, output, code, c.output, c.code)
		}
	}
	_, err := s.c.ProcessOutput(s.ctx, uuid.NewString(), agentapi.OutputOptions{})
	s.code("the output of no process", err, 404)
}

// view: head and tail of a long output.
func (s *suite) view() {
	const half = 16 << 10
	for _, c := range []struct {
		command, first, last string
		length, omitted      int64 // omitted -1: some
		longest              int   // line
	}{
		{"seq 1 20000", "1\n2\n", "\n19999\n20000\n", 108894, -1, 40},
		{"head -c 32768 /dev/zero | tr '\\0' x", "xxx", "[truncated]", 32768, 32768 - 2048 + 16, 2048},
		{"head -c 100000 /dev/zero | tr '\\0' x", "xxx", "xxx", 100000, -1, 2048},
		{"seq 1 3000", "1\n2\n", "\n3000\n", 13893, 0, 40},
	} {
		id := s.begin(s.c, agentapi.StartProcess{Command: c.command})
		s.end(id)
		out, err := s.c.ProcessOutput(s.ctx, id, agentapi.OutputOptions{})
		s.must(err)
		if !strings.HasPrefix(out.Output, c.first) || !strings.HasSuffix(out.Output, c.last) {
			s.Errorf("%s: the view is %.40q … %q", c.command, out.Output, out.Output[max(0, len(out.Output)-40):])
		}
		switch tr := out.Truncated; {
		case c.omitted == 0 && (tr != nil || int64(len(out.Output)) != c.length):
			s.Errorf("%s: %d bytes, truncated %+v", c.command, len(out.Output), tr)
		case c.omitted == 0:
		case tr == nil:
			s.Errorf("%s: nothing is truncated", c.command)
		case tr.OriginalBytes != c.length || tr.Strategy != "head_tail" || tr.OmittedBytes+tr.RetainedBytes != tr.OriginalBytes ||
			c.omitted > 0 && tr.OmittedBytes != c.omitted || tr.RetainedBytes > 2*half:
			s.Errorf("%s: truncated %+v", c.command, tr)
		}
		if c.length > 2*half && !strings.Contains(out.Output, "... [omitted ") {
			s.Errorf("%s: nothing says what is left out: %q", c.command, out.Output[half-100:min(half+100, len(out.Output))])
		}
		for line := range strings.SplitSeq(out.Output, "\n") {
			if len(line) > c.longest {
				s.Errorf("%s: a line of %d bytes", c.command, len(line))
			}
		}
	}
}

// pages: all of an output by offset.
func (s *suite) pages() {
	id := s.begin(s.c, agentapi.StartProcess{Command: `for i in 1 2 3; do printf 'ä€\377x\n'; done; printf '\303'`})
	s.end(id)
	const want = "ä€\ufffdx\nä€\ufffdx\nä€\ufffdx\n\ufffd" // 8 bytes a line, and one
	for _, limit := range []int64{1, 2, 3, 4, 7, 100} {
		var text string
		for offset := int64(0); ; {
			page, err := s.c.ProcessOutput(s.ctx, id, agentapi.OutputOptions{Offset: &offset, Limit: limit})
			s.must(err)
			if page.NextOffset == nil || page.Running || page.OmittedBytes != 0 || page.ExitCode == nil || page.Truncated != nil {
				s.Fatalf("a page is %+v", page)
			}
			if *page.NextOffset == offset {
				break
			}
			if !utf8.ValidString(page.Output) || *page.NextOffset < offset || *page.NextOffset > offset+max(limit, utf8.UTFMax) {
				s.Errorf("%q goes from %d to %d", page.Output, offset, *page.NextOffset)
			}
			text, offset = text+page.Output, *page.NextOffset
		}
		if text != want {
			s.Errorf("by %d: got %q, want %q", limit, text, want)
		}
	}
	from := int64(5)
	raw, err := s.c.ProcessOutput(s.ctx, id, agentapi.OutputOptions{Offset: &from, Limit: 3, Raw: true})
	s.must(err)
	if string(raw.Data) != "\xffx\n" || raw.Output != "" || *raw.NextOffset != 8 {
		s.Errorf("bytes: %q, %q, next is %d", raw.Data, raw.Output, *raw.NextOffset)
	}
	for _, c := range []struct {
		offset, next int64
		code         int
	}{{-1, 0, 400}, {25, 25, 0}, {1000, 1000, 0}} {
		page, err := s.c.ProcessOutput(s.ctx, id, agentapi.OutputOptions{Offset: &c.offset, WaitFor: time.Hour})
		s.code(fmt.Sprint("at ", c.offset), err, c.code)
		if err == nil && (page.Output != "" || page.NextOffset == nil || *page.NextOffset != c.next) {
			s.Errorf("at %d: %+v", c.offset, page)
		}
	}
}

// list: running ones first, then the newest.
func (s *suite) list() {
	running := s.begin(s.c, agentapi.StartProcess{Command: "cat", Stdin: true, Background: true, WorkDir: s.env.Outside()})
	var ended []string
	for range 12 {
		id := s.begin(s.c, agentapi.StartProcess{Command: "exit 7"})
		s.end(id)
		ended = append(ended, id)
	}
	list, err := s.c.ListProcesses(s.ctx, 0)
	s.must(err)
	if len(list.Processes) != 10 {
		s.Fatalf("%d are listed, want 10", len(list.Processes))
	}
	first := list.Processes[0]
	if first.ID != running || !first.Running || !first.Background || first.ExitCode != nil || first.ExitedAtUnix != nil ||
		first.Command != "cat" || first.WorkDir != s.env.Outside() || first.StartedAtUnix == 0 {
		s.Errorf("the first is %+v", first)
	}
	for i, p := range list.Processes[1:] {
		if p.Running || p.Background || p.ExitCode == nil || *p.ExitCode != 7 || p.ExitedAtUnix == nil || *p.ExitedAtUnix < p.StartedAtUnix ||
			p.Command != "exit 7" || p.WorkDir != s.env.Root() || i > 0 && p.StartedAtUnix > list.Processes[i].StartedAtUnix {
			s.Errorf("%d is %+v", i+1, p)
		}
	}
	all, err := s.c.ListProcesses(s.ctx, 100)
	s.must(err)
	var ids []string
	for _, p := range all.Processes {
		ids = append(ids, p.ID)
	}
	slices.Reverse(ended) // the newest first
	if want := append([]string{running}, ended...); !slices.Equal(ids, want) {
		s.Errorf("all are %q, want %q", ids, want)
	}
	s.must(s.c.WriteStdin(s.ctx, running, agentapi.ProcessStdin{Close: true}))
	s.end(running)
}

// wait: everybody who waits is woken, by the end or by a byte.
func (s *suite) wait() {
	id := s.begin(s.c, agentapi.StartProcess{Command: "cat", Stdin: true})
	now, err := s.c.ProcessOutput(s.ctx, id, agentapi.OutputOptions{})
	s.must(err)
	if !now.Running || now.ExitCode != nil || now.Output != "" {
		s.Errorf("while it runs: %+v", now)
	}
	type result struct {
		out *agentapi.ProcessOutput
		err error
	}
	wait := func(opts agentapi.OutputOptions) <-chan result {
		done := make(chan result, 1)
		go func() {
			out, err := s.c.ProcessOutput(s.ctx, id, opts)
			done <- result{out, err}
		}()
		return done
	}
	zero := int64(0)
	byteComes := wait(agentapi.OutputOptions{Offset: &zero, WaitFor: patience})
	one, two := wait(agentapi.OutputOptions{Wait: true}), wait(agentapi.OutputOptions{Wait: true})
	s.must(s.c.WriteStdin(s.ctx, id, agentapi.ProcessStdin{Data: "ä"}))
	if r := <-byteComes; r.err != nil || r.out.Output != "ä" || !r.out.Running || *r.out.NextOffset != 2 {
		s.Errorf("at the first byte: %+v, %v", r.out, r.err)
	}
	s.must(s.c.WriteStdin(s.ctx, id, agentapi.ProcessStdin{Data: "!", Close: true}))
	for _, done := range []<-chan result{one, two} {
		if r := <-done; r.err != nil || r.out.Running || r.out.ExitCode == nil || *r.out.ExitCode != 0 || r.out.Output != "ä!" {
			s.Errorf("at the end: %+v, %v", r.out, r.err)
		}
	}
	s.code("a process that isn't there", (<-func() chan result {
		done := make(chan result, 1)
		_, err := s.c.ProcessOutput(s.ctx, "none", agentapi.OutputOptions{Wait: true})
		done <- result{nil, err}
		return done
	}()).err, 404)
}

// signal: how processes are ended.
func (s *suite) signal() {
	for signal, code := range map[string]int{"terminate": 143, "kill": 137} {
		id := s.begin(s.c, agentapi.StartProcess{Command: "echo on; exec sleep 1000"})
		s.must(s.c.SignalProcess(s.ctx, id, signal))
		if _, got := s.end(id); got != code {
			s.Errorf("%s: exit code %d, want %d", signal, got, code)
		}
		s.code("a signal to an ended one", s.c.SignalProcess(s.ctx, id, signal), 409)
		s.code("input for an ended one", s.c.WriteStdin(s.ctx, id, agentapi.ProcessStdin{Data: "x"}), 409)
		if s.has.Terminals {
			s.code("another size for an ended one", s.c.ResizeProcess(s.ctx, id, agentapi.TerminalSize{Rows: 1, Cols: 1}), 409)
		}
	}
	id := s.begin(s.c, agentapi.StartProcess{Command: "exec sleep 1000"})
	s.code("no signal", s.c.SignalProcess(s.ctx, id, ""), 400)
	s.code("a signal that there is none of", s.c.SignalProcess(s.ctx, id, "SIGSTOP"), 400)
	s.code("a process that isn't there", s.c.SignalProcess(s.ctx, uuid.NewString(), "kill"), 404)
	token, err := s.c.CreateToken(s.ctx, agentapi.NewToken{Plan: s.env.Root() + "/plan.md"})
	s.must(err)
	s.code("a signal from who is fenced in", s.env.WithToken(token.Secret).SignalProcess(s.ctx, id, "kill"), 403)
	if s.has.Terminals {
		s.code("another size from who is fenced in", s.env.WithToken(token.Secret).ResizeProcess(s.ctx, id, agentapi.TerminalSize{Rows: 1, Cols: 1}), 403)
	}
	s.must(s.c.SignalProcess(s.ctx, id, "kill"))
	s.end(id)
}

// stdin: what is written, and terminals.
func (s *suite) stdin() {
	id := s.begin(s.c, agentapi.StartProcess{Command: "cat; echo end", Stdin: true})
	s.must(s.c.WriteStdin(s.ctx, id, agentapi.ProcessStdin{Data: "text\n"}))
	s.must(s.c.WriteStdin(s.ctx, id, agentapi.ProcessStdin{DataBase64: []byte("bytes\xff\n")}))
	s.code("nothing to write", s.c.WriteStdin(s.ctx, id, agentapi.ProcessStdin{}), 400)
	s.code("text and bytes", s.c.WriteStdin(s.ctx, id, agentapi.ProcessStdin{Data: "x", DataBase64: []byte("x")}), 400)
	if s.has.Terminals {
		s.code("no size", s.c.ResizeProcess(s.ctx, id, agentapi.TerminalSize{Rows: 1}), 400)
		s.code("no terminal", s.c.ResizeProcess(s.ctx, id, agentapi.TerminalSize{Rows: 1, Cols: 1}), 409)
	}
	s.must(s.c.WriteStdin(s.ctx, id, agentapi.ProcessStdin{Close: true}))
	if output, code := s.end(id); output != "text\nbytes\ufffd\nend\n" || code != 0 {
		s.Errorf("got %q, %d", output, code)
	}
	s.code("a process that isn't there", s.c.WriteStdin(s.ctx, "none", agentapi.ProcessStdin{Data: "x"}), 404)

	closed := s.begin(s.c, agentapi.StartProcess{Command: "exec sleep 1000"})
	s.code("no input", s.c.WriteStdin(s.ctx, closed, agentapi.ProcessStdin{Data: "x"}), 409)
	s.must(s.c.SignalProcess(s.ctx, closed, "kill"))

	terminal := s.begin(s.c, agentapi.StartProcess{Command: "exec sleep 1000", PTY: &agentapi.TerminalSize{Rows: 10, Cols: 20}})
	if s.has.Terminals {
		s.must(s.c.ResizeProcess(s.ctx, terminal, agentapi.TerminalSize{Rows: 30, Cols: 40}))
	}
	s.must(s.c.SignalProcess(s.ctx, terminal, "kill"))
	s.end(terminal)
}

// clientTokens: a start that happens once.
func (s *suite) clientTokens() {
	start := agentapi.StartProcess{Command: "cat", Stdin: true, ClientToken: "t/1 ä", Env: map[string]string{"A": "1", "B": "2"}}
	id := s.begin(s.c, start)
	again, err := s.c.StartProcess(s.ctx, start)
	s.must(err)
	if again.ID != id || !again.Attached || again.ClientToken != start.ClientToken {
		s.Errorf("the same start again: %+v, want %s", again, id)
	}
	for name, change := range map[string]func(*agentapi.StartProcess){
		"command":     func(p *agentapi.StartProcess) { p.Command = "cat -" },
		"background":  func(p *agentapi.StartProcess) { p.Background = true },
		"environment": func(p *agentapi.StartProcess) { p.Env = map[string]string{"A": "1"} },
	} {
		other := start
		change(&other)
		_, err := s.c.StartProcess(s.ctx, other)
		s.code("another "+name, err, 409)
	}
	chat := s.c.For(agentapi.Caller{Chat: uuid.New()})
	_, err = chat.StartProcess(s.ctx, start)
	s.code("another chat", err, 409)

	if s.has.Tracked {
		s.clientToken(start.ClientToken, id, chat)
	}
	s.must(s.c.WriteStdin(s.ctx, id, agentapi.ProcessStdin{Close: true}))
	s.end(id)
	if again, err = s.c.StartProcess(s.ctx, start); err != nil || again.ID != id || !again.Attached {
		s.Errorf("after its end: %+v, %v", again, err)
	}
	start.ClientToken = ""
	for range 2 {
		if other := s.begin(s.c, start); other == id {
			s.Error("without a token it is the old one")
		} else {
			s.must(s.c.SignalProcess(s.ctx, other, "kill"))
		}
	}
}

// clientToken asks what a start with a client token has begun.
func (s *suite) clientToken(token, id string, chat client.Client) {
	s.Helper()
	status, err := s.c.ProcessToken(s.ctx, token)
	s.must(err)
	if !status.Found || status.ProcessID != id || status.Pending {
		s.Errorf("the token is %+v", status)
	}
	for name, c := range map[string]client.Client{"another token": s.c, token: chat} {
		status, err := c.ProcessToken(s.ctx, name)
		s.must(err)
		if status.Found || status.ProcessID != "" {
			s.Errorf("%s is %+v", name, status)
		}
	}
}

// tracked: a start that can be asked after and fenced off.
func (s *suite) tracked() {
	list, err := s.c.ListProcesses(s.ctx, 0)
	s.must(err)
	instance := list.AgentInstanceID
	later := time.Now().Add(time.Hour).UTC().Format(time.RFC3339Nano)
	digest := func(n int) string { return fmt.Sprintf("%064x", n) }
	start := func(id string, digested int, deadline string) agentapi.StartProcess {
		return agentapi.StartProcess{Command: "exec sleep 1000", ProcessID: id, AgentInstanceID: instance, InputDigest: digest(digested), Deadline: deadline}
	}
	cancel := func(id string, digested int) agentapi.CancelTracked {
		return agentapi.CancelTracked{ProcessID: id, AgentInstanceID: instance, InputDigest: digest(digested), Deadline: later, WaitMS: patience.Milliseconds()}
	}
	id := uuid.NewString()
	first, err := s.c.StartProcess(s.ctx, start(id, 1, later))
	s.must(err)
	if first.ID != id || first.AgentInstanceID != instance || first.Attached {
		s.Errorf("the first is %+v", first)
	}
	again, err := s.c.StartProcess(s.ctx, start(id, 1, later))
	s.must(err)
	if again.ID != id || !again.Attached {
		s.Errorf("the same again is %+v", again)
	}
	_, err = s.c.StartProcess(s.ctx, start(id, 2, later))
	s.code("another input", err, 409)
	_, err = s.c.CancelTracked(s.ctx, cancel(id, 2))
	s.code("cancel another input", err, 409)
	other := start(uuid.NewString(), 1, later)
	other.AgentInstanceID = uuid.NewString()
	_, err = s.c.StartProcess(s.ctx, other)
	s.code("another instance", err, 409)
	_, err = s.c.StartProcess(s.ctx, start(uuid.NewString(), 1, "2001-01-01T00:00:00Z"))
	s.code("too late", err, 410)
	for name, wrong := range map[string]agentapi.StartProcess{
		"a digest": {Command: "true", ProcessID: uuid.NewString(), AgentInstanceID: instance, InputDigest: "x", Deadline: later},
		"a time":   {Command: "true", ProcessID: uuid.NewString(), AgentInstanceID: instance, InputDigest: digest(1), Deadline: "soon"},
		"an agent": {Command: "true", ProcessID: uuid.NewString(), AgentInstanceID: "x", InputDigest: digest(1), Deadline: later},
	} {
		_, err := s.c.StartProcess(s.ctx, wrong)
		s.code("what isn't "+name, err, 400)
	}

	ended, err := s.c.CancelTracked(s.ctx, cancel(id, 1))
	s.must(err)
	if ended.AgentInstanceID != instance || ended.Process == nil || ended.Process.ID != id || ended.Process.Running {
		s.Errorf("canceled while it runs: %+v", ended)
	}
	never := uuid.NewString()
	fenced, err := s.c.CancelTracked(s.ctx, cancel(never, 1))
	s.must(err)
	if !fenced.Fenced || fenced.Process != nil || fenced.AgentInstanceID != instance {
		s.Errorf("canceled before it began: %+v", fenced)
	}
	_, err = s.c.StartProcess(s.ctx, start(never, 1, later))
	s.code("a start that was fenced off", err, 410)
}

// chats: who sees which processes.
func (s *suite) chats() {
	parent, child, other := uuid.New(), uuid.New(), uuid.New()
	parents, others := s.c.For(agentapi.Caller{Chat: parent}), s.c.For(agentapi.Caller{Chat: other})
	children := s.c.For(agentapi.Caller{Chat: child, Ancestors: []uuid.UUID{parent}})
	start := agentapi.StartProcess{Command: `echo "$CODER_CHAT_ID"; exec cat`, Stdin: true, Env: map[string]string{"CODER_CHAT_ID": "x"}}
	id := s.begin(children, start)
	for name, c := range map[string]client.Client{"the parent": parents, "another chat": others} {
		_, err := c.ProcessOutput(s.ctx, id, agentapi.OutputOptions{})
		s.code(name+" reads", err, 404)
		s.code(name+" signals", c.SignalProcess(s.ctx, id, "kill"), 404)
		s.code(name+" writes", c.WriteStdin(s.ctx, id, agentapi.ProcessStdin{Data: "x"}), 404)
		list, err := c.ListProcesses(s.ctx, 0)
		s.must(err)
		if len(list.Processes) != 0 {
			s.Errorf("%s sees %+v", name, list.Processes)
		}
	}
	for name, c := range map[string]client.Client{"itself": children, "who is no chat": s.c, "who is none any more": others.For(agentapi.Caller{})} {
		list, err := c.ListProcesses(s.ctx, 0)
		s.must(err)
		if len(list.Processes) != 1 || list.Processes[0].ID != id || list.Processes[0].ChatID != child.String() {
			s.Errorf("%s sees %+v", name, list.Processes)
		}
		_, err = c.ProcessOutput(s.ctx, id, agentapi.OutputOptions{})
		s.code(name+" reads", err, 0)
	}
	s.must(children.WriteStdin(s.ctx, id, agentapi.ProcessStdin{Close: true}))
	if output, _ := s.end(id); output != child.String()+"\n" {
		s.Errorf("its chat is %q", output)
	}
	if output, _ := s.run(agentapi.StartProcess{Command: `echo "[$CODER_CHAT_ID]"`}); output != "[]\n" {
		s.Errorf("without a chat it is %q", output)
	}
}

// follow: an output over restarts of the agent.
func (s *suite) follow() {
	whole := func(id string) (text string) {
		s.Helper()
		for part, err := range client.Follow(s.ctx, s.c, id) {
			s.must(err)
			text += string(part)
		}
		return text
	}
	id := s.begin(s.c, agentapi.StartProcess{Command: "seq 1 200000; printf '\\377'"})
	if text := whole(id); len(text) != 1288895+1 || !strings.HasSuffix(text, "\n200000\n\xff") {
		s.Errorf("%d bytes, which end in %q", len(text), text[max(0, len(text)-20):])
	}
	for _, err := range client.Follow(s.ctx, s.c, uuid.NewString()) {
		s.code("a process that isn't there", err, 404)
	}

	id = s.begin(s.c, agentapi.StartProcess{Command: "exec cat", Stdin: true})
	s.must(s.c.WriteStdin(s.ctx, id, agentapi.ProcessStdin{Data: "before\n"}))
	var text string
	lost := 0
	for part, err := range client.Follow(s.ctx, s.c, id) {
		var refused *client.Error
		switch {
		case errors.As(err, &refused):
			s.Fatal(err)
		case err != nil:
			lost++
			continue
		}
		text += string(part)
		switch text {
		case "before\n":
			s.env.Restart(s)
			s.must(s.c.WriteStdin(s.ctx, id, agentapi.ProcessStdin{Data: "after\n", Close: true}))
		case "before\nafter\n":
		default:
			if !strings.HasPrefix("before\nafter\n", text) {
				s.Fatalf("got %q", text)
			}
		}
	}
	if text != "before\nafter\n" || s.ctx.Err() != nil {
		s.Errorf("got %q, with %d losses", text, lost)
	}
	if _, code := s.end(id); code != 0 {
		s.Errorf("its exit code is %d", code)
	}
	list, err := s.c.ListProcesses(s.ctx, 0)
	s.must(err)
	if len(list.Processes) != 2 || list.Processes[0].Lost != "" {
		s.Errorf("after the restart: %+v", list.Processes)
	}
}
