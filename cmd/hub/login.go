package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/hub"
	"waymark/hub/client"
	"waymark/hub/store"
	"waymark/internal/text"
)

func newLogin() *cobra.Command {
	var r reader
	cmd := &cobra.Command{
		Use:   "login",
		Short: "Print a link that opens the hub's page in a browser, once",
		Long: `Prints a link to the hub's page that works once within ten minutes, and signs the
browser in for twelve hours. Anyone who opens it can read what the token shows, so keep
it secret until you have opened it. The browser's session belongs to the token that
created the link: 'hub token revoke' ends both.`,
		Example: "  hub login\n  xdg-open \"$(hub login)\"\n  hub login --url https://hub.example.com --token-file reader.token",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return r.with(cmd, func(ctx context.Context, c client.Client) error {
				login, err := c.Login(ctx)
				if err != nil {
					return err
				}
				if r.json {
					return cli.JSON(cmd.OutOrStdout(), login)
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), cli.Visible(login.URL))
				return err
			})
		},
	}
	r.addJSON(cmd)
	return cmd
}

// printFirstLink prints the link of the first operator. It is printed wherever standard error
// goes: it works once, for ten minutes, and only where nobody has a token yet.
func printFirstLink(stderr io.Writer, server *hub.Server, db string) {
	fmt.Fprintf(stderr, "Nobody has a token yet. This link signs the first operator in, once, within ten minutes:\n  %s\nWithout a browser, make a token on this machine:\n  hub token create --role operator --out operator.token --db %s\n",
		server.LoginURL(store.RoleOperator), text.ShellWord(hub.DatabaseName(db)))
}

// linksPage reports whether a login link is printed: only if the hub was started by hand in
// a terminal. Other output is kept and passed on, and must not hold secrets.
func (f *serveFlags) linksPage(stderr io.Writer) bool {
	return f.log.format != "json" && cli.IsTerminal(stderr)
}

func printPageLink(stderr io.Writer, server *hub.Server) {
	fmt.Fprintf(stderr, "Open the page with this link, once, within ten minutes (hub login prints another):\n  %s\n", server.LoginURL(store.RoleReader))
}
