package mcp_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/agentapi"
	"waymark/snapshot"
)

// scripts is a world with servers that are scripts, each of which leaves a file
// when a byte of it is run.
type scripts struct {
	*world
	marks string
}

func newScripts(t *testing.T) *scripts {
	t.Helper()
	s := &scripts{world: newWorld(t, "")}
	s.marks = filepath.Join(s.home.Dir, "marks")
	s.must(os.MkdirAll(s.marks, 0o700))
	return s
}

// script writes a server that leaves the mark of a version.
func (s *scripts) script(path, version string) {
	s.t.Helper()
	s.must(os.RemoveAll(path))
	s.put(path, fmt.Sprintf("#!/bin/sh\n: > %s/%s\nexec %s good %s\n", s.marks, version, s.hostile, s.mark()))
	s.must(os.Chmod(path, 0o700))
}

// ran reports whether a version has been.
func (s *scripts) ran(version string) bool {
	_, err := os.Stat(filepath.Join(s.marks, version))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	return err == nil
}

// yes approves the server as it is, which then runs, as that version.
func (s *scripts) yes(version string) {
	s.t.Helper()
	s.listed("s")
	s.becomes("s", snapshot.OutcomeNeedsApproval)
	if s.ran(version) {
		s.t.Fatalf("%s has run before it was approved", version)
	}
	s.approveWith(agentapi.MCPWidening{Write: []string{s.marks}, Read: []string{s.servers}}, "s")
	s.becomes("s", works...)
	s.echoes("s")
	if !s.ran(version) {
		s.t.Fatalf("%s works and hasn't run: the test can't tell", version)
	}
}

// asked requires that the server waits for an approval and says what has changed,
// and that nothing of the new version runs whatever is tried.
func (s *scripts) asked(version, part string) {
	s.t.Helper()
	_ = s.client.RestartMCPServer(s.ctx, "s")
	_, _ = s.call("s__echo", "{}")
	d := s.becomes("s", snapshot.OutcomeNeedsApproval)
	if r, err := s.call("s__echo", "{}"); err == nil {
		s.t.Errorf("it can be called: %v", r)
	}
	var told bool
	for _, c := range d.Changes {
		told = told || strings.Contains(c.Part+c.Before+c.After, part)
	}
	if !told {
		s.t.Errorf("what has changed is told as %+v, without %q", d.Changes, part)
	}
	s.again()
	s.becomes("s", snapshot.OutcomeNeedsApproval)
	if s.ran(version) {
		s.t.Errorf("%s has run before it was approved", version)
	}
}

// again restarts the agent.
func (s *scripts) again() {
	s.t.Helper()
	s.stop()
	s.start()
	s.listed("s")
}

// TestAskedAgain: whatever of an approved server changes is asked about before a
// byte of it runs, both by an agent that runs and by the next one.
func TestAskedAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		// part is in what is told of the change.
		part          string
		before, after func(s *scripts)
	}{
		{"script", "server.sh", func(s *scripts) {
			s.script(filepath.Join(s.root, "tools/server.sh"), "v1")
			s.configure(config{"s": {Command: "sh", Args: []string{"./tools/server.sh"}}})
		}, func(s *scripts) { s.script(filepath.Join(s.root, "tools/server.sh"), "v2") }},
		{"command", "server.sh", func(s *scripts) {
			s.script(filepath.Join(s.root, "server.sh"), "v1")
			s.configure(config{"s": {Command: "./server.sh"}})
		}, func(s *scripts) { s.script(filepath.Join(s.root, "server.sh"), "v2") }},
		{"argument", "args", func(s *scripts) {
			s.script(filepath.Join(s.root, "v1.sh"), "v1")
			s.script(filepath.Join(s.root, "v2.sh"), "v2")
			s.configure(config{"s": {Command: "sh", Args: []string{"v1.sh"}}})
		}, func(s *scripts) { s.configure(config{"s": {Command: "sh", Args: []string{"v2.sh"}}}) }},
		{"literal", "env", func(s *scripts) {
			s.put(filepath.Join(s.root, "server.sh"), fmt.Sprintf("#!/bin/sh\n: > %s/$VERSION\nexec %s good %s\n", s.marks, s.hostile, s.mark()))
			s.configure(config{"s": {Command: "sh", Args: []string{"server.sh"}, Env: map[string]string{"VERSION": "v1"}}})
		}, func(s *scripts) {
			s.configure(config{"s": {Command: "sh", Args: []string{"server.sh"}, Env: map[string]string{"VERSION": "v2"}}})
		}},
		{"link", "server.sh", func(s *scripts) {
			s.script(filepath.Join(s.root, "one/server.sh"), "v1")
			s.script(filepath.Join(s.root, "two/server.sh"), "v2")
			s.must(os.Symlink("one", filepath.Join(s.root, "current")))
			s.configure(config{"s": {Command: "sh", Args: []string{"current/server.sh"}}})
		}, func(s *scripts) {
			s.must(os.Remove(filepath.Join(s.root, "current")))
			s.must(os.Symlink("two", filepath.Join(s.root, "current")))
		}},
		{"program", "program", func(s *scripts) {
			s.env = []string{"PATH=" + s.home.Dir + "/bin:" + os.Getenv("PATH")}
			s.script(filepath.Join(s.home.Dir, "bin/mytool"), "v1")
			s.configure(config{"s": {Command: "mytool"}})
		}, func(s *scripts) { s.script(filepath.Join(s.home.Dir, "bin/mytool"), "v2") }},
		{"path", "program", func(s *scripts) {
			s.env = []string{"PATH=" + s.home.Dir + "/first:" + s.home.Dir + "/bin:" + os.Getenv("PATH")}
			s.script(filepath.Join(s.home.Dir, "bin/mytool"), "v1")
			s.configure(config{"s": {Command: "mytool"}})
		}, func(s *scripts) { s.script(filepath.Join(s.home.Dir, "first/mytool"), "v2") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScripts(t)
			c.before(s)
			s.start()
			s.yes("v1")
			c.after(s)
			s.asked("v2", c.part)
			s.yes("v2")
			s.stop()
		})
	}
}

