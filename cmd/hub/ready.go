package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"waymark/cmd/internal/cli"
	"waymark/hub"
	"waymark/internal/await"

	"github.com/spf13/cobra"
)

// errNotReady exits with 3.
var errNotReady = errors.New("not ready")

func newReady() *cobra.Command {
	var timeout, wait time.Duration
	var readers bool
	cmd := &cobra.Command{
		Use:   "ready [URL]",
		Short: "Check whether a hub is ready",
		Long: `Asks the hub at URL and exits with 0 if it can take agents: its store can write, it
isn't full and isn't stopping; otherwise with 3, also if nothing answers. Without URL it asks each hub that runs on
this machine, your agents' and those of 'hub serve', with any certificate. If none is
known, it asks the one at 127.0.0.1:7878. URL may be a hub's --monitor address. Ready
needs no token. --readers asks whether it can answer readers, which only needs a store
that answers: restarting a hub that is full helps nobody. It is for probes on systems without curl, such as containers. --wait
repeats until the hub is ready.`,
		Example: "  hub ready\n  hub serve & hub ready --wait 30s\n  hub ready http://127.0.0.1:9090",
		Args:    cli.Named("[URL]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), wait)
			defer cancel()
			path := "/readyz"
			if readers {
				path += "?for=readers"
			}
			err := areReady(cmd, args, path, timeout)
			for errors.Is(err, errNotReady) && await.Sleep(ctx, readyEvery) == nil {
				err = areReady(cmd, args, path, timeout)
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "ready")
			return err
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Second, "`time` to wait for an answer, such as 5s")
	cmd.Flags().DurationVar(&wait, "wait", 0, "repeat for this `time`, such as 30s, until the hub is ready")
	cmd.Flags().BoolVar(&readers, "readers", false, "ask about readers, not agents")
	return cmd
}

// readyEvery is the interval at which a hub that isn't ready is asked.
const readyEvery = 50 * time.Millisecond

func areReady(cmd *cobra.Command, urls []string, path string, timeout time.Duration) error {
	if len(urls) > 0 {
		if u, err := url.Parse(urls[0]); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return usage(cmd, "%q is not the URL of a hub: want http://HOST:PORT", urls[0])
		}
		return ready(cmd.Context(), &http.Client{Timeout: timeout}, urls[0], path)
	}
	running, err := runningHubs(cmd.Context())
	if err != nil {
		return err
	}
	for _, place := range running {
		if err := ready(cmd.Context(), ownClient(timeout), place.URL, path); err != nil {
			return err
		}
	}
	if len(running) == 0 && usualHub(cmd.Context(), path, timeout) == "" {
		return fmt.Errorf("%w: no hub is known here, and none answers at %s", errNotReady, usualAddress)
	}
	return nil
}

// usualAddress is where an unknown hub is looked for. Tests set it to none, so that other
// programs of the machine don't matter.
var usualAddress = hub.DefaultHTTP

// usualHub returns the URL of the hub at the usual address, if one answers.
func usualHub(ctx context.Context, path string, timeout time.Duration) string {
	for _, scheme := range []string{"http://", "https://"} {
		if ready(ctx, ownClient(timeout), scheme+usualAddress, path) == nil {
			return scheme + usualAddress
		}
	}
	return ""
}

// ownClient is for hubs on this machine, and sends no secrets. It doesn't verify
// certificates, which are for the hubs' public names.
func ownClient(timeout time.Duration) *http.Client {
	return &http.Client{Timeout: timeout, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
	}}
}

// ready asks one hub.
func ready(ctx context.Context, c *http.Client, base, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+path, http.NoBody)
	if err != nil {
		return err
	}
	response, err := c.Do(request)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotReady, err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 200)) // a few words
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: %s: %q", errNotReady, response.Status, strings.TrimSpace(string(text)))
	}
	return nil
}
