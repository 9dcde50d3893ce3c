package main

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"waymark/host/push"
	"waymark/hub"
	"waymark/hub/store"
	"waymark/hub/store/drivers"
	"waymark/internal/credential"
	"waymark/snapshot"
	"waymark/test/process"
	"waymark/test/testenv"
)

// TestStop: a signal ends the hub and its commands, whatever hangs.
func TestStop(t *testing.T) {
	t.Parallel()
	serve := func(dir string, more ...string) *exec.Cmd {
		cmd := exec.Command("hub", append([]string{"serve", "--http", "127.0.0.1:0", "--db", "sqlite:" + dir + "/hub.db", "--drpc", "unix:" + dir + "/s"}, more...)...)
		cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+dir)
		return cmd
	}
	ready := func(t *testing.T, dir string) *process.Owned {
		p := process.StartOwned(t, serve(dir))
		p.Prints("hub is ready")
		return p
	}
	cases := map[string]func(t *testing.T, dir string) *process.Owned{
		"nothing": ready,
		"peers that say nothing": func(t *testing.T, dir string) *process.Owned {
			p := ready(t, dir)
			for range 20 {
				dialed(t, dir)
			}
			return p
		},
		"peers that stop in the middle": func(t *testing.T, dir string) *process.Owned {
			p := ready(t, dir)
			for i := range 20 {
				// The begin of a DRPC call, and of an HTTP request on the wrong port.
				_, _ = dialed(t, dir).Write([]byte(strings.Repeat("\x03\x01\x02\xff", i)))
			}
			return p
		},
		"the database": func(t *testing.T, dir string) *process.Owned {
			token := created(t, dir)
			p := ready(t, dir)
			lockDB(t, dir+"/hub.db")
			pushes(t, dir, token)
			return p
		},
		"the database from the start": func(t *testing.T, dir string) *process.Owned {
			created(t, dir)
			lockDB(t, dir+"/hub.db")
			p := process.StartOwned(t, serve(dir))
			p.Until("it listens", func() bool { _, err := os.Stat(dir + "/s"); return err == nil })
			return p
		},
		"a command's database": func(t *testing.T, dir string) *process.Owned {
			created(t, dir)
			lockDB(t, dir+"/hub.db")
			return process.StartOwned(t, exec.Command("hub", "token", "list", "--db", "sqlite:"+dir+"/hub.db"))
		},
		"a database server": func(t *testing.T, dir string) *process.Owned {
			address, accepted := process.Deaf(t)
			p := process.StartOwned(t, serve(dir, "--db", "postgres://waymark@"+address+"/waymark?sslmode=disable"))
			<-accepted
			return p
		},
		"a certificate on a dead disk": func(t *testing.T, dir string) *process.Owned {
			tokens, hangs := process.FIFO(t)
			p := process.StartOwned(t, serve(dir, "--tls-cert", tokens, "--tls-key", tokens))
			p.Until("it reads", hangs)
			return p
		},
		"standard error": func(t *testing.T, dir string) *process.Owned {
			cmd := serve(dir, "--log-level", "debug")
			cmd.Stderr = process.FullPipe(t)
			p := process.StartOwned(t, cmd)
			p.Until("it listens", func() bool { _, err := os.Stat(dir + "/s"); return err == nil })
			return p
		},
		"a hub that is asked": func(t *testing.T, dir string) *process.Owned {
			address, accepted := process.Deaf(t)
			token := filepath.Join(dir, "token")
			if err := os.WriteFile(token, []byte(credential.ReaderToken.New()+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			p := process.StartOwned(t, exec.Command("hub", "agents", "--url", "http://"+address, "--token-file", token))
			<-accepted
			return p
		},
	}
	for name, hang := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hang(t, socketDir(t)).Ends(syscall.SIGTERM)
		})
	}
	t.Run("any moment", func(t *testing.T) {
		dir, rng := socketDir(t), testenv.Rand(t)
		for range 8 {
			p := process.StartOwned(t, serve(dir))
			<-time.After(time.Duration(rng.IntN(200)) * time.Millisecond)
			p.Ends([]syscall.Signal{syscall.SIGTERM, syscall.SIGINT}[rng.IntN(2)])
		}
	})
}

// socketDir is a directory with a short path.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "wm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func dialed(t *testing.T, dir string) net.Conn {
	t.Helper()
	conn, err := net.Dial("unix", dir+"/s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// created makes the database, and returns an agent's token.
func created(t *testing.T, dir string) string {
	t.Helper()
	st, err := drivers.Open(t.Context(), "sqlite:"+dir+"/hub.db", drivers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := hub.CreateToken(t.Context(), st, store.NewToken{Role: store.RoleAgent, AgentID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	return text
}

// lockDB locks a database, as a program that hangs would.
func lockDB(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	for _, statement := range []string{"PRAGMA busy_timeout = 60000", "BEGIN IMMEDIATE"} {
		if _, err := db.ExecContext(context.WithoutCancel(t.Context()), statement); err != nil {
			t.Fatal(fmt.Errorf("%s: %w", statement, err))
		}
	}
}

// pushes has an agent push what can't be stored, and waits until it is at it.
func pushes(t *testing.T, dir, token string) {
	t.Helper()
	opts, err := push.Remote("unix:"+dir+"/s", push.RemoteOptions{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	pusher := push.New(opts)
	var running sync.WaitGroup
	running.Go(func() { _ = pusher.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	pusher.Publish(&snapshot.Snapshot{Version: 1, AggregateHash: []byte("x"), Plugins: []snapshot.Plugin{}})
	short, done := context.WithTimeout(ctx, 300*time.Millisecond)
	defer done()
	if pusher.Accepted(short, 1) == nil {
		t.Fatal("a locked database takes a push")
	}
}
