package pgtest

import (
	"fmt"
	"net/url"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Options are for Start.
type Options struct {
	// Durable makes the server as safe as it is by default: it syncs what it
	// says is committed. Without it a killed server may lose everything.
	Durable bool
}

// Server is a PostgreSQL server of this process.
type Server struct {
	opts Options
	bin  string
	dir  string // of the data and the socket
	cred *syscall.Credential
	log  log
	run  *run // nil: not running
}

// Start starts a server for one test, which may kill and start it again. It is
// stopped when the test ends.
func Start(t testing.TB, opts Options) *Server {
	t.Helper()
	skipShort(t)
	s, err := start(opts)
	check(t, err)
	t.Cleanup(func() {
		s.stop()
		if t.Failed() {
			t.Logf("PostgreSQL's log:\n%s", s.log.tail())
		}
	})
	return s
}

func start(opts Options) (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	s := &Server{opts: opts, bin: bin}
	if s.cred, err = unprivileged(); err != nil {
		return nil, err
	}
	// Not below the test's directory, whose name may be too long for a socket
	// and which only its owner can enter.
	if s.dir, err = os.MkdirTemp("", "pg"); err != nil {
		return nil, err
	}
	if err = s.create(); err == nil {
		err = s.launch()
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// URL returns the URL of a database of that name. Who connects to it has all the
// time that a slow machine takes.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://waymark@/%s?connect_timeout=%d&host=%s", database, timeout/time.Second, url.QueryEscape(s.dir))
}

// create makes the data directory.
func (s *Server) create() error {
	if s.cred != nil {
		if err := os.Chown(s.dir, int(s.cred.Uid), int(s.cred.Gid)); err != nil {
			return fmt.Errorf("%w (%w)", errRoot, err) // root has no other users in a container
		}
	}
	args := []string{"-D", s.data(), "--auth=trust", "--username=waymark", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"}
	out, err := s.command("initdb", append(args, "--locale-provider=icu", "--icu-locale=en-US")...).CombinedOutput()
	if err != nil { // before version 15, or built without ICU
		if again, err := s.command("initdb", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("initdb: %w\n%s%s", err, out, again)
		}
	}
	return nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// command prepares one of PostgreSQL's programs.
func (s *Server) command(name string, args ...string) *osexec.Cmd {
	cmd := osexec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"LC_ALL=C.UTF-8", "PATH=" + os.Getenv("PATH"), "TZ=UTC"}
	cmd.SysProcAttr = dieWithParent()
	cmd.SysProcAttr.Credential = s.cred
	return cmd
}

// Kill ends the server and its processes at once, as a crash does.
func (s *Server) Kill() {
	for _, child := range children(s.run.cmd.Process.Pid) {
		_ = syscall.Kill(child, syscall.SIGKILL)
	}
	_ = s.run.cmd.Process.Kill()
	<-s.run.exited
	<-s.run.gone
	s.run = nil
}

// Restart starts the server that Kill or Stop has ended.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	if err := s.launch(); err != nil {
		t.Fatal(err)
	}
}

// Stop ends the server in good order: it ends the connections, and writes
// everything.
func (s *Server) Stop() { s.end(syscall.SIGINT) }

func (s *Server) end(signal syscall.Signal) {
	if s.run == nil {
		return
	}
	_ = s.run.cmd.Process.Signal(signal)
	<-s.run.exited
	<-s.run.gone
	s.run = nil
}

// stop ends the server for good.
func (s *Server) stop() {
	s.end(syscall.SIGQUIT) // at once: nobody needs the data any more
	_ = os.RemoveAll(s.dir)
}

// log keeps the end of what a server writes.
type log struct {
	mu    sync.Mutex // guards lines
	lines []string
}

func (l *log) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	const most = 200
	if len(l.lines) == most {
		l.lines = l.lines[1:]
	}
	l.lines = append(l.lines, line)
}

func (l *log) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}
