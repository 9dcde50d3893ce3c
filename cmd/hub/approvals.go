package main

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/hub/api"
	"waymark/hub/client"
	"waymark/hub/store"
	"waymark/internal/credential"
	"waymark/wire/approval"
)

func newApprovals() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "approvals",
		Short: "Sign approvals of MCP servers, and send them to agents",
		Long: `An agent starts an MCP server of its workspace only with an approval. An operator can
approve a server for many agents at once, with an approval that is signed with a private
key, which no hub has. The hub stores the approval and sends it to its agents. Each
agent verifies it with the public keys that its machine's configuration names ([mcp]
keys in /etc/waymark/plugin.toml). So a hub, or a token of a hub, can't approve anything
by itself. An approval expires after a year at most, and can be revoked earlier.

keygen and sign need no hub; add, list and revoke need an operator's token.`,
		Example: `  hub approvals keygen --out approvals.key
  hub approvals sign --key approvals.key --name db --expires 90d \
      --definition sha256:$DIGEST --out db.approval
  hub approvals add db.approval --token-file operator.token
  hub approvals list --token-file operator.token
  hub approvals revoke db-2026 --token-file operator.token`,
	}
	cli.Group(cmd)
	cmd.AddCommand(newApprovalsKeygen(), newApprovalsSign(), newApprovalsAdd(), newApprovalsList(), newApprovalsRevoke())
	return cmd
}

// writeNew writes a text, ending in a newline, to a new file that only its owner can read.
func writeNew(path, text string) error {
	err := credential.WriteFile(path, strings.TrimSuffix(text, "\n"))
	if errors.Is(err, fs.ErrExist) {
		return existsAlready(path)
	}
	return err
}

func existsAlready(path string) error {
	return fmt.Errorf("%s exists already, and is not overwritten; name another file, or remove it", path)
}

func newApprovalsKeygen() *cobra.Command {
	var out string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "keygen --out FILE",
		Short: "Create the key that signs approvals",
		Long: `Creates a key pair (Ed25519). The private key is written to a new file that only you can
read. Its holder can approve what your agents run, so keep it on a machine without a
hub. stdout has the public key, as a line for [mcp] keys in the plugin.toml of machines.`,
		Example: "  hub approvals keygen --out approvals.key\n  hub approvals keygen --out approvals.key --json | jq -r .public_key",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return usage(cmd, "--out is missing: name a file for the private key")
			}
			public, private, err := approval.GenerateKey()
			if err != nil {
				return err
			}
			data, err := approval.MarshalPrivateKey(private)
			if err != nil {
				return err
			}
			if err := writeNew(out, string(data)); err != nil {
				return err
			}
			word, id := approval.FormatPublicKey(public), approval.KeyID(public)
			if asJSON {
				return cli.JSON(cmd.OutOrStdout(), struct {
					PublicKey string `json:"public_key"`
					KeyID     string `json:"key_id"`
					File      string `json:"file"`
				}{word, id, out})
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "key %s; the private key is in %s, and this is the public one:\n", id, out)
			_, err = fmt.Fprintln(cmd.OutOrStdout(), word)
			return err
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "new `file` for the private key, with mode 0600")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	_ = cmd.MarkFlagFilename("out")
	return cmd
}

// signFlags are the flags of hub approvals sign.
type signFlags struct {
	key, expires, out string
	noTCP             bool
	ports             []uint
	approval          approval.Approval
}

