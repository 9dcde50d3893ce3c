package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/hub/api"
	"waymark/hub/client"
	"waymark/hub/store"
	"waymark/internal/credential"
)

func newEnroll() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "enroll",
		Short: "Create codes and keys to enroll agents",
		Long: `A code enrolls one agent, once, within ten minutes: someone types it on the agent's
machine. A key is for a fleet: it enrolls a limited number of agents until it expires,
and gives them its labels. Both create new agents, and give no access to an existing
agent.

On the other machine run 'agent enroll URL' with --code CODE or --key-file FILE.`,
		Example: `  hub enroll code
  hub enroll key --uses 50 --expires 30d --label env=prod --out fleet.key
  hub enroll list
  hub enroll revoke ID --tokens`,
	}
	cli.Group(cmd)
	cmd.AddCommand(newEnrollCode(), newEnrollKey(), newEnrollList(), newEnrollRevoke())
	return cmd
}

// enrollFlags are the flags of enroll code and enroll key.
type enrollFlags struct {
	operator
	expires, out string
	labels       []string
	made         store.NewEnrollment
}

func (f *enrollFlags) add(cmd *cobra.Command, expires string) {
	f.addJSON(cmd)
	cmd.Flags().StringArrayVar(&f.labels, "label", nil, "`NAME=VALUE` label of the agents; can be repeated")
	cmd.Flags().StringVar(&f.made.Name, "name", "", "`name` for people")
	cmd.Flags().StringVar(&f.expires, "expires", expires, "`when` it expires: 10m, 30d, or a date")
	cmd.Flags().StringVar(&f.out, "out", "", "new `file` to write it to, with mode 0600, instead of showing it")
	_ = cmd.MarkFlagFilename("out")
}

func newEnrollCode() *cobra.Command {
	var f enrollFlags
	cmd := &cobra.Command{
		Use:   "code",
		Short: "Create a code that enrolls one agent, once",
		Long: `Creates a code of 13 letters and digits and prints it. With --agent the enrolled agent
has that id, which must not be in use; otherwise the hub chooses one.`,
		Example: "  hub enroll code\n  hub enroll code --agent dev-1 --label team=web",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.made.MaxUses = 1
			return f.run(cmd, credential.EnrollmentCode.New())
		},
	}
	f.add(cmd, credential.EnrollmentCode.Life.String())
	cmd.Flags().StringVar(&f.made.AgentID, "agent", "", "`id` of the agent (default one that the hub chooses)")
	return cmd
}

func newEnrollKey() *cobra.Command {
	var f enrollFlags
	cmd := &cobra.Command{
		Use:   "key --uses N",
		Short: "Create a key that enrolls several agents",
		Long: `Creates a key, for images and provisioning. Its holder can create agents, with its
labels, until it expires or is used up, so protect it like a token. 'hub enroll revoke
--tokens' also revokes the tokens that were created with it.`,
		Example: "  hub enroll key --uses 50 --expires 30d --label env=prod --out fleet.key",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd, credential.EnrollmentKey.New()) },
	}
	f.add(cmd, fmt.Sprintf("%dd", credential.EnrollmentKey.Life/(24*time.Hour)))
	cmd.Flags().IntVar(&f.made.MaxUses, "uses", 0, "`number` of agents that it enrolls")
	return cmd
}

func (f *enrollFlags) run(cmd *cobra.Command, text string) (err error) {
	if f.made.MaxUses == 0 {
		return usage(cmd, "--uses is missing: say how many agents it lets in")
	}
	if f.made.ExpiresAt, err = expiry(f.expires, time.Now()); err != nil {
		return usage(cmd, "--expires %q: %w", f.expires, err)
	}
	if f.made.Labels, err = store.ParseLabels(f.labels); err != nil {
		return usage(cmd, "--label: %w", err)
	}
	if f.made.Hash, err = store.ParseEnrollment(text); err != nil {
		return err
	}
	if err := f.made.Check(); err != nil {
		return usage(cmd, "%w", err)
	}
	wanted := api.NewEnrollmentKey{
		KeySHA256: hex.EncodeToString(f.made.Hash[:]), Name: f.made.Name, AgentID: f.made.AgentID, Labels: f.made.Labels,
		MaxUses: f.made.MaxUses, ExpiresAt: f.made.ExpiresAt,
	}
	return f.with(cmd, func(ctx context.Context, c client.Client) error {
		made, err := withSecret(f.out, text, func() (*api.EnrollmentKey, error) { return c.CreateEnrollment(ctx, wanted) })
		if err != nil {
			return err
		}
		return f.print(cmd, text, made)
	})
}

// withSecret creates what a secret is for, after writing the secret to the file out, if one
// is named. After a failure no file is left.
func withSecret[T any](out, secret string, create func() (T, error)) (made T, err error) {
	if out == "" {
		return create()
	}
	if err := writeNew(out, secret); err != nil {
		return made, err
	}
	if made, err = create(); err != nil {
		_ = os.Remove(out)
	}
	return made, err
}

