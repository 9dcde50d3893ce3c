package pgtest

import (
	"bufio"
	"errors"
	"io"
	"os"
	osexec "os/exec"
	"runtime"
	"strings"
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
