package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"waymark/cmd/internal/cli"

	"github.com/spf13/cobra"
)

// errNotReady exits with 3.
var errNotReady = errors.New("not ready")

func newReady() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "ready [URL]",
		Short: "Ask a hub whether it can do its work now",
		Long: `Asks the hub at URL and exits with 0 when its store answers and it isn't about
to stop, with 3 otherwise, also when nobody answers. Without URL it is the hub
that your agents run themselves, and where none does the one at
http://127.0.0.1:7878; the --monitor address of a hub will do as well. It needs no
token: it is for probes where there is no curl, as in a container.`,
		Example: "  hub ready\n  hub ready http://127.0.0.1:9090",
		Args:    cli.Named("[URL]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var base string
			if len(args) > 0 {
				base = args[0]
			} else {
				base = localHub(cmd.Context()).URL
			}
			if u, err := url.Parse(base); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
				return usage(cmd, "%q is not the URL of a hub: want http://HOST:PORT", base)
			}
			client := http.Client{Timeout: timeout}
			response, err := client.Get(strings.TrimSuffix(base, "/") + "/readyz")
			if err != nil {
				return fmt.Errorf("%w: %w", errNotReady, err)
			}
			defer response.Body.Close()
			text, _ := io.ReadAll(io.LimitReader(response.Body, 200)) // a few words
			if response.StatusCode != http.StatusOK {
				return fmt.Errorf("%w: %s: %q", errNotReady, response.Status, strings.TrimSpace(string(text)))
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "ready")
			return err
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Second, "`time` to wait for an answer, such as 5s")
	return cmd
}
