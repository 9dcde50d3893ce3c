package pgtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// run is one run of the server.
type run struct {
	cmd *osexec.Cmd
	// exited is closed when the server has; gone, when all its processes have.
	exited, gone chan struct{}
}

// launch starts the server and waits until it takes connections.
func (s *Server) launch() error {
	settings := []string{
		"listen_addresses=", "unix_socket_directories=" + s.dir, "max_connections=120", "shared_buffers=32MB",
		"max_wal_senders=0", "wal_level=minimal", "log_min_messages=warning", "log_statement=none",
	}
	if !s.opts.Durable {
		settings = append(settings, "fsync=off", "full_page_writes=off", "synchronous_commit=off")
	}
	args := []string{"-D", s.data()}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	r := &run{cmd: s.command("postgres", args...), exited: make(chan struct{}), gone: make(chan struct{})}
	ready, err := s.follow(r)
	if err != nil {
		return err
	}
	started := make(chan error)
	go func() {
		// The kernel ends the server when the thread ends that started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := r.cmd.Start()
		started <- err
		if err == nil {
			_ = r.cmd.Wait() // ended as it was told, or killed
			close(r.exited)
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	_ = r.cmd.Stderr.(io.Closer).Close() // the server has a copy, and only its end ends the pipe
	s.run = r
	select {
	case <-ready:
		return nil
	case <-r.exited:
		<-r.gone
		return errors.New("PostgreSQL ended at once:\n" + s.log.tail())
	case <-time.After(timeout):
		return errors.New("PostgreSQL doesn't start:\n" + s.log.tail())
	}
}

// follow collects what the server writes, and closes ready when it says that
// it is.
func (s *Server) follow(r *run) (ready chan struct{}, err error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	r.cmd.Stderr = writer
	ready = make(chan struct{})
	go func() {
		defer close(r.gone)
		defer reader.Close()
		said := false
		for lines := bufio.NewScanner(reader); lines.Scan(); {
			s.log.add(lines.Text())
			if !said && strings.Contains(lines.Text(), "ready to accept connections") {
				said = true
				close(ready)
			}
		}
	}()
	return ready, nil
}

var (
	errMissing = errors.New("initdb is not installed; install Debian's postgresql, or set " + serverVariable)
	// errRoot says that PostgreSQL is there, and that this process can't run it.
	errRoot = errors.New("PostgreSQL doesn't run as root; run the tests as another user, or set " + serverVariable)
)

// programs returns the directory of PostgreSQL's programs: of the newest
// version where Debian puts them, which is outside PATH, or where initdb is.
func programs() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err == nil && len(found) > 0 {
		version := func(path string) int {
			n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) // 0 for what is no version
			return n
		}
		return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })), nil
	}
	path, err := osexec.LookPath("initdb")
	if err != nil {
		return "", errMissing
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", err
	}
	return filepath.Dir(path), nil
}

// unprivileged returns who the server is to run as: nil for this user, and
// somebody else for root, whom PostgreSQL refuses. It also refuses whoever has
// no name, so errRoot is the answer where nobody has one.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, fmt.Errorf("%w (%w)", errRoot, err)
		}
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}
