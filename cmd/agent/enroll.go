package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/spf13/cobra"

	"waymark/agent"
	"waymark/cmd/internal/cli"
	"waymark/host/config"
	"waymark/host/push"
	"waymark/hub/api"
	"waymark/hub/client"
	"waymark/hub/store"
	"waymark/internal/credential"
	"waymark/internal/text"
)

// enrollFlags are the flags of enroll.
type enrollFlags struct {
	code, keyFile, tokenFile, name, root string

	insecure, noConfig, replace, json bool
}

func (a *app) enrollCommand() *cobra.Command {
	var f enrollFlags
	cmd := &cobra.Command{
		Use:   "enroll URL --code CODE|--key-file FILE",
		Short: "Enroll this machine's agent at a hub, with a code or a key",
		Long: `Enroll creates a token, registers it at the hub at URL for a new agent, and configures
'agent run' to push there. 'hub enroll code' creates a code, which works once within ten
minutes. 'hub enroll key' creates a key for a fleet, which is read from a file.

Each agent needs its own token. If agents run for several workspaces, enroll each with
--root. The enrollment is then stored with the workspace's state, and takes precedence
over the configuration.

The token stays on this machine, in a new file that only you can read; the hub gets its
SHA-256. If the configuration already names a hub, enroll does nothing. With --replace the
new hub, agent and token take the place of those, after a token was revoked, for example.`,
		Example: `  agent enroll https://hub.example.com --code 4F7K-29QX-M3ZTB
  agent enroll https://hub.example.com --key-file /etc/waymark/fleet.key
  agent enroll https://hub.example.com --key-file fleet.key --root ~/src/shop
  agent enroll https://hub.example.com --code 4F7K-29QX-M3ZTB --replace`,
		Args: cli.Named("the hub's URL"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.enroll(cmd.Context(), args[0], &f) },
	}
	cmd.Flags().StringVar(&f.code, "code", "", "`code` from 'hub enroll code'")
	cmd.Flags().StringVar(&f.keyFile, "key-file", "", "`file` with a key from 'hub enroll key'")
	cmd.Flags().StringVar(&f.tokenFile, "token-file", "", "new `file` for the token (default ~/.local/state/waymark/agent.token)")
	cmd.Flags().StringVar(&f.root, "root", "", "enroll only the agent of this workspace's `directory`")
	cmd.Flags().StringVar(&f.name, "name", "", "`name` of the agent for people (default the machine's, with --root the directory's)")
	cmd.Flags().BoolVar(&f.insecure, "insecure", false, "send the code to another machine without TLS")
	cmd.Flags().BoolVar(&f.replace, "replace", false, "replace the hub and the token that the configuration names")
	cmd.Flags().BoolVar(&f.noConfig, "no-config", false, "don't change the configuration, and print what to add to it")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	_ = cmd.MarkFlagFilename("key-file")
	_ = cmd.MarkFlagFilename("token-file")
	_ = cmd.MarkFlagDirname("root")
	return cmd
}

// secret returns the code or the key that the flags name.
func (f *enrollFlags) secret() (string, error) {
	switch {
	case f.code != "" && f.keyFile != "":
		return "", cli.Usage("--code and --key-file exclude each other")
	case f.code == "" && f.keyFile == "":
		return "", cli.Usage("--code is missing: make one with 'hub enroll code', there; or name a key's file with --key-file")
	}
	secret := f.code
	if f.keyFile != "" {
		var err error
		if secret, err = agent.NamedToken(f.keyFile); err != nil {
			return "", err
		}
	}
	if _, err := store.ParseEnrollment(secret); err != nil {
		return "", cli.Usage("that is neither a code nor a key of 'hub enroll': a code has 13 letters and digits")
	}
	return secret, nil
}

func (a *app) enroll(ctx context.Context, url string, f *enrollFlags) error {
	secret, err := f.secret()
	if err != nil {
		return err
	}
	target, err := push.ParseURL(url)
	if err != nil {
		return cli.Usage("%w", err)
	}
	if !target.Encrypted() && !target.Local() && !f.insecure {
		return cli.Usage("%s is on another machine and not encrypted: whoever listens could use the code; --insecure insists", target.String())
	}
	paths, err := config.FindPaths(config.Environment{})
	if err != nil {
		return err
	}
	files, token := paths.ConfigFiles, paths.State.In("agent.token").Path()
	if f.root != "" {
		places, err := paths.Workspace(f.root)
		if err == nil {
			_, err = os.Stat(places.Root)
		}
		if err != nil {
			return fmt.Errorf("root %s: %w", f.root, err)
		}
		f.name = cmp.Or(f.name, filepath.Base(places.Root))
		// agent.token may exist already, for the hub that agents run themselves.
		files, token = []string{places.ConfigFile()}, places.State.In("enrolled.token").Path()
	}
	c, err := config.Load(files...)
	if err != nil {
		return err
	}
	if c.Push.URL != "" && !f.noConfig && !f.replace {
		hint := "--replace replaces it, --no-config leaves it alone"
		if f.root == "" {
			hint += ", or --root DIR for an agent of one workspace"
		}
		return fmt.Errorf("the configuration names a hub already (push.url = %q): %s", c.Push.URL, hint)
	}
	if f.replace && c.Push.TokenFile != "" {
		if token, err = paths.Expand(c.Push.TokenFile); err != nil {
			return err
		}
	}
	file, err := filepath.Abs(cmp.Or(f.tokenFile, token))
	if err != nil {
		return err
	}
	enrolled, err := f.enroll(ctx, url, secret, file)
	if err != nil {
		return err
	}
	return a.enrolled(files, url, file, enrolled, f)
}

