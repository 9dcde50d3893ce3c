package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"waymark/agent"
	"waymark/agent/server"
	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/cmd/internal/cli"
	"waymark/internal/httpapi"
	"waymark/workspace/desktop"
)

func (a *app) desktopCommand() *cobra.Command {
	var conn connection
	cmd := &cobra.Command{
		Use:   "desktop",
		Short: "Show, record and forward the screen that chats use",
		Long: `The running agent has a screen for chats if services.desktop is true in its
configuration: Xvnc with a window manager, which starts when it is first used and ends
with the agent. 'agent doctor' says what has to be installed.`,
		Example: `  agent desktop start
  agent desktop screenshot screen.png
  agent desktop record session.mp4
  agent desktop forward ~/vnc.sock`,
	}
	cli.Group(cmd)
	conn.addFlags(cmd)
	// with makes the command of an action that needs a client.
	with := func(use, short, long string, args cobra.PositionalArgs, do func(context.Context, client.Client, []string) error) {
		cmd.AddCommand(&cobra.Command{Use: use, Short: short, Long: long, Args: args, RunE: func(cmd *cobra.Command, args []string) error {
			c, err := conn.client()
			if err != nil {
				return err
			}
			return do(cmd.Context(), c, args)
		}})
	}
	with("start", "Start the desktop, and print the variables of programs that show something on it",
		`Start starts the desktop if it doesn't run. It prints DISPLAY and XAUTHORITY for a shell.
Processes that chats with the scope desktop start have these variables by themselves.`,
		cobra.NoArgs, func(ctx context.Context, c client.Client, _ []string) error {
			state, err := c.StartDesktop(ctx)
			if err == nil {
				_, err = fmt.Fprintf(a.stdout, "export DISPLAY=%s XAUTHORITY='%s'\n", state.Display, strings.ReplaceAll(state.Xauthority, "'", `'\''`))
			}
			return err
		})
	with("stop", "End the desktop, and the programs on it", `Stop ends the desktop. It starts again when somebody uses it.`,
		cobra.NoArgs, func(ctx context.Context, c client.Client, _ []string) error { return c.StopDesktop(ctx) })
	with("screenshot FILE", "Save a picture of the screen as PNG", `Screenshot writes a PNG to a file, or to standard output for "-".`,
		cobra.ExactArgs(1), func(ctx context.Context, c client.Client, args []string) error {
			shot, err := c.DesktopAction(ctx, agentapi.DesktopAction{Action: "screenshot"})
			if err != nil {
				return err
			}
			data, err := base64.StdEncoding.DecodeString(shot.ScreenshotData)
			if err != nil {
				return err
			}
			if args[0] != "-" {
				return os.WriteFile(args[0], data, 0o600)
			}
			_, err = a.stdout.Write(data)
			return err
		})
	with("record FILE", "Record the screen as MP4 until you interrupt it",
		`Record records the screen until Ctrl-C, or for 10 minutes in which nobody acts, and then
writes an MP4. Pauses are shortened to half a second.`,
		cobra.ExactArgs(1), a.recordDesktop)
	with("forward ADDRESS", "Let VNC clients on this machine reach the screen",
		`Forward listens at a path, as a Unix socket that only you can open, or at a loopback
address such as 127.0.0.1:5900, which every user of this machine can connect to. It
forwards each connection to the screen until you interrupt it.`,
		cobra.ExactArgs(1), a.forwardDesktop)
	return cmd
}

// recordDesktop records until ctx ends, and fetches the recording.
func (a *app) recordDesktop(ctx context.Context, c client.Client, args []string) (err error) {
	id := uuid.NewString()
	file, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := c.StartRecording(ctx, id); err != nil {
		return err
	}
	a.progress("recording: Ctrl-C ends it")
	<-ctx.Done()
	fetch, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Minute)
	defer cancel()
	_, err = c.StopRecording(fetch, id, file)
	return err
}

// forwardDesktop forwards connections until ctx ends.
func (a *app) forwardDesktop(ctx context.Context, c client.Client, args []string) error {
	listen := func() (net.Listener, error) { return httpapi.ListenUnix(args[0]) }
	if host, _, err := net.SplitHostPort(args[0]); err == nil && !strings.Contains(args[0], "/") {
		if !httpapi.IsLoopback(host) {
			return cli.Usage("%s: use a loopback address, such as 127.0.0.1:5900, or a path", args[0])
		}
		listen = func() (net.Listener, error) { return server.ListenTCP(ctx, args[0]) }
	}
	if _, err := c.StartDesktop(ctx); err != nil {
		return err
	}
	l, err := listen()
	if err != nil {
		return err
	}
	a.progress("VNC clients connect to " + cli.Visible(l.Addr().String()))
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	var all sync.WaitGroup
	defer all.Wait()
	for {
		peer, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		all.Go(func() {
			defer func() { _ = peer.Close() }()
			screen, err := c.WatchDesktop(ctx)
			if err != nil {
				a.progress(cli.Visible(err.Error()))
				return
			}
			go func() {
				_, _ = io.Copy(screen, peer) // the end of either ends both
				_ = screen.Close()
			}()
			_, _ = io.Copy(peer, screen)
		})
	}
}

// desktopPrograms checks what the desktop needs.
func (p *patient) desktopPrograms(context.Context) finding {
	switch {
	case p.config == nil || p.paths == nil:
		return finding{}
	case !p.config.Services.Desktop:
		return fine("services.desktop is false: chats have no screen")
	}
	if missing := desktop.Missing(agent.DesktopSettings(&p.config.Desktop, p.paths)); len(missing) > 0 {
		return failure("", "%s", strings.Join(missing, "; "))
	}
	return fine("its programs are there")
}
