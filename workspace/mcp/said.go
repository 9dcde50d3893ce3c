package mcp

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"waymark/internal/text"
)

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex // guards kept
	kept []byte
}

const (
	// maxSaid limits what an error quotes of a server, in bytes.
	maxSaid = 300
	// maxKept limits what is kept of a server's output for that: enough for an error with a trace
	// of some frames, of which Node writes the error first.
	maxKept = 10 << 10
	// maxValue is how much of what is kept is left out where it was cut, because a part of a
	// secret isn't found there.
	maxValue = 2 << 10
)

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p[max(0, len(p)-maxKept):]...)
	t.kept = t.kept[max(0, len(t.kept)-maxKept):]
	return len(p), nil
}

// said returns it without secrets.
func (t *tail) said(hide func(string) string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	said := hide(string(t.kept))
	if len(t.kept) == maxKept {
		said = said[min(maxValue, len(said)):]
	}
	return text.WithoutEscapes(said)
}

var (
	// aside are lines of a trace, and around one, that don't say what went wrong.
	aside = text.Lazy(`^(\s+(at|in|from) .*|\s+File ".*|\s*[\^~]+|\s*[{}\]),;]*|\s+\d+ \|.*|\s+(code|errno|syscall|path|requireStack|\[cause\]):? .*` +
		`|\s*throw .*|(node|file):.*:\d+|/.*:\d+|Node\.js v\d.*|\(Use .node --trace.*|\(node:\d+\) .*|goroutine \d+ .*|\t/.*|exit status \d+` +
		`|Traceback .*|note: run with .*|npm (ERR!|error) A complete log .*|npm (ERR!|error)\s+/.*|npm (ERR!|error)|npm (notice|warn|WARN).*|Require stack:|- /.*)$`)
	// alarms tell a line that names an error from what else a server logs.
	alarms = text.Lazy(`(?i)(error|exception|panic|fatal|fail|cannot|can't|could not|unable|denied|refused|not found|no such|missing|invalid|required|unknown|usage:)|npm ERR!`)
)

// lastWords returns what matters most of the end of a server's output, as one line: of its
// last errors that follow one another, and what comes after them; or else its last line.
func lastWords(said string) string {
	var lines []string
	for line := range strings.Lines(said) {
		if line = strings.TrimRight(line, "\r\n\t "); !aside().MatchString(line) {
			lines = append(lines, line)
		}
	}
	if lines == nil { // a trace without an error
		lines = slices.DeleteFunc(strings.Split(said, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
	}
	at := len(lines) - 1
	for i := at; i >= 0; i-- {
		if alarms().MatchString(lines[i]) {
			for at = i; at > 0 && alarms().MatchString(lines[at-1]); {
				at--
			}
			break
		}
	}
	return text.Line(strings.Join(lines[max(at, 0):], "\n"), maxSaid)
}

// denied finds the path in a message about a refused access, as Node, Python, Go and the C
// library's programs write it.
var denied = text.Lazy(`EACCES: permission denied, \w+ '([^'\n]+)'|\[Errno 13\] Permission denied: '([^'\n]+)'` +
	`|(?m:(?:\w+ |^|: )(/[^:\n]+): [Pp]ermission denied)`)

// refusal says which access a server's profile has refused, and how to allow it, if what it
// said is about that.
func (c *connection) refusal(said string) string {
	found := denied().FindAllStringSubmatch(said, -1)
	if found == nil || c.profile == nil {
		return ""
	}
	path := strings.Join(found[len(found)-1][1:], "") // only one of them isn't empty
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.judged.expanded.Cwd, path)
	}
	resolved, err := filepath.EvalSymlinks(path)
	missing := err != nil
	if missing {
		path = filepath.Dir(path) // what isn't there was to be made
		if resolved, err = filepath.EvalSymlinks(path); err != nil {
			return ""
		}
	}
	flag, mode := "--read", uint32(unix.R_OK)
	if missing || slices.ContainsFunc(slices.Concat(c.profile.Read, c.profile.Write), func(dir string) bool { return within(dir, resolved) }) {
		flag, mode = "--write", unix.W_OK
	}
	if unix.Access(resolved, mode) != nil || slices.ContainsFunc(c.profile.Write, func(dir string) bool { return within(dir, resolved) }) {
		return "" // it isn't the profile
	}
	return fmt.Sprintf("its profile doesn't let it have %s: 'agent mcp approve %s %s %s' would", path, flag, text.ShellWord(path), c.judged.entry.Name)
}

// within reports whether a path is a directory or below it.
func within(dir, path string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == '/' || dir == "/")
}

// noise is the beginning of what a server has written in place of messages.
type noise struct {
	mu   sync.Mutex // guards head
	head text.Head
}

func (n *noise) add(line []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, _ = n.head.Write(line)
	_, _ = io.WriteString(&n.head, "\n")
}

// said quotes it without secrets, and says what is wrong with it, if that is known.
func (n *noise) said(hide func(string) string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	wrote := hide(n.head.String())
	if len(n.head.Bytes()) == maxKept {
		wrote = wrote[:max(0, len(wrote)-maxValue)]
	}
	wrote = text.Line(text.WithoutEscapes(wrote), maxSaid)
	switch {
	case wrote == "":
		return ""
	case strings.HasPrefix(strings.ToLower(wrote), "content-length:"):
		return fmt.Sprintf("it frames its messages as a language server does, and MCP has one in a line: %q", wrote)
	case strings.HasPrefix(wrote, "{") && !strings.HasPrefix(wrote, `{"level"`):
		return fmt.Sprintf("what it writes isn't one message in a line: %q", wrote)
	}
	return fmt.Sprintf("in place of a message it wrote %q", wrote)
}
