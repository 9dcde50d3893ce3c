package mcp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"waymark/agentapi"
	"waymark/snapshot"
	"waymark/test/process"
	"waymark/test/testenv"
)

// swapped is a server that somebody changes, and changes back, between the moment in
// which it is started and that in which its interpreter opens it.
type swapped struct {
	*scripts
	named string // what the entry names
	here  string // where that is
	pages []byte // what is mapped of it
}

// late has an interpreter that opens its script when wait is over, where %s are the
// marks.
func late(t *testing.T, wait string) *swapped {
	t.Helper()
	s := &swapped{scripts: newScripts(t), named: "above/tools/server.sh"}
	interpreter := filepath.Join(s.home.Dir, "bin/late")
	s.put(interpreter, strings.ReplaceAll("#!/bin/sh\n: > %s/begun\n"+wait+"\nexec sh \"$@\"\n", "%s", s.marks))
	s.must(os.Chmod(interpreter, 0o700))
	s.here = filepath.Join(s.root, s.named)
	s.put(s.here, s.text("v1"))
	s.put(filepath.Join(s.root, "evil/tools/server.sh"), s.text("v2"))
	s.configure(config{"s": {Command: interpreter, Args: []string{s.named}}})
	return s
}

func (s *scripts) touch(mark string) { s.put(filepath.Join(s.marks, mark), "") }

// text is a version of the server, which has a tool of its name. Both are of the same
// length. The second one speaks when the first is back in its place.
func (s *swapped) text(version string) string {
	wait := ":"
	if version == "v2" {
		wait = fmt.Sprintf("while [ ! -e %s/back ]; do sleep 0.01; done", s.marks)
	}
	return fmt.Sprintf("#!/bin/sh\n: > %s/%s\n%-200s\nexec %s good %s tool=%s\n", s.marks, version, wait, s.hostile, s.mark(), version)
}

// swaps are the ways to put one in the place of the other; each returns the way back.
// before is called when it isn't approved yet.
var swaps = []struct {
	name   string
	before func(s *swapped)
	swap   func(s *swapped) (back func())
}{
	{"file", nil, func(s *swapped) func() {
		s.must(os.Rename(s.here, s.here+".was"))
		s.put(s.here, s.text("v2"))
		return func() { s.must(os.Rename(s.here+".was", s.here)) }
	}},
	{"content", nil, func(s *swapped) func() {
		s.write(s.here, "v2")
		return func() { s.write(s.here, "v1") }
	}},
	{"hard link", func(s *swapped) { s.must(os.Link(s.here, filepath.Join(s.root, "other"))) }, func(s *swapped) func() {
		s.write(filepath.Join(s.root, "other"), "v2")
		return func() { s.write(filepath.Join(s.root, "other"), "v1") }
	}},
	{"directory", nil, func(s *swapped) func() { return s.exchange("above/tools", "evil/tools") }},
	{"directory above", nil, func(s *swapped) func() { return s.exchange("above", "evil") }},
	{"link", func(s *swapped) {
		s.must(os.Rename(filepath.Join(s.root, "above"), filepath.Join(s.root, "real")))
		s.must(os.Symlink("real", filepath.Join(s.root, "above")))
		s.here = filepath.Join(s.root, "real/tools/server.sh")
	}, func(s *swapped) func() { return s.exchange("above", "evil") }},
	{"mapping", nil, func(s *swapped) func() {
		if s.pages == nil {
			s.mapping()
		}
		copy(s.pages, s.text("v2"))
		return func() { copy(s.pages, s.text("v1")) } // that it is unmapped would be told
	}},
}

// write writes a version into a file that there is.
func (s *swapped) write(path, version string) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	s.must(err)
	_, err = f.WriteString(s.text(version))
	s.must(err)
	s.must(f.Close())
}

// exchange has two names of the workspace change places.
func (s *swapped) exchange(one, other string) (back func()) {
	one, other = filepath.Join(s.root, one), filepath.Join(s.root, other)
	turn := func(from, to string) {
		s.must(os.Rename(from, one+".away"))
		s.must(os.Rename(to, from))
		s.must(os.Rename(one+".away", to))
	}
	turn(one, other)
	return func() { turn(one, other) }
}

