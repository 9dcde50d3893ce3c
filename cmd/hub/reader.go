package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/hub/client"
	"waymark/hub/store"
	"waymark/internal/credential"
)

// reader is how reading commands connect to a hub.
type reader struct {
	url, tokenFile, profile string
	json                    bool
	// role is the token's role; empty means a reader's.
	role store.Role
}

// theHub returns the selected hub.
const theHub = `

It asks the hub of the profile in use ('hub profile'), of --profile, or at --url or
HUB_URL. By default it asks the hub that your agents run, or if there is none the one at
http://127.0.0.1:7878. `

const itsAuthority = ` If the hub's certificate is signed by your own authority, name
the authority's certificate in SSL_CERT_FILE.`

const readerHelp = theHub + `It needs a reader's or an operator's
token, from the profile, --token-file or HUB_TOKEN_FILE. To create one, run 'hub token
create --role reader' on the hub's machine. A token is sent only to its own hub.` + itsAuthority

const operatorHelp = theHub + `It needs an operator's token,
from the profile, --token-file or HUB_TOKEN_FILE. To create one, run 'hub token create
--role operator' on the hub's machine. A token is sent only to its own hub.` + itsAuthority

// add adds the flags.
func (r *reader) add(cmd *cobra.Command) {
	r.role = cmp.Or(r.role, store.RoleReader)
	help := readerHelp
	if r.role == store.RoleOperator {
		help = operatorHelp
	}
	r.addFlags(cmd)
	cmd.Long = strings.TrimSpace(cmd.Long) + help
}

// addFlags adds the flags without their help.
func (r *reader) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.url, "url", "", "`URL` of the hub (default that of the profile in use)")
	roles := string(r.role)
	if r.role == store.RoleReader {
		roles += " or operator"
	}
	cmd.Flags().StringVar(&r.tokenFile, "token-file", "", "`file` with a token of role "+roles+" (default that of the profile)")
	cmd.Flags().StringVar(&r.profile, "profile", "", "`name` of the profile whose hub to ask (default the one in use)")
	_ = cmd.RegisterFlagCompletionFunc("profile", completeProfiles)
	_ = cmd.MarkFlagFilename("token-file")
	_ = cmd.RegisterFlagCompletionFunc("url", cobra.FixedCompletions([]string{"http://", "https://"}, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace))
}

// addJSON adds the flags and --json.
func (r *reader) addJSON(cmd *cobra.Command) {
	r.add(cmd)
	cmd.Flags().BoolVar(&r.json, "json", false, "print JSON")
}

// client makes the client.
func (r *reader) client(ctx context.Context) (client.Client, error) {
	if r.profile != "" && r.url != "" {
		return nil, cli.Usage("--profile and --url exclude each other")
	}
	at, err := r.target(ctx)
	if err != nil {
		return nil, err
	}
	path := r.tokenFileOf(at)
	token, err := readToken(r.role, path)
	if errors.Is(err, fs.ErrNotExist) && at.Name == localProfile {
		return nil, fmt.Errorf("there is no reader token in %s: make one with 'hub token create --role reader --out FILE', and name it with --token-file", path)
	}
	if err != nil {
		return nil, err
	}
	return client.New(at.URL, client.Options{Token: token}), nil
}

// tokenFileOf returns the file with the token for a hub. Without a reader's token it is an
// operator's, which can read too.
func (r *reader) tokenFileOf(p *profile) string {
	return cmp.Or(p.Tokens[r.role], p.Tokens[store.RoleOperator])
}

// readToken reads a token of the role, or an operator's, from a file that nobody else can
// read. Its errors never contain what the file holds.
func readToken(role store.Role, path string) (string, error) {
	token, err := credential.ReadToken(path)
	if err != nil || credential.OperatorToken.Is(token) {
		return token, err
	}
	if _, err := role.Kind().Parse(token); err != nil {
		return "", fmt.Errorf("token file %s: %w", path, err)
	}
	return token, nil
}

// with calls a function with a client.
func (r *reader) with(cmd *cobra.Command, f func(ctx context.Context, c client.Client) error) error {
	c, err := r.client(cmd.Context())
	if err != nil {
		return err
	}
	return f(cmd.Context(), c)
}

// onlyAgent returns the hub's only agent, for commands that name none.
func onlyAgent(ctx context.Context, c client.Client, args []string) (string, error) {
	if len(args) > 0 {
		return agentOf(ctx, c, args[0])
	}
	agents, err := c.Agents(ctx)
	switch {
	case err != nil:
		return "", err
	case len(agents) == 0:
		return "", fmt.Errorf("%w: the hub has no agents; hub token create --role agent makes a token for one", store.ErrNotFound)
	case len(agents) > 1:
		ids := make([]string, 0, len(agents))
		for i := range agents {
			ids = append(ids, agents[i].ID)
		}
		return "", fmt.Errorf("the hub has %s: name one of %s", cli.Count(len(agents), "agent"), strings.Join(ids[:min(5, len(ids))], ", "))
	}
	return agents[0].ID, nil
}

// agentOf returns the id of an agent that a text names: its id, its name, or the beginning of
// one of these, if only one agent's begins so.
func agentOf(ctx context.Context, c client.Client, text string) (string, error) {
	_, missing := c.Agent(ctx, text)
	if missing == nil || !errors.Is(missing, client.ErrNotFound) {
		return text, missing
	}
	page, err := c.FindAgents(ctx, client.AgentQuery{Text: text, Limit: maxNamed})
	if err != nil {
		return "", missing
	}
	var named, begun []string
	for i := range page.Agents {
		a := &page.Agents[i]
		if a.Name == text {
			named = append(named, a.ID)
		}
		if strings.HasPrefix(a.ID, text) || strings.HasPrefix(a.Name, text) {
			begun = append(begun, a.ID)
		}
	}
	if len(named) > 0 {
		begun = named
	}
	switch {
	case len(begun) == 0:
		return "", missing
	case len(begun) > 1 || named == nil && page.Next != "":
		return "", cli.Usage("%q names more than one agent: say which of %s", text, strings.Join(begun[:min(5, len(begun))], ", "))
	}
	return begun[0], nil
}

// maxNamed limits the agents among which one is found by its name.
const maxNamed = 1000

// offer completes the first argument with what the hub knows.
func (r *reader) offer(ask ...func(context.Context, client.Client) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return cli.Offer(cmd, text, func(ctx context.Context) (offered []string, err error) {
			c, err := r.client(ctx)
			for i := 0; i < len(ask) && err == nil; i++ {
				var all []string
				all, err = ask[i](ctx, c)
				offered = append(offered, all...)
			}
			return offered, err
		})
	}
}

// described is a completion with its description.
func described(id, name string) string {
	if name = cli.Visible(name); name == "" {
		return id
	}
	return cobra.CompletionWithDesc(id, name)
}

func agentIDs(ctx context.Context, c client.Client) (list []string, err error) {
	agents, err := c.Agents(ctx)
	for i := range agents {
		list = append(list, described(agents[i].ID, agents[i].Name))
	}
	return list, err
}

func pinIDs(ctx context.Context, c client.Client) (list []string, err error) {
	pins, err := c.Pins(ctx, "")
	for i := range pins {
		list = append(list, described(pins[i].ID, pins[i].Name))
	}
	return list, err
}
