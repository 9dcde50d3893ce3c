package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/stop"
	"waymark/hub"
	"waymark/hub/metrics"
	"waymark/hub/shared"
	"waymark/hub/store"
	"waymark/hub/store/drivers"
	"waymark/hub/transport"
)

// afterDrain is for closing listeners and the database after the drain. With the default
// drain both are within stop.Bound.
const afterDrain = time.Second

// serveFlags are the flags of hub serve.
type serveFlags struct {
	listen     hub.ListenOptions
	keep       store.Retention
	tokensFile string
	log        logFlags
}

func newServe() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the hub until it is stopped (SIGINT or SIGTERM)",
		Long: `Runs the hub. Agents connect over HTTP (--http), at the same path as to a Coder server:
their --url is the hub's, such as https://hub.example.com. On this machine they can also
use plain DRPC (--drpc, which can be repeated; by default a socket that only this user
can open). People and programs read over HTTP, too, with a reader's token.

With --tls-cert and --tls-key it serves HTTPS. The files are reread when they change,
and at once on SIGHUP. If a new pair is invalid, the old one stays in use. Without TLS
an address that isn't loopback is refused, unless --insecure declares that the network
is trusted. Behind a reverse proxy, or under a name of its own, list the hub's host
names with --allow-host; a proxy must forward WebSockets.

--monitor opens a port for monitoring: /metrics for Prometheus, /healthz and /readyz,
without a token and without the name of any agent.

On SIGTERM or SIGINT it accepts nothing new, answers current calls, tells the agents to
reconnect and ends; --drain-timeout limits this. What still hangs is ended by force,
with the default limit within 5 seconds of the signal. A second signal ends the hub at
once.

The database is a file (sqlite:PATH) or PostgreSQL (postgres://…), which several hubs
can share; HUB_DB names it instead of --db. Only serve and restore create it. Give each
hub its own address with --advertise, so that the others can forward requests to the hub
that the agent is connected to. Put a password for the database into PGPASSWORD or a
file that PGPASSFILE names, not into the command line. If XDG_STATE_HOME is set, it
replaces ~/.local/state in the defaults here.

--tokens names a file with tokens that were created elsewhere, one on each line:

  # role    agent id, or another's name  token
  agent     dev-1                        wma_<32 random bytes in base64url>
  reader    dashboard                    wmr_<32 random bytes in base64url>
  operator  ops                          wmo_<32 random bytes in base64url>

Only its owner may be able to read it (mode 0600). It is read at the start. A token that
is no longer in the file is no longer valid.`,
		Example: `  hub serve
  hub serve --http 127.0.0.1:0 --drpc tcp:127.0.0.1:7879
  hub serve --db sqlite:/var/lib/waymark/hub.db --tokens /etc/waymark/tokens
  hub serve --http :443 --allow-host hub.example.com \
    --tls-cert /etc/waymark/tls.crt --tls-key /etc/waymark/tls.key
  hub serve --monitor 127.0.0.1:9090
  hub serve --db postgres://waymark@db.example.com/waymark \
    --advertise http://10.0.0.7:7878`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := f.run(cmd)
			if cmd.Context().Err() != nil && errors.Is(err, context.Canceled) {
				return nil // asked to end before it began, which is no failure
			}
			return err
		},
	}
	addDB(cmd, &f.listen.DB)
	flags := cmd.Flags()
	flags.StringVar(&f.listen.HTTP, "http", hub.DefaultHTTP, "`address` of the HTTP API; port 0 uses a free one")
	flags.StringVar(&f.listen.TLSCert, "tls-cert", "", "`file` of the TLS certificate with its chain (PEM); with it the hub serves HTTPS")
	flags.StringVar(&f.listen.TLSKey, "tls-key", "", "`file` of the certificate's key (PEM)")
	flags.StringVar(&f.listen.Monitor, "monitor", "", "`address` of a port for /metrics, /healthz and /readyz; none by default")
	flags.DurationVar(&f.listen.DrainTimeout, "drain-timeout", hub.DefaultDrain, "`time` to finish current calls at the end, such as 10s")
	flags.StringArrayVar(&f.listen.DRPC, "drpc", nil, "`address` for agents, unix:PATH or tcp:HOST:PORT; can be repeated (default unix:$XDG_RUNTIME_DIR/waymark/hub.sock)")
	flags.StringArrayVar(&f.listen.AllowHosts, "allow-host", nil, "another host `name` of the HTTP API; can be repeated")
	flags.StringVar(&f.listen.Advertise, "advertise", "", "`URL` where other hubs of this database reach this one, such as http://10.0.0.7:7878; none by default")
	flags.IntVar(&f.listen.Limits.Connections, "max-agents", transport.MaxConnections, "`number` of agents that may be connected; /readyz says when there are as many")
	flags.StringVar(&f.tokensFile, "tokens", "", "`file` of tokens that were created elsewhere")
	flags.BoolVar(&f.listen.Insecure, "insecure", false, "allow addresses that are not loopback, without TLS")
	defaults := store.Retention{}.Effective()
	flags.IntVar(&f.keep.Revisions, "keep-revisions", defaults.Revisions, "`number` of revisions to keep of each agent, including the newest")
	flags.DurationVar(&f.keep.Age, "keep-age", defaults.Age, "`time` to keep a revision after it ceased to be the newest, such as 24h")
	flags.Int64Var(&f.keep.Bytes, "keep-bytes", defaults.Bytes, "`bytes` to keep of each agent's history")
	f.log.add(cmd)
	return cmd
}

