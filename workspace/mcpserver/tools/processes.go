package tools

import (
	"maps"
	"path"
	"strings"
	"time"

	"waymark/agentapi"
)

const (
	executeTimeout    = 10 * time.Second
	maxExecuteTimeout = 4 * time.Hour
	outputWait        = 10 * time.Second
	// maxOutputWait is how long the agent lets a request for output wait.
	maxOutputWait = 5 * time.Minute
	// maxPage limits a page of output, in bytes.
	maxPage = 32 << 10
	// maxListed limits a list of processes.
	maxListed = 50
	// maxCommand limits a command in a list, which only identifies the process.
	maxCommand = 200
)

// noninteractive is the environment of commands: nobody can use an editor, a pager or a
// prompt, or sees colors.
var noninteractive = map[string]string{
	"TERM": "dumb", "NO_COLOR": "1", "CLICOLOR": "0", "FORCE_COLOR": "0",
	"PAGER": "cat", "GIT_PAGER": "cat", "MANPAGER": "cat", "GH_PAGER": "cat", "SYSTEMD_PAGER": "cat", "AWS_PAGER": "",
	"EDITOR": "true", "VISUAL": "true", "GIT_EDITOR": "true", "GIT_SEQUENCE_EDITOR": "true",
	"GIT_TERMINAL_PROMPT": "0", "GIT_MERGE_AUTOEDIT": "no", "GCM_INTERACTIVE": "never",
	"DEBIAN_FRONTEND": "noninteractive", "PIP_NO_INPUT": "1", "NPM_CONFIG_YES": "true", "GH_PROMPT_DISABLED": "1",
}

// Executed is the answer of execute.
type Executed struct {
	Success bool   `json:"success"`
	Output  string `json:"output"`
	// ExitCode is nil if the command is still running or its exit code is unknown.
	ExitCode       *int   `json:"exit_code"`
	WallDurationMS int64  `json:"wall_duration_ms"`
	Error          string `json:"error,omitempty"`
	// Truncated says how much the head and tail in Output omit.
	Truncated *agentapi.OutputTruncated `json:"truncated,omitempty"`
	Note      string                    `json:"note,omitempty"`
	// BackgroundProcessID is the process of a command that is still running, or has left
	// something running.
	BackgroundProcessID string `json:"background_process_id,omitempty"`
	// Left is what it has left running.
	Left []agentapi.LeftProcess `json:"left,omitempty"`
}