// TestRotated: a variable of the environment that an entry refers to may change
// without being asked about, and what the server gets is the new one.
func TestRotated(t *testing.T) {
	t.Parallel()
	s := newScripts(t)
	s.put(filepath.Join(s.root, "server.sh"), fmt.Sprintf("#!/bin/sh\n: > %s/$TOKEN\nexec %s good %s\n", s.marks, s.hostile, s.mark()))
	s.configure(config{"s": {Command: "sh", Args: []string{"server.sh"}, Env: map[string]string{"TOKEN": "${ROTATES}"}}})
	s.env = []string{"ROTATES=v1"}
	s.start()
	s.yes("v1")
	s.stop()
	s.env = []string{"ROTATES=v2"}
	s.start()
	s.becomes("s", works...)
	s.echoes("s")
	if !s.ran("v2") {
		t.Error("it was given the earlier value")
	}
	s.stop()
}

// TestPartial: what digests don't cover is said.
func TestPartial(t *testing.T) {
	t.Parallel()
	s := newScripts(t)
	s.script(filepath.Join(s.root, "server.sh"), "v1")
	s.configure(config{"s": {Command: "sh", Args: []string{"server.sh"}}, "npx": {Command: "npx", Args: []string{"-y", "no-such-package@latest"}}})
	s.start()
	s.listed("s", "npx")
	d, err := s.client.MCPServer(s.ctx, "s")
	s.must(err)
	if d.Pinned != "partial" || len(d.Files) == 0 {
		t.Errorf("a script is pinned %q, with %v", d.Pinned, d.Files)
	}
	if out, err := s.run("mcp", "show", "s"); err != nil || !strings.Contains(out, "not what those load in turn") {
		t.Errorf("it is shown as %s (%v)", out, err)
	}
	if d, err = s.client.MCPServer(s.ctx, "npx"); err != nil || d.Pinned != "entry" {
		t.Errorf("npx is pinned %q: %v", d.Pinned, err)
	}
	s.stop()
}

// TestPortableDigest: the same definition has the same digest elsewhere.
func TestPortableDigest(t *testing.T) {
	t.Parallel()
	var digests, locals []string
	for range 2 {
		s := newScripts(t)
		s.put(filepath.Join(s.root, "server.sh"), "#!/bin/sh\nexit 1\n")
		s.configure(config{"s": {Command: "sh", Args: []string{"server.sh"}, Env: map[string]string{"TOKEN": "${TOKEN}"}}})
		s.start()
		s.listed("s")
		d, err := s.client.MCPServer(s.ctx, "s")
		s.must(err)
		digests, locals = append(digests, d.Definition), append(locals, d.Local)
		s.stop()
	}
	if digests[0] != digests[1] || digests[0] == "" {
		t.Errorf("definitions: %q", digests)
	}
	if locals[0] == locals[1] {
		t.Errorf("locals: %q", locals)
	}
}
