package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"waymark/hub"
	"waymark/hub/store"
)

// serveFlags are the flags of hub serve.
type serveFlags struct {
	listen     hub.ListenOptions
	tokensFile string
	log        logFlags
}

func newServe() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the hub until it is told to stop (SIGINT or SIGTERM)",
		Long: `Runs the hub. Agents connect over HTTP (--http), at the same place as to a
Coder server: their --url is the hub's, such as https://hub.example.com. On
this machine they can also use plain DRPC (--drpc, which can be given several
times; by default a socket that only this user can open). People and programs
read over HTTP, too, with a reader token.

There is no TLS here: an address that isn't loopback is refused, unless
--insecure says that the network can be trusted. Behind a reverse proxy, name
the hosts under which it is called with --allow-host; the proxy must pass
WebSockets on.

The database is a file (sqlite:PATH) or PostgreSQL (postgres://…), which
several hubs can share. Put a password for it into PGPASSWORD or a file that
PGPASSFILE names, not into the command line.

--tokens names a file with tokens that were made elsewhere, one on a line:

  # role  agent id, or a reader's name  token
  agent   dev-1                         wma_<32 random bytes in base64url>
  reader  dashboard                     wmr_<32 random bytes in base64url>

Only its owner may be able to read it (mode 0600). It is read at the start; a
token that was in the file once and isn't any more is no longer valid.`,
		Example: `  hub serve
  hub serve --http 127.0.0.1:0 --drpc tcp:127.0.0.1:7879
  hub serve --db sqlite:/var/lib/waymark/hub.db --tokens /etc/waymark/tokens
  hub serve --db postgres://waymark@db.example.com/waymark --allow-host hub.example.com`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	addDB(cmd, &f.listen.DB)
	flags := cmd.Flags()
	flags.StringVar(&f.listen.HTTP, "http", hub.DefaultHTTP, "`address` of the HTTP API; port 0 takes a free one")
	flags.StringArrayVar(&f.listen.DRPC, "drpc", nil, "where agents connect, unix:PATH or tcp:`ADDR`; can be repeated (default unix:$XDG_RUNTIME_DIR/waymark/hub.sock)")
	flags.StringArrayVar(&f.listen.AllowHosts, "allow-host", nil, "further host `name` under which the HTTP API may be called; can be repeated")
	flags.StringVar(&f.tokensFile, "tokens", "", "`file` of tokens that were made elsewhere")
	flags.BoolVar(&f.listen.Insecure, "insecure", false, "allow addresses that are not loopback, without TLS")
	f.log.add(cmd)
	return cmd
}

func (f *serveFlags) run(cmd *cobra.Command) error {
	logger, err := f.log.logger(cmd, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	f.listen.Logger, f.listen.Databases = logger, databases()
	if len(f.listen.DRPC) == 0 {
		spec, err := hub.DefaultDRPC()
		if err != nil {
			return err
		}
		f.listen.DRPC = []string{spec}
	}
	// Everything that can be wrong is read before anything is opened.
	var tokens []store.NewToken
	if f.tokensFile != "" {
		if tokens, err = hub.ReadTokens(f.tokensFile); err != nil {
			return err
		}
	}
	ctx := cmd.Context()
	server, err := hub.Listen(ctx, f.listen)
	if err != nil {
		return err
	}
	defer server.Close()
	if err := server.Store().SyncProvisioned(ctx, tokens); err != nil {
		return err
	}
	if err := hint(ctx, server.Store(), f.listen.DB, cmd.ErrOrStderr()); err != nil {
		return err
	}
	logger.Info("hub is ready", slog.String("http", server.HTTPURL()), slog.Any("drpc", server.DRPC()))
	if err := server.Run(ctx); err != nil {
		return err
	}
	logger.Info("hub has stopped")
	return server.Close()
}

// hint tells someone who starts a hub for the first time what is missing.
func hint(ctx context.Context, st store.Store, db string, stderr io.Writer) error {
	tokens, err := st.Tokens(ctx)
	if err != nil {
		return err
	}
	for i := range tokens {
		if tokens[i].Role == store.RoleReader && !tokens[i].Revoked() {
			return nil
		}
	}
	at := ""
	if db != "" {
		at = " --db " + db
	}
	fmt.Fprintf(stderr, "There is no reader token yet, so nobody can see anything. Make one with\n  hub token create --role reader%s\nand one for each agent with\n  hub token create --role agent --agent ID%s\n", at, at)
	return nil
}

// logFlags choose the form of the log.
type logFlags struct{ format, level string }

func (f *logFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.format, "log-format", "text", "`form` of the log: text or json")
	cmd.Flags().StringVar(&f.level, "log-level", "info", "least `level` that is logged: debug, info, warn or error")
	complete(cmd, "log-format", "text", "json")
	complete(cmd, "log-level", "debug", "info", "warn", "error")
}

func (f *logFlags) logger(cmd *cobra.Command, w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.level)); err != nil {
		return nil, usage(cmd, "--log-level %q: want debug, info, warn or error", f.level)
	}
	opts := &slog.HandlerOptions{Level: level}
	switch f.format {
	case "text":
		return slog.New(slog.NewTextHandler(w, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, opts)), nil
	}
	return nil, usage(cmd, "--log-format %q: want text or json", f.format)
}

// complete offers the values of a flag to the shell.
func complete(cmd *cobra.Command, flag string, values ...string) {
	// It only fails for a flag that doesn't exist.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
