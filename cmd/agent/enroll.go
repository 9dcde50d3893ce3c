package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"waymark/agent"
	"waymark/cmd/internal/cli"
	"waymark/host/config"
	"waymark/host/push"
	"waymark/hub/api"
	"waymark/hub/client"
	"waymark/hub/store"
	"waymark/internal/atomicfile"
	"waymark/internal/credential"
	"waymark/internal/text"
)

// enrollFlags are the flags of enroll.
type enrollFlags struct {
	code, keyFile, tokenFile, name, root string

	insecure, noConfig, json bool
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
SHA-256. If the configuration already names a hub, enroll does nothing.`,
		Example: `  agent enroll https://hub.example.com --code 4F7K-29QX-M3ZTB
  agent enroll https://hub.example.com --key-file /etc/waymark/fleet.key
  agent enroll https://hub.example.com --key-file fleet.key --root ~/src/shop`,
		Args: cli.Named("the hub's URL"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.enroll(cmd.Context(), args[0], &f) },
	}
	cmd.Flags().StringVar(&f.code, "code", "", "`code` from 'hub enroll code'")
	cmd.Flags().StringVar(&f.keyFile, "key-file", "", "`file` with a key from 'hub enroll key'")
	cmd.Flags().StringVar(&f.tokenFile, "token-file", "", "new `file` for the token (default ~/.local/state/waymark/agent.token)")
	cmd.Flags().StringVar(&f.root, "root", "", "enroll only the agent of this workspace's `directory`")
	cmd.Flags().StringVar(&f.name, "name", "", "`name` of the agent for people (default the machine's, with --root the directory's)")
	cmd.Flags().BoolVar(&f.insecure, "insecure", false, "send the code to another machine without TLS")
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
	if c.Push.URL != "" && !f.noConfig {
		hint := "take that out first, or use --no-config"
		if f.root == "" {
			hint += ", or --root DIR for an agent of one workspace"
		}
		return fmt.Errorf("the configuration names a hub already (push.url = %q): %s", c.Push.URL, hint)
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

// enroll makes a token and registers it at the hub. If the hub doesn't accept it, the file
// is removed.
func (f *enrollFlags) enroll(ctx context.Context, url, secret, file string) (enrolled *api.Enrolled, err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	token := credential.AgentToken.New()
	if err := credential.WriteFile(file, token); errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s exists already, and is not overwritten: this machine may be enrolled; name another file with --token-file, or remove it", file)
	} else if err != nil {
		return nil, fmt.Errorf("write token: %w", err)
	}
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
		_ = os.Remove(file)
		return nil, err
	}
	return enrolled, nil
}

// enrolled writes the push settings to the configuration.
func (a *app) enrolled(files []string, url, file string, enrolled *api.Enrolled, f *enrollFlags) error {
	section := fmt.Sprintf("[push]\nurl = %s\ntoken_file = %s\nagent = %s\n", strconv.Quote(url), strconv.Quote(file), strconv.Quote(enrolled.AgentID))
	at := ""
	if !f.noConfig {
		var err error
		if at, err = addSection(files, section); err != nil {
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

// addSection appends a section to the last of the files, unless that file isn't suitable.
func addSection(files []string, section string) (file string, err error) {
	own := files[len(files)-1]
	if own == config.MachineFile {
		return "", errors.New("there is no place for your own; set HOME or XDG_CONFIG_HOME")
	}
	before, err := os.ReadFile(own)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	after := section
	if len(before) > 0 {
		after = strings.TrimRight(string(before), "\n") + "\n\n" + section
	}
	if err := config.Default().Parse(own, after); err != nil {
		return "", err
	}
	mode := os.FileMode(0o600)
	if info, err := os.Stat(own); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(own), 0o700); err != nil {
		return "", err
	}
	return own, atomicfile.WriteFile(own, []byte(after), mode)
}
