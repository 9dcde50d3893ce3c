package hostile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"waymark/host"
	"waymark/host/plugin"
	"waymark/host/resolve"
	"waymark/host/sandbox"
	"waymark/snapshot"
)

// subject finds the plugin that the case is about: the hostile one, or else
// the built-in one.
func (b *Bench) subject(h *host.Host) (snapshot.Plugin, bool) {
	path := filepath.Join(b.Dirs.Plugins, hostileName+".wasm")
	if b.c.Module == nil {
		path = plugin.BuiltinPath
	}
	for _, p := range h.Status().Plugins {
		if p.Path == path {
			return p, true
		}
	}
	return snapshot.Plugin{}, false
}

// refresh refreshes once and works out what came of it.
func (b *Bench) refresh(ctx context.Context, h *host.Host) error {
	start := time.Now()
	report, err := h.Refresh(ctx)
	if err != nil {
		return err
	}
	b.res.Time = max(b.res.Time, time.Since(start))
	before := b.res
	b.outcome(h, report)
	b.read(report)
	b.checkLeaks(report)
	if before.Outcome != "" && b.c.During == nil && b.c.Drive == nil {
		if before.Outcome != b.res.Outcome || !slices.Equal(before.Rows, b.res.Rows) || !slices.Equal(before.Warnings, b.res.Warnings) {
			b.wrong("one round gives %s %q %q, the next %s %q %q", before.Outcome, before.Rows, before.Warnings, b.res.Outcome, b.res.Rows, b.res.Warnings)
		}
	}
	return nil
}

// outcome finds out what became of the subject.
func (b *Bench) outcome(h *host.Host, report *host.Report) {
	p, ok := b.subject(h)
	b.res.Outcome, b.res.Error = Ready, ""
	switch {
	case !ok:
		b.res.Outcome = Absent
		return
	case p.State == snapshot.PluginRejected || p.State == snapshot.PluginNeedsApproval:
		b.res.Outcome, b.res.Error = Rejected, p.Error
	}
	for _, o := range report.Outcomes {
		if o.Err != nil && strings.HasPrefix(o.Resolver, p.Name+"/") {
			b.res.Outcome, b.res.Error = kind(o.Err), o.Err.Error()
		}
	}
	if b.res.Outcome != Ready && (b.res.Error == "" || strings.Contains(b.res.Error, "\n") || len(b.res.Error) > 4096) {
		b.wrong("the error is not one line: %.200q", b.res.Error)
	}
}

func kind(err error) string {
	for _, k := range []struct {
		err  error
		name string
	}{
		{sandbox.ErrDeadline, Deadline}, {sandbox.ErrCanceled, Canceled}, {sandbox.ErrCrashed, Crashed},
		{sandbox.ErrGuest, Guest}, {sandbox.ErrAnswer, Answer}, {sandbox.ErrLimit, Limit},
	} {
		if errors.Is(err, k.err) {
			return k.name
		}
	}
	if strings.Contains(err.Error(), "limit") { // the host's own reading exceeded one
		return Limit
	}
	return "unknown"
}

// read takes down rows, warnings and plugin states.
func (b *Bench) read(report *host.Report) {
	b.res.Rows, b.res.Victim, b.res.Warnings, b.res.States = []string{}, []string{}, nil, []string{}
	relative := strings.NewReplacer(b.Dirs.Root+"/", "", b.Dirs.Base+"/", "")
	for i := range report.Snapshot.Resources {
		r := &report.Snapshot.Resources[i]
		line := relative.Replace(strings.TrimSpace(fmt.Sprintf("%s %s %s", r.ID(), r.Status, r.Error)))
		if strings.HasPrefix(r.Resolver, victimName+"/") {
			b.res.Victim = append(b.res.Victim, fmt.Sprintf("%s %s %q", line, r.Name, r.Payload))
			continue
		}
		b.res.Rows = append(b.res.Rows, line)
	}
	for _, o := range report.Outcomes {
		b.res.Warnings = append(b.res.Warnings, o.Warnings...)
		// A named root has no file for the victim, which fails then.
		if strings.HasPrefix(o.Resolver, victimName+"/") && o.Err != nil && slices.Contains(b.Dirs.roots(b.c.Roots), o.Root) {
			b.wrong("the victim failed: %v", o.Err)
		}
	}
	for _, p := range report.Snapshot.Plugins {
		if name := filepath.Base(p.Path); name != victimFile && p.Path != plugin.BuiltinPath {
			b.res.States = append(b.res.States, strings.TrimSpace(name+" "+string(p.State)+" "+relative.Replace(p.Error)))
		}
	}
	if want := b.victimRows(); !slices.Equal(b.res.Victim, want) {
		b.wrong("the victim's rows are %q, want %q", b.res.Victim, want)
	}
}

