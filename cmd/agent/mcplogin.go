package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/agent"
	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/cmd/internal/cli"
	"waymark/snapshot"
)

func (a *app) mcpLoginCommand(conn *connection) *cobra.Command {
	var asJSON, paste, forget bool
	var clientID, secretFile string
	cmd := &cobra.Command{
		Use:   "login NAME",
		Short: "Sign in to a server that requires it",
		Long: `Login prints the address to sign in to a server with OAuth, and waits until you have.
The browser is redirected to the agent, on this machine's loopback. If it can't get
there, for example from another machine, use --paste, which reads the final address
instead.

If clients can't register themselves, --client-id names a client that you have
registered with the redirect URI http://127.0.0.1/callback, at any port.

The tokens are kept sealed on this machine; --forget deletes them. The exit code is 3 if
there is no such server, or no agent runs.`,
		Example: `  agent mcp login linear
  agent mcp login linear --paste
  agent mcp login linear --client-id 1234 --client-secret-file secret
  agent mcp login linear --forget`,
		Args: cli.Named("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if forget && (paste || clientID != "" || secretFile != "") {
				return cli.Usage("--forget signs out: it takes none of the flags for signing in")
			}
			as, err := registered(clientID, secretFile)
			if err != nil {
				return err
			}
			c, err := conn.client()
			if err != nil {
				return err
			}
			if forget {
				done, err := c.LoginMCPServer(cmd.Context(), args[0], agentapi.LoginMCPServer{Forget: true})
				if err != nil {
					return err
				}
				return a.printLogin(args[0], done, "signed out", asJSON)
			}
			return a.loginMCP(cmd.Context(), c, args[0], as, paste, asJSON)
		},
		ValidArgsFunction: cli.InOrder(false, mcpServerNames),
	}
	f := cmd.Flags()
	f.BoolVar(&paste, "paste", false, "read the browser's final address from standard input")
	f.BoolVar(&forget, "forget", false, "delete the tokens")
	f.StringVar(&clientID, "client-id", "", "sign in as this `client`, which is registered with the server")
	f.StringVar(&secretFile, "client-secret-file", "", "`file` with the secret of --client-id, if it has one")
	f.BoolVar(&asJSON, "json", false, "print JSON once it is done; the URL is on standard error")
	return cmd
}

// registered starts a login, with a registered client if there is one.
func registered(id, secretFile string) (as agentapi.LoginMCPServer, err error) {
	switch {
	case secretFile == "":
	case id == "":
		return as, cli.Usage("--client-secret-file is of a client: name that with --client-id")
	default:
		if as.ClientSecret, err = agent.NamedToken(secretFile); err != nil {
			return as, fmt.Errorf("--client-secret-file: %w", err)
		}
	}
	as.ClientID = id
	return as, nil
}

func (a *app) loginMCP(ctx context.Context, c client.Client, name string, as agentapi.LoginMCPServer, paste, asJSON bool) error {
	login, err := c.LoginMCPServer(ctx, name, as)
	if err != nil {
		return err
	}
	if login.Done {
		return a.printLogin(name, login, "signed in already", asJSON)
	}
	a.side("sign in here:\n\n  %s\n", cli.Visible(login.URL))
	if paste {
		if login, err = a.pasteLogin(ctx, c, name); err != nil {
			return err
		}
	} else {
		a.side("waiting for the browser; where it can't reach this machine use --paste")
		if err := signedIn(ctx, c, name); err != nil {
			return err
		}
		login = &agentapi.MCPLogin{Done: true}
	}
	return a.printLogin(name, login, "signed in", asJSON)
}

func (a *app) printLogin(name string, login *agentapi.MCPLogin, what string, asJSON bool) error {
	if asJSON {
		return cli.JSON(a.stdout, login)
	}
	_, err := fmt.Fprintf(a.stdout, "%s: %s\n", cli.Visible(name), what)
	return err
}

// pasteLogin completes a login with the address that the user pastes.
func (a *app) pasteLogin(ctx context.Context, c client.Client, name string) (*agentapi.MCPLogin, error) {
	a.side("then paste the whole address at which the browser ended, also where it shows an error:")
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if line = strings.TrimSpace(line); line == "" {
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return nil, cli.Usage("--paste: no address was pasted")
	}
	login, err := c.LoginMCPServer(ctx, name, agentapi.LoginMCPServer{Redirect: line})
	if err == nil && !login.Done {
		err = errors.New("the server hasn't let us in: begin again with 'agent mcp login'")
	}
	return login, err
}

// loginEvery is the interval at which the login is checked.
const loginEvery = time.Second

// signedIn waits until the server no longer needs a login.
func signedIn(ctx context.Context, c client.Client, name string) error {
	tick := time.NewTicker(loginEvery)
	defer tick.Stop()
	for {
		s, err := c.MCPServer(ctx, name)
		switch {
		case err != nil:
			return err
		case s.Outcome == snapshot.OutcomeNeedsAuthorization, s.Outcome == snapshot.OutcomePending:
		case s.Outcome == snapshot.OutcomeFailed:
			return fmt.Errorf("%s doesn't answer: %w", name, errors.New(s.Error))
		default:
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