func newApprovalsSign() *cobra.Command {
	var f signFlags
	cmd := &cobra.Command{
		Use:   "sign --key FILE --definition DIGEST",
		Short: "Sign an approval",
		Long: `Signs the approval of one definition of an MCP server, whose digest 'agent mcp show'
prints. It is the same on all machines with the same definition and the same files. Any
difference, such as an argument or a script, changes the digest, and isn't approved.

Without --agent the approval is for all agents of your hubs. Named agents must know
their own id ([push] agent in plugin.toml), so that nobody can forward an approval to
another agent. The flags --read to --env allow the server more than its profile does.

stdout has the document, which isn't secret; with --out it is written to a file.`,
		Example: `  hub approvals sign --key approvals.key --definition sha256:$DIGEST --name db
  hub approvals sign --key approvals.key --definition sha256:$DIGEST \
      --agent dev-1 --agent dev-2 --expires 2027-01-31 --out db.approval
  hub approvals sign --key approvals.key --definition sha256:$DIGEST \
      --read /srv/data --port 5432 --env PGHOST`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags, a := cmd.Flags(), &f.approval
	flags.StringVar(&f.key, "key", "", "`file` with the private key from keygen")
	flags.StringVar(&a.Definition, "definition", "", "`digest` of the definition: sha256: and 64 hexadecimal digits")
	flags.StringVar(&a.Name, "name", "", "`name` of the server, for people")
	flags.StringVar(&a.ID, "id", "", "`id` to revoke it by (default a random one)")
	flags.StringArrayVar(&a.Agents, "agent", nil, "`id` of an agent that it is for; can be repeated (default all)")
	flags.StringVar(&f.expires, "expires", "90d", "`when` it expires: 24h, 30d, or a date; at most a year")
	flags.StringArrayVar(&a.Widening.Read, "read", nil, "`path` that the server may read, absolute or in the workspace; can be repeated")
	flags.StringArrayVar(&a.Widening.Write, "write", nil, "`path` that it may write, absolute or in the workspace; can be repeated")
	flags.UintSliceVar(&f.ports, "port", nil, "`port` that TCP is restricted to; can be repeated (default all)")
	flags.BoolVar(&f.noTCP, "no-tcp", false, "forbid TCP")
	flags.BoolVar(&a.Widening.Unix, "unix", false, "allow Unix sockets by path")
	flags.StringArrayVar(&a.Widening.Env, "env", nil, "`name` of a variable of the agent that the server gets; can be repeated")
	flags.StringVar(&f.out, "out", "", "new `file` for the document")
	complete(cmd, "expires", "7d", "30d", "90d", "365d")
	for _, name := range []string{"key", "out", "read", "write"} {
		_ = cmd.MarkFlagFilename(name)
	}
	return cmd
}

func (f *signFlags) run(cmd *cobra.Command) error {
	a, now := &f.approval, time.Now()
	switch {
	case f.key == "":
		return usage(cmd, "--key is missing: 'hub approvals keygen' makes one")
	case a.Definition == "":
		return usage(cmd, "--definition is missing: 'agent mcp show' prints it")
	case f.noTCP && len(f.ports) > 0:
		return usage(cmd, "--no-tcp and --port exclude each other")
	case f.noTCP:
		a.Widening.Ports = []uint16{}
	}
	for _, port := range f.ports {
		if port == 0 || port > 65535 {
			return usage(cmd, "--port %d: want 1 to 65535", port)
		}
		a.Widening.Ports = append(a.Widening.Ports, uint16(port))
	}
	var err error
	if a.Expires, err = expiry(f.expires, now); err != nil {
		return usage(cmd, "--expires %q: %w", f.expires, err)
	}
	a.Issued = now
	if a.ID == "" {
		a.ID = approval.NewID()
	}
	key, err := readKey(f.key)
	if err != nil {
		return err
	}
	document, err := approval.Sign(a, key)
	if err != nil {
		return usage(cmd, "%w", err)
	}
	if f.out == "" {
		_, err = fmt.Fprintln(cmd.OutOrStdout(), string(document))
	} else {
		err = writeNew(f.out, string(document))
	}
	if err != nil {
		return err
	}
	who := cmp.Or(strings.Join(a.Agents, ", "), "all agents")
	fmt.Fprintf(cmd.ErrOrStderr(), "approval %s for %s, until %s\n", a.ID, who, stamp(a.Expires))
	return nil
}

// maxKeyFile limits a file with a key, which has about a hundred bytes and perhaps some
// text around them.
const maxKeyFile = 16 << 10

// readKey reads a private key from a file that nobody else can read. Its errors never
// contain what the file holds.
func readKey(path string) (ed25519.PrivateKey, error) {
	data, err := credential.ReadFile("key file", path, maxKeyFile)
	if err != nil {
		return nil, err
	}
	key, err := approval.ParsePrivateKey(data)
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	return key, nil
}

func newApprovalsAdd() *cobra.Command {
	r := reader{role: store.RoleOperator}
	cmd := &cobra.Command{
		Use:   "add FILE",
		Short: "Send a signed approval to its agents",
		Long: `Adds a signed approval to the hub, which sends it to its agents: at once to connected
agents, and to the others when they connect. The hub checks its form and its expiry;
each agent verifies the signature. FILE can be "-" for stdin. Without --json, stdout has
only the approval's id.`,
		Example: "  hub approvals add db.approval --token-file operator.token\n  hub approvals sign … | hub approvals add - --token-file operator.token",
		Args:    cli.Named("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			document, err := readDocument(cmd, args[0])
			if err != nil {
				return err
			}
			return r.with(cmd, func(ctx context.Context, c client.Client) error {
				a, err := c.AddApproval(ctx, document)
				if err != nil {
					return err
				}
				if r.json {
					return cli.JSON(cmd.OutOrStdout(), a)
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), cli.Visible(a.ID))
				return err
			})
		},
	}
	r.addJSON(cmd)
	return cmd
}

