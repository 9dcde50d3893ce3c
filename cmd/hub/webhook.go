package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/term"
	"waymark/hub/store"
	"waymark/hub/webhook"
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
not used. These commands work on the hub's database, also while the hub runs.`,
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
	var db, out string
	var asJSON bool
	var types []string
	made := store.NewWebhook{Secret: credential.WebhookSecret.New()}
	cmd := &cobra.Command{
		Use:   "add URL",
		Short: "Add a webhook, and show its signing secret",
		Long: `Adds a webhook and prints its secret, which is shown only now: the receiver needs it.
The webhook receives new problems; the first one also existing problems. --private
allows addresses of this machine and of private networks, --insecure allows http.`,
		Example: `  hub webhook add https://example.com/hook
  hub webhook add https://example.com/hook --type pins.drifted --out hook.secret
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
			return withStore(cmd, db, func(st store.Store) error {
				w, err := withSecret(out, made.Secret, func() (store.Webhook, error) { return st.CreateWebhook(cmd.Context(), made) })
				if err != nil {
					return err
				}
				return printNewWebhook(cmd, &w, out, asJSON)
			})
		},
	}
	addDB(cmd, &db)
	cmd.Flags().StringVar(&made.Name, "name", "", "`name` for people")
	cmd.Flags().StringArrayVar(&types, "type", nil, "`type` of message that it receives: agents.away, plugins.failing or pins.drifted; can be repeated (default all)")
	cmd.Flags().BoolVar(&made.Insecure, "insecure", false, "allow http://")
	cmd.Flags().BoolVar(&made.Private, "private", false, "allow addresses of this machine and of private networks")
	cmd.Flags().StringVar(&out, "out", "", "new `file` to write the secret to, with mode 0600, instead of showing it")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	_ = cmd.MarkFlagFilename("out")
	complete(cmd, "type", string(store.WebhookAway), string(store.WebhookFailing), string(store.WebhookDrifted))
	return cmd
}

func printNewWebhook(cmd *cobra.Command, w *store.Webhook, out string, asJSON bool) error {
	secret := w.Secret
	if out != "" {
		secret = ""
	}
	if asJSON {
		return term.JSON(cmd.OutOrStdout(), struct {
			Secret string `json:"secret,omitempty"`
			File   string `json:"file,omitempty"`
			webhookJSON
		}{secret, out, toWebhookJSON(w)})
	}
	where := "shown only now"
	if out != "" {
		where = "in " + out
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "webhook %s; its secret is %s\n", w.ID, where)
	if out != "" {
		return nil
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), secret)
	return err
}

func newWebhookList() *cobra.Command {
	var asJSON bool
	cmd := onStore(&cobra.Command{
		Use:     "list",
		Short:   "List webhooks and their state",
		Long:    "Lists webhooks: the messages sent and waiting, and the last error. Times are in UTC.",
		Example: "  hub webhook list\n  hub webhook list --json",
		Args:    cobra.NoArgs,
	}, func(cmd *cobra.Command, _ []string, st store.Store) error {
		list, err := st.Webhooks(cmd.Context())
		if err != nil {
			return err
		}
		rows := make([]webhookJSON, 0, len(list))
		for i := range list {
			rows = append(rows, toWebhookJSON(&list[i]))
		}
		header := []string{"ID", "NAME", "URL", "TYPES", "SENT", "WAITING", "DROPPED", "LAST SENT", "LAST ERROR"}
		return term.List(cmd.OutOrStdout(), asJSON, rows, "there are no webhooks; hub webhook add makes one", header, func(w *webhookJSON) []string {
			return []string{
				w.ID, term.Dash(term.Visible(w.Name)), term.Visible(w.URL), typesText(w.Types), strconv.FormatInt(w.Sent, 10),
				strconv.Itoa(w.Waiting), strconv.FormatInt(w.Dropped, 10), stampOf(w.SentAt), term.Dash(term.Visible(w.LastError)),
			}
		})
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func typesText(types []store.WebhookType) string {
	list := make([]string, len(types))
	for i, t := range types {
		list[i] = string(t)
	}
	return cmp.Or(strings.Join(list, ","), "all")
}

func newWebhookRemove() *cobra.Command {
	return onStore(&cobra.Command{
		Use:     "remove ID",
		Short:   "Remove a webhook and its waiting messages",
		Long:    "Removes the webhook with this id (see 'hub webhook list'). Exits with 3 if there is none.",
		Example: "  hub webhook remove 0f8e4f5c-7a39-4b53-a5c5-9d1d3c6f2f10",
		Args:    cli.Named("the ID"),
	}, func(cmd *cobra.Command, args []string, st store.Store) error {
		return st.DeleteWebhook(cmd.Context(), args[0])
	})
}

func newWebhookTest() *cobra.Command {
	return onStore(&cobra.Command{
		Use:   "test ID",
		Short: "Send a message of the type webhook.test, at once and from here",
		Long: `Sends the webhook with this id a message of the type webhook.test, once, from this
machine and by the same rules as the hub. Exits with 3 if there is none with this id,
and with 1 if the receiver doesn't accept the message.`,
		Example: "  hub webhook test 0f8e4f5c-7a39-4b53-a5c5-9d1d3c6f2f10",
		Args:    cli.Named("the ID"),
	}, func(cmd *cobra.Command, args []string, st store.Store) error {
		list, err := st.Webhooks(cmd.Context())
		if err != nil {
			return err
		}
		for i := range list {
			if list[i].ID == args[0] {
				return testWebhook(cmd, &list[i])
			}
		}
		return &store.NotFoundError{What: "webhook", ID: args[0]}
	})
}

func testWebhook(cmd *cobra.Command, w *store.Webhook) error {
	now := time.Now()
	body, err := store.NewMessage(store.WebhookTest, now, nil)
	if err != nil {
		return err
	}
	m := store.Message{ID: "msg_" + uuid.NewString(), Body: body, CreatedAt: now}
	if err := new(webhook.Sender).Send(cmd.Context(), w, &m, now); err != nil {
		return fmt.Errorf("the webhook doesn't take it: %w", err)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), "the webhook has taken it")
	return err
}

// webhookJSON is a webhook in JSON, without its secret.
type webhookJSON struct {
	ID        string              `json:"id"`
	Name      string              `json:"name"`
	URL       string              `json:"url"`
	Types     []store.WebhookType `json:"types"` // of none: all
	Insecure  bool                `json:"insecure"`
	Private   bool                `json:"private"`
	CreatedAt time.Time           `json:"created_at"`
	Sent      int64               `json:"sent"`
	SentAt    *time.Time          `json:"sent_at"`
	Waiting   int                 `json:"waiting"`
	Dropped   int64               `json:"dropped"`
	Failures  int                 `json:"failures"`
	LastError string              `json:"last_error"`
}

func toWebhookJSON(w *store.Webhook) webhookJSON {
	j := webhookJSON{
		ID: w.ID, Name: w.Name, URL: w.URL, Types: w.Types, Insecure: w.Insecure, Private: w.Private, CreatedAt: w.CreatedAt,
		Sent: w.Sent, Waiting: w.Waiting, Dropped: w.Dropped, Failures: w.Failures, LastError: w.LastError,
	}
	if j.Types == nil {
		j.Types = []store.WebhookType{}
	}
	if !w.SentAt.IsZero() {
		j.SentAt = &w.SentAt
	}
	return j
}
