package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/term"
	"waymark/hub"
	"waymark/hub/client"
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
					return term.JSON(cmd.OutOrStdout(), login)
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), term.Visible(login.URL))
				return err
			})
		},
	}
	r.addJSON(cmd)
	return cmd
}

// linksPage reports whether a login link is printed: only if the hub was started by hand in
// a terminal. Other output is kept and passed on, and must not hold secrets.
func (f *serveFlags) linksPage(stderr io.Writer) bool {
	return f.log.format != "json" && term.IsTerminal(stderr)
}

func printPageLink(stderr io.Writer, server *hub.Server) {
	fmt.Fprintf(stderr, "Open the page with this link, once, within ten minutes (hub login prints another):\n  %s\n", server.LoginURL())
}