// mapping maps the server so that it can be written without any call of the system.
func (s *swapped) mapping() {
	f, err := os.OpenFile(s.here, os.O_RDWR, 0)
	s.must(err)
	s.pages, err = unix.Mmap(int(f.Fd()), 0, len(s.text("v1")), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	s.must(err)
	s.must(f.Close())
}

// status is how the server is doing. Unlike what is shown of one server, it has nothing
// looked at.
func (s *swapped) status() agentapi.MCPServer {
	list, err := s.client.MCPServers(s.ctx, "s", 0)
	s.must(err)
	return list.Servers[0]
}

func (s *swapped) unmap() {
	if s.pages != nil {
		s.must(unix.Munmap(s.pages))
		s.pages = nil
	}
}

// of returns which versions are offered.
func (s *swapped) of() (list []string) {
	d, err := s.client.MCPServer(s.ctx, "s")
	s.must(err)
	for _, t := range d.Tools {
		if version, ok := strings.CutPrefix(t.Name, "s__v"); ok {
			list = append(list, "v"+version)
		}
	}
	return list
}

// first approves the first version, and has it run once.
func (s *swapped) first() {
	s.touch("go")
	s.start()
	s.yes("v1")
	for _, mark := range []string{"go", "begun", "v1"} {
		s.must(os.Remove(filepath.Join(s.marks, mark)))
	}
}

// TestSwappedBeforeItIsOpened: nothing of a server that isn't what was approved when its
// interpreter opened it is taken, though it was before and is afterwards.
func TestSwappedBeforeItIsOpened(t *testing.T) {
	t.Parallel()
	for _, c := range swaps {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := late(t, "while [ ! -e %s/go ]; do sleep 0.01; done")
			if c.before != nil {
				c.before(s)
			}
			s.first()
			if c.name == "mapping" {
				s.mapping()
				s.of() // it is looked at
			}
			var restarted sync.WaitGroup
			restarted.Go(func() { _ = s.client.RestartMCPServer(s.ctx, "s") })
			s.await("that it begins, or isn't started", func() (any, bool) {
				d := s.status()
				return d.Outcome, s.ran("begun") || d.Outcome == snapshot.OutcomeFailed
			})
			begun := time.Now()
			back := c.swap(s)
			s.touch("go")
			s.await("that the other runs, or nothing", func() (any, bool) {
				d := s.status()
				return d.Outcome, s.ran("v2") || d.State != "starting"
			})
			back()
			t.Logf("the edits took %v; the other has run: %v", time.Since(begun), s.ran("v2"))
			s.touch("back")
			restarted.Wait()
			s.await("what comes of it", func() (any, bool) {
				d := s.status()
				return d.State, d.State != "starting"
			})
			if got := s.of(); strings.Contains(strings.Join(got, " "), "v2") {
				t.Errorf("tools of %v are offered", got)
			}
			s.unmap()
			s.becomes("s", works...)
			s.echoes("s")
			if got := s.of(); len(got) != 1 || got[0] != "v1" {
				d := s.status()
				t.Errorf("tools of %v are offered: %v %v", got, d.Outcome, d.Error)
			}
			if _, err := s.call("s__v2", "{}"); err == nil {
				t.Error("what nobody has approved has answered")
			}
			s.stop()
		})
	}
}

// TestSwapper: somebody who changes an approved server all the time, and changes it back,
// never has anything delivered that wasn't approved, and never waits for the agent.
func TestSwapper(t *testing.T) {
	t.Parallel()
	s := late(t, "sleep 0.05")
	s.touch("back") // the other one answers at once
	s.must(os.Link(s.here, filepath.Join(s.root, "other")))
	s.first()
	random := testenv.Rand(t)
	lasting := 4 * time.Second
	if testenv.Long() {
		lasting = time.Hour
	}
	begun, edits, slowest := time.Now(), 0, time.Duration(0)
	done := make(chan struct{})
	var asking sync.WaitGroup
	asking.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			_ = s.client.RestartMCPServer(s.ctx, "s")
			if r, err := s.call("s__v2", "{}"); err == nil {
				t.Errorf("what nobody has approved has answered: %s", say(r))
			}
			if list := s.of(); strings.Contains(strings.Join(list, " "), "v2") {
				t.Errorf("tools of %v are offered", list)
			}
		}
	})
	pause := func() { s.must(process.Pause(s.ctx, time.Duration(random.IntN(120))*time.Millisecond)) }
	for time.Since(begun) < lasting && !t.Failed() {
		c := swaps[random.IntN(len(swaps))]
		if c.name == "link" {
			continue // there is a directory
		}
		pause()
		edit := time.Now()
		back := c.swap(s)
		took := time.Since(edit)
		pause()
		edit = time.Now()
		back()
		s.unmap()
		slowest = max(slowest, took, time.Since(edit))
		edits++
	}
	close(done)
	asking.Wait()
	t.Logf("%d edits, of which the slowest took %v", edits, slowest)
	if slowest > 20*time.Second { // half of what the system lets an edit wait for a lease
		t.Errorf("an edit took %v", slowest)
	}
	s.becomes("s", works...)
	s.stop()
}