func (b *Bench) victimRows() []string {
	list := []string{`instruction_file:VICTIM.md ok victim "innocent\n"`}
	for _, root := range b.Dirs.roots(b.c.Roots)[1:] {
		list = append(list, fmt.Sprintf(`instruction_file:%s/VICTIM.md ok victim "innocent\n"`, filepath.Base(root)))
	}
	return list
}

// checkLeaks looks for the canary in everything that is published or logged, and
// for text that could forge a line of a log or a terminal.
func (b *Bench) checkLeaks(report *host.Report) {
	var said strings.Builder
	enc := json.NewEncoder(&said)
	err := errors.Join(enc.Encode(report.Snapshot), enc.Encode(report.Notes))
	for _, r := range report.Snapshot.Resources {
		said.Write(r.Payload)
	}
	for _, o := range report.Outcomes {
		said.WriteString(o.Resolver + fmt.Sprint(o.Err))
		o.Err = nil
		err = errors.Join(err, enc.Encode(struct {
			Warnings, Denied, Logs any
		}{o.Warnings, o.Denied, o.Logs}))
	}
	logged := b.logs.take()
	said.WriteString(logged)
	if err != nil {
		b.wrong("what was found has no JSON form: %v", err)
	}
	if strings.Contains(said.String(), canary) {
		b.wrong("a byte of a forbidden file got out")
	}
	if strings.ContainsAny(logged, "\x1b\x00") || strings.Contains(logged, "\nERROR all is lost") {
		b.wrong("guest text forges the log")
	}
	if len(logged) > maxLogged {
		b.wrong("%d bytes of log for one refresh", len(logged))
	}
	checkOutcomes(b, report.Outcomes)
}

// maxLogged is what one load and refresh may write to the host's log: a
// hundred warnings of 300 bytes for each of a few resolvers.
const maxLogged = 256 << 10

// checkOutcomes holds guest text in outcomes to its bounds.
func checkOutcomes(b *Bench, outcomes []resolve.Outcome) {
	for _, o := range outcomes {
		if o.Err != nil && (len(o.Err.Error()) > 4096 || strings.ContainsAny(o.Err.Error(), "\n\x1b\x00")) {
			b.wrong("an error of %s is not one plain line", o.Resolver)
		}
		if len(o.Warnings) > 128 {
			b.wrong("%d warnings", len(o.Warnings))
		}
		size := 0
		for _, l := range o.Logs {
			size += len(l.Text)
		}
		if size > 64<<10 {
			b.wrong("%d bytes of guest log lines", size)
		}
	}
}

// judge compares with what the case wants.
func (b *Bench) judge() {
	r, c := &b.res, b.c
	r.Wrong = append(r.Wrong, c.Want.check(r)...)
	if r.Memory > c.memory() {
		r.Wrong = append(r.Wrong, fmt.Sprintf("the process grew by %d MiB, %d are allowed", r.Memory>>20, c.memory()>>20))
	}
}

// logBuffer collects the engine's log.
type logBuffer struct {
	mu   sync.Mutex // guards text
	text []byte
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.text) < 4*maxLogged {
		l.text = append(l.text, p...)
	}
	return len(p), nil
}

func (l *logBuffer) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := string(l.text)
	l.text = l.text[:0]
	return text
}