// readDocument reads a signed approval and checks its form, so that the error for a
// malformed one names the file.
func readDocument(cmd *cobra.Command, path string) ([]byte, error) {
	in := cmd.InOrStdin()
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	document, err := io.ReadAll(io.LimitReader(in, approval.MaxSigned+1))
	if err != nil {
		return nil, err
	}
	if _, err := approval.Inspect(document); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return document, nil
}

func newApprovalsList() *cobra.Command {
	r := reader{role: store.RoleOperator}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the approvals, also revoked and expired ones",
		Long: `Lists the approvals that the hub keeps, until 30 days after they expire. The hub doesn't
verify their contents or signatures. Times are in UTC.`,
		Example: "  hub approvals list --token-file operator.token\n  hub approvals list --token-file operator.token --json | jq '.[].name'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return r.with(cmd, func(ctx context.Context, c client.Client) error {
				list, err := c.Approvals(ctx)
				if err != nil {
					return err
				}
				return printApprovals(cmd.OutOrStdout(), list, r.json)
			})
		},
	}
	r.addJSON(cmd)
	return cmd
}

// shownDigest is how many digits of a digest a table shows.
const shownDigest = len("sha256:") + 12

func printApprovals(w io.Writer, list []api.Approval, asJSON bool) error {
	header := []string{"ID", "NAME", "DEFINITION", "AGENTS", "KEY", "EXPIRES", "STATE"}
	return cli.List(w, asJSON, list, "there are no approvals; hub approvals add brings one", header, func(a *api.Approval) []string {
		agents, state := cmp.Or(strings.Join(a.Agents, ","), "all"), string(a.State)
		if a.RevokedAt != nil {
			state += " " + stamp(*a.RevokedAt)
		}
		return []string{
			cli.Visible(a.ID), cli.Dash(cli.Visible(a.Name)), cli.Dash(cli.Visible(a.Definition[:min(shownDigest, len(a.Definition))])),
			cli.Visible(agents), cli.Dash(cli.Visible(cli.Short(a.KeyID))), stamp(a.ExpiresAt), state,
		}
	})
}

func newApprovalsRevoke() *cobra.Command {
	r := reader{role: store.RoleOperator}
	cmd := &cobra.Command{
		Use:   "revoke ID",
		Short: "Revoke an approval permanently",
		Long: `Revokes an approval permanently. Connected agents stop the server at once, unless
something else approves it; other agents when they reconnect, or when the approval
expires. Exits with 3 if there is no such approval.`,
		Example: "  hub approvals revoke db-2026 --token-file operator.token",
		Args:    cli.Named("the approval's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.with(cmd, func(ctx context.Context, c client.Client) error {
				a, err := c.RevokeApproval(ctx, args[0])
				if err != nil || !r.json {
					return err
				}
				return cli.JSON(cmd.OutOrStdout(), a)
			})
		},
		ValidArgsFunction: r.offer(approvalIDs),
	}
	r.addJSON(cmd)
	return cmd
}

func approvalIDs(ctx context.Context, c client.Client) (list []string, err error) {
	all, err := c.Approvals(ctx)
	for i := range all {
		if all[i].State == api.ApprovalLive {
			list = append(list, described(all[i].ID, all[i].Name))
		}
	}
	return list, err
}