// execute runs a command, and waits for it up to the timeout. After that the command keeps
// running.
func (c *call) execute() (any, error) {
	in, err := decode[struct {
		Command    string   `json:"command"`
		WorkDir    string   `json:"workdir"`
		Timeout    duration `json:"timeout"`
		Background bool     `json:"run_in_background"`
	}](c)
	if err != nil {
		return nil, err
	}
	timeout, err := in.Timeout.or(executeTimeout, time.Millisecond, maxExecuteTimeout, "timeout")
	if err != nil {
		return nil, err
	}
	command, background := trailingAmpersand(in.Command)
	if strings.TrimSpace(command) == "" {
		return nil, wrong("execute needs command")
	}
	start := agentapi.StartProcess{Command: command, Background: in.Background || background, Env: maps.Clone(noninteractive)}
	if in.WorkDir != "" {
		if start.WorkDir, err = c.absolute(in.WorkDir, "workdir"); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	started, err := c.client.StartProcess(c, start)
	if err != nil {
		return nil, err
	}
	if start.Background {
		return &Executed{Success: true, BackgroundProcessID: started.ID, WallDurationMS: time.Since(began).Milliseconds(),
			Note: "it runs in the background: process_output shows what it writes"}, nil
	}
	out, err := c.outputWithin(started.ID, timeout)
	if err != nil {
		return nil, err
	}
	e := &Executed{Output: out.Output, ExitCode: out.ExitCode, WallDurationMS: time.Since(began).Milliseconds(), Truncated: out.Truncated, Note: dumpNote(command)}
	switch {
	case len(out.Left) > 0:
		e.BackgroundProcessID, e.Left = started.ID, out.Left
		e.Success = out.ExitCode != nil && *out.ExitCode == 0
		e.Note = "the command has ended, and left in the background what left names: process_output shows what that writes, process_signal ends it"
	case out.Running:
		e.BackgroundProcessID = started.ID
		e.Error = "the command has not ended within " + short(timeout)
		e.Note = "it runs on in the background: process_output waits for it, process_signal ends it"
	case out.Lost != "":
		e.Error = "nobody knows how it has ended: " + out.Lost
	case out.ExitCode != nil && *out.ExitCode == 0:
		e.Success = true
	}
	if e.Truncated != nil && e.Note == "" {
		e.Note = "head and tail are shown: process_output with process_id " + started.ID + " and an offset shows the rest"
	}
	return e, nil
}

// outputWithin waits for the end of a process, and returns its output at that time.
func (c *call) outputWithin(id string, timeout time.Duration) (*agentapi.ProcessOutput, error) {
	for deadline := time.Now().Add(timeout); ; {
		left := time.Until(deadline)
		out, err := c.client.ProcessOutput(c, id, agentapi.OutputOptions{Wait: left > 0, WaitFor: min(max(left, 0), maxOutputWait), Terminal: true})
		if err != nil || !out.Running || left <= maxOutputWait {
			return out, err
		}
	}
}

// trailingAmpersand removes the & of a command that should run in the background.
func trailingAmpersand(command string) (rest string, background bool) {
	trimmed := strings.TrimRight(command, " \t\r\n")
	rest, background = strings.CutSuffix(trimmed, "&")
	// A trailing && is incomplete, and \& and the like are arguments.
	if !background || strings.HasSuffix(rest, "&") || strings.HasSuffix(rest, `\`) || strings.HasSuffix(rest, ">") || strings.HasSuffix(rest, "|") {
		return command, false
	}
	return rest, true
}

// dumpers are programs that only show a file.
var dumpers = []string{"cat", "bat", "batcat", "less", "more", "nl", "head", "tail"}

// dumpNote recommends read_file for a command that only shows a file.
func dumpNote(command string) string {
	words := strings.Fields(command)
	if len(words) < 2 || strings.ContainsAny(command, "|<>;&`$(\n") {
		return ""
	}
	for _, name := range dumpers {
		if path.Base(words[0]) == name {
			return "read_file shows files better than " + name + ": with line numbers, by offset and limit, within a budget"
		}
	}
	return ""
}

// processOutput shows the output of a process: head and tail, or a page.
func (c *call) processOutput() (any, error) {
	in, err := decode[struct {
		ID     string   `json:"process_id"`
		Wait   duration `json:"wait"`
		Offset *int64   `json:"offset"`
	}](c)
	if err != nil {
		return nil, err
	}
	wait, err := in.Wait.or(outputWait, 0, maxOutputWait, "wait")
	switch {
	case err != nil:
		return nil, err
	case in.ID == "":
		return nil, wrong("process_output needs process_id")
	case in.Offset != nil && *in.Offset < 0:
		return nil, wrong("offset is a number of bytes, from 0")
	case in.Offset != nil:
		return c.client.ProcessOutput(c, in.ID, agentapi.OutputOptions{Offset: in.Offset, Limit: maxPage, WaitFor: wait})
	}
	return c.client.ProcessOutput(c, in.ID, agentapi.OutputOptions{Wait: wait > 0, WaitFor: wait, Terminal: true})
}

// processList lists processes with enough of their commands to distinguish them.
func (c *call) processList() (any, error) {
	if _, err := decode[struct{}](c); err != nil {
		return nil, err
	}
	list, err := c.client.ListProcesses(c, maxListed)
	if err != nil {
		return nil, err
	}
	for i := range list.Processes {
		p := &list.Processes[i]
		p.Command = cut(p.Command, maxCommand)
		p.Usage = nil
	}
	return struct {
		Processes []agentapi.Process `json:"processes"`
	}{list.Processes}, nil
}

func (c *call) processSignal() (any, error) {
	in, err := decode[struct {
		ID     string `json:"process_id"`
		Signal string `json:"signal"`
	}](c)
	switch {
	case err != nil:
		return nil, err
	case in.ID == "":
		return nil, wrong("process_signal needs process_id")
	case in.Signal == "":
		in.Signal = "terminate"
	}
	if err := c.client.SignalProcess(c, in.ID, in.Signal); err != nil {
		return nil, err
	}
	return done{true}, nil
}

// done is the answer of tools without a result.
type done struct {
	Success bool `json:"success"`
}