func (f *enrollFlags) print(cmd *cobra.Command, text string, made *api.EnrollmentKey) error {
	if f.out != "" {
		text = ""
	}
	if f.json {
		return cli.JSON(cmd.OutOrStdout(), struct {
			Text string `json:"text,omitempty"`
			File string `json:"file,omitempty"`
			api.EnrollmentKey
		}{text, f.out, *made})
	}
	return showSecret(cmd, f.out, text, fmt.Sprintf("enrollment %s, for %s, until %s; it is", made.ID, cli.Count(made.MaxUses, "agent"), stamp(made.ExpiresAt)))
}

// showSecret says of what was made where its secret is, and prints that if it is in no file.
func showSecret(cmd *cobra.Command, out, secret, made string) error {
	if out != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), made, "in", out)
		return nil
	}
	fmt.Fprintln(cmd.ErrOrStderr(), made, "shown only now")
	_, err := fmt.Fprintln(cmd.OutOrStdout(), secret)
	return err
}

func newEnrollList() *cobra.Command {
	var o operator
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List codes and keys, and how often they were used",
		Long:    "Lists codes and keys, including those that are no longer valid. Times are in UTC.",
		Example: "  hub enroll list\n  hub enroll list --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.with(cmd, func(ctx context.Context, c client.Client) error {
				list, err := c.Enrollments(ctx)
				if err != nil {
					return err
				}
				header := []string{"ID", "NAME", "AGENT", "LABELS", "USES", "CREATED", "EXPIRES", "STATE"}
				return cli.List(cmd.OutOrStdout(), o.json, list, "there are no codes and keys; hub enroll code makes one", header, func(e *api.EnrollmentKey) []string {
					return []string{
						e.ID, cli.Dash(cli.Visible(e.Name)), cli.Dash(e.AgentID), cli.Dash(store.Labels(e.Labels).String()),
						fmt.Sprintf("%d of %d", e.Uses, e.MaxUses), stamp(e.CreatedAt), stamp(e.ExpiresAt), e.State,
					}
				})
			})
		},
	}
	o.addJSON(cmd)
	return cmd
}

func newEnrollRevoke() *cobra.Command {
	var o operator
	var tokens bool
	cmd := &cobra.Command{
		Use:   "revoke ID",
		Short: "Revoke a code or a key",
		Long: `Revokes the code or key with this id (see 'hub enroll list'). Agents that have enrolled
with it stay. With --tokens it also revokes their tokens, and they are disconnected
within a second. Exits with 3 if there is none with this id.`,
		Example: "  hub enroll revoke 0f8e4f5c-7a39-4b53-a5c5-9d1d3c6f2f10 --tokens",
		Args:    cli.Named("the ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.with(cmd, func(ctx context.Context, c client.Client) error {
				n, err := c.RevokeEnrollment(ctx, args[0], tokens)
				if err == nil && tokens {
					_, err = fmt.Fprintf(cmd.ErrOrStderr(), "%s revoked\n", cli.Count(n, "token"))
				}
				return err
			})
		},
	}
	o.add(cmd)
	cmd.Flags().BoolVar(&tokens, "tokens", false, "also revoke the tokens of the agents that enrolled with it")
	return cmd
}

func newAgentsLabel() *cobra.Command {
	var o operator
	cmd := &cobra.Command{
		Use:   "label ID NAME=VALUE… | NAME-…",
		Short: "Set or remove labels of an agent",
		Long: `Sets labels of an agent, and removes those followed by a minus. Agents can't change
their labels, so a reader's token can be limited by labels ('hub token create --label').`,
		Example: "  hub agents label dev-1 env=prod team=web\n  hub agents label dev-1 team-",
		Args:    cli.Named("the agent's ID", "NAME=VALUE…"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var set, remove []string
			for _, arg := range args[1:] {
				if name, ok := strings.CutSuffix(arg, "-"); ok && !strings.Contains(arg, "=") {
					remove = append(remove, name)
				} else {
					set = append(set, arg)
				}
			}
			labels, err := store.ParseLabels(set)
			if err != nil {
				return usage(cmd, "%w", err)
			}
			return o.with(cmd, func(ctx context.Context, c client.Client) error {
				agent, err := agentOf(ctx, c, args[0])
				if err != nil {
					return err
				}
				now, err := c.LabelAgent(ctx, agent, api.LabelChange{Set: labels, Remove: remove})
				if err == nil {
					_, err = fmt.Fprintln(cmd.OutOrStdout(), cli.Visible(cli.Dash(store.Labels(now).String())))
				}
				return err
			})
		},
	}
	o.add(cmd)
	return cmd
}
