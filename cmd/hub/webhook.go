package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/hub/api"
	"waymark/hub/client"
	"waymark/hub/store"
	"waymark/internal/credential"
)

func newWebhook() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "webhook",
		Short: "Report agents away, failing plugins and drifted pins to a URL",
		Long: `A webhook is a URL to which the hub posts JSON when an agent is away for 10 minutes,
when plugins of an agent begin to fail, and when a pin has drifted. Messages are signed
according to Standard Webhooks (webhook-id, webhook-timestamp, webhook-signature), so
the receiver can verify that they come from this hub.

Of several hubs over one database one sends. A failed message is repeated for a day; a
problem that returns again and again is reported once an hour. Redirects and proxies are
not used.`,
		Example: `  hub webhook add https://example.com/hook --out hook.secret
  hub webhook test ID
  hub webhook list
  hub webhook remove ID`,
	}
	cli.Group(cmd)
	cmd.AddCommand(newWebhookAdd(), newWebhookList(), newWebhookRemove(), newWebhookTest())
	return cmd
}

func newWebhookAdd() *cobra.Command {
	var o operator
	var out string
	var types []string
	made := store.NewWebhook{Secret: credential.WebhookSecret.New()}
	cmd := &cobra.Command{
		Use:   "add URL",
		Short: "Add a webhook, and show its signing secret",
		Long: `Adds a webhook and prints its secret, which is shown only now: the receiver needs it.
The webhook receives new problems; the first one also existing problems. --private
allows addresses of this machine and of private networks, --insecure allows http.`,
		Example: `  hub webhook add https://example.com/hook
  hub webhook add https://example.com/hook --type drifted_pins --out hook.secret
  hub webhook add http://10.0.0.7:8080/hook --insecure --private`,
		Args: cli.Named("the webhook's URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			made.URL, made.Types = args[0], nil
			for _, t := range types {
				made.Types = append(made.Types, store.WebhookType(t))
			}
			if err := made.Check(); err != nil {
				return usage(cmd, "%w", err)
			}
			wanted := api.NewWebhook{Name: made.Name, URL: made.URL, Secret: made.Secret, Types: types, Insecure: made.Insecure, Private: made.Private}
			return o.with(cmd, func(ctx context.Context, c client.Client) error {
				w, err := withSecret(out, made.Secret, func() (*api.Webhook, error) { return c.CreateWebhook(ctx, wanted) })
				if err != nil {
					return err
				}
				return printNewWebhook(cmd, w, made.Secret, out, o.json)
			})
		},
	}
	o.addJSON(cmd)
	cmd.Flags().StringVar(&made.Name, "name", "", "`name` for people")
	cmd.Flags().StringArrayVar(&types, "type", nil, "`type` of message that it receives, such as failing_plugins or failing_plugins.resolved; can be repeated (default all)")
	cmd.Flags().BoolVar(&made.Insecure, "insecure", false, "allow http://")
	cmd.Flags().BoolVar(&made.Private, "private", false, "allow addresses of this machine and of private networks")
	cmd.Flags().StringVar(&out, "out", "", "new `file` to write the secret to, with mode 0600, instead of showing it")
	_ = cmd.MarkFlagFilename("out")
	var all []string
	for _, t := range store.WebhookTypes() {
		all = append(all, string(t))
	}
	complete(cmd, "type", all...)
	return cmd
}

func printNewWebhook(cmd *cobra.Command, w *api.Webhook, secret, out string, asJSON bool) error {
	if out != "" {
		secret = ""
	}
	if asJSON {
		return cli.JSON(cmd.OutOrStdout(), struct {
			Secret string `json:"secret,omitempty"`
			File   string `json:"file,omitempty"`
			api.Webhook
		}{secret, out, *w})
	}
	return showSecret(cmd, out, secret, "webhook "+w.ID+"; its secret is")
}

func newWebhookList() *cobra.Command {
	var o operator
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List webhooks and their state",
		Long:    "Lists webhooks: the messages sent and waiting, and the last error. Times are in UTC.",
		Example: "  hub webhook list\n  hub webhook list --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.with(cmd, func(ctx context.Context, c client.Client) error {
				list, err := c.Webhooks(ctx)
				if err != nil {
					return err
				}
				header := []string{"ID", "NAME", "URL", "TYPES", "SENT", "WAITING", "DROPPED", "LAST SENT", "LAST ERROR"}
				return cli.List(cmd.OutOrStdout(), o.json, list, "there are no webhooks; hub webhook add makes one", header, func(w *api.Webhook) []string {
					return []string{
						w.ID, cli.Dash(cli.Visible(w.Name)), cli.Visible(w.URL), cli.Visible(cmp.Or(strings.Join(w.Types, ","), "all")), strconv.FormatInt(w.Sent, 10),
						strconv.Itoa(w.Waiting), strconv.FormatInt(w.Dropped, 10), stampOf(w.SentAt), cli.Dash(cli.Visible(w.LastError)),
					}
				})
			})
		},
	}
	o.addJSON(cmd)
	return cmd
}

func newWebhookRemove() *cobra.Command {
	var o operator
	cmd := &cobra.Command{
		Use:     "remove ID",
		Short:   "Remove a webhook and its waiting messages",
		Long:    "Removes the webhook with this id (see 'hub webhook list'). Exits with 3 if there is none.",
		Example: "  hub webhook remove 0f8e4f5c-7a39-4b53-a5c5-9d1d3c6f2f10",
		Args:    cli.Named("the ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.with(cmd, func(ctx context.Context, c client.Client) error { return c.DeleteWebhook(ctx, args[0]) })
		},
	}
	o.add(cmd)
	return cmd
}

func newWebhookTest() *cobra.Command {
	var o operator
	cmd := &cobra.Command{
		Use:   "test ID",
		Short: "Send a message of the type webhook.test, at once",
		Long: `Has the hub send the webhook with this id a message of the type webhook.test, once and by
the same rules as all others; with --db it is sent from here. Exits with 3 if there is
none with this id, and with 1 if the receiver doesn't accept the message.`,
		Example: "  hub webhook test 0f8e4f5c-7a39-4b53-a5c5-9d1d3c6f2f10",
		Args:    cli.Named("the ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.with(cmd, func(ctx context.Context, c client.Client) error {
				if err := c.TestWebhook(ctx, args[0]); err != nil {
					return err
				}
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "the webhook has taken it")
				return err
			})
		},
	}
	o.add(cmd)
	return cmd
}