// gcPercent makes the garbage collector run half as often as usual. A push leaves several
// times its length of garbage beside a heap of some tens of MiB, and collecting it takes a
// quarter of a busy hub's CPU.
const gcPercent = 200

func (f *serveFlags) run(cmd *cobra.Command) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	logger, err := f.log.logger(cmd, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if f.listen.DrainTimeout <= 0 {
		return usage(cmd, "--drain-timeout %s: want a duration above zero", f.listen.DrainTimeout)
	}
	if f.keep.Revisions < 1 || f.keep.Age <= 0 || f.keep.Bytes < 1 {
		return usage(cmd, "--keep-revisions, --keep-age and --keep-bytes must be above zero; the newest revision is kept in any case")
	}
	if f.listen.Limits.Connections < 1 {
		return usage(cmd, "--max-agents %d: want a number above zero", f.listen.Limits.Connections)
	}
	stop.Allow(cmd.Context(), f.listen.DrainTimeout+afterDrain)
	if f.listen.DB = cmp.Or(f.listen.DB, os.Getenv(dbVariable)); f.listen.DB == "" {
		if f.listen.DB, err = hub.DefaultDB(); err != nil {
			return err
		}
	}
	f.listen.Logger, f.listen.Databases = logger, databases()
	f.listen.Databases.Open = func(ctx context.Context, db string, opts hub.StoreOptions) (store.Store, error) {
		return drivers.Open(ctx, db, drivers.Options{Now: opts.Now, History: f.keep, Logger: opts.Logger})
	}
	counts := f.count()
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
	fresh, err := nobodyHasToken(ctx, server.Store())
	if err != nil {
		return err
	}
	if counts != nil {
		counts.Watch(server)
	}
	defer f.announce(server, logger)()
	defer reloadOnHangup(ctx, server)()
	attrs := []slog.Attr{slog.String("http", server.HTTPURL()), slog.Any("drpc", server.DRPC())}
	if url := server.MonitorURL(); url != "" {
		attrs = append(attrs, slog.String("monitor", url))
	}
	logger.LogAttrs(ctx, slog.LevelInfo, "hub is ready", attrs...)
	switch {
	case fresh:
		printFirstLink(cmd.ErrOrStderr(), server, f.listen.DB)
	case f.linksPage(cmd.ErrOrStderr()):
		printPageLink(cmd.ErrOrStderr(), server)
	}
	if err := server.Run(ctx); err != nil {
		return err
	}
	logger.Info("hub has stopped")
	return server.Close()
}

// announce tells commands on this machine where the hub and its database are, until stop.
func (f *serveFlags) announce(server *hub.Server, logger *slog.Logger) (stop func()) {
	dir, err := hub.StateDir()
	var release func() error
	if err == nil {
		release, err = shared.Announce(dir, &shared.Place{URL: server.HTTPURL(), PID: os.Getpid(), DB: hub.DatabaseName(f.listen.DB)})
	}
	if err != nil { // as when the home is read-only
		logger.Info("commands on this machine aren't told of this hub", slog.Any("error", err))
		return func() {}
	}
	return func() { _ = release() }
}

// count sets up the metrics, if there is a port for them.
func (f *serveFlags) count() *metrics.Metrics {
	if f.listen.Monitor == "" {
		return nil
	}
	m := metrics.New(metrics.Options{Version: cli.CurrentVersion().Version})
	f.listen.Metrics, f.listen.Observe, f.listen.ObserveRequest = m.Handler(), m.Push, m.Request
	return m
}

// reloadOnHangup reads the TLS certificate again on each SIGHUP, until stop. The signal
// doesn't end a hub without TLS either.
func reloadOnHangup(ctx context.Context, server *hub.Server) (stop func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		for {
			select {
			case <-hangups:
				_ = server.ReloadTLS() // it logs its error
			case <-ctx.Done():
				return
			}
		}
	})
	return func() { signal.Stop(hangups); cancel(); done.Wait() }
}

// nobodyHasToken reports whether no reader and no operator can have a valid token.
func nobodyHasToken(ctx context.Context, st store.Store) (bool, error) {
	tokens, err := st.Tokens(ctx)
	for i := range tokens {
		t := &tokens[i]
		if t.Role != store.RoleAgent && t.Valid(time.Now()) && (t.Name != hub.PageToken || t.Provisioned) {
			return false, nil
		}
	}
	return err == nil, err
}

// logFlags select the log's format.
type logFlags struct{ format, level string }

func (f *logFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.format, "log-format", "text", "`format` of the log: text or json")
	cmd.Flags().StringVar(&f.level, "log-level", "info", "lowest `level` to log: debug, info, warn or error")
	complete(cmd, "log-format", "text", "json")
	complete(cmd, "log-level", "debug", "info", "warn", "error")
}

func (f *logFlags) logger(cmd *cobra.Command, w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.level)); err != nil {
		return nil, usage(cmd, "--log-level %q: want debug, info, warn or error", f.level)
	}
	opts := &slog.HandlerOptions{Level: level, ReplaceAttr: cli.PlainErrors}
	switch f.format {
	case "text":
		return slog.New(slog.NewTextHandler(w, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, opts)), nil
	}
	return nil, usage(cmd, "--log-format %q: want text or json", f.format)
}

// complete completes the values of a flag.
func complete(cmd *cobra.Command, flag string, values ...string) {
	// It only fails for a flag that doesn't exist.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