// enrollTries is the number of attempts when no answer arrives. Repeating an attempt is
// safe.
const enrollTries = 3

// enroll makes a token and registers it at the hub. Only if the hub accepts it, it is
// written to the file.
func (f *enrollFlags) enroll(ctx context.Context, url, secret, file string) (enrolled *api.Enrolled, err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(file); err == nil && !f.replace {
		return nil, fmt.Errorf("%s exists already, and is not overwritten: this machine may be enrolled; --replace replaces it, --token-file names another", file)
	}
	// Before the hub is asked, it is certain that the token can be kept.
	token, kept := credential.AgentToken.New(), file+".new"
	_ = os.Remove(kept)
	if err := credential.WriteFile(kept, token); err != nil {
		return nil, fmt.Errorf("write token: %w", err)
	}
	defer func() { _ = os.Remove(kept) }()
	hostname, _ := os.Hostname()
	name := text.Line(cmp.Or(f.name, hostname), agent.MaxAgentName)
	for range enrollTries {
		enrolled, err = client.New(url, client.Options{Token: secret}).Enroll(ctx, fmt.Sprintf("%x", credential.HashOf(token)), name)
		if !errors.Is(err, client.ErrUnreachable) {
			break
		}
	}
	if err == nil && store.CheckAgentID(enrolled.AgentID) != nil {
		err = errors.New("the hub's answer names no agent")
	}
	if err != nil {
		return nil, err
	}
	return enrolled, os.Rename(kept, file)
}

// enrolled writes the push settings to the configuration.
func (a *app) enrolled(files []string, url, file string, enrolled *api.Enrolled, f *enrollFlags) error {
	section := fmt.Sprintf("[push]\nurl = %s\ntoken_file = %s\nagent = %s\n", strconv.Quote(url), strconv.Quote(file), strconv.Quote(enrolled.AgentID))
	at := files[len(files)-1]
	switch {
	case f.noConfig:
		at = ""
	case at == config.MachineFile:
		at = ""
		fmt.Fprintln(a.stderr, "the configuration is left alone: there is no place for your own; set HOME or XDG_CONFIG_HOME")
	default:
		if err := changeConfig(at, func(before string) string { return withPush(before, section) }); err != nil {
			at = ""
			fmt.Fprintf(a.stderr, "the configuration is left alone: %s\n", cli.ErrorText(err))
		}
	}
	if f.json {
		return cli.JSON(a.stdout, map[string]string{"agent_id": enrolled.AgentID, "url": url, "token_file": file, "config_file": at})
	}
	if at == "" {
		_, err := fmt.Fprintf(a.stdout, "enrolled as agent %s; this belongs into the configuration:\n\n%s", enrolled.AgentID, section)
		return err
	}
	whose := "'agent run'"
	if f.root != "" {
		whose = fmt.Sprintf("'agent run %s'", f.root)
	}
	_, err := fmt.Fprintf(a.stdout, "enrolled as agent %s; %s says so, and %s pushes there from now on\n", enrolled.AgentID, cli.Visible(at), cli.Visible(whose))
	return err
}

var (
	pushTable = regexp.MustCompile(`(?m)^[ \t]*\[push\][ \t]*(#.*)?\n`)
	enrolling = regexp.MustCompile(`(?m)^[ \t]*(url|token_file|agent)[ \t]*=.*\n?`)
	heading   = regexp.MustCompile(`(?m)^[ \t]*\[`)
)

// withPush puts a section [push] into a configuration, in the place of the same keys of one
// that is there. A configuration that says them in another way is refused later, for it
// would say them twice.
func withPush(before, section string) string {
	at := pushTable.FindStringIndex(before)
	if at == nil {
		return withTable(before, section)
	}
	rest, after := before[at[1]:], ""
	if next := heading.FindStringIndex(rest); next != nil {
		rest, after = rest[:next[0]], rest[next[0]:]
	}
	return before[:at[0]] + section + enrolling.ReplaceAllString(rest, "") + after
}
