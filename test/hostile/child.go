package hostile

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// child is a process that runs cases.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *tail
}

func (p *Pool) start(asNobody bool) (*child, error) {
	cs := childSettings{Builtin: p.opts.Builtin, Cache: cmp.Or(p.opts.Cache, filepath.Join(p.dir, "cache")), Dir: filepath.Join(p.dir, "cases"),
		Rounds: p.opts.Rounds, Stretch: p.opts.Stretch, Settle: p.opts.Settle}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	attr := &syscall.SysProcAttr{}
	if asNobody && os.Geteuid() == 0 {
		cs.Builtin, cs.Cache, cs.Dir = "", "", filepath.Join(p.dir, "nobody")
		attr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		exe = "/proc/self/exe" // its directory may be closed to that user
	}
	text, err := json.Marshal(cs)
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.Command(exe), stderr: &tail{}}
	c.cmd.Dir = cs.Dir
	c.cmd.SysProcAttr = attr
	c.cmd.Env = append(os.Environ(), envChild+"="+string(text))
	c.cmd.Stderr = c.stderr
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	return c, c.cmd.Start()
}

// run asks for one case. The child is killed when it doesn't answer in time.
func (c *child) run(ctx context.Context, cs *Case, timeout time.Duration) (res *Result, alive bool) {
	res = &Result{Name: cs.Name}
	start := time.Now()
	timer := time.AfterFunc(timeout, c.kill)
	defer context.AfterFunc(ctx, c.kill)()
	_, err := io.WriteString(c.in, cs.Name+"\n")
	var line []byte
	if err == nil {
		line, err = c.out.ReadBytes('\n')
	}
	inTime := timer.Stop()
	if err == nil {
		err = json.Unmarshal(line, res)
	}
	if err == nil {
		return res, true
	}
	res.Time, res.Outcome = time.Since(start), Died
	if !inTime {
		res.Outcome, res.Error = Hung, "the process was killed after "+round(timeout).String()
	}
	c.end()
	if res.Outcome == Died {
		res.Error = fmt.Sprintf("%v: %s", err, c.stderr)
	}
	res.Wrong = []string{"outcome " + res.Outcome + ", want " + strings.Join(cs.Want.outcomes(), " or ")}
	return res, false
}

func (c *child) kill() { _ = c.cmd.Process.Kill() }

// end closes the child's input, on which it exits, and waits. It may be called
// again.
func (c *child) end() {
	_ = c.in.Close()
	timer := time.AfterFunc(5*time.Second, c.kill)
	_ = c.cmd.Wait()
	timer.Stop()
}

// tail keeps the first bytes of a child's standard error: a crash's reason
// comes first.
type tail struct {
	mu   sync.Mutex // guards text
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[:min(len(p), max(0, 2000-len(t.text)))]...)
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ReplaceAll(strings.TrimSpace(string(t.text)), "\n", " | ")
}
